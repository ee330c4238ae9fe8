"""Two replicas of social send a thousand scheduled posts on eight channels while a fifth of all calls fails."""

import asyncio
import json
import os
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg
import httpx
from cryptography.fernet import Fernet

from chassis.testing import eventually
from fakes import Fake, Kind, Reply, Request, away, route, serving
from fakes.found import PLACES
from fakes.serving.faults import Faults
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.places import KEY, connect
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.surroundings import processes
from faults.surroundings.processes import WorkerProcess
from faults.workers.posting import JOURNAL, PAUSE_SECONDS
from messaging import QueuePolicy
from messaging.flow.settlement import LONGEST_WAIT
from social.channels import CHANNELS, PostPicture
from social.domain import PostRefusal, post_id
from social.sending.domain import ChannelRules, PostMaterial, said
from social.story import Story

FAILED: Final = "calls failed"
AWAY: Final = "channels away"
POSTS: Final = int(os.environ.get("POSTS", "1000"))
_POSTS_OF_A_MUTATION: Final = 80
_SHARE: Final = 0.2
"""Of all calls, that fail at least."""
_APART: Final = timedelta(seconds=2)
"""Articles; the posts about one are due at the same time. What two cores of a busy machine can send."""
TICK_SECONDS: Final = 5.0
_AWAY_SECONDS: Final = 4.0
_ATTEMPTS: Final = 40
_POLICY: Final = QueuePolicy()
"""As social has it, as far as waiting goes."""
_SOON: Final = timedelta(seconds=15)
"""Until the first is due: the services start."""
_A_DAY_ON_INSTAGRAM: Final = 100
_OF_ALL_KINDS: Final[Mapping[Kind, float]] = {
    "reset_before": 0.05,
    "reset_after": 0.04,
    "cut_after": 0.04,
    "error_before": 0.04,
    "error_after": 0.05,
    "hang_before": 0.01,
    "hang_after": 0.01,
    "late": 0.01,
}
"""Each of what the kinds before have left."""
_LIMITED: Final[Mapping[Kind, float]] = {"limited": 0.04}
_STRUCK: Final[Mapping[str, Mapping[Kind, float]]] = {
    "mastodon": {**_OF_ALL_KINDS, **_LIMITED},
    "bluesky": {**_OF_ALL_KINDS, **_LIMITED},
    "webhook": {**_OF_ALL_KINDS, **_LIMITED},
    "x": {**_OF_ALL_KINDS, **_LIMITED},
    # Whose limits are of a quarter of an hour, or of a day.
    "linkedin": _OF_ALL_KINDS,
    "instagram": _OF_ALL_KINDS,
    "threads": _OF_ALL_KINDS,
    # What it has posted a bot can neither look up nor send under a key: where its answer is lost, a person has to look.
    "telegram": {"limited": 0.25},
}
_COVER: Final = PostPicture(
    url="https://example.org/sites/acme/cover.png",
    alt="A cup",
    media_type="image/png",
    width=1200,
    height=630,
    jpeg_url="https://example.org/sites/acme/cover.jpg",
)


@dataclass(frozen=True)
class SendAttempt:
    """An attempt to send a post; times in seconds since 1970. `after`: delay before the next one; None: no further attempt."""

    begun: float
    ended: float
    after: float | None
    waited: bool = False
    """For something; then pauses grow, and the attempt does not count."""


@dataclass
class PlannedPost:
    """A planned post, with its row, the replicas' journals, and the posts at the outside server."""

    channel: str
    mark: str
    due: float
    state: str = ""
    reason: str = ""
    address: str = ""
    shown_at: list[str] = field(default_factory=list)
    """Addresses or ids, of as many as are there."""
    claims: int = 0
    tries: list[SendAttempt] = field(default_factory=list)

    @property
    def overdue(self) -> Iterator[float]:
        """Seconds that further attempts came later than by the policy of messages they may have."""
        waits = 0
        for one, following in pairwise(self.tries):
            if one.after is not None:
                grown = _POLICY.wait(waits).total_seconds() if one.waited else 0.0
                most = max(one.after, grown) * LONGEST_WAIT if one.waited else one.after
                yield following.begun - one.ended - most
            waits = waits + 1 if one.waited else 0

    @property
    def late(self) -> float:
        """Seconds, of the first attempt."""
        return self.tries[0].begun - self.due if self.tries else 0.0


