"""Streams the export of a brand while it is made. A thread writes it, and waits while the browser is behind."""

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import TimeoutError as WaitedTooLongError
from contextlib import ExitStack
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from client import ClientError
from client.brand_archive import BrandArchive
from console.service_clients import PersonClients

MOST_AT_ONCE: Final = 2
"""Exports of a process; each has a thread."""
_PIECE_BYTES: Final = 64_000
_PIECES_AHEAD: Final = 4
_SERVICES: Final = ("orchestrator", "research", "publisher", "social")
_PATIENCE_SECONDS: Final = 600
"""A browser that takes nothing for so long has gone."""
_under_way: Final = threading.BoundedSemaphore(MOST_AT_ONCE)


class TooManyExportsError(Exception):
    """Other exports have all threads."""


class ExportBrokenError(Exception):
    """A service stopped answering; the transfer breaks off, so that the browser says so."""


class _AbandonedError(Exception):
    """Nobody reads the file any more."""


class _Pipe:
    """The file that the thread writes. It cannot go back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._kept = bytearray()
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(_PIECES_AHEAD)
        self._is_abandoned = False

    def write(self, piece: bytes) -> int:
        self._kept += piece
        if len(self._kept) >= _PIECE_BYTES:
            self._hand_over()
        return len(piece)

    def flush(self) -> None:
        """Pieces are handed over when they are large enough."""

    def _hand_over(self) -> None:
        piece, self._kept = bytes(self._kept), bytearray()
        self._put(piece)

    def close(self) -> None:
        """Hands over the rest, and the end."""
        if self._kept:
            self._hand_over()
        self._put(None)

    def _put(self, piece: bytes | None) -> None:
        if self._is_abandoned:
            raise _AbandonedError
        waiting = asyncio.run_coroutine_threadsafe(self._pieces.put(piece), self._loop)
        try:
            waiting.result(_PATIENCE_SECONDS)
        except WaitedTooLongError:
            waiting.cancel()
            raise _AbandonedError from None

    async def read(self) -> bytes | None:
        return await self._pieces.get()

    def abandon(self) -> None:
        """Has the thread end at its next piece."""
        self._is_abandoned = True
        while not self._pieces.empty():
            self._pieces.get_nowait()


def begin_export(clients: PersonClients, brand: str) -> AsyncIterator[bytes]:
    """Returns the pieces of the zip file.

    Raises:
        TooManyExportsError: ask again once another export has ended.
    """
    if not _under_way.acquire(blocking=False):
        raise TooManyExportsError
    loop = asyncio.get_running_loop()
    pipe = _Pipe(loop)
    writing = loop.run_in_executor(None, _write, pipe, clients, brand)
    writing.add_done_callback(_ended)
    return _pieces(pipe, writing)


def _ended(writing: "asyncio.Future[None]") -> None:
    _under_way.release()
    if not writing.cancelled():
        # Whoever still reads has it, too.
        writing.exception()


async def _pieces(pipe: _Pipe, writing: "asyncio.Future[None]") -> AsyncIterator[bytes]:
    try:
        while (piece := await _next(pipe, writing)) is not None:
            yield piece
    finally:
        pipe.abandon()


async def _next(pipe: _Pipe, writing: "asyncio.Future[None]") -> bytes | None:
    """Returns the next piece; None at the end. Raises the thread's error."""
    piece = asyncio.ensure_future(pipe.read())
    try:
        either: set[asyncio.Future[Any]] = {piece, writing}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not piece.done() and (error := writing.exception()) is not None:
            raise ExportBrokenError from error
        return await piece
    finally:
        piece.cancel()


def _write(pipe: _Pipe, clients: PersonClients, brand: str) -> None:
    with ExitStack() as connected:
        orchestrator, research, publisher, social = (
            connected.enter_context(clients.for_a_thread(each)) for each in _SERVICES
        )
        try:
            with ZipFile(pipe, "w", ZIP_DEFLATED) as archive:
                BrandArchive(archive, brand, orchestrator).write_all(research, publisher, social)
            pipe.close()
        except _AbandonedError:
            return
        except ClientError as error:
            raise ExportBrokenError from error
