"""A process: its database, its HTTP side and its background tasks, started and stopped in order."""

import asyncio
import hashlib
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar, Final, Protocol

import asyncpg
import structlog
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette

from chassis import redaction
from chassis.database.migrations import NotMigratedError
from chassis.database.pool import Connections, DatabaseUnavailableError, outage_in
from chassis.http import server
from chassis.http.limits import Limits, RequestLimit
from chassis.http.request_metrics import MeasuredRequests, request_seconds
from chassis.http.throttling.wrong_keys import SlowedAddresses, WrongKeys
from chassis.observing import traces
from chassis.observing.build import BuildInfo
from chassis.observing.metrics import Metrics, Read, TableGauge
from chassis.service_keys import hash_of, keys_of
from chassis.settings import AppSettings
from chassis.tasks import cancel_all

log = structlog.get_logger(__name__)

Background = Callable[[], Awaitable[None]]


_LONGEST_PAUSE: Final = 60.0
"""Seconds before a background task that keeps failing is started again; one that has run for so long had worked."""


class Closeable(Protocol):
    async def aclose(self) -> None: ...


class App:
    """What a process's `app.py` wires together, and `run` runs until SIGTERM or SIGINT.

    Args:
        name: the process's own, for logs and traces, and of the package whose `migrate` makes its tables.
        settings: from the environment.
        system: what it is a part of, `like_this`; names of metrics begin with it.
    """

    _NEEDED_TABLE: ClassVar[str] = "schema_migrations"
    """If it is missing, the database has never been migrated."""

    def __init__(self, name: str, settings: AppSettings, *, system: str) -> None:
        self.name = name
        self.settings = settings
        redaction.learn_settings(settings)
        self.connections = Connections(
            settings.database_url.get_secret_value(), name=name, size=settings.database_connections
        )
        self.metrics = Metrics(self.connections, prefix=system)
        self.metrics.add_collector(BuildInfo(system, name, settings.revision))
        self._request_seconds = request_seconds(system)
        self.metrics.add_collector(self._request_seconds)
        self._wrong_keys = WrongKeys(system, _known_keys(name, settings))
        self.metrics.add_collector(self._wrong_keys.collector())
        self._app: Starlette = Starlette()
        self._background: list[tuple[str, Background]] = [("metrics", self.metrics.keep_sampling)]
        self._closeables: list[Closeable] = []
        self._stop = asyncio.Event()
        self._started = False
        self._servers: list[uvicorn.Server] = []

    # -- wiring ------------------------------------------------------------------------------------------------------

    def serve(self, app: Starlette) -> None:
        """Serves an application on the process's port; the routes for health and metrics are added to it."""
        # Redirects to the path with a slash, or without, would be made of the Host header, which says what the client likes.
        app.router.redirect_slashes = False
        self._app = app

    def background(self, name: str, task: Background) -> None:
        """Runs a task from when the database is there until shutdown; started again if it raises."""
        self._background.append((name, task))

    def gauge(self, name: str, documentation: str, label: str, read: Read) -> None:
        """Shows `<system>_{name}` under `/metrics`: what `read` finds in the tables, every 15 seconds."""
        self.metrics.add_gauge(TableGauge(name, documentation, label, read))

    def closes(self, thing: Closeable) -> None:
        """Closes it at shutdown, when nothing that could use it is running any more."""
        self._closeables.append(thing)

    # -- life --------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Starts everything, works until a signal or `stop`, then shuts down in order."""
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
        """Asks the process to finish what it has in hand and end."""
        self._stop.set()

    @property
    def port(self) -> int:
        """The port the HTTP side listens on; 0 before it does."""
        if not self._servers or not self._servers[0].started:
            return 0
        port: int = self._servers[0].servers[0].sockets[0].getsockname()[1]
        return port

    def _make_servers(self) -> list[uvicorn.Server]:
        """The process's own first; then one for `/metrics`, where that has a port to itself."""
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
        for name, task in self._background:
            tasks.append(asyncio.create_task(self._keep_running(name, task), name=name))

    async def _keep_running(self, name: str, task: Background) -> None:
        clock = asyncio.get_running_loop().time
        pause = 0.0
        while True:
            began = clock()
            try:
                await task()
            except Exception as error:
                if outage := outage_in(error):
                    log.warning("background_task_paused", task=name, error=str(outage))
                    await self.connections.wait_until_available()
                    continue
                pause = pause_after_failure(pause, ran=clock() - began)
                log.exception("background_task_failed", task=name, retry_seconds=pause)
                await asyncio.sleep(pause)
            else:
                # Done for good; the process goes on without it, until this is cancelled with the rest.
                await asyncio.get_running_loop().create_future()

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

    # -- what a process with more in it adds to -------------------------------------------------------------------------

    async def _start_work(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Connects and starts what runs until shutdown, as `tasks`; should one of them end before, the process ends."""
        await self._open_database()
        self._start_background(tasks)

    async def _finish_work(self, grace_seconds: float) -> None:
        """Finishes what is in hand, while the database and everything else is still there."""

    async def _disconnect(self) -> None:
        """Closes what `_start_work` has connected, the database apart; no task is running any more."""

    def _facts(self) -> dict[str, Any]:
        """What else the log is to say once everything has started."""
        return {}

    def remarks(self) -> dict[str, str]:
        """What people should know although the process works, by part; `/health/ready` shows it."""
        return {}

    async def problems(self) -> dict[str, str]:
        """What keeps the process from working right now, by part; empty when it is ready."""
        found: dict[str, str] = {}
        if not self._started:
            found["service"] = "starting"
        if self._stop.is_set():
            found["service"] = "stopping"
        if not await self.connections.answers():
            found["database"] = "does not answer"
        return found


def pause_after_failure(last: float, *, ran: float) -> float:
    """Seconds until a background task is started again that failed after `ran` seconds, having paused for `last` before (0: never)."""
    return 1.0 if not last or ran >= _LONGEST_PAUSE else min(last * 2, _LONGEST_PAUSE)


def _known_keys(name: str, settings: AppSettings) -> Iterator[bytes]:
    """SHA-256 of those that open the process's own API; of the service key perhaps no more than that is known."""
    own: SecretStr | None = getattr(settings, "service_key", None)  # not every process has one
    if own is not None:
        yield hash_of(own)
    for field in type(settings).model_fields:
        keys: SecretStr | None = getattr(settings, field) if field.endswith(f"_to_{name}_key") else None
        for key in () if keys is None else keys_of(keys):
            yield hashlib.sha256(key.encode()).digest()
