"""A service: its queues, its database, its HTTP side and its background tasks, started and stopped in order."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import aio_pika
import asyncpg
import structlog
import uvicorn
from faststream.rabbit import RabbitBroker
from starlette.applications import Starlette

from envelope import DomainMessage
from messaging import crashes, dead_letters, http, partitions, telemetry
from messaging.codec import Decode, decoder
from messaging.database import Connections
from messaging.dead_letters import DeadLetter
from messaging.errors import DatabaseUnavailableError, NotMigratedError
from messaging.handlers import Handler, OnBatch, routing_table
from messaging.metrics import Metrics, Read, TableGauge
from messaging.policy import QueuePolicy
from messaging.publisher import Publisher
from messaging.relay import Relay
from messaging.runner import QueueRunner
from messaging.settings import ServiceSettings
from messaging.settlement import Settlement
from messaging.tasks import cancel_all
from messaging.topology import dead_letter_queue, work_queues
from messaging.transactions import Database, Transaction

log = structlog.get_logger(__name__)

Background = Callable[[], Awaitable[None]]
_MAINTENANCE_SECONDS: Final = 3600.0
_HEARTBEAT_SECONDS: Final = 20


class Service:
    """What a service's `app.py` wires together, and `run` runs until SIGTERM or SIGINT."""

    def __init__(self, name: str, settings: ServiceSettings) -> None:
        self.name = name
        self.settings = settings
        self._connections = Connections(
            settings.database_url.get_secret_value(), name=name, size=settings.database_connections
        )
        url = _with_heartbeat(settings.rabbitmq_url.get_secret_value())
        self._publisher = Publisher(url, name=f"{name} publish")
        self._relay = Relay(self._connections, self._publisher)
        self.database = Database(self._connections, self._relay, name)
        self._broker = RabbitBroker(
            url,
            logger=None,
            app_id=name,
            timeout=10,
            reconnect_interval=1.0,
            graceful_timeout=None,
            apply_types=False,
        )
        self._crash_lock = asyncio.Lock()
        self.runners: list[QueueRunner] = []
        self._app: Starlette = Starlette()
        self._metrics = Metrics(self._connections, self._relay, self.runners)
        self._background: list[tuple[str, Background]] = [
            ("housekeeping", self._keep_house),
            ("metrics", self._metrics.keep_sampling),
        ]
        self._stop = asyncio.Event()
        self._started = False
        self._server: uvicorn.Server | None = None

    # -- wiring ------------------------------------------------------------------------------------------------------

    def consume(self, queue: str, *handlers: Handler, policy: QueuePolicy | None = None) -> None:
        """Handles the messages of a queue; a type that none of the handlers takes is dead-lettered.

        Raises:
            ValueError: two handlers take the same type, or there is no such queue in the topology.
        """
        if queue not in work_queues():
            raise ValueError(f"{queue} is not in the topology: {', '.join(work_queues())}")
        table = dict(routing_table(handlers))
        self._add_runner(queue, decoder(table, queue), table, self._adjusted(policy or QueuePolicy()))

    def consume_dead_letters(
        self, handler: Callable[[Sequence[DomainMessage[DeadLetter]], Transaction], Awaitable[None]]
    ) -> None:
        """Handles what ends in any dead-letter queue, however broken it is; it is retried until it is recorded."""
        for queue in work_queues():
            table: dict[str, Handler] = {dead_letters.RECEIVED: OnBatch(handler, (dead_letters.RECEIVED,))}
            policy = QueuePolicy(max_attempts=None, backoff_base=5.0)
            self._add_runner(dead_letter_queue(queue), dead_letters.decoder(queue), table, policy)

    def serve(self, app: Starlette) -> None:
        """Serves an application on the service's port; the routes for health and metrics are added to it."""
        self._app = app

    def background(self, name: str, task: Background) -> None:
        """Runs a task from when the database is there until shutdown; started again if it raises."""
        self._background.append((name, task))

    def gauge(self, name: str, documentation: str, label: str, read: Read) -> None:
        """Shows `brand_engine_{name}` under `/metrics`: what `read` finds in the tables, every 15 seconds."""
        self._metrics.add_gauge(TableGauge(name, documentation, label, read))

    def _adjusted(self, policy: QueuePolicy) -> QueuePolicy:
        settings = self.settings
        return replace(
            policy,
            max_attempts=settings.max_attempts or policy.max_attempts,
            backoff_base=settings.retry_base_seconds or policy.backoff_base,
        )

    def _add_runner(self, queue: str, decode: Decode, table: dict[str, Handler], policy: QueuePolicy) -> None:
        self.runners.append(
            QueueRunner(
                self._broker,
                self._connections,
                self._relay,
                Settlement(self.database, self.name, queue, policy),
                queue=queue,
                decode=decode,
                table=table,
                policy=policy,
                crash_lock=self._crash_lock,
            )
        )

    # -- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Starts everything, works until a signal or `stop`, then shuts down in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(RuntimeError, ValueError):  # not on the main thread, as in tests
                loop.add_signal_handler(number, self.stop)
        self._app.router.routes[:0] = [*http.health_routes(self.problems), self._metrics.route()]
        self._server = http.server(self._app, self.settings.http_host, self.settings.http_port)
        serving = asyncio.create_task(self._server.serve(), name="http")
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(self._publisher.run(), name="publishing connection")
        ]
        working = asyncio.create_task(self._start_work(tasks), name="start")
        vital: set[asyncio.Task[Any]] = {serving, *tasks}
        try:
            await asyncio.wait({serving, stopping, working}, return_when=asyncio.FIRST_COMPLETED)
            if working.done() and not stopping.done() and not serving.done():
                working.result()
                log.info("service_started", queues=[runner.queue for runner in self.runners], port=self.port)
                tasks_of_runners = [task for runner in self.runners for task in runner.tasks]
                vital = {serving, *tasks, *tasks_of_runners}
                await asyncio.wait({stopping, *vital}, return_when=asyncio.FIRST_COMPLETED)
            for task in vital:
                if task.done() and not stopping.done():
                    task.result()
                    raise RuntimeError(f"{task.get_name()} ended by itself")
        finally:
            stopping.cancel()
            await self._shut_down(serving, working, tasks)

    def stop(self) -> None:
        """Asks the service to finish what it has in hand and end."""
        self._stop.set()

    @property
    def port(self) -> int:
        """The port the HTTP side listens on; 0 before it does."""
        if self._server is None or not self._server.started:
            return 0
        port: int = self._server.servers[0].sockets[0].getsockname()[1]
        return port

    async def _start_work(self, tasks: list[asyncio.Task[Any]]) -> None:
        await self._connections.open()
        await self._check_schema()
        tasks.append(asyncio.create_task(self._relay.run(), name="relay"))
        for name, task in self._background:
            tasks.append(asyncio.create_task(self._keep_running(name, task), name=name))
        await self._connect_broker()
        for runner in self.runners:
            await self._start_runner(runner)
        self._started = True

    async def _check_schema(self) -> None:
        while True:
            try:
                async with self._connections.connection() as connection:
                    await connection.execute("select 1 from processed_events limit 1")
            except asyncpg.UndefinedTableError:
                raise NotMigratedError(
                    f"the database of {self.name} has no tables yet: run `python -m {self.name} migrate` first"
                ) from None
            except DatabaseUnavailableError as error:
                log.warning("database_unavailable", error=str(error))
                await self._connections.wait_until_available()
            else:
                return

    async def _connect_broker(self) -> None:
        delay = 0.2
        while True:
            try:
                await self._broker.connect()
            except (aio_pika.exceptions.AMQPError, OSError, TimeoutError) as error:
                log.warning(
                    "broker_unavailable", connection="consume", error=repr(error), retry_seconds=delay
                )
                await asyncio.sleep(delay)
                delay = min(delay * 2, 5.0)
            else:
                return

    async def _start_runner(self, runner: QueueRunner) -> None:
        delay = 0.5
        while True:
            try:
                await runner.start()
            except aio_pika.exceptions.ChannelNotFoundEntity:
                log.warning(
                    "queue_missing",
                    queue=runner.queue,
                    hint="declare the topology: python -m messaging topology",
                    retry_seconds=delay,
                )
            except (aio_pika.exceptions.AMQPError, OSError, TimeoutError, RuntimeError) as error:
                log.warning(
                    "consumer_not_started", queue=runner.queue, error=repr(error), retry_seconds=delay
                )
            else:
                return
            await asyncio.sleep(delay)
            delay = min(delay * 2, 5.0)

    async def _keep_running(self, name: str, task: Background) -> None:
        delay = 1.0
        while True:
            try:
                await task()
            except DatabaseUnavailableError as error:
                log.warning("background_task_paused", task=name, error=str(error))
                await self._connections.wait_until_available()
            except Exception:
                log.exception("background_task_failed", task=name, retry_seconds=delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, 60.0)
            else:
                # Done for good; the service goes on without it.
                await self._stop.wait()

    async def _keep_house(self) -> None:
        """Hourly: tomorrow's inbox partitions, dropping the expired ones, forgetting old crash markers."""
        while True:
            try:
                async with self._connections.connection() as connection:
                    await partitions.maintain(connection)
                    await crashes.forget_old(connection)
            except partitions.BUSY:
                log.warning("inbox_maintenance_postponed")
            await asyncio.sleep(_MAINTENANCE_SECONDS)

    async def _shut_down(
        self, serving: asyncio.Task[None], working: asyncio.Task[None], tasks: list[asyncio.Task[Any]]
    ) -> None:
        grace = self.settings.shutdown_grace_seconds
        log.info("service_stopping", grace_seconds=grace)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await asyncio.gather(*(runner.stop(grace) for runner in self.runners), return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(grace, 5.0)):
                await self._relay.flush()
        if self._server is not None:
            self._server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
        await cancel_all(tasks)
        with suppress(Exception):
            async with asyncio.timeout(5):
                await self._broker.stop()
        await self._connections.close()
        await asyncio.to_thread(telemetry.flush)
        log.info("service_stopped")

    # -- health ------------------------------------------------------------------------------------------------------

    async def problems(self) -> dict[str, str]:
        """What keeps the service from working right now, by part; empty when it is ready."""
        found: dict[str, str] = {}
        if not self._started:
            found["service"] = "starting"
        if self._stop.is_set():
            found["service"] = "stopping"
        if not await self._connections.answers():
            found["database"] = "does not answer"
        if self._publisher.blocked:
            found["broker"] = "blocks publishing: memory or disk alarm"
        elif not self._publisher.ready:
            found["broker"] = "the publishing connection is down"
        for runner in self.runners:
            if not runner.subscription.consuming:
                found[runner.queue] = "is not being consumed"
        if self._relay.overfull:
            found["outbox"] = "too many messages wait to be published"
        return found


def _with_heartbeat(url: str) -> str:
    """A dead connection is noticed within a minute, not within the three of the default."""
    if "heartbeat=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}heartbeat={_HEARTBEAT_SECONDS}"
