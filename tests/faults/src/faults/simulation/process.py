"""One incarnation of a replica: the real runner, settlement, relay and publisher over the simulated surroundings."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import aio_pika
from aiormq.exceptions import ConnectionClosed

from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublished, ResearchCompleted
from faults.simulation.broker.consuming import ConsumingChannel
from faults.simulation.broker.publishing import PublishingChannel
from faults.simulation.database.pool import SimulatedConnections
from faults.simulation.database.tables import write_effects
from faults.simulation.loop import PROCESS, CallbackHandle, VirtualTask
from faults.simulation.plan import BATCH_TYPE, QUEUE, SINGLE_TYPE, CommandKind
from faults.simulation.surroundings import SimulatedServers
from messaging.broker.deliveries import Delivery
from messaging.broker.publisher import Publisher
from messaging.broker.subscription import WATCH_SECONDS
from messaging.errors import Unprocessable
from messaging.flow import codec
from messaging.flow.handlers import Context as HandlerContext
from messaging.flow.handlers import Handler, OnBatch, OnEach, Record
from messaging.flow.relay import Relay
from messaging.flow.runner import QueueRunner
from messaging.flow.settlement import Settlement
from messaging.flow.transactions import Database, Transaction

SERVICE: Final = "research"
GRACE_SECONDS: Final = 20.0
_DECODE: Final = codec.decoder(CATALOGUE, (BATCH_TYPE, SINGLE_TYPE), QUEUE)
_ID: Final = UUID(int=1)
_RESEARCHED: Final = ResearchCompleted(brand_slug="brand", research_id=_ID, keyword="keyword")
_PUBLISHED: Final = ContentPublished(brand_slug="brand", content_id=_ID, published_url="http://localhost/")


class SimulatedPublisher(Publisher):
    """The real publisher on simulated connections."""

    def __init__(self, schedule: SimulatedServers, process: "SimulatedProcess") -> None:
        super().__init__("", name=process.name)
        self._schedule = schedule
        self._process = process

    async def _connect(self, seconds: float) -> asyncio.Future[Any]:
        schedule = self._schedule
        await schedule.loop.pause(schedule.latency())
        if schedule.broker.down:
            raise ConnectionRefusedError("the broker is down")
        channel: Any = PublishingChannel(schedule.broker, self._process)
        self._connection = channel.connection
        self._bulk = channel.bulk
        self._channel = channel
        self._connected.set()
        closed: asyncio.Future[Any] = channel.closing
        return closed


class SimulatedSubscription:
    """Stands for `messaging.broker.subscription.Subscription`: the same promises, without FastStream and aio-pika."""

    def __init__(
        self,
        broker: "SimulatedProcess",
        queue: str,
        *,
        prefetch: int,
        on_delivery: Callable[[Delivery], None],
    ) -> None:
        self.queue = queue
        self._process = broker
        self._schedule = broker.schedule
        self._prefetch = prefetch
        self._on_delivery = on_delivery
        self._channel: ConsumingChannel | None = None
        self._paused = False
        self._started = False
        self._lock = asyncio.Lock()
        broker.subscription = self

    async def start(self) -> None:
        async with self._lock:
            await self._consume()
            self._started = True

    async def pause(self) -> None:
        async with self._lock:
            self._paused = True
            await self._cancel()

    async def resume(self) -> None:
        async with self._lock:
            self._paused = False
            with suppress(aio_pika.exceptions.AMQPError, OSError):
                await self._consume()

    @property
    def held(self) -> bool:
        """No operator pauses a queue here."""
        return False

    @property
    def consuming(self) -> bool:
        channel = self._channel
        return self._started and channel is not None and not channel.is_closed and channel.consuming

    @property
    def healthy(self) -> bool:
        return self._paused or self.consuming

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self.healthy:
                continue
            try:
                async with self._lock:
                    if not self.healthy:
                        await self._consume()
            except (aio_pika.exceptions.AMQPError, OSError):
                pass

    def channel_lost(self) -> None:
        """Reconnects as the client library does, and consumes again unless cancelled."""
        self._schedule.loop.create_task(self._restore(), context=self._process.context)

    async def _restore(self) -> None:
        while self._process.alive and not self.healthy:
            await asyncio.sleep(1.0)
            try:
                if not self._paused and self._started and not self.consuming:
                    await self._consume()
            except (aio_pika.exceptions.AMQPError, OSError):
                continue
            return

    async def _consume(self) -> None:
        schedule, broker = self._schedule, self._schedule.broker
        await schedule.loop.pause(schedule.latency())
        if broker.down:
            raise ConnectionClosed(320, "the broker is down")
        if self._channel is None or self._channel.is_closed:
            self._channel = ConsumingChannel(broker, self._process, self._prefetch, self._on_delivery)
        if self._channel.open:
            self._channel.consuming = True
            broker.pump()

    async def _cancel(self) -> None:
        """No delivery arrives once this has returned; until then some may."""
        schedule, channel = self._schedule, self._channel
        if channel is None or channel.is_closed:
            return
        await schedule.loop.pause(schedule.latency())
        channel.consuming = False
        late = channel.arrives_until - schedule.loop.now
        await schedule.loop.pause(max(late, 0.0) + schedule.latency())


class SimulatedProcess:
    """A process of the service, from start to death or orderly end."""

    def __init__(self, schedule: SimulatedServers, replica: int, incarnation: int) -> None:
        self.schedule = schedule
        self.replica = replica
        self.name = f"{'abc'[replica]}{incarnation}"
        self.alive = True
        self.frozen = False
        self.partitioned = False
        self.stopping = False
        self.stopped = False
        self.held: list[CallbackHandle] = []
        self.tasks: list[VirtualTask] = []
        self.vital: list[asyncio.Task[Any]] = []
        self.subscription: SimulatedSubscription | None = None
        self.clock = timedelta(seconds=schedule.plan.skew * (replica + 1))
        """How far its clock is ahead of the database's."""
        self.context: Context = copy_context()
        self.context.run(PROCESS.set, self)
        self.context.run(self._build)
        schedule.loop.create_task(self._boot(), context=self.context)

    def _build(self) -> None:
        schedule, plan = self.schedule, self.schedule.plan
        self._connections = SimulatedConnections(schedule.store, self, plan.pool)
        self._publisher = SimulatedPublisher(schedule, self)
        self.relay = Relay(self._connections, self._publisher, backlog_limit=plan.backlog_limit)
        self.database = Database(self._connections, self.relay, SERVICE, CATALOGUE)
        table: dict[str, Handler] = {
            BATCH_TYPE: OnBatch(self._on_batch, (CATALOGUE[BATCH_TYPE].payload,)),
            SINGLE_TYPE: OnEach(self._on_single, (CATALOGUE[SINGLE_TYPE].payload,)),
        }
        broker: Any = self
        self.runner = QueueRunner(
            broker,
            self._connections,
            self.relay,
            Settlement(self.database, SERVICE, QUEUE, plan.policy),
            queue=QUEUE,
            decode=codec.delivery_reader(_DECODE),
            table=table,
            policy=plan.policy,
            crash_lock=asyncio.Lock(),
        )

    # -- life, as `messaging.service` orders it ----------------------------------------------------------------------

    async def _boot(self) -> None:
        self.vital.append(asyncio.create_task(self._publisher.run(), name="publishing connection"))
        await self._connections.open()
        self.vital.append(asyncio.create_task(self.relay.run(), name="relay"))
        while True:
            try:
                await self.runner.start()
            except (aio_pika.exceptions.AMQPError, OSError, TimeoutError, RuntimeError):
                await asyncio.sleep(0.5)
            else:
                break
        self.vital.extend(self.runner.tasks)

    def stop(self) -> None:
        """As on SIGTERM."""
        if self.alive and not self.stopping:
            self.stopping = True
            self.schedule.loop.create_task(self._shut_down(), context=self.context)

    async def _shut_down(self) -> None:
        await self.runner.stop(GRACE_SECONDS)
        try:
            async with asyncio.timeout(5.0):
                await self.relay.flush()
        except TimeoutError:
            pass
        for task in self.vital:
            task.cancel()
        await asyncio.gather(*self.vital, return_exceptions=True)
        self.stopped = True
        self.schedule.ended(self)

    def channel_lost(self, channel: object) -> None:
        if self.alive and self.subscription is not None and self.subscription._channel is channel:
            self.subscription.channel_lost()

    # -- the handlers ------------------------------------------------------------------------------------------------

    async def _on_batch(self, messages: Sequence[Any], tx: Transaction) -> None:
        schedule = self.schedule
        commands = [(schedule.commands[message.event_id], message) for message in messages]
        good: list[Any] = []
        for command, message in commands:
            command.runs += 1
            if command.kind is CommandKind.LATE and command.runs <= command.times:
                tx.fail(message, Unprocessable("late") if command.number % 2 else ValueError("late"))
            else:
                good.append(message)
        if good:
            connection: Any = tx.connection
            await write_effects(connection, [message.event_id for message in good])
        for command, message in commands:
            if command.kind is not CommandKind.LATE or message in good:
                await self._behave(command)
        for message in good:
            kind = schedule.commands[message.event_id].kind
            schedule.send(tx, _RESEARCHED, message, delayed=kind is CommandKind.DELAYED)

    async def _on_single(self, message: Any, context: HandlerContext) -> Record | None:
        schedule = self.schedule
        command = schedule.commands[message.event_id]
        command.runs += 1
        schedule.checks.attempted(command, context.attempt)
        await schedule.loop.pause(schedule.latency() * 4)
        await self._behave(command)

        async def record(tx: Transaction) -> None:
            connection: Any = tx.connection
            await write_effects(connection, [message.event_id])
            schedule.send(tx, _PUBLISHED, message, delayed=command.kind is CommandKind.DELAYED)

        return record

    async def _behave(self, command: Any) -> None:
        schedule = self.schedule
        if command.kind.innocent or command.runs > command.times:
            return
        match command.kind:
            case CommandKind.FAILING:
                raise ValueError("as it always does")
            case CommandKind.HOPELESS:
                raise Unprocessable("no attempt can succeed")
            case CommandKind.SLOW:
                await asyncio.sleep(schedule.plan.policy.handler_timeout * 1.5)
            case CommandKind.CRASHING:
                command.crashes += 1
                schedule.note(self, "dies of", str(command))
                schedule.kill(self)
                await schedule.loop.create_future()
            case _:
                pass
