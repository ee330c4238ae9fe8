"""A service: an app with queues, and an inbox and an outbox in its database."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Final

import aio_pika
import structlog
from faststream.rabbit import RabbitBroker

from chassis.app import App
from chassis.http.audit import log as audit_log
from chassis.tasks import cancel_all
from envelope import Catalogue, DomainMessage
from messaging.broker import connections
from messaging.broker.connection_probe import ConnectionProbe
from messaging.broker.connections import cancellation_as_connection_error
from messaging.broker.outside_queue import Handle, OutsideQueue
from messaging.broker.publisher import CONNECT_SECONDS, Publisher, user_of
from messaging.broker.queue_depths import QueueDepth, QueueDepthReader
from messaging.errors import BROKER_ERRORS
from messaging.flow import dead_letters
from messaging.flow.codec import DeliveryReader, decoder, delivery_reader
from messaging.flow.dead_letters import DeadLetter
from messaging.flow.dependencies import Dependency
from messaging.flow.figures import NOTE_EVERY as NOTE_FIGURES_EVERY
from messaging.flow.figures import FigureNotes
from messaging.flow.handlers import Handler, OnBatch, routing_table
from messaging.flow.pauses import FOLLOW_EVERY, PauseFollower
from messaging.flow.policy import QueuePolicy
from messaging.flow.relay import Relay
from messaging.flow.replays import ReplayCheck
from messaging.flow.runner import QueueRunner
from messaging.flow.running import NOTE_EVERY, RunningNotes
from messaging.flow.sender_check import SenderCheck, sender_checking_reader
from messaging.flow.server_watch import CHECK_EVERY, OnCommitLoss, ServerWatch
from messaging.flow.settlement import Settlement
from messaging.flow.transactions import Database, Transaction
from messaging.metrics import MessageMetrics
from messaging.observing import spans
from messaging.settings import ServiceSettings
from messaging.storage import answers, attempts, crashes, figures, origins, partitions, running, sent
from messaging.storage.pauses import QueuePause
from messaging.topology import OUTSIDE_QUEUE, dead_letter_queue, exchanges, work_queues

log = structlog.get_logger(__name__)

_HEARTBEAT_SECONDS: Final = 20


class Service(App):
    """The app that a service's `app.py` assembles; `run` runs it until SIGTERM or SIGINT.

    Args:
        name: one of the catalogue's services, and the name of the package whose `migrate` creates the tables.
        settings: from the environment.
        catalogue: every message type of the system.
    """

    _NEEDED_TABLE: ClassVar[str] = "processed_events"

    def __init__(self, name: str, settings: ServiceSettings, catalogue: Catalogue) -> None:
        super().__init__(name, settings, system=catalogue.system)
        self.catalogue = catalogue
        self._service_settings = settings
        self._keep_audit_log = timedelta(days=settings.keep_audit_log_days)
        url = _with_heartbeat(settings.rabbitmq_url.get_secret_value())
        spans.describe_process(catalogue, url)
        self._user = user_of(url)
        self._publisher = Publisher(url, name=name)
        self._depths = QueueDepthReader(url, name=f"{name} reads queues")
        self._relay = Relay(self.connections, self._publisher, records_sent=settings.message_ledger)
        self.database = Database(self.connections, self._relay, name, catalogue)
        self.database.process = self
        self._broker = RabbitBroker(
            url,
            logger=None,
            app_id=name,
            timeout=CONNECT_SECONDS,
            reconnect_interval=1.0,
            graceful_timeout=None,
            apply_types=False,
        )
        connections.use_for_consuming(self._broker)
        self._probe = ConnectionProbe(f"{name} consume", connection=self._consuming_connection)
        self._crash_lock = asyncio.Lock()
        self._examination: asyncio.Task[None] | None = None
        self.runners: list[QueueRunner] = []
        self._dependencies: list[Dependency] = []
        counts = MessageMetrics(
            self.metrics.families, self._relay, self.runners, self._dependencies, exchanges(catalogue)
        )
        self.metrics.add_collector(counts)
        self.metrics.add_sample(counts.sample)
        self.poll(
            "running messages",
            RunningNotes(self.connections, self.runners).note,
            every=NOTE_EVERY,
            once_more=True,
        )
        self.poll(
            "message figures",
            FigureNotes(self.connections, self.runners, self._read_own_depths).note,
            every=NOTE_FIGURES_EVERY,
            once_more=True,
        )
        self._pauses = PauseFollower(self.connections, self.runners)
        self.poll("paused queues", self._pauses.follow, every=FOLLOW_EVERY)
        self.poll("tables", self._maintain_tables, every=timedelta(hours=1))

    # -- wiring ------------------------------------------------------------------------------------------------------

    def consume(self, queue: str, *handlers: Handler, policy: QueuePolicy | None = None) -> None:
        """Handles the messages of a queue; a type without a handler is dead-lettered.

        Raises:
            LookupError: the catalogue lacks a payload that a handler takes.
            ValueError: two handlers take the same type, or the topology has no such queue.
        """
        queues = work_queues(self.catalogue)
        if queue not in queues:
            raise ValueError(f"{queue} is not in the topology: {', '.join(queues)}")
        table = dict(routing_table(self.catalogue, handlers))
        sender_check = SenderCheck(self.catalogue, self.name, queue, self._user)
        read = sender_checking_reader(decoder(self.catalogue, table, queue), sender_check)
        check = ReplayCheck(self.connections, sender_check)
        self._add_runner(queue, read, table, self._with_settings(policy or QueuePolicy()), check)

    def consume_from_outside(self, handle: Handle) -> None:
        """Handles the commands of other systems at the broker, once one has a user.

        Raises:
            ValueError: the catalogue names another service for them.
        """
        if self.name != self.catalogue.takes_from_outside:
            raise ValueError(f"{self.name} does not take commands of other systems")
        url = self._service_settings.rabbitmq_url.get_secret_value()
        queue = OutsideQueue(_with_heartbeat(url), OUTSIDE_QUEUE, name=f"{self.name} outside", handle=handle)
        self.background("outside commands", queue.run)

    def dependency(self, name: str, *, outages: tuple[type[Exception], ...]) -> Dependency:
        """Adds a dependency of handlers; `async with dependency.call():` guards each call of it.

        `outages` are the exceptions that mean an outage for any call: messages then wait until it is over, and no attempt is counted.
        """
        return self.add_dependency(Dependency(name, outages=outages))

    def add_dependency(self, dependency: Dependency) -> Dependency:
        """Adds a dependency with pauses of its own."""
        self._dependencies.append(dependency)
        return dependency

    def on_commit_loss(self, handle: OnCommitLoss) -> None:
        """Calls `handle` once for each loss of the database's commits, in the transaction that notes the loss."""
        self.poll("server_history", ServerWatch(self.database, handle).check, every=CHECK_EVERY)

    def consume_dead_letters(
        self, handler: Callable[[Sequence[DomainMessage[DeadLetter]], Transaction], Awaitable[None]]
    ) -> None:
        """Handles all messages in dead-letter queues, even malformed ones; retries until each is recorded."""
        for queue in work_queues(self.catalogue):
            table: dict[str, Handler] = {dead_letters.RECEIVED: OnBatch(handler, (DeadLetter,))}
            policy = QueuePolicy(max_attempts=None, backoff_base=5.0)
            self._add_runner(
                dead_letter_queue(queue), delivery_reader(dead_letters.decoder(queue)), table, policy
            )

    def _with_settings(self, policy: QueuePolicy) -> QueuePolicy:
        settings = self._service_settings
        return replace(
            policy,
            max_attempts=settings.max_attempts or policy.max_attempts,
            backoff_base=settings.retry_base_seconds or policy.backoff_base,
        )

    def _add_runner(
        self,
        queue: str,
        read: DeliveryReader,
        table: dict[str, Handler],
        policy: QueuePolicy,
        replay_check: ReplayCheck | None = None,
    ) -> None:
        self.runners.append(
            QueueRunner(
                self._broker,
                self.connections,
                self._relay,
                Settlement(self.database, self.name, queue, policy),
                queue=queue,
                decode=read,
                table=table,
                policy=policy,
                crash_lock=self._crash_lock,
                dependencies=self._dependencies,
                replay_check=replay_check,
            )
        )

    # -- life --------------------------------------------------------------------------------------------------------

    async def _start_work(self, tasks: list[asyncio.Task[Any]]) -> None:
        tasks.append(asyncio.create_task(self._publisher.run(), name="publishing connection"))
        await self._open_database()
        tasks.append(asyncio.create_task(self._relay.run(), name="relay"))
        self._start_background(tasks)
        tasks += [
            asyncio.create_task(self._publisher.probe.run(), name="publishing connection's probe"),
            asyncio.create_task(self._probe.run(), name="consuming connection's probe"),
        ]
        await self._connect_broker()
        await self._pauses.follow_at_start()
        for runner in self.runners:
            await self._start_runner(runner)
            tasks.extend(runner.tasks)
        # It does not delay the work, and ends by itself.
        self._examination = asyncio.create_task(self.database.doctor.log_failures(), name="doctor")

    async def _connect_broker(self) -> None:
        delay = 0.2
        while True:
            try:
                with cancellation_as_connection_error():
                    await self._broker.connect()
            except BROKER_ERRORS as error:
                log.warning(
                    "broker_unavailable", connection="consume", error=repr(error), retry_seconds=delay
                )
                await asyncio.sleep(delay)
                delay = min(delay * 2, 5.0)
            else:
                return

    def _consuming_connection(self) -> Any:
        transport = getattr(self._broker._connection, "transport", None)  # noqa: SLF001
        return getattr(transport, "connection", None)

    async def _start_runner(self, runner: QueueRunner) -> None:
        delay = 0.5
        while True:
            try:
                await runner.start()
            except aio_pika.exceptions.ChannelNotFoundEntity:
                log.warning(
                    "queue_missing",
                    queue=runner.queue,
                    hint="declare the topology: python -m messaging topology CATALOGUE",
                    retry_seconds=delay,
                )
            except BROKER_ERRORS as error:
                log.warning(
                    "consumer_not_started", queue=runner.queue, error=repr(error), retry_seconds=delay
                )
            else:
                return
            await asyncio.sleep(delay)
            delay = min(delay * 2, 5.0)

    async def _maintain_tables(self) -> None:
        """Creates tomorrow's inbox partitions and deletes expired rows of every table of this library."""
        try:
            async with self.connections.connection() as connection:
                await partitions.maintain(connection)
                await crashes.forget_old(connection)
                await origins.forget_old(connection)
                await running.forget_old(connection)
                await sent.forget_old(connection)
                await attempts.forget_old(connection)
                await figures.forget_old(connection)
                while await answers.delete_expired(connection):
                    pass
                await audit_log.forget(connection, self._keep_audit_log)
        except partitions.BUSY:
            log.warning("inbox_maintenance_postponed")

    async def _read_own_depths(self) -> Mapping[str, QueueDepth]:
        return await self.read_depths(self.consumed)

    async def _finish_work(self, grace_seconds: float) -> None:
        await asyncio.gather(*(runner.stop(grace_seconds) for runner in self.runners), return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(grace_seconds, 5.0)):
                await self._relay.flush()

    async def _disconnect(self) -> None:
        if self._examination is not None:
            await cancel_all([self._examination])
        for close in (self._depths.close, self._broker.stop):
            with suppress(Exception):
                async with asyncio.timeout(5):
                    await close()

    def _facts(self) -> dict[str, Any]:
        return {"queues": [runner.queue for runner in self.runners]}

    @property
    def consumed(self) -> dict[str, bool]:
        """Queue → whether it is being consumed now."""
        return {runner.queue: runner.subscription.consuming for runner in self.runners}

    @property
    def breakers(self) -> dict[str, str | None]:
        """Dependency of handlers → why it is away; None if it answers, as far as known."""
        return {each.name: each.trouble for each in self._dependencies}

    async def read_depths(self, queues: Collection[str]) -> dict[str, QueueDepth]:
        """Reads the depth of each queue; leaves out queues that are missing, or all of them in an outage."""
        return await self._depths.read(queues)

    def remarks(self) -> dict[str, str]:
        """Outages that handlers wait for, and queues that operators have paused.

        The service itself works: do not restart it or take it out of service.
        """
        away = {each.name: each.trouble for each in self._dependencies if each.trouble is not None}
        return away | {
            runner.queue: _told(self._pauses.known.get(runner.queue))
            for runner in self.runners
            if runner.is_held
        }

    async def problems(self) -> dict[str, str]:
        """Problems that keep the service from working, by part; empty if it is ready."""
        found, *answering = await asyncio.gather(
            super().problems(), self._publisher.probe.answers(), self._probe.answers()
        )
        if not all(answering):
            found["broker"] = "does not answer"
        elif self._publisher.blocked:
            found["broker"] = "blocks publishing: memory or disk alarm"
        elif not self._publisher.ready:
            found["broker"] = "the publishing connection is down"
        for runner in self.runners:
            if not runner.is_held and not runner.subscription.consuming:
                found[runner.queue] = "is not being consumed"
        if self._relay.overfull:
            found["outbox"] = "too many messages wait to be published"
        return found


def _told(pause: QueuePause | None) -> str:
    if pause is None:
        return "was paused, and is being resumed"
    return f"paused by {pause.by} since {pause.since:%Y-%m-%d %H:%M} UTC: {pause.reason}"


def _with_heartbeat(url: str) -> str:
    """Sets a heartbeat that detects a dead connection within a minute; the default takes three."""
    if "heartbeat=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}heartbeat={_HEARTBEAT_SECONDS}"
