"""A process: starts and stops its database, HTTP server and background tasks in order."""

import asyncio
import hashlib
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, ClassVar, Protocol

import asyncpg
import structlog
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette

from chassis import redaction
from chassis.database.migrations import NotMigratedError
from chassis.database.pool import Connections, DatabaseUnavailableError
from chassis.http import server
from chassis.http.limits import Limits, RequestLimit
from chassis.http.request_metrics import MeasuredRequests, request_seconds
from chassis.http.throttling import SlowedAddresses, WrongKeys
from chassis.observing import traces
from chassis.observing.metrics import SAMPLE_EVERY, Metrics, Read, TableGauge
from chassis.polling import SHORTEST_PAUSE, Alarm, NextDue, Poller, Work
from chassis.service_keys import hash_of, keys_of
from chassis.settings import AppSettings
from chassis.tasks import cancel_all

log = structlog.get_logger(__name__)


class Closeable(Protocol):
    async def aclose(self) -> None: ...


class App:
    """A process, wired in its `app.py`; `run` works until SIGTERM or SIGINT.

    Args:
        name: name of the process in logs and traces, and of its package with the migrations.
        settings: from the environment.
        system: prefix of the metric names, `like_this`.
    """

    _NEEDED_TABLE: ClassVar[str] = "schema_migrations"
    """The database has never been migrated if this table is missing."""

    def __init__(self, name: str, settings: AppSettings, *, system: str) -> None:
        self.name = name
        self.settings = settings
        redaction.learn_settings(settings)
        self.connections = Connections(
            settings.database_url.get_secret_value(), name=name, size=settings.database_connections
        )
        self.metrics = Metrics(self.connections, prefix=system)
        self.metrics.show_build(name, settings.revision)
        self._request_seconds = request_seconds(system)
        self.metrics.add_collector(self._request_seconds)
        self._wrong_keys = WrongKeys(system, _known_keys(name, settings))
        self.metrics.add_collector(self._wrong_keys.collector())
        self._app: Starlette = Starlette()
        self._rounds = self.metrics.counter(
            "background_rounds", "Rounds of background work, by outcome.", "task", "outcome"
        )
        self._pollers: list[Poller] = []
        self.poll("metrics", self.metrics.sample, every=SAMPLE_EVERY)
        self._closeables: list[Closeable] = []
        self._stop = asyncio.Event()
        self._started = False
        self._servers: list[uvicorn.Server] = []

    # -- wiring ------------------------------------------------------------------------------------------------------

    def serve(self, app: Starlette) -> None:
        """Serve an application on the process's port, with routes for health and metrics added."""
        # Redirects to the path with or without a slash would use the Host header, which the client controls.
        app.router.redirect_slashes = False
        self._app = app

    def poll(
        self,
        name: str,
        work: Work,
        *,
        every: timedelta,
        next_due: NextDue | None = None,
        shortest: timedelta = SHORTEST_PAUSE,
        alarm: Alarm | None = None,
        once_more: bool = False,
    ) -> None:
        """Repeat a piece of work from the start of the database until shutdown; for the arguments see `Poller`."""
        self._pollers.append(
            Poller(
                name,
                work,
                self.connections,
                every=every,
                next_due=next_due,
                shortest=shortest,
                alarm=alarm,
                once_more=once_more,
                rounds=self._rounds,
            )
        )

    def background(self, name: str, task: Callable[[], Awaitable[None]]) -> None:
        """Run a task from the start of the database until shutdown; restart it if it raises."""
        self._pollers.append(Poller(name, task, self.connections, every=None, rounds=self._rounds))

    def gauge(self, name: str, documentation: str, label: str, read: Read) -> None:
        """Add the gauge `<system>_{name}` to `/metrics`; `read` queries the tables every 15 seconds."""
        self.metrics.add_gauge(TableGauge(name, documentation, label, read))

    def closes(self, thing: Closeable) -> None:
        """Close `thing` at shutdown, after everything that may use it."""
        self._closeables.append(thing)

    # -- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start everything, work until a signal or `stop`, then shut down in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(RuntimeError, ValueError):  # not on the main thread, as in tests
                loop.add_signal_handler(number, self.stop)
        self._servers = self._make_servers()
        serving = asyncio.create_task(self._serve(), name="http")
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        tasks: list[asyncio.Task[Any]] = []
        working = asyncio.create_task(self._start(tasks), name="start")
        try:
            await asyncio.wait({serving, stopping, working}, return_when=asyncio.FIRST_COMPLETED)
            if working.done() and not stopping.done() and not serving.done():
                working.result()
                log.info("service_started", port=self.port, **self._facts())
                await asyncio.wait({stopping, serving, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            for task in {serving, *tasks}:
                if task.done() and not stopping.done():
                    task.result()
                    raise RuntimeError(f"{task.get_name()} ended by itself")
        finally:
            stopping.cancel()
            await self._shut_down(serving, working, tasks)

    def stop(self) -> None:
        """Make the process finish its current work and end."""
        self._stop.set()

    @property
    def port(self) -> int:
        """The port of the HTTP server; 0 before it listens."""
        if not self._servers or not self._servers[0].started:
            return 0
        port: int = self._servers[0].servers[0].sockets[0].getsockname()[1]
        return port

    def _make_servers(self) -> list[uvicorn.Server]:
        """Build the main server, and one for `/metrics` if that has its own port."""
        host, port, proxies = self.settings.http_host, self.settings.http_port, self.settings.trusted_proxies
        limits = Limits(connections=self.settings.http_connections)
        slowing = SlowedAddresses(self._app, self._wrong_keys)
        measured = MeasuredRequests(RequestLimit(slowing, limits.requests), self._request_seconds)
        self._app.router.routes[:0] = server.health_routes(self.problems, self.remarks)
        if (metrics_port := self.settings.metrics_port) is None:
            self._app.router.routes.insert(0, self.metrics.route())
            return [server.server(measured, host, port, limits=limits, proxies=proxies)]
        shown = Starlette(routes=[self.metrics.route()])
        return [
            server.server(measured, host, port, limits=limits, proxies=proxies),
            server.server(shown, host, metrics_port),
        ]

    async def _serve(self) -> None:
        await asyncio.gather(*(each.serve() for each in self._servers))

    async def _start(self, tasks: list[asyncio.Task[Any]]) -> None:
        await self._start_work(tasks)
        self._started = True

    async def _open_database(self) -> None:
        await self.connections.open()
        await self._check_schema()

    async def _check_schema(self) -> None:
        while True:
            try:
                async with self.connections.connection() as connection:
                    await connection.execute(f"select 1 from {self._NEEDED_TABLE} limit 1")  # noqa: S608  (a constant)
            except asyncpg.UndefinedTableError:
                raise NotMigratedError(
                    f"the database of {self.name} has no tables yet: run `python -m {self.name} migrate` first"
                ) from None
            except DatabaseUnavailableError as error:
                log.warning("database_unavailable", error=str(error))
                await self.connections.wait_until_available()
            else:
                return

    def _start_background(self, tasks: list[asyncio.Task[Any]]) -> None:
        tasks += [asyncio.create_task(poller.run(), name=poller.name) for poller in self._pollers]

    async def _shut_down(
        self, serving: asyncio.Task[None], working: asyncio.Task[None], tasks: list[asyncio.Task[Any]]
    ) -> None:
        grace = self.settings.shutdown_grace_seconds
        log.info("service_stopping", grace_seconds=grace)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await self._finish_work(grace)
        for each in self._servers:
            each.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
        await cancel_all(tasks)
        await self._disconnect()
        for thing in self._closeables:
            with suppress(Exception):
                await thing.aclose()
        await self.connections.close()
        await asyncio.to_thread(traces.flush)
        log.info("service_stopped")

    # -- for subclasses ----------------------------------------------------------------------------------------------

    async def _start_work(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Connect, and start the `tasks` that run until shutdown; the process ends if one of them ends earlier."""
        await self._open_database()
        self._start_background(tasks)

    async def _finish_work(self, grace_seconds: float) -> None:
        """Finish the current work; the database and all connections are still open."""

    async def _disconnect(self) -> None:
        """Close the connections of `_start_work` except the database; all tasks have ended."""

    def _facts(self) -> dict[str, Any]:
        """Return further fields for the log event `service_started`."""
        return {}

    def remarks(self) -> dict[str, str]:
        """Return notes by component that do not affect readiness; `/health/ready` shows them."""
        return {}

    async def problems(self) -> dict[str, str]:
        """Return the problems by component that prevent work; empty if the process is ready."""
        found: dict[str, str] = {}
        if not self._started:
            found["service"] = "starting"
        if self._stop.is_set():
            found["service"] = "stopping"
        if not await self.connections.answers():
            found["database"] = "does not answer"
        return found


def _known_keys(name: str, settings: AppSettings) -> Iterator[bytes]:
    """Yield the SHA-256 of all keys that open the process's API."""
    own: SecretStr | None = getattr(settings, "service_key", None)  # not every process has one
    if own is not None:
        yield hash_of(own)
    for field in type(settings).model_fields:
        keys: SecretStr | None = getattr(settings, field) if field.endswith(f"_to_{name}_key") else None
        for key in () if keys is None else keys_of(keys):
            yield hashlib.sha256(key.encode()).digest()