@dataclass(frozen=True)
class ChannelCalls:
    """Requests to the channels while posts were sent."""

    asked: int
    struck: Counter[Kind]
    """By the kind of fault."""


@scenario(
    "scheduled posts",
    "a fifth of all calls to eight channels fails, whatever they ask, and each is away for a while; two replicas of social send posts at their times",
    faults=(FAILED, AWAY),
    budget=900.0,
)
async def scheduled_posts(world: FaultHarness) -> ScenarioOutcome:
    number = _POSTS_OF_A_MUTATION if world.mutation else POSTS
    url = await world.servers.create_database("social")
    async with _surroundings(world, url) as fakes:
        before = sum(len(fake.requests) for fake in fakes.values())
        for channel, kinds in _STRUCK.items():
            fakes[channel].faults = Faults(seed=world.rng.randrange(2**31))
            for kind, share in kinds.items():
                fakes[channel].faults.inject(kind, times=None, share=share)
        posts = await _planned(url, number)
        takes = number / len(_STRUCK) * _APART.total_seconds()
        async with asyncio.TaskGroup() as outages:
            for fake in fakes.values():
                outages.create_task(
                    _away_once(world, fake, _SOON.total_seconds() + world.rng.random() * takes)
                )
            await eventually(lambda: _none(url, "state in ('planned', 'sending')"), within=takes + 400)
        struck = Counter(
            {
                kind: sum(
                    fault.fired
                    for fake in fakes.values()
                    for fault in fake.faults.planned
                    if fault.kind == kind
                )
                for kind in (*_OF_ALL_KINDS, *_LIMITED)
            }
        )
        calls = ChannelCalls(sum(len(fake.requests) for fake in fakes.values()) - before, struck)
        await _look(url, fakes, posts)
    replicas = _read_journals(world.folder, posts)
    world.history.fault(FAILED)
    _print(list(posts.values()), calls, replicas)
    return ScenarioOutcome(
        submitted=number,
        effects=sum(bool(post.shown_at) for post in posts.values()),
        dead_letters=0,
        lost=sum(not post.shown_at for post in posts.values()),
        duplicated=sum(max(len(post.shown_at) - 1, 0) for post in posts.values()),
        fired=calls.struck.total(),
        seconds_to_heal=0.0,
        violations=(*judge(list(posts.values())), *judge_course(calls, replicas)),
    )


def judge(posts: Sequence[PlannedPost]) -> Iterator[Violation]:
    """Each is there once, and its row says where; it was claimed once, each attempt came when it was to come, and none after the one that did it."""
    for post in posts:
        told = f"{post.channel}, {post.mark}: {len(post.shown_at)} are there, its row is {post.state} {post.reason}".strip()
        if len(post.shown_at) > 1:
            yield Violation(1, f"twice: {told}")
        elif not post.shown_at or post.state != "posted":
            yield Violation(1, f"not out: {told}")
        elif not any(shown in post.address for shown in post.shown_at):
            yield Violation(1, f"{told}, at “{post.address}”, and it is seen at {post.shown_at[0]}")
        if post.claims != 1:
            yield Violation(6, f"claimed {post.claims} times: {told}")
        yield from _judge_times(post, told)


