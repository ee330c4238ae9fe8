"""Big batches on two orchestrators, killed in the midst of it, while every answer comes late, twice and out of order."""

import asyncio
import random
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import UUID

import aio_pika
import asyncpg
import httpx

from chassis.testing import eventually
from envelope import DomainMessage, Payload, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentPublishFailed,
    ContentRefused,
    ResearchCompleted,
    ResearchFailed,
)
from envelope.message import encode
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.replicas import KILLED, OrchestratorReplicas
from faults.playing.scenario import scenario
from faults.playing.stack import KEY
from faults.playing.world import FaultHarness

_BRANDS: Final = 3
_CYCLES: Final = 6
_KEYWORDS: Final = 250
"""Of each cycle."""
_KILLS: Final = 10
_MOST_RESEARCH: Final = 64
_MOST_ARTICLES: Final = 16
_ENDED: Final = """
    select count(*) from keywords where state not in ('queued', 'writing', 'publishing', 'promoting')
"""


@scenario(
    "big batches on two replicas",
    "SIGKILL to one of two orchestrators after the other while batches are handed in and drained; answers come thrice, in any order",
    faults=(KILLED,),
    budget=420.0,
)
async def big_batches_on_two_replicas(world: FaultHarness) -> ScenarioOutcome:
    database_url = await world.servers.create_database("orchestrator")
    pool = await asyncpg.create_pool(database_url, min_size=0, max_size=4)
    total = _CYCLES * _KEYWORDS
    try:
        async with (
            OrchestratorReplicas.running(world, database_url) as replicas,
            FakePeers.answering(world, pool) as others,
        ):
            handing_in = asyncio.create_task(hand_in(replicas))
            for count in sorted(world.rng.sample(range(50, total - 100), _KILLS)):
                await until_ended(pool, count)
                await replicas.kill_and_start()
            await handing_in
            await until_ended(pool, total)
        keywords = [tuple(row) for row in await pool.fetch("select keyword, state from keywords")]
        violations = [
            *judge(keywords, others.requested, total=total),
            *await judge_counts(pool, _KEYWORDS),
            *others.crowded,
        ]
    finally:
        await pool.close()
    return ScenarioOutcome(
        submitted=total,
        effects=len(keywords),
        dead_letters=0,
        lost=total - len(keywords),
        duplicated=sum(len(ids) - 1 for ids in others.requested.values()),
        fired=world.history.faults[KILLED],
        seconds_to_heal=0.0,
        violations=tuple(violations),
    )


def end_of(keyword: str) -> str:
    """How a keyword is to end."""
    return ("refused", "completed", "completed", "unsupported", "failed")[zlib.crc32(keyword.encode()) % 5]


_STATES: Final = {
    "refused": "refused",
    "unsupported": "refused",
    "completed": "completed",
    "failed": "failed",
}


def judge(
    ended: Sequence[tuple[str, str]], requested: Mapping[str, AbstractSet[str]], *, total: int
) -> Iterator[Violation]:
    """`ended` are the keywords with their states, `requested` the ids of each one's commands to research."""
    if len(ended) != total:
        yield Violation(1, f"{len(ended)} keywords are stored of {total} that were handed in")
    if wrong := [keyword for keyword, state in ended if state != _STATES[end_of(keyword)]]:
        yield Violation(
            1, f"{len(wrong)} keywords ended otherwise than their answers say, such as {wrong[0]}"
        )
    if twice := [keyword for keyword, ids in requested.items() if len(ids) > 1]:
        yield Violation(
            1, f"{len(twice)} keywords were asked of research by two commands, such as {twice[0]}"
        )
    if never := [keyword for keyword, _ in ended if keyword not in requested]:
        yield Violation(1, f"{len(never)} keywords were never asked of research, such as {never[0]}")


async def judge_counts(pool: Any, total: int) -> list[Violation]:
    """The counts of every cycle of so many keywords against its rows, once all of them have ended."""
    wrong = await pool.fetch(
        """
        select c.cycle_id from cycles as c cross join lateral (
            select count(*) as total, count(*) filter (where state = 'completed') as completed,
                   count(*) filter (where state = 'refused') as refused,
                   count(*) filter (where state = 'failed') as failed
            from keywords as k where k.cycle_id = c.cycle_id
        ) as seen
        where (seen.completed, seen.refused, seen.failed, 0, 0, 0, 0, 0, 0, 0)
              is distinct from (c.completed, c.refused, c.failed, c.queued, c.writing, c.publishing, c.promoting,
                                c.awaiting_research, c.awaiting_writing, c.following)
           or seen.total <> $1 or c.ended_at is null
        """,
        total,
    )
    return [Violation(1, f"{len(wrong)} cycles count otherwise than their keywords")] if wrong else []


async def until_ended(pool: Any, count: int) -> None:
    async def reached() -> bool:
        await asyncio.sleep(0.05)
        return bool(await pool.fetchval(_ENDED) >= count)

    await eventually(reached, within=300)


async def hand_in(replicas: OrchestratorReplicas) -> None:
    """Each batch by a key of its own, of whichever replica answers, again and again until one does."""
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, timeout=5, trust_env=False) as client:
        for number in range(_CYCLES):
            slug = f"brand-{number % _BRANDS}"
            keywords = [f"subject {number} {place}" for place in range(_KEYWORDS)]
            key = {"Idempotency-Key": f"batch {number}"}
            await insist(client, replicas, "PUT", f"/v1/brands/{slug}", {"name": slug, "channels": []}, {})
            await insist(client, replicas, "POST", f"/v1/brands/{slug}/research", {"keywords": keywords}, key)


