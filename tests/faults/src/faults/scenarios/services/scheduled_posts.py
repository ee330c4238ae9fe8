"""A thousand posts that have their times, on eight channels, sent by two replicas of social while a fifth of all calls fails."""

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import asyncpg
import httpx
from cryptography.fernet import Fernet

from chassis.testing import eventually
from fakes import Fake, Kind, serving
from fakes.serving.faults import Faults
from faults.judging.checker import Violation
from faults.judging.results import Outcome
from faults.playing.outside import KEY, PLACES, connect
from faults.playing.scenario import scenario
from faults.playing.world import World
from faults.surroundings import processes
from faults.surroundings.processes import Worker
from social.channels import CHANNELS, Picture
from social.domain import Refusal, Story, post_id
from social.sending.domain import Material, Rules, said

FAILED: Final = "calls failed"
POSTS: Final = int(os.environ.get("POSTS", "1000"))
_PER_SECOND: Final = 12
"""That become due; what two cores of a busy machine can send."""
_TICK_SECONDS: Final = 5.0
_ON_ITS_WAY_SECONDS: Final = 5.0
"""From the claim of a post to its first attempt, on a machine that does other things, too."""
_SOON: Final = timedelta(seconds=12)
"""Until the first is due: the services start."""
_UNSURE: Final[Mapping[Kind, float]] = {"error_before": 0.07, "error_after": 0.06, "reset_after": 0.07}
_CERTAIN: Final[Mapping[Kind, float]] = {"limited": 0.03}
"""What is judged in full on a channel whose posts cannot be looked up: there, a lost answer is for a person."""
_STRUCK: Final[Mapping[str, Mapping[Kind, float]]] = {
    "mastodon": _UNSURE,
    "bluesky": _UNSURE,
    "webhook": _UNSURE,
    "x": _UNSURE,
    "linkedin": _UNSURE,
    "instagram": _UNSURE,
    "threads": _UNSURE,
    "telegram": _CERTAIN,
}
_COVER: Final = Picture(
    url="https://example.org/sites/acme/cover.png",
    alt="A cup",
    media_type="image/png",
    width=1200,
    height=630,
    jpeg_url="https://example.org/sites/acme/cover.jpg",
)


@dataclass(frozen=True)
class Ended:
    """A post, as its row and everybody else sees it."""

    channel: str
    state: str
    reason: str
    shown: int
    late: float
    """Seconds from when it was due to its first attempt."""


@scenario(
    "scheduled posts",
    "a fifth of what is sent to eight channels fails, before and after its effect, while two replicas of social send posts at their times",
    faults=(FAILED,),
    budget=420.0,
)
async def scheduled_posts(world: World) -> Outcome:
    count = POSTS
    url = await world.servers.create_database("social")
    async with _surroundings(world, url) as fakes:
        marks = await _planned(url, count)
        for channel, kinds in _STRUCK.items():
            fakes[channel].faults = Faults(seed=world.rng.randrange(2**31))
            for kind, share in kinds.items():
                fakes[channel].faults.inject(kind, "POST *", times=None, share=share)
        await eventually(lambda: _none(url, "begun_at is null"), within=count / _PER_SECOND + 90)
        # What is looked up from now on is found at once: a look-up that fails is made again later and later.
        for fake in fakes.values():
            for fault in fake.faults.planned:
                fault.times = fault.fired
        await eventually(lambda: _none(url, "state in ('planned', 'sending')"), within=180)
        fired = Counter(
            {channel: sum(f.fired for f in fake.faults.planned) for channel, fake in fakes.items()}
        )
        asked = sum(len(fake.requests) for fake in fakes.values())
        posts = await _seen(url, fakes, marks)
    for _ in range(fired.total()):
        world.history.fault(FAILED)
    late = sorted(post.late for post in posts)
    print(
        f"         {count} posts, {asked} calls, {fired.total()} failed; first attempts were late by {late[len(late) // 2]:.1f} s"
        f" in the middle, {late[-1]:.1f} s at most; {sum(post.state == 'in_doubt' for post in posts)} are in doubt"
    )
    return Outcome(
        submitted=count,
        effects=sum(post.shown > 0 for post in posts),
        dead_letters=0,
        lost=sum(post.shown == 0 for post in posts),
        duplicated=sum(max(post.shown - 1, 0) for post in posts),
        fired=fired.total(),
        seconds_to_heal=0.0,
        violations=tuple(judge(posts)),
    )