def _judge_times(post: PlannedPost, told: str) -> Iterator[Violation]:
    if post.late < 0:
        yield Violation(6, f"begun {-post.late:.1f} s early: {told}")
    if post.late > TICK_SECONDS:
        yield Violation(6, f"begun {post.late:.1f} s late: {told}")
    if any(one.after is None for one in post.tries[:-1]):
        yield Violation(6, f"tried again after it was out: {told}")
    if (late := max(post.overdue, default=0.0)) > TICK_SECONDS:
        yield Violation(6, f"tried again {late:.1f} s later than it was to be: {told}")


def judge_course(calls: ChannelCalls, replicas: Mapping[str, Counter[str]]) -> Iterator[Violation]:
    """So many calls failed, in every way; and both replicas claimed posts and sent some."""
    if calls.struck.total() < _SHARE * calls.asked:
        yield Violation(9, f"only {calls.struck.total()} of {calls.asked} calls failed")
    if never := [kind for kind in (*_OF_ALL_KINDS, *_LIMITED) if not calls.struck[kind]]:
        yield Violation(9, f"no call failed like this: {', '.join(never)}")
    for name, did in replicas.items():
        if not (did["claimed"] and did["tried"]):
            yield Violation(9, f"{name} claimed {did['claimed']} posts and tried {did['tried']} times")


def _print(posts: Sequence[PlannedPost], calls: ChannelCalls, replicas: Mapping[str, Counter[str]]) -> None:
    late = sorted(post.late for post in posts)
    again = sorted(late for post in posts for late in post.overdue)
    done = sorted(post.tries[-1].ended - post.due for post in posts if post.tries)
    print(
        f"         {len(posts)} posts, {calls.asked} calls, {calls.struck.total() / calls.asked:.1%} failed;"
        f" {sum(len(post.tries) for post in posts)} attempts\n"
        f"         late: first attempts {_spread(late)}, further ones {_spread(again)}; out after {_spread(done)}\n"
        f"         claimed and tried: {'; '.join(f'{name} {dict(did)}' for name, did in replicas.items())}"
    )


def _spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "none"
    return f"{seconds[len(seconds) // 2]:.1f} s in the middle, {seconds[-1]:.1f} s at most"


# -- what it plays in ----------------------------------------------------------------------------------------------------


class _CoverPublisher(Fake):
    """Serves the cover."""

    @route("GET", "/sites/acme/cover.png")
    def cover(self, _: Request) -> Reply:
        return Reply(200, b"\x89PNG\r\n\x1a\n" + bytes(1000), {"content-type": "image/png"})


@asynccontextmanager
async def _surroundings(world: FaultHarness, url: str) -> AsyncIterator[dict[str, Fake]]:
    """The networks, a gateway with an account on each, and two replicas of social."""
    places = {place.channel: place for place in PLACES if place.channel in _STRUCK}
    gateway_url = await world.servers.create_database("gateway")
    async with AsyncExitStack() as cleanup:
        fakes = {
            name: await cleanup.enter_async_context(serving(place.fake())) for name, place in places.items()
        }
        publisher = await cleanup.enter_async_context(serving(_CoverPublisher()))
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
            "PAGES_URL": publisher.url,
            "POST_TICK_SECONDS": str(TICK_SECONDS),
            "POST_RETRY_SECONDS": ",".join([str(PAUSE_SECONDS)] * _ATTEMPTS),
            "MAX_ATTEMPTS": str(_ATTEMPTS),
            "MUTATION": world.mutation,
        }
        for name in ("social-1", "social-2"):
            journal = {JOURNAL: str(_journal(world.folder, name))}
            await _started(world, name, "faults.workers.posting", environment | journal)
        yield fakes


def _journal(folder: Path, name: str) -> Path:
    return folder / f"{name}.journal"


async def _started(
    world: FaultHarness, name: str, program: str, environment: Mapping[str, str]
) -> WorkerProcess:
    values = {"SERVICE_KEY": KEY, "SHUTDOWN_GRACE_SECONDS": "5", **environment}
    worker = processes.start(name, program, values, world.folder, world.history)
    world.workers.append(worker)
    await worker.ready()
    return worker


