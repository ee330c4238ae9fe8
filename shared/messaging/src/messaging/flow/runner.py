"""Runs one queue: takes deliveries, forms batches, runs handlers, settles, and waits out outages."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import timedelta
from time import perf_counter
from typing import Final
from uuid import UUID

import structlog
from faststream.rabbit import RabbitBroker

from chassis.database.pool import Connection, Connections, DatabaseUnavailableError, kept_plans, outage_in
from chassis.http import chain_headers
from chassis.http.chain_headers import ChainContext
from chassis.observing import logs, traces
from chassis.tasks import cancel_all
from envelope import Message
from messaging import fail_points
from messaging.broker.deliveries import Delivery, UnsettledDeliveries
from messaging.broker.subscription import Subscription
from messaging.flow.codec import DeliveryReader, NotAnEnvelope, event_id_in
from messaging.flow.dependencies import Dependency
from messaging.flow.failures import Failure, failure_of, interruption
from messaging.flow.handlers import Context, Handler, OnEach
from messaging.flow.intake import IncomingMessage, read, utc_now
from messaging.flow.policy import QueuePolicy
from messaging.flow.relay import Relay
from messaging.flow.replays import ReplayCheck
from messaging.flow.settlement import Settlement
from messaging.headers import Reason
from messaging.storage import crashes, inbox
from messaging.storage.running import HandlerRun

log = structlog.get_logger(__name__)

_CONFLICT_TRIES: Final = 3
_SHORTEST_PAUSE: Final = 0.5
"""Seconds without consuming after a database failure, doubled for each one in a row. With a full disk the database answers and refuses
all work, and every requeue brings a message nearer to the broker's delivery limit."""
_LONGEST_PAUSE: Final = 30.0
_HAND_BACK_SECONDS: Final = 5.0
"""Limit for storing the outcomes of attempts that the end of the process interrupted."""
_IDLE_PASSES: Final = 3
"""Passes of the event loop from the end of some handlers to that of others which take their slots, if these do not wait for anything."""
_LOCK_PAUSE: Final = 0.2
"""Seconds between attempts to lock a suspect that another replica is handling."""


