"""Runs imports, each in a thread of its own, and stores how far they are. An import goes on when its page is closed."""

import asyncio
import io
import threading
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

import structlog

from chassis import Connections
from chassis.database.pool import DatabaseUnavailableError
from chassis.tasks import cancel_all
from client import ClientError, RefusedError
from client.archive_reading import ArchiveContents, ArchiveError, open_archive, read_contents
from client.brand_import import BrandImport, ImportReport
from console.brand_archives import store
from console.brand_archives.store import UploadedArchive
from console.brand_archives.stored_file import StoredFile
from console.service_clients import PersonClients, sentence_of
from console.texts import Texts

log = structlog.get_logger(__name__)

MOST_AT_ONCE: Final = 1
"""Imports of a process."""
MOST_FILES: Final = 50_000
"""Of an archive, as all their names are in memory; `brandctl brands import` takes more."""
_NOTED_SECONDS: Final = 1.0
_SERVICES: Final = ("orchestrator", "research", "publisher", "social")


class TooManyImportsError(Exception):
    """Another import has to end first."""


class _StoppedError(BaseException):
    """The process ends."""


class _RunningImport:
    """What the thread of an import shares with the loop."""

    def __init__(self, file: StoredFile, clients: PersonClients, slug: str) -> None:
        self._file = file
        self._clients = clients
        self._slug = slug
        self.report = ImportReport(slug)
        self.step = ""
        self.is_stopped = False

    @property
    def progress(self) -> dict[str, Any]:
        report = self.report
        return {"step": self.step, "added": dict(report.added), "documents": report.documents}

    def run(self) -> ImportReport:
        with ExitStack() as connected:
            orchestrator, research, publisher, social = (
                connected.enter_context(self._clients.for_a_thread(each)) for each in _SERVICES
            )
            archive = connected.enter_context(
                open_archive(io.BufferedReader(self._file), most_entries=MOST_FILES)
            )
            importing = BrandImport(
                archive, orchestrator, research, publisher, social, self._note, self._slug, self.report
            )
            return importing.run()

    def _note(self, step: str) -> None:
        if self.is_stopped:
            raise _StoppedError
        self.step = step


class BrandImports:
    """The imports of the process."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._tasks: set[asyncio.Task[None]] = set()
        self._under_way: dict[UUID, _RunningImport] = {}

    async def aclose(self) -> None:
        """Stops imports at their next step. They are continued by pressing the button again."""
        for each in self._under_way.values():
            each.is_stopped = True
        await cancel_all(self._tasks)

    async def look(self, archive: UploadedArchive) -> ArchiveContents:
        """Returns what is in an archive that has arrived.

        Raises:
            ArchiveError: it cannot be imported.
        """
        file = self._file(archive)

        def read() -> ArchiveContents:
            with open_archive(io.BufferedReader(file), most_entries=MOST_FILES) as opened:
                return read_contents(opened)

        return await asyncio.to_thread(read)

    def begin(self, archive: UploadedArchive, slug: str, clients: PersonClients, t: Texts) -> None:
        """Runs the import of an archive that is claimed, in the background."""
        running = _RunningImport(self._file(archive), clients, slug)
        self._under_way[archive.id] = running
        task = asyncio.create_task(self._run(archive.id, running, t))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def check_room(self, archive: UUID) -> None:
        """Raises TooManyImportsError: the process has as many other imports as it may."""
        if len(self._under_way.keys() - {archive}) >= MOST_AT_ONCE:
            raise TooManyImportsError

    def _file(self, archive: UploadedArchive) -> StoredFile:
        async def read(number: int) -> bytes | None:
            async with self._connections.connection() as connection:
                return await store.read_piece(connection, archive.id, number)

        return StoredFile(archive.size, read, asyncio.get_running_loop())

    async def _run(self, archive: UUID, running: _RunningImport, t: Texts) -> None:
        try:
            report = await self._follow(archive, running)
        except (ClientError, OSError, TimeoutError) as error:
            log.warning("brand_import_broken_off", archive=str(archive), step=running.step, error=str(error))
            async with self._connections.connection() as connection:
                await store.break_off(connection, archive, sentence_of_break(error, t))
        except Exception as error:
            log.exception("brand_import_failed", archive=str(archive), step=running.step)
            async with self._connections.connection() as connection:
                await store.break_off(connection, archive, sentence_of_break(error, t))
        else:
            async with self._connections.connection() as connection:
                await store.end(connection, archive, asdict(report))
        finally:
            running.is_stopped = True
            self._under_way.pop(archive, None)

    async def _follow(self, archive: UUID, running: _RunningImport) -> ImportReport:
        """Starts the thread, and stores its progress until it ends."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[ImportReport] = loop.create_future()

        def settle(report: ImportReport | None, error: BaseException | None) -> None:
            if ended.done():
                return
            if report is not None:
                ended.set_result(report)
            elif error is not None:
                ended.set_exception(error)

        def work() -> None:
            try:
                report, error = running.run(), None
            except _StoppedError:
                return
            except Exception as raised:  # noqa: BLE001 - the task has it
                report, error = None, raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, report, error)

        # It ends with the process: a thread of the loop's pool would keep that from ending.
        threading.Thread(target=work, name=f"import {archive}", daemon=True).start()
        while not (await asyncio.wait({ended}, timeout=_NOTED_SECONDS))[0]:
            await self._note_progress(archive, running)
        await self._note_progress(archive, running)
        return ended.result()

    async def _note_progress(self, archive: UUID, running: _RunningImport) -> None:
        # An outage of the console's database is no reason to stop, as long as pieces can be read.
        with suppress(DatabaseUnavailableError):
            async with self._connections.connection() as connection:
                await store.note_progress(connection, archive, running.progress)


def sentence_of_break(error: Exception, t: Texts) -> str:
    """Returns why an archive is refused, or an import broke off, in the reader's language."""
    if isinstance(error, ArchiveError):
        return t(f"brand_imports.refused.{error.code}", about=error.about)
    if isinstance(error, RefusedError):
        return t("brand_imports.service_refused", service=error.service, detail=sentence_of(error, t))
    return t("brand_imports.service_away")
