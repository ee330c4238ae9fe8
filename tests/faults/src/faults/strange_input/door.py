"""The broker door: a real service behind real queues, strange messages put in by hand, and what came of each.

async with RecordingService.open(rabbitmq_url, database_url, owner_url=owner_url) as door:
    violations = await door.judge(messages)
"""

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import aio_pika
import aiormq
import asyncpg
import structlog
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from hypothesis import HealthCheck, Phase, given, seed, settings

from chassis.testing import eventually, running
from envelope import DeadLetterResolved, DomainMessage, Payload, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    ContentGenerate,
    ContentPublish,
    ResearchCompleted,
    ResearchRequested,
    SocialCreate,
)
from faults.strange_input.messages import (
    FAILS,
    HOPELESS,
    KINDS,
    SECRET,
    ExpectedEnd,
    StrangeMessage,
    again,
    dressed,
)
from faults.strange_input.properties import PROPERTIES
from messaging import RetryLater, Service, ServiceSettings, Transaction, Unprocessable, on_batch, on_each
from messaging.broker import frames
from messaging.broker.bulk_publish import BulkPublisher, OutgoingMessage
from messaging.broker.deliveries import Delivery, delivery_of
from messaging.flow import dead_letters
from messaging.flow.dead_letters import DeadLetter
from messaging.flow.handlers import Context, Handler, Record
from messaging.topology import RETURNS, dead_letter_queue, work_queues

LONGEST_DETAIL: Final = 2_100
"""What a person may be asked to read, in characters: the runtime's limit and a few words around it."""
_BATCH: Final = 200
_LARGE: Final = 100_000
NAME: Final = "door"
"""Of the service behind the door."""
MONITORS: Final = "monitor-commands"
_SETTLED_WITHIN: Final = 60.0


