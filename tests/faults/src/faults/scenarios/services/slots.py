"""Two replicas of social give posts slots, send and repeat them, and are killed in turn."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg
import httpx
from cryptography.fernet import Fernet

from chassis.testing import eventually
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ArticleContext, SocialCreate
from fakes import Fake, serving
from fakes.channels.mastodon import FakeMastodon
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.surroundings import processes
from faults.surroundings.processes import WorkerProcess
from messaging.testing import Broker

KEY: Final = "a-key-for-tests-only"
KILLED: Final = "kill"
_POSTS: Final = 30
_KILLS: Final = 2
"""In each part: while slots are given, while posts are sent, while they are made again."""
_ACCOUNT: Final = "/v1/brands/acme/accounts/mastodon"
_EVERY_MINUTE: Final = [
    {"times": [f"{half // 2:02}:{half % 2 * 30 + minute:02}" for minute in range(30)]} for half in range(48)
]


@dataclass
class SlotCounts:
    """Results of the posts."""

    slots: Sequence[datetime]
    """That were given to new posts."""
    shown: Counter[UUID]
    """How often each article's post can be seen where it was sent."""
    left: Sequence[str]
    """States of posts that are not out."""
    again: Counter[UUID]
    """How often each article's post was made again."""
    slots_again: Sequence[datetime]
    contents: Sequence[UUID] = field(default_factory=tuple)


@scenario(
    "slots on two replicas",
    f"SIGKILL to one of two replicas of social after the other while {_POSTS} posts get slots, are sent, and are made again",
    faults=(KILLED,),
    budget=240.0,
)
async def slots_on_two_replicas(world: FaultHarness) -> ScenarioOutcome:
    async with _playing(world) as play:
        contents = [uuid4() for _ in range(_POSTS)]
        await play.set_slots()
        await play.struck(lambda: play.ask_for(contents), lambda: play.count("due_at is not null"), _POSTS)
        slots = await play.times("occurrence = 0")

        # All at once, without slots: as it is for an account that has none.
        (await play.api(0, "DELETE", f"{_ACCOUNT}/slots")).raise_for_status()
        await play.struck(play.all_are_due, lambda: play.count("state not in ('planned', 'sending')"), _POSTS)
        shown = Counter(
            content
            for each in play.fake.accepted
            for content in contents
            if each.kind == "post" and content.hex in f"{each.text} {each.more}"
        )
        left = await play.column("state::text", "state <> 'posted'")

        await play.set_slots()
        await play.sql(
            "update channel_posts set posted_at = posted_at - interval '40 days', due_at = due_at - interval '40 days'"
        )
        await play.struck(lambda: play.make_again(contents), lambda: play.count("occurrence > 0"), _POSTS)
        seen = SlotCounts(
            slots=slots,
            shown=shown,
            left=left,
            again=Counter(await play.column("content_id", "occurrence > 0")),
            slots_again=await play.times("occurrence > 0"),
            contents=contents,
        )
    return ScenarioOutcome(
        submitted=_POSTS,
        effects=len(shown),
        dead_letters=0,
        lost=_POSTS - len(shown),
        duplicated=shown.total() - len(shown),
        fired=world.history.faults[KILLED],
        seconds_to_heal=0.0,
        violations=tuple(judge(seen)),
    )


def judge(seen: SlotCounts) -> Iterator[Violation]:
    """Every post has had a slot of its own, is out once, and is made again once, in a slot of its own."""
    for what, slots in (("new posts", seen.slots), ("posts made again", seen.slots_again)):
        if len(slots) != len(seen.contents):
            yield Violation(1, f"{len(seen.contents)} slots are wanted for {what}, and {len(slots)} given")
        if len(set(slots)) < len(slots):
            yield Violation(1, f"{len(slots) - len(set(slots))} slots were given to two {what}")
        if odd := [each for each in slots if each.second or each.microsecond]:
            yield Violation(1, f"{what} have times that are no slots, such as {odd[0]}")
    for content in seen.contents:
        if seen.shown[content] != 1:
            yield Violation(1, f"the post about {content} is there {seen.shown[content]} times")
        if seen.again[content] != 1:
            yield Violation(1, f"the post about {content} was made again {seen.again[content]} times")
    if seen.left:
        yield Violation(1, f"posts were left behind: {dict(Counter(seen.left))}")