async def insist(
    client: httpx.AsyncClient,
    replicas: OrchestratorReplicas,
    method: str,
    path: str,
    body: dict[str, Any],
    headers: dict[str, str],
) -> None:
    """Asks whichever replica answers, again and again until one does."""

    async def done() -> bool:
        for url in replicas.urls:
            with suppress(httpx.HTTPError):
                answer = await client.request(method, f"{url}{path}", json=body, headers=headers)
                if answer.is_success:
                    return True
        await asyncio.sleep(0.1)
        return False

    await eventually(done)


class FakePeers:
    """Answers for research, the writers and the publisher: late, up to three times, in any order.

    Attributes:
        requested: ids of the commands by which each keyword was asked of research.
        crowded: brands with more work in hand than their limit.
    """

    def __init__(
        self,
        world: FaultHarness,
        pool: Any,
        events: aio_pika.abc.AbstractExchange,
        end_of: Callable[[str], str],
    ) -> None:
        self._end_of = end_of
        self._rng = random.Random(world.rng.random())
        self._pool = pool
        self._events = events
        self._tasks: set[asyncio.Task[None]] = set()
        self._written: set[UUID] = set()
        self.requested: dict[str, set[str]] = {}
        self.crowded: list[Violation] = []

    @classmethod
    @asynccontextmanager
    async def answering(
        cls, world: FaultHarness, pool: Any, end_of: Callable[[str], str] = end_of
    ) -> AsyncIterator[Self]:
        """`end_of` says of a keyword how it is to end."""
        connection = await aio_pika.connect(world.rabbitmq_url)
        async with connection:
            channel = await connection.channel()
            await channel.set_qos(prefetch_count=50)
            others = cls(world, pool, await channel.get_exchange("brand-events", ensure=False), end_of)
            for queue in ("research-commands", "publisher-commands"):
                await (await channel.get_queue(queue, ensure=False)).consume(others._take)
            writing = asyncio.create_task(others._write())
            try:
                yield others
            finally:
                writing.cancel()
                with suppress(asyncio.CancelledError):
                    await writing
                await asyncio.gather(*others._tasks)

    async def _take(self, message: aio_pika.abc.AbstractIncomingMessage) -> None:
        told = DomainMessage[Any].model_validate_json(message.body)
        payload = dict(told.payload)
        await message.ack()
        match told.type:
            case "research.requested":
                keyword = payload["keyword"]
                self.requested.setdefault(keyword, set()).add(str(told.event_id))
                about = {"brand_slug": payload["brand_slug"], "keyword": keyword}
                answer: Payload = (
                    ResearchFailed(**about, reason="insufficient_sources")
                    if self._end_of(keyword) == "refused"
                    else ResearchCompleted(**about, research_id=new_event_id())
                )
            case _:
                keyword = await self._keyword(UUID(payload["content_id"]))
                about = {"brand_slug": payload["brand_slug"], "content_id": payload["content_id"]}
                answer = (
                    ContentPublishFailed(**about, target="site", reason="unknown_target")
                    if self._end_of(keyword) == "failed"
                    else ContentPublished(**about, published_url="http://site.test/1")
                )
        self._tell(answer, told.correlation_id)

    async def _keyword(self, content_id: UUID) -> str:
        keyword: str = await self._pool.fetchval(
            "select keyword from keywords where content_id = $1", content_id
        )
        return keyword

    async def _write(self) -> None:
        """Answers for the writers, by the database's rows, since their command goes to the orchestrators."""
        while True:
            rows = await self._pool.fetch(
                "select content_id, keyword, brand_slug, correlation_id from keywords join cycles using (cycle_id)"
                " where state = 'writing' and not awaits_turn"
            )
            for row in rows:
                if row["content_id"] not in self._written:
                    self._written.add(row["content_id"])
                    await self.store(row)
                    self._tell(self._announced(row), row["correlation_id"])
            await self._look_at_the_room()
            await asyncio.sleep(0.05)

    async def store(self, row: Any) -> None:
        """Puts down the article of a keyword: nothing of it is looked at here."""

    def _announced(self, row: Any) -> Payload:
        about = {
            "brand_slug": row["brand_slug"],
            "content_id": row["content_id"],
            "keyword": row["keyword"],
        }
        if self._end_of(row["keyword"]) == "unsupported":
            return ContentRefused(**about, reason="unsupported_draft", detail="")
        return ContentGenerated(**about, word_count=300)

    async def _look_at_the_room(self) -> None:
        crowded = await self._pool.fetch(
            """
            select brand_slug, count(*) filter (where k.state = 'writing' and not awaits_turn) as articles,
                   count(*) filter (where k.state = 'queued' and not awaits_turn and not follows) as research
            from keywords as k join cycles using (cycle_id) group by brand_slug
            """
        )
        for row in crowded:
            if row["articles"] > _MOST_ARTICLES or row["research"] > _MOST_RESEARCH:
                self.crowded = [Violation(4, f"more was in hand than there is room for: {dict(row)}")]

    def _tell(self, answer: Payload, chain: str | None) -> None:
        entry = CATALOGUE.type_of(answer)
        message: DomainMessage[Payload] = DomainMessage(
            event_id=new_event_id(),
            type=entry.name,
            source=entry.producers[0],
            timestamp=datetime.now(UTC),
            correlation_id=chain,
            payload=answer,
        )
        for _ in range(self._rng.randint(1, 3)):
            # Another message that says the same, or the very same.
            told = (
                message
                if self._rng.random() < 0.5
                else message.model_copy(update={"event_id": new_event_id()})
            )
            task = asyncio.create_task(self._later(encode(told), entry.name, self._rng.random() * 0.4))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _later(self, body: bytes, routing_key: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._events.publish(aio_pika.Message(body), routing_key=routing_key)