def draw(count: int, *, number: int) -> list[StrangeMessage]:
    """About `count` strange messages of all kinds, the same for the same seed `number`."""
    drawn: dict[UUID | bytes, StrangeMessage] = {}
    cells = [(kind, properties) for kind in KINDS for properties in PROPERTIES.values()]
    for offset, (kind, properties) in enumerate(cells):

        @seed(number * len(cells) + offset)
        @settings(
            max_examples=max(count // len(cells), 1),
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(dressed(kind(), properties))
        def collect(message: StrangeMessage) -> None:
            # Hypothesis likes to repeat itself; here each is to be told from all others, copies apart.
            drawn.setdefault(message.event_id or message.body, message)

        collect()
    return sorted(drawn.values(), key=lambda message: hashlib.sha256(message.body).digest())


def multiply(messages: Sequence[StrangeMessage], count: int, *, number: int) -> list[StrangeMessage]:
    """`count` messages as strange as those, each with an identity of its own and the properties of another."""
    rng = random.Random(number)
    properties = [message.properties for message in messages]
    # Large ones take the broker ten times as long as all others together, and teach nothing new.
    weights = [0.1 if len(message.body) > _LARGE else 1.0 for message in messages]
    return [again(each, rng, properties) for each in rng.choices(messages, weights, k=count)]


class RecordingService:
    """Consumes the queues of all handlers and records each handled message; the log of events only gets copies."""

    def __init__(self, service: Service, pool: "asyncpg.Pool[Any]", publisher: BulkPublisher) -> None:
        self.service = service
        self.buried: list[DeadLetter] = []
        self._pool = pool
        self._publisher = publisher
        self._sent = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, rabbitmq_url: str, database_url: str, *, owner_url: str, beside_the_monitor: bool = False
    ) -> AsyncIterator["RecordingService"]:
        """Starts the service; `rabbitmq_url` has the topology, `database_url` the tables of `messaging`.

        `owner_url` is the same database for the role that owns them.

        Beside the monitor it leaves that one's queues to it, dead letters included.
        """
        left_out = {CATALOGUE.event_log_queue, *((MONITORS,) if beside_the_monitor else ())}
        queues = [queue for queue in work_queues(CATALOGUE) if queue not in left_out]
        service = _service(rabbitmq_url, database_url, queues)
        async with (
            asyncpg.create_pool(owner_url, min_size=1, max_size=4) as pool,
            await aio_pika.connect(rabbitmq_url, timeout=15) as connection,
            connection.channel(publisher_confirms=True) as channel,
            connection.channel() as reading,
        ):
            # No unique constraint: an effect that happens twice must show.
            await pool.execute("create table door_effects (event_id uuid not null)")
            await pool.execute("grant select, insert on door_effects to public")
            underlay = await channel.get_underlay_channel()
            assert isinstance(underlay, aiormq.Channel)
            publisher = BulkPublisher.on(underlay)
            assert publisher is not None
            door = cls(service, pool, publisher)
            # What is said of thousands of bad messages would drown a terminal.
            with structlog.testing.capture_logs():
                async with running(service):
                    if not beside_the_monitor:
                        for queue in queues:
                            await _DeadLetterReader(queue, door.buried).watch(reading)
                    yield door

    async def judge(self, messages: Sequence[StrangeMessage]) -> list[str]:
        """Puts the messages in, waits until each has an outcome, and says what is wrong with them."""
        violations: list[str] = []
        for start in range(0, len(messages), _BATCH):
            batch = messages[start : start + _BATCH]
            self.buried.clear()
            neighbours = await self.send(batch)
            settled = await self._settled(batch, neighbours)
            violations += [] if settled else ["not everything had an outcome in time"]
            violations += await self._outcomes(batch, neighbours)
            violations += self._reasons(batch)
            if violations:
                break
        return violations

    async def send(self, messages: Sequence[StrangeMessage]) -> list[UUID]:
        """Publishes them straight to the broker, then a sound neighbour into each queue; returns the neighbours' ids."""
        publications = [self._publication(each) for each in messages for _ in range(each.copies)]
        queues = {runner.queue for runner in self.service.runners}
        neighbours = [_neighbour(payload) for payload in _NEIGHBOURS if _queue_of(payload) in queues]
        publications += [_sound(message) for message in neighbours]
        async with asyncio.timeout(_SETTLED_WITHIN):
            batch = await self._publisher.send(*zip(*publications, strict=True))
            await self._publisher.wait(batch)
        refused = [error for error in self._publisher.outcomes(batch) if error is not None]
        assert not refused, f"the broker let {len(refused)} of them not in: {refused[0]!r}"
        return [message.event_id for message in neighbours]

    def _publication(self, message: StrangeMessage) -> tuple[OutgoingMessage, bytes]:
        self._sent += 1
        publication = _publication(message.queue, message.body, f"strange-{self._sent}")
        return publication, message.properties.encode(publication.message_id.encode())

    async def effects(self) -> Counter[UUID]:
        rows = await self._pool.fetch(
            "select event_id, count(*) as times from door_effects group by event_id"
        )
        return Counter({UUID(int=row["event_id"].int): row["times"] for row in rows})

    async def _settled(self, batch: Sequence[StrangeMessage], neighbours: Sequence[UUID]) -> bool:
        expected = sum(message.outcomes for message in batch) + len(neighbours)
        ids = [message.event_id for message in batch if message.event_id is not None] + list(neighbours)

        async def all_there() -> bool:
            done = await self._pool.fetchval(
                "select count(*) from door_effects where event_id = any($1)", ids
            )
            return done + len(self.buried) >= expected and not await self._pool.fetchval(
                "select count(*) from outbox"
            )

        try:
            await eventually(all_there, within=_SETTLED_WITHIN)
        except AssertionError:
            return False
        return True

    async def _outcomes(self, batch: Sequence[StrangeMessage], neighbours: Sequence[UUID]) -> list[str]:
        effects = await self.effects()
        deaths = Counter((letter.queue, letter.body) for letter in self.buried)
        found = [
            f"the neighbour {each} had {effects[each]} effects" for each in neighbours if effects[each] != 1
        ]
        for message in batch:
            done = effects[message.event_id] if message.event_id is not None else 0
            died = deaths.pop((message.queue, message.body), 0)
            if not _as_expected(message, done, died):
                found.append(
                    f"{describe(message)}: {done} effects, {died} dead letters, expected one {message.expected}"
                )
        return found + [
            f"a dead letter in {queue} that nobody sent: {body[:200]!r}" for queue, body in deaths
        ]

    def _reasons(self, batch: Sequence[StrangeMessage]) -> list[str]:
        by_body = {(message.queue, message.body): message for message in batch}
        return [
            f"{describe(message)}: died as {letter.reason}, {letter.detail[:300]!r}: {complaint}"
            for letter in self.buried
            if (message := by_body.get((letter.queue, letter.body))) is not None
            and (complaint := complaint_about(letter, message)) is not None
        ]


class _DeadLetterReader:
    """Reads one dead-letter queue as the monitor does: past properties that the client library cannot read."""

    def __init__(self, queue: str, buried: list[DeadLetter]) -> None:
        self._queue = queue
        self._decode = dead_letters.decoder(queue)
        self._buried = buried
        frames.take_deliveries(self)

    async def watch(self, channel: AbstractChannel) -> None:
        queue = await channel.get_queue(dead_letter_queue(self._queue), ensure=False)
        await queue.consume(self._consume, no_ack=True)

    async def _consume(self, message: AbstractIncomingMessage) -> None:
        self.take(delivery_of(message))

    def take(self, delivery: Delivery) -> None:
        message = self._decode(delivery.body, delivery.type, delivery.headers)
        assert isinstance(message, DomainMessage)
        assert isinstance(message.payload, DeadLetter)
        if not _is_own_report(message.payload):
            self._buried.append(message.payload)

    def cancelled(self, tag: str) -> None:
        """Does nothing: no other consumer takes the dead-letter queue."""


def _is_own_report(letter: DeadLetter) -> bool:
    """Whether the door itself sent it: a message that calls itself a replay reports its original as resolved, and only services may."""
    return letter.queue == MONITORS and f'"source":"{NAME}"'.encode() in letter.body


def complaint_about(letter: DeadLetter, message: StrangeMessage) -> str | None:
    """Returns what is unreadable in the reason; None if it is fine."""
    detail = letter.detail
    if not detail.strip() or not letter.reason:
        return "no reason is given"
    if len(detail) > LONGEST_DETAIL:
        return f"{len(detail):,} characters are too many"
    if SECRET in detail:
        return "it repeats the input"
    if not detail.replace("\n", " ").isprintable():
        return "it cannot be printed"
    if not any(name in detail for name in message.names):
        return f"it names none of {', '.join(message.names)}"
    return None


def describe(message: StrangeMessage) -> str:
    return f"{message.what} (x{message.copies}, {message.properties}, {len(message.body):,} bytes {message.body[:300]!r})"


def _as_expected(message: StrangeMessage, done: int, died: int) -> bool:
    match message.expected:
        case ExpectedEnd.EFFECT:
            return (done, died) == (1, 0)
        case ExpectedEnd.DEATH:
            return (done, died) == (0, message.outcomes)
        case ExpectedEnd.EITHER:
            return done + died == 1


# -- the service behind the door ---------------------------------------------------------------------------------------

_NEIGHBOURS: Final[tuple[Payload, ...]] = (
    ContentGenerate(brand_slug="acme", content_id=new_event_id(), research_id=new_event_id(), keyword="tea"),
    ResearchRequested(brand_slug="acme", keyword="tea"),
    ContentPublish(brand_slug="acme", content_id=new_event_id(), target="site"),
    SocialCreate.model_validate(
        {
            "brand_slug": "acme",
            "content_id": new_event_id(),
            "article_context": {"title": "Tea", "keyword": "tea", "meta_description": ""},
        }
    ),
    DeadLetterResolved(
        dead_event_id=new_event_id(), replay_event_id=new_event_id(), queue="orchestrator-commands"
    ),
    ResearchCompleted(brand_slug="acme", research_id=new_event_id(), keyword="tea"),
)
"""One sound message for each queue."""


def _queue_of(payload: Payload) -> str:
    return CATALOGUE.type_of(payload).queue


def _neighbour(payload: Payload) -> DomainMessage[Payload]:
    entry = CATALOGUE.type_of(payload)
    return entry.envelope(
        event_id=new_event_id(),
        type=entry.name,
        source=entry.producers[0],
        timestamp=datetime.now(UTC),
        payload=payload,
    )


def _publication(queue: str, body: bytes, message_id: str) -> OutgoingMessage:
    return OutgoingMessage(
        RETURNS, queue, body, message_id, type="", correlation_id=None, app_id=NAME, headers={}
    )


def _sound(message: DomainMessage[Payload]) -> tuple[OutgoingMessage, bytes]:
    publication = _publication(CATALOGUE[message.type].queue, encode(message), str(message.event_id))
    return publication, publication.properties()


def _service(rabbitmq_url: str, database_url: str, queues: Sequence[str]) -> Service:
    values = {
        "rabbitmq_url": rabbitmq_url,
        "database_url": database_url,
        "service_key": "a-key-for-tests-only",
        "http_port": 0,
        "log_level": "error",
        "max_attempts": 2,
        "retry_base_seconds": 0.05,
        "shutdown_grace_seconds": 5,
    }
    service = Service(NAME, ServiceSettings.model_validate(values), CATALOGUE)
    for number, queue in enumerate(queues):
        payloads = [entry.payload for entry in CATALOGUE.values() if entry.queue == queue]
        # Both shapes of handler are behind some of the queues.
        handlers: list[Handler] = (
            [on_batch(_record_all, *payloads)]
            if number % 2
            else [on_each(_record_one, each) for each in payloads]
        )
        service.consume(queue, *handlers)
    return service


async def _record_all(messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
    for message in messages:
        error = _failure(message)
        if error is None:
            await tx.connection.execute("insert into door_effects values ($1)", message.event_id)
        else:
            tx.fail(message, error)


async def _record_one(message: DomainMessage[Any], _: Context) -> Record | None:
    if error := _failure(message):
        raise error

    async def record(tx: Transaction) -> None:
        await tx.connection.execute("insert into door_effects values ($1)", message.event_id)

    return record


def _failure(message: DomainMessage[Any]) -> Exception | None:
    if message.causation_id == FAILS:
        return RetryLater(f"the cause {FAILS} asks for it")
    if message.causation_id == HOPELESS:
        return Unprocessable(f"the cause {HOPELESS} asks for it")
    return None