class _SocialReplicas:
    """Two replicas of social, and the network that they post to."""

    def __init__(
        self, world: FaultHarness, url: str, environment: dict[str, str], fake: Fake, broker: Broker
    ) -> None:
        self.fake = fake
        self._world = world
        self._url = url
        self._environment = environment
        self._broker = broker
        self._replicas: list[WorkerProcess] = []

    async def start(self) -> None:
        self._replicas = [await self._started(number) for number in range(2)]

    async def _started(self, number: int) -> WorkerProcess:
        name = f"social-{number}-{len(self._world.workers)}"
        return await _started(self._world, name, "social", self._environment)

    async def struck(
        self, begin: Callable[[], Coroutine[Any, Any, None]], count: Callable[[], Awaitable[int]], whole: int
    ) -> None:
        """Begins something, and kills one replica after the other at counts by chance, until all of it is done."""
        places = sorted(self._world.rng.sample(range(1, whole - 2), _KILLS))
        beginning = asyncio.create_task(begin())
        for turn, place in enumerate(places):
            await eventually(lambda place=place: _reached(count, place))  # type: ignore[misc]
            number = turn % 2
            await self._replicas[number].kill()
            self._replicas[number] = await self._started(number)
        await beginning
        await eventually(lambda: _reached(count, whole))

    async def api(self, number: int, method: str, path: str, **body: Any) -> httpx.Response:
        address = f"http://127.0.0.1:{self._replicas[number].port}"
        async with httpx.AsyncClient(
            base_url=address, headers={"X-Service-Key": KEY}, trust_env=False, timeout=20
        ) as client:
            return await client.request(method, path, **body)

    async def set_slots(self) -> None:
        rules = {"slots": _EVERY_MINUTE, "spacing_minutes": 1}
        (await self.api(0, "PUT", f"{_ACCOUNT}/slots", json=rules)).raise_for_status()

    async def ask_for(self, contents: Sequence[UUID]) -> None:
        for content in contents:
            context = ArticleContext(
                title=f"Article {content.hex}",
                keyword="coffee",
                meta_description=f"What {content.hex} says.",
                key_points=(f"One of {content.hex}.",),
            )
            payload = SocialCreate(
                brand_slug="acme",
                content_id=content,
                article_context=context,
                published_url=f"https://example.org/{content.hex}",
                channels=("mastodon",),
            )
            message: DomainMessage[SocialCreate] = DomainMessage(
                event_id=new_event_id(),
                type="social.create",
                source="orchestrator",
                timestamp=datetime.now(UTC),
                correlation_id=content.hex,
                payload=payload,
            )
            await self._broker.publish("commands", "social-commands", encode(message), type="social.create")

    async def all_are_due(self) -> None:
        await self.sql(
            """
            update channel_posts as p set due_at = now() + new.place * interval '0.2 seconds', in_queue = false
            from (select post_id, row_number() over (order by due_at) as place from channel_posts) as new
            where p.post_id = new.post_id and state = 'planned'
            """
        )

    async def make_again(self, contents: Sequence[UUID]) -> None:
        await self.sql(
            """
            insert into repeats (brand_slug, content_id, account, rule, made_by)
            select 'acme', id, '', '{"kind": "evergreen", "cool_down_days": 30, "at_most": 1}', 'test'
            from unnest($1::uuid[]) as id
            """,
            contents,
        )
        # Whoever starts looks at once, and the other every 30 seconds.
        await self._replicas[0].kill()
        self._replicas[0] = await self._started(0)

    async def sql(self, statement: str, *arguments: Any) -> list[Any]:
        connection = await asyncpg.connect(self._url)
        try:
            rows: list[Any] = await connection.fetch(statement, *arguments)
        finally:
            await connection.close()
        return rows

    async def column(self, column: str, condition: str) -> list[Any]:
        rows = await self.sql(f"select {column} as wanted from channel_posts where {condition}")
        return [row["wanted"] for row in rows]

    async def times(self, condition: str) -> list[datetime]:
        found: list[datetime] = await self.column("due_at", condition)
        return found

    async def count(self, condition: str) -> int:
        return len(await self.column("post_id", condition))


async def _reached(count: Callable[[], Awaitable[int]], wanted: int) -> bool:
    return await count() >= wanted


@asynccontextmanager
async def _playing(world: FaultHarness) -> AsyncIterator[_SocialReplicas]:
    url, gateway_url = [await world.servers.create_database(name) for name in ("social", "gateway")]
    async with AsyncExitStack() as cleanup:
        fake = await cleanup.enter_async_context(serving(FakeMastodon()))
        broker = await cleanup.enter_async_context(Broker.connected(world.rabbitmq_url))
        gateway = await _started(
            world,
            "gateway",
            "gateway",
            {
                "DATABASE_URL": gateway_url,
                "GATEWAY_KEYS": Fernet.generate_key().decode(),
                "EGRESS_REACHABLE_NETWORKS": "127.0.0.0/8",
            },
        )
        address = f"http://127.0.0.1:{gateway.port}"
        body = {
            "kind": "mastodon",
            "brands": ["acme"],
            "settings": {"url": fake.url, "per_minute": 100_000, "together": 1000, "at_once": 100},
            "credentials": {"token": fake.token},
        }
        async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, trust_env=False, timeout=20) as api:
            (await api.put(f"{address}/v1/accounts/mastodon", json=body)).raise_for_status()
        environment = {
            "DATABASE_URL": url,
            "RABBITMQ_URL": world.rabbitmq_url,
            "GATEWAY_URL": address,
            "POST_RETRY_SECONDS": ",".join(["0.5"] * 8),
            "MAX_ATTEMPTS": "12",
            "RETRY_BASE_SECONDS": "0.5",
        }
        play = _SocialReplicas(world, url, environment, fake, broker)
        await play.start()
        yield play


async def _started(
    world: FaultHarness, name: str, program: str, environment: dict[str, str]
) -> WorkerProcess:
    values = {"SERVICE_KEY": KEY, "SHUTDOWN_GRACE_SECONDS": "5", **environment}
    worker = processes.start(name, program, values, world.folder, world.history)
    world.workers.append(worker)
    await worker.ready()
    return worker
