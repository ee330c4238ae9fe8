"""A pool of processes that read documents: they start on demand and are replaced when a document kills one.

Only these processes parse documents. So a hostile document (hours of matching, all of the memory, a crash of the parser)
kills a replaceable process. They are started anew, not forked, because the caller may have threads.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import TypeAdapter
from pydantic_core import from_json

from documents.json_form import decode_section
from reading.answers import READY, SIZE_BYTES, ReaderAnswer
from reading.document import ExtractedDocument
from reading.feeds import FeedEntry
from reading.formats import UnreadableFileError, is_pdf

PROCESSES: Final = 2
MEMORY_SLOTS: Final = 4
"""Documents in memory at a time: enough to keep all processes busy."""
TRIES: Final = 2
"""Attempts with a document that kills its process: the kernel, short of memory, may have killed the wrong one."""
START_SECONDS: Final = 60.0
MAX_SECONDS: Final = 300.0
"""Wall-clock limit for a process that hangs. The limit on processor time is much lower."""
LAST_SECONDS: Final = 5.0
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024

PROGRAM: Final = (sys.executable, "-I", "-B", "-m", "reading.child")
_ANSWER: Final = TypeAdapter(ReaderAnswer)
_ResultT = TypeVar("_ResultT")


class HostileDocumentError(Exception):
    """Reading this document was stopped; the message has the reason."""


class ReadersUnavailableError(Exception):
    """The machine cannot start a reading process; the documents are not at fault."""


def processor_seconds(path: str, size: int) -> float:
    """Return the limit on processor time for a document: several times that of the densest markup on a slow machine.

    PDFs are compressed: a hundred pages of text are 200 kB.
    """
    return (10.0 if is_pdf(path) else 3.0) + 20.0 * size / 1_000_000


class ReaderPool:
    """Reading processes that a whole program shares, as a context manager; they end when the last user leaves it.

    `program` is the command of each process.
    """

    def __init__(self, program: Sequence[str] = PROGRAM) -> None:
        self._program = program
        self.memory_slots = asyncio.Semaphore(MEMORY_SLOTS)
        """Callers acquire it before they load a document into memory."""
        self._process_slots = asyncio.Semaphore(PROCESSES)
        self._idle: list[_ReaderProcess] = []
        self._users = 0

    async def __aenter__(self) -> Self:
        self._users += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._users -= 1
        if not self._users:
            idle, self._idle = self._idle, []
            await _finish(asyncio.gather(*(each.end() for each in idle)))

    async def read(self, path: str, content: bytes, *, charset: str | None = None) -> ExtractedDocument:
        """Read a document; the suffix of `path` is the format. May run in parallel.

        `charset` comes from the HTTP header of a page.

        Raises:
            UnreadableFileError: it has no usable text.
            HostileDocumentError: it takes too much time or memory, or kills its process repeatedly.
            ReadersUnavailableError: the machine cannot start a process.
        """
        answer = await self._answer(_ReadRequest(path, content, charset))
        if answer.document is None:
            raise UnreadableFileError(answer.problem or "it cannot be read")
        return answer.document

    async def read_feed(self, content: bytes, *, charset: str | None = None) -> tuple[FeedEntry, ...]:
        """Return the entries of a feed. Raises the errors of `read`."""
        answer = await self._answer(_ReadRequest("feed", content, charset, is_feed=True))
        if answer.entries is None:
            raise UnreadableFileError(answer.problem or "it cannot be read")
        return answer.entries

    async def _answer(self, request: "_ReadRequest") -> ReaderAnswer:
        async with self._process_slots:
            for _ in range(TRIES - 1):
                with suppress(_ReaderDiedError):
                    return await self._ask(request)
            try:
                return await self._ask(request)
            except _ReaderDiedError as error:
                raise HostileDocumentError(str(error)) from error

    async def _ask(self, request: "_ReadRequest") -> ReaderAnswer:
        reader = self._idle.pop() if self._idle else await _ReaderProcess.start(self._program)
        worn = True
        try:
            answer = await reader.ask(request)
            worn = answer.worn
        finally:
            if worn:
                await reader.end()
            else:
                self._idle.append(reader)
        if answer.refusal is not None:
            raise HostileDocumentError(answer.refusal)
        return answer


@dataclass(frozen=True, slots=True)
class _ReadRequest:
    path: str
    content: bytes
    charset: str | None
    is_feed: bool = False

    @property
    def seconds(self) -> float:
        return processor_seconds(self.path, len(self.content))

    def encoded(self) -> bytes:
        head = {"path": self.path, "size": len(self.content), "seconds": self.seconds}
        return (
            json.dumps(head | {"charset": self.charset, "feed": self.is_feed}).encode() + b"\n" + self.content
        )


class _ReaderDiedError(Exception):
    """The process ended without an answer, perhaps not because of the document."""


class _ReaderProcess:
    """One reading process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._answers = process.stdout

    @classmethod
    async def start(cls, program: Sequence[str]) -> Self:
        try:
            process = await asyncio.create_subprocess_exec(
                *program,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd="/",
                # No keys and passwords for a process that reads hostile documents.
                env={},
                # Signals from the terminal are for the program, which ends its readers itself.
                start_new_session=True,
            )
        except OSError as error:
            raise ReadersUnavailableError(f"the machine cannot start a process: {error}") from error
        reader = cls(process)
        try:
            async with asyncio.timeout(START_SECONDS):
                ready = await reader._answers.read(len(READY))
        except TimeoutError:
            ready = b""
        except BaseException:
            await reader.end()
            raise
        if ready != READY:
            code = await reader.end()
            raise ReadersUnavailableError(f"{' '.join(program)} does not start (exit code {code})")
        return reader

    async def ask(self, request: _ReadRequest) -> ReaderAnswer:
        try:
            async with asyncio.timeout(MAX_SECONDS):
                return await self._exchange(request.encoded())
        except TimeoutError:
            raise HostileDocumentError(f"reading it does not end within {MAX_SECONDS:.0f} seconds") from None
        except (ValueError, RecursionError) as error:
            raise _ReaderDiedError("its process gave a malformed answer") from error
        except (OSError, EOFError) as error:
            code = await self._wait_for_exit()
            if code == -signal.SIGPROF:
                raise HostileDocumentError(
                    f"reading it takes more than {request.seconds:.0f} seconds of processor time"
                ) from error
            raise _ReaderDiedError(f"it ended the process that read it ({_describe_exit(code)})") from error

    async def _exchange(self, request: bytes) -> ReaderAnswer:
        self._requests.write(request)
        await self._requests.drain()
        size = int.from_bytes(await self._answers.readexactly(SIZE_BYTES), "big")
        if size > MAX_ANSWER_BYTES:
            raise EOFError(f"an answer of {size} bytes is too large")
        return _decode(await self._answers.readexactly(size))

    async def _wait_for_exit(self) -> int:
        """Return the exit code of a process whose pipes have closed; the code comes a moment later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._process.wait()
        return await self.end()

    async def end(self) -> int:
        """Kill the process; return its exit code, as in the subprocess module: a signal that ended it is negative."""
        self._requests.close()
        with suppress(ProcessLookupError):
            # A process that is dead already keeps its exit code.
            self._process.kill()
        return await _finish(self._process.wait())


def _decode(answer: bytes) -> ReaderAnswer:
    """Decode an answer. Raises ValueError, or RecursionError."""
    value = from_json(answer)
    decoded = _ANSWER.validate_python(value)
    if decoded.document is None or not value["sections"]:
        return decoded
    # Apart from the rest: the kinds of blocks are told apart by their keys, which pydantic would have to guess.
    return replace(decoded, document=replace(decoded.document, sections=decode_section(value["sections"])))


async def _finish(ending: Awaitable[_ResultT]) -> _ResultT:
    """Wait for the end of processes even if the caller is cancelled: it takes a moment and leaves none behind."""
    task = asyncio.ensure_future(ending)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