class QueueRunner:
    """Consumes one queue: one batch at a time through set-based handlers, single handlers side by side."""

    def __init__(
        self,
        broker: RabbitBroker,
        connections: Connections,
        relay: Relay,
        settlement: Settlement,
        *,
        queue: str,
        decode: DeliveryReader,
        table: dict[str, Handler],
        policy: QueuePolicy,
        crash_lock: asyncio.Lock,
        dependencies: Sequence[Dependency] = (),
        replay_check: ReplayCheck | None = None,
    ) -> None:
        self.queue = queue
        self.policy = policy
        self.table = table
        self.settlement = settlement
        singly = all(isinstance(handler, OnEach) for handler in table.values())
        self.subscription = Subscription(
            broker, queue, prefetch=policy.held(singly=singly), on_delivery=self._receive
        )
        self._connections = connections
        self._relay = relay
        self._decode = decode
        self._dependencies = dependencies
        self._replay_check = replay_check
        self._unsettled = UnsettledDeliveries()
        self._waiting: deque[Delivery] = deque()
        self._arrived = asyncio.Event()
        self._full = asyncio.Event()
        self._slots = asyncio.Semaphore(policy.max_concurrency)
        self._next: deque[IncomingMessage] = deque()
        """Messages of single handlers that wait for a slot."""
        self._in_flight: dict[UUID, list[Delivery]] = {}
        self._busy: set[Delivery] = set()
        self._finished: list[IncomingMessage] = []
        self._finished_any = asyncio.Event()
        self._singles: set[asyncio.Task[None]] = set()
        self._attempts: dict[IncomingMessage, float] = {}
        """Messages in single handlers, with the start of each by `perf_counter`."""
        self._commits: dict[int, tuple[Sequence[IncomingMessage], float]] = {}
        """Batches in transactions, by their identity."""
        self._interrupted: list[IncomingMessage] = []
        self._held: dict[Delivery, UUID | None] = {}
        """Unsettled deliveries at the last call of `held`, with their message once it was read."""
        self._crash_lock = crash_lock
        self._marked: dict[UUID, Delivery] = {}
        self._database_lost = asyncio.Event()
        self._outages_in_a_row = 0
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []

    # -- lifecycle ---------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        await self.subscription.start()
        with kept_plans():
            self._tasks = [
                asyncio.create_task(self._run(), name=f"{self.queue} runner"),
                asyncio.create_task(self._commit_finished(), name=f"{self.queue} committer"),
                asyncio.create_task(self.subscription.watch(), name=f"{self.queue} watchdog"),
            ]

    @property
    def tasks(self) -> Sequence[asyncio.Task[None]]:
        """Tasks that run until `stop`; if one ends earlier, the service must end too."""
        return self._tasks

    @property
    def is_held(self) -> bool:
        """Whether operators have paused the queue, as far as this process knows."""
        return self.subscription.held

    async def hold(self) -> None:
        """Takes no more deliveries until `let_go`; finishes what has begun, and requeues the rest."""
        await self.subscription.hold()
        await self._requeue_waiting()

    async def let_go(self) -> None:
        """Takes deliveries again."""
        await self.subscription.let_go()

    @property
    def in_hand(self) -> int:
        """The number of unsettled deliveries."""
        return len(self._unsettled)

    def running(self) -> Iterator[HandlerRun]:
        """Yields the messages that are in a handler now, or whose outcome is being stored."""
        now = perf_counter()
        batches = [*self._commits.values(), *(([each], began) for each, began in self._attempts.items())]
        for messages, began in batches:
            for incoming in messages:
                yield HandlerRun(
                    event_id=incoming.event_id,
                    type=incoming.type,
                    queue=self.queue,
                    correlation_id=incoming.correlation_id,
                    attempt=incoming.attempt,
                    age=timedelta(seconds=now - began),
                )

    def held(self) -> list[UUID]:
        """Returns the messages that were unsettled at the call before already, those in handlers too."""
        self._held = {
            each: (self._held[each] or event_id_in(each.body)) if each in self._held else None
            for each in self._unsettled
        }
        return [event_id for event_id in self._held.values() if event_id is not None]

    async def stop(self, grace_seconds: float) -> None:
        """Takes no more deliveries, finishes work within the grace period and requeues the rest.

        It requeues messages of slow handlers that have not started at once: otherwise they would travel from one stopping replica to the next.
        Batches finish in milliseconds and are waited for. Interrupted attempts of slow handlers return through the outbox: the broker would
        count a requeue, and after two restarts in a row each such message would be handled alone as a suspected crasher.
        """
        self._stopping = True
        await self.subscription.pause()
        if any(isinstance(handler, OnEach) for handler in self.table.values()):
            await self._requeue_waiting()
        try:
            async with asyncio.timeout(grace_seconds):
                await self._unsettled.wait_until_none()
        except TimeoutError:
            log.warning("grace_period_over", queue=self.queue, unfinished=len(self._unsettled))
        await cancel_all(self._singles)
        await self._hand_back_interrupted()
        await cancel_all(self._tasks)
        await self._remove_markers()
        await self._unsettled.requeue(list(self._unsettled))

    async def _requeue_waiting(self) -> None:
        """Requeues the messages that no handler has begun."""
        # Take them from the runner first: it continues while they are requeued one by one.
        waiting = [*(incoming.delivery for incoming in self._drop_next()), *self._waiting]
        self._waiting.clear()
        await self._unsettled.requeue(waiting)

    async def _hand_back_interrupted(self) -> None:
        """Stores the outcomes of interrupted attempts; if that fails, the broker redelivers their messages.

        The broker itself has redelivered messages of closed channels.
        """
        self._unsettled.forget_closed()
        ours = [incoming for incoming in self._interrupted if incoming.delivery in self._unsettled]
        if not ours:
            return
        try:
            async with asyncio.timeout(_HAND_BACK_SECONDS):
                await self._settle(ours)
        except (DatabaseUnavailableError, TimeoutError) as error:
            log.warning("not_put_down", queue=self.queue, count=len(ours), error=repr(error))

    # -- intake ------------------------------------------------------------------------------------------------------

    def _receive(self, delivery: Delivery) -> None:
        self._unsettled.received(delivery)
        self._waiting.append(delivery)
        self._arrived.set()
        if len(self._waiting) >= self.policy.max_batch_size:
            self._full.set()

    async def _run(self) -> None:
        while True:
            await self._arrived.wait()
            if self._database_lost.is_set():
                await self._wait_out_outage()
                continue
            await self._relay.wait_for_room()
            for dependency in self._dependencies:
                await dependency.wait_for_turn(self.queue)
            if self.policy.max_batch_timeout and len(self._waiting) < self.policy.max_batch_size:
                await self._wait_to_fill()
            batch = [
                self._waiting.popleft() for _ in range(min(self.policy.max_batch_size, len(self._waiting)))
            ]
            if not self._waiting and not self._database_lost.is_set():
                # If the database was lost since the check above, the next round notices it.
                self._arrived.clear()
            self._full.clear()
            try:
                await self._handle(batch)
            except DatabaseUnavailableError as error:
                self._pause_consumption(error)

    async def _wait_to_fill(self) -> None:
        try:
            async with asyncio.timeout(self.policy.max_batch_timeout):
                await self._full.wait()
        except TimeoutError:
            pass

    async def _handle(self, deliveries: Sequence[Delivery]) -> None:
        fresh: list[IncomingMessage] = []
        suspects: list[IncomingMessage] = []
        traced = traces.active()
        for delivery in deliveries:
            incoming = read(delivery, self._decode, self.table, self.queue, traced=traced)
            if isinstance(incoming, NotAnEnvelope):
                self.settlement.counts.rejected += 1
                log.error(
                    "body_is_no_envelope", queue=self.queue, error=incoming.detail, bytes=len(delivery.body)
                )
                await self._unsettled.reject(delivery)
            elif crashes.is_suspect(delivery.headers, redelivered=delivery.redelivered):
                suspects.append(incoming)
            else:
                fresh.append(incoming)
        if self._replay_check is not None:
            await self._replay_check.check([*fresh, *suspects])
        batch = [incoming for incoming in fresh if not isinstance(incoming.handler, OnEach)]
        self.settlement.deadlines.end_late(batch, utc_now())
        singles = [incoming for incoming in fresh if isinstance(incoming.handler, OnEach)]
        if batch:
            await self._settle(batch)
        if singles:
            await self._start_singles(await self._acknowledge_known(singles))
        if suspects:
            for incoming in suspects:
                await self._handle_suspect(incoming)

    async def _acknowledge_known(self, messages: Sequence[IncomingMessage]) -> list[IncomingMessage]:
        """Acknowledges messages that have an outcome already, before slow work starts on them; returns the others."""
        async with self._connections.connection() as connection:
            known = await inbox.find_handled(connection, {incoming.event_id for incoming in messages})
            marked = [
                incoming.event_id
                for incoming in messages
                if incoming.delivery.redelivered and incoming.event_id in known
            ]
            if marked:
                # Marked by one consumer, finished by another.
                await crashes.clear(connection, self.queue, marked)
        duplicates = [incoming for incoming in messages if incoming.event_id in known]
        if duplicates:
            self.settlement.counts.duplicates += len(duplicates)
            log.info("duplicates_ignored", queue=self.queue, count=len(duplicates))
            for incoming in duplicates:
                traces.end_span(incoming.span)
            await self._unsettled.ack([incoming.delivery for incoming in duplicates])
        return [incoming for incoming in messages if incoming.event_id not in known]

    # -- single handlers ---------------------------------------------------------------------------------------------

    async def _start_singles(self, messages: Sequence[IncomingMessage]) -> None:
        """Starts each message once a slot is free; does not start it if the process stops or loses its database before."""
        self._next.extend(messages)
        while self._next:
            for dependency in self._dependencies:
                await dependency.wait_for_turn(self.queue)
            await self._slots.acquire()
            if self._database_lost.is_set():
                self._drop_next()  # requeued with the other unsettled deliveries
            elif self.is_held:
                # They were on their way here when the queue was paused.
                await self._requeue_waiting()
            if not self._next or not self._start_single(self._next.popleft()):
                self._slots.release()

    def _drop_next(self) -> list[IncomingMessage]:
        messages = list(self._next)
        self._next.clear()
        for incoming in messages:
            traces.end_span(incoming.span)
        return messages

    def _start_single(self, incoming: IncomingMessage) -> bool:
        """Starts the message in the acquired slot; returns False if it does not start."""
        if incoming.event_id in self._in_flight:
            # A copy of a message in work waits for that message's outcome.
            self._in_flight[incoming.event_id].append(incoming.delivery)
            return False
        self._in_flight[incoming.event_id] = []
        self._busy.add(incoming.delivery)
        task = asyncio.create_task(self._run_single(incoming), name=f"{self.queue} {incoming.event_id}")
        self._singles.add(task)
        task.add_done_callback(self._singles.discard)
        return True

    async def _run_single(self, incoming: IncomingMessage) -> None:
        try:
            await self._attempt(incoming)
        except DatabaseUnavailableError as error:
            await self._release_after_outage(incoming, error)
            return
        except asyncio.CancelledError:
            incoming.failure = interruption()
            self._interrupted.append(incoming)
            raise
        finally:
            self._slots.release()
        self._finished.append(incoming)
        self._finished_any.set()

    async def _attempt(self, incoming: IncomingMessage, *, alone: bool = False) -> None:
        """Runs a single handler; afterwards `incoming` has a record or a failure.

        It needs a task of its own: the fields of its log lines end with the task's context.
        """
        assert isinstance(incoming.handler, OnEach)
        assert incoming.message is not None
        # Here and not on arrival: it may have waited for its slot, or be a copy of a message in work.
        self.settlement.deadlines.end_late([incoming], utc_now())
        if incoming.failure is not None:
            return
        context = {
            "event_id": str(incoming.event_id),
            "type": incoming.type,
            "correlation_id": incoming.correlation_id,
            "attempt": incoming.attempt,
            "queue": self.queue,
            "processing_delay_ms": incoming.delay_ms(utc_now()),
        }
        began = self._attempts[incoming] = perf_counter()
        # Logs of a grouped record's write still name this message's span.
        log_of_message = structlog.get_logger(__name__, **context, **logs.ids_of(incoming.span))
        structlog.contextvars.bind_contextvars(**context)
        with traces.activated(incoming.span), chain_headers.within(_chain_of(incoming.message)):
            try:
                async with asyncio.timeout(self.policy.handler_timeout):
                    incoming.record = await incoming.handler.handler(
                        incoming.message,
                        Context(self.queue, incoming.attempt, log_of_message, alone=alone),
                    )
            except DatabaseUnavailableError:
                raise
            except TimeoutError as error:
                incoming.failure = _timed_out(error, self.policy.handler_timeout)
            except Exception as error:
                if outage := outage_in(error):
                    raise outage from error
                # Any other exception of a handler is an outcome of its message.
                incoming.failure = failure_of(error)
            finally:
                del self._attempts[incoming]
                ended = perf_counter()
                incoming.handler_ran = began, ended
                self.settlement.counts.note_call((incoming.type,), ended - began)

    async def _commit_finished(self) -> None:
        """Commits the results of single handlers; those ready at the same time in one transaction."""
        while True:
            await self._finished_any.wait()
            await self._let_quick_ones_finish()
            batch, self._finished = self._finished, []
            self._finished_any.clear()
            try:
                await self._settle(batch)
            except DatabaseUnavailableError as error:
                for incoming in batch:
                    await self._release_after_outage(incoming, error)
                continue
            for incoming in batch:
                self._reconsider_copies(incoming)

    async def _let_quick_ones_finish(self) -> None:
        """Waits while further handlers end with almost every pass of the event loop.

        As many as there are slots end in one pass, and those after them in the next ones. A transaction of their own would cost as much as one
        for all.
        """
        passes = 0
        while passes < _IDLE_PASSES and (count := len(self._finished)) < self.policy.max_batch_size:
            await asyncio.sleep(0)
            passes = passes + 1 if len(self._finished) == count else 0

    def _reconsider_copies(self, incoming: IncomingMessage) -> None:
        self._busy.discard(incoming.delivery)
        for delivery in self._in_flight.pop(incoming.event_id, []):
            self._waiting.append(delivery)
            self._arrived.set()

    async def _release_after_outage(self, incoming: IncomingMessage, error: DatabaseUnavailableError) -> None:
        """Requeues a message whose outcome could not be stored; the attempt does not count."""
        copies = self._in_flight.pop(incoming.event_id, [])
        self._busy.discard(incoming.delivery)
        traces.end_span(incoming.span, error)
        await self._unsettled.requeue([incoming.delivery, *copies])
        self._pause_consumption(error)

    # -- suspects ----------------------------------------------------------------------------------------------------

    async def _handle_suspect(self, incoming: IncomingMessage) -> None:
        """Handles a message alone, under a marker, because it may have killed its consumer."""
        if incoming.event_id in self._in_flight:
            self._in_flight[incoming.event_id].append(incoming.delivery)
            return
        async with self._crash_lock, self._connections.connection() as guard, guard.transaction():
            while not await crashes.try_lock(guard, self.queue, incoming.event_id):  # noqa: ASYNC110  (it is another process)
                await asyncio.sleep(_LOCK_PAUSE)
            if await self._acknowledge_known([incoming]):
                if await self._is_last_start(guard, incoming):
                    await asyncio.sleep(crashes.VERDICT_PAUSE)
                await self._handle_alone(incoming)

    async def _is_last_start(self, connection: Connection, incoming: IncomingMessage) -> bool:
        if self.policy.max_attempts is None:
            return False
        return await crashes.starts(connection, self.queue, incoming.event_id) >= crashes.MAX_STARTS

    async def _handle_alone(self, incoming: IncomingMessage) -> None:
        # Before the mark itself: where its reply is lost, it may stand all the same.
        self._marked[incoming.event_id] = incoming.delivery
        async with self._connections.connection() as connection:
            crashed = await crashes.mark(connection, self.queue, incoming.event_id)
        incoming.marked = True
        if fail_points.ARMED:
            fail_points.reach("suspect.marked")
        if crashed >= crashes.MAX_STARTS and self.policy.max_attempts is not None:
            incoming.failure = Failure(
                Reason.CRASHED_CONSUMER,
                "ConsumerCrashed",
                f"its consumer died {crashed} times while handling it; "
                "look for out of memory or a native fault, then replay",
            )
        elif isinstance(incoming.handler, OnEach):
            await asyncio.create_task(
                self._attempt(incoming, alone=True), name=f"{self.queue} {incoming.event_id}"
            )
        await self._settle([incoming])
        self._marked.pop(incoming.event_id, None)

    async def _remove_markers(self) -> None:
        """Removes the markers of suspects that ended without an outcome and without a crash."""
        if not self._marked:
            return
        try:
            async with self._connections.connection() as connection:
                await crashes.unmark(connection, self.queue, list(self._marked))
        except DatabaseUnavailableError:
            return
        self._marked.clear()

    # -- outcomes ----------------------------------------------------------------------------------------------------

    async def _settle(self, batch: Sequence[IncomingMessage]) -> None:
        """Stores the outcome of every message of the batch and acknowledges it.

        Raises:
            DatabaseUnavailableError: no message that is still unacknowledged has an outcome.
        """
        error = await self._try_commit(batch)
        if error is None:
            self._note_set_aside(batch)
            await self._unsettled.ack([incoming.delivery for incoming in batch])
            if fail_points.ARMED:
                fail_points.reach("delivery.acknowledged")
            return
        if len(batch) > 1:
            log.warning("batch_redone_singly", queue=self.queue, size=len(batch), error=repr(error))
            for incoming in batch:
                await self._settle([incoming])
            return
        (incoming,) = batch
        if incoming.failure is not None:
            # Not even the failure could be stored, so the message is not the cause.
            raise DatabaseUnavailableError(f"cannot record an outcome: {error!r}") from error
        incoming.record = None
        incoming.failure = (
            _timed_out(error, self.policy.handler_timeout)
            if isinstance(error, TimeoutError)
            else failure_of(error)
        )
        await self._settle(batch)

    def _note_set_aside(self, batch: Sequence[IncomingMessage]) -> None:
        for incoming in batch:
            if incoming.failure is not None and incoming.failure.waits_for:
                for dependency in self._dependencies:
                    if dependency.name == incoming.failure.waits_for:
                        dependency.set_aside(self.queue)

    async def _try_commit(self, batch: Sequence[IncomingMessage]) -> Exception | None:
        """Commits, or returns the error; retries deadlocks and serialization failures at once."""
        last: Exception | None = None
        self._commits[id(batch)] = batch, perf_counter()
        try:
            for _ in range(_CONFLICT_TRIES):
                if (last := await self._commit(batch)) is None or not _is_conflict(last):
                    break
        finally:
            del self._commits[id(batch)]
        return last

    async def _commit(self, batch: Sequence[IncomingMessage]) -> Exception | None:
        try:
            async with asyncio.timeout(self.policy.handler_timeout):
                await self.settlement.commit(batch)
        except DatabaseUnavailableError as error:
            for incoming in batch:
                traces.end_span(incoming.span, error)
            raise
        except Exception as error:  # noqa: BLE001  (judged by the caller, as above)
            return error
        self._outages_in_a_row = 0
        return None

    # -- outages -----------------------------------------------------------------------------------------------------

    def _pause_consumption(self, error: DatabaseUnavailableError) -> None:
        if not self._database_lost.is_set():
            log.warning("consumption_paused", queue=self.queue, error=str(error))
        self._database_lost.set()
        self._arrived.set()

    async def _wait_out_outage(self) -> None:
        """Stops consuming and requeues unsettled messages, so that a replica with a database can take them."""
        await self.subscription.pause()
        self._waiting.clear()
        for copies in self._in_flight.values():
            copies.clear()
        # Single handlers that are still running keep theirs: the database may be back when they are done.
        # A marked one stays too: a replica that got it now would take its marker for a crash.
        marked = list(self._marked.values())
        kept = {*self._busy, *marked}
        await self._unsettled.requeue([each for each in self._unsettled if each not in kept])
        # First, because a replica that has it by now waits only `crashes.VERDICT_PAUSE`.
        while self._marked:
            await self._connections.wait_until_available()
            await self._remove_markers()
            await asyncio.sleep(_LOCK_PAUSE)
        await self._unsettled.requeue(marked)
        await asyncio.sleep(min(_SHORTEST_PAUSE * 2**self._outages_in_a_row, _LONGEST_PAUSE))
        self._outages_in_a_row = min(self._outages_in_a_row + 1, 10)
        await self._connections.wait_until_available()
        self._database_lost.clear()
        if not self._stopping:
            await self.subscription.resume()
            log.info("consumption_resumed", queue=self.queue)
        if not self._waiting:
            self._arrived.clear()


def _chain_of(message: Message) -> ChainContext | None:
    return None if message.correlation_id is None else ChainContext(message.correlation_id, message.max_cost)


def _is_conflict(error: Exception) -> bool:
    """Whether the error is a deadlock or a serialization failure."""
    return getattr(error, "sqlstate", None) in {"40001", "40P01"}


def _timed_out(error: BaseException, seconds: float) -> Failure:
    failure = failure_of(error)
    return Failure(failure.reason, "HandlerTimeout", f"not done within {seconds:g} s", failure.stack)