async def _away_once(world: FaultHarness, fake: Fake, after: float) -> None:
    await asyncio.sleep(after)
    async with away(fake):
        await asyncio.sleep(_AWAY_SECONDS)
    world.history.fault(AWAY)


# -- posts ---------------------------------------------------------------------------------------------------------------


async def _planned(url: str, number: int) -> dict[str, PlannedPost]:
    """Puts posts down as they stand once they are approved for their times; returns them by their ids."""
    connection = await asyncpg.connect(url)
    begin: datetime = await connection.fetchval("select clock_timestamp()") + _SOON
    posts: dict[str, PlannedPost] = {}
    rows: list[tuple[Any, ...]] = []
    for article, channel in islice(_wanted(), number):
        content_id, due_at = article.content_id, begin + article.number * _APART
        material = PostMaterial(article.story, (_COVER,), "en")
        text = said(CHANNELS[channel], material, ChannelRules())
        assert not isinstance(text, PostRefusal)
        identity = post_id(content_id, channel)
        posts[str(identity)] = PlannedPost(channel, article.mark, due_at.timestamp())
        rows.append(
            (identity, "acme", content_id, channel, channel, json.dumps(material.as_json()), channel, channel,
             text.text, json.dumps(text.tags), text.placement, "planned", due_at)
        )  # fmt: skip
    columns = "post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, tags, placement, state, due_at"
    values = ", ".join(f"${place}" for place in range(1, 14))
    await connection.executemany(f"insert into channel_posts ({columns}) values ({values})", rows)
    await connection.close()
    return posts


@dataclass(frozen=True)
class _PlannedArticle:
    number: int
    content_id: UUID

    @property
    def mark(self) -> str:
        return self.content_id.hex[:16]

    @property
    def story(self) -> Story:
        link = f"https://example.org/{self.mark}"
        return Story(f"Article {self.mark}", "coffee", f"What {self.mark} says.", (), (), link)


def _wanted() -> Iterator[tuple[_PlannedArticle, str]]:
    """Article after article, on each channel; on Instagram as many as it takes in a day."""
    for number in count():
        article = _PlannedArticle(number, uuid4())
        for channel in _STRUCK:
            if channel != "instagram" or number < _A_DAY_ON_INSTAGRAM:
                yield article, channel


async def _none(url: str, condition: str) -> bool:
    connection = await asyncpg.connect(url)
    try:
        return not await connection.fetchval(f"select exists (select from channel_posts where {condition})")
    finally:
        await connection.close()


async def _look(url: str, fakes: Mapping[str, Fake], posts: Mapping[str, PlannedPost]) -> None:
    """Reads the posts' rows and the outside servers."""
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("select post_id, state, reason, post_url from channel_posts")
    await connection.close()
    for row in rows:
        post = posts[str(row["post_id"])]
        post.state, post.reason, post.address = row["state"], row["reason"], row["post_url"] or ""
    by_mark = {(post.channel, post.mark): post for post in posts.values()}
    marks = {mark for _, mark in by_mark}
    for channel, fake in fakes.items():
        for each in fake.accepted:
            told = f"{each.text} {each.more}"
            for mark in marks if each.kind == "post" else ():
                if mark in told:
                    by_mark[channel, mark].shown_at.append(each.url or each.id.rpartition("/")[2])


def _read_journals(folder: Path, posts: Mapping[str, PlannedPost]) -> dict[str, Counter[str]]:
    """Adds to the posts what the replicas did, and returns how much each has done."""
    done: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(folder.glob("*.journal")):
        for line in map(json.loads, path.read_text().splitlines()):
            if "claimed" in line:
                done[path.stem]["claimed"] += 1
                posts[line["claimed"]].claims += 1
            else:
                done[path.stem]["tried"] += 1
                posts[line["tried"]].tries.append(
                    SendAttempt(line["begun"], line["ended"], line["after"], line["waited"])
                )
    for post in posts.values():
        post.tries.sort(key=lambda each: each.begun)
    return done