def judge(posts: Sequence[Ended]) -> Iterator[Violation]:
    """Each is there once, or in doubt, and was begun within a tick of its time, whatever befell the others."""
    for post in posts:
        told = f"{post.channel}: {post.shown} are there, its row is {post.state} {post.reason}".strip()
        if post.shown > 1:
            yield Violation(1, f"twice: {told}")
        elif post.state not in {"posted", "in_doubt"} or (post.state == "posted" and not post.shown):
            yield Violation(1, f"not out: {told}")
        if post.late > _TICK_SECONDS + _ON_ITS_WAY_SECONDS:
            yield Violation(6, f"begun {post.late:.1f} s late: {told}")


@asynccontextmanager
async def _surroundings(world: World, url: str) -> AsyncIterator[dict[str, Fake]]:
    """The networks, a gateway with an account on each, and two replicas of social."""
    places = {place.channel: place for place in PLACES if place.channel in _STRUCK}
    gateway_url = await world.servers.create_database("gateway")
    async with AsyncExitStack() as cleanup:
        fakes = {
            name: await cleanup.enter_async_context(serving(place.fake())) for name, place in places.items()
        }
        environment = {
            "DATABASE_URL": gateway_url,
            "GATEWAY_KEYS": Fernet.generate_key().decode(),
            "EGRESS_REACHABLE_NETWORKS": "127.0.0.0/8",
        }
        gateway = await _started(world, "gateway", "gateway", environment)
        address = f"http://127.0.0.1:{gateway.port}"
        async with httpx.AsyncClient(
            base_url=address, headers={"X-Service-Key": KEY}, trust_env=False, timeout=20
        ) as api:
            for name, place in places.items():
                await connect(api, place, fakes[name])
        environment = {
            "DATABASE_URL": url,
            "RABBITMQ_URL": world.rabbitmq_url,
            "GATEWAY_URL": address,
            "POST_TICK_SECONDS": str(_TICK_SECONDS),
            "POST_RETRY_SECONDS": ",".join(["0.5"] * 12),
            "MAX_ATTEMPTS": "14",
            "RETRY_BASE_SECONDS": "0.5",
        }
        for number in (1, 2):
            await _started(world, f"social-{number}", "social", environment)
        yield fakes


async def _started(world: World, name: str, program: str, environment: Mapping[str, str]) -> Worker:
    values = {"SERVICE_KEY": KEY, "SHUTDOWN_GRACE_SECONDS": "5", **environment}
    worker = processes.start(name, program, values, world.folder, world.history)
    world.workers.append(worker)
    await worker.ready()
    return worker


async def _planned(url: str, count: int) -> dict[str, str]:
    """Puts posts down as they stand once they are approved for their times; returns their marks, by id."""
    connection = await asyncpg.connect(url)
    marks: dict[str, str] = {}
    rows: list[tuple[Any, ...]] = []
    # Instagram takes no more than a hundred posts a day.
    channels = [*_STRUCK, *(each for each in _STRUCK if each != "instagram")]
    begin: datetime = await connection.fetchval("select clock_timestamp()") + _SOON
    for number in range(count):
        channel, content_id = channels[number % len(channels)], uuid4()
        mark = content_id.hex[:16]
        story = Story(
            f"Article {mark}", "coffee", f"What {mark} says.", (), (), f"https://example.org/{mark}"
        )
        text = said(CHANNELS[channel], material := Material(story, (_COVER,), "en"), Rules())
        assert not isinstance(text, Refusal)
        identity = post_id(content_id, channel)
        marks[str(identity)] = mark
        due_at = begin + timedelta(seconds=number / _PER_SECOND)
        rows.append(
            (identity, "acme", content_id, channel, channel, json.dumps(material.as_json()), channel, channel,
             text.text, json.dumps(text.tags), text.placement, "planned", due_at)
        )  # fmt: skip
    columns = "post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, tags, placement, state, due_at"
    values = ", ".join(f"${number}" for number in range(1, 14))
    await connection.executemany(f"insert into channel_posts ({columns}) values ({values})", rows)
    await connection.close()
    return marks


async def _none(url: str, condition: str) -> bool:
    connection = await asyncpg.connect(url)
    try:
        return not await connection.fetchval(f"select exists (select from channel_posts where {condition})")
    finally:
        await connection.close()


async def _seen(url: str, fakes: Mapping[str, Fake], marks: Mapping[str, str]) -> list[Ended]:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        "select post_id, channel, state, reason, extract(epoch from begun_at - due_at)::float as late from channel_posts"
    )
    await connection.close()
    shown = {
        channel: [f"{each.text} {each.more}" for each in fake.accepted if each.kind == "post"]
        for channel, fake in fakes.items()
    }
    return [
        Ended(
            row["channel"],
            row["state"],
            row["reason"],
            sum(marks[str(row["post_id"])] in each for each in shown[row["channel"]]),
            row["late"] or 0.0,
        )
        for row in rows
    ]
