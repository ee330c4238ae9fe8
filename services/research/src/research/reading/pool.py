"""The processes that read documents: a few, started when there is something to read, replaced when a document ends one.

A document is read there and nowhere else, so that what one of them does (a pattern that takes hours, all of the memory, a
fault in the parser) happens to a process that nobody misses. Programs are started anew, not forked: the service has threads.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from research.domain import Document
from research.reading.answers import READY, SIZE_BYTES, Answer
from research.reading.feeds import Entry
from research.reading.formats import UnreadableFileError, is_pdf

PROCESSES: Final = 2
IN_HAND: Final = 4
"""Documents that are held while they wait for a process: enough to keep all busy."""
TRIES: Final = 2
"""How often a document is read that ends its process: the kernel, short of memory, may have picked the wrong one."""
START_SECONDS: Final = 60.0
MAX_SECONDS: Final = 300.0
"""By the clock, for a process that stands still. Time of the processor is counted apart, and runs out long before."""
LAST_SECONDS: Final = 5.0
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024

PROGRAM: Final = (sys.executable, "-I", "-B", "-m", "research.reading.child")
_ANSWER: Final = TypeAdapter(Answer)
_Ended = TypeVar("_Ended")


class HostileDocumentError(Exception):
    """Reading the document was given up; the message says why."""


class ReadersUnavailableError(Exception):
    """No process that reads documents could be started; nothing is wrong with any document."""


def processor_seconds(path: str, size: int) -> float:
    """What reading a document of so many bytes may take: several times what the densest markup takes on a slow machine.

    PDFs are packed: a hundred pages of text are 200 kB.
    """
    return (10.0 if is_pdf(path) else 3.0) + 20.0 * size / 1_000_000


class Readers:
    """Use it as a context manager; once all who do have left it, the processes are gone. `program` is the command of each.

    One of it serves a whole service: whoever reads shares its processes, and what they may take of the machine.
    """

    def __init__(self, program: Sequence[str] = PROGRAM) -> None:
        self._program = program
        self.in_hand = asyncio.Semaphore(IN_HAND)
        """For whoever holds documents in memory until they are read."""
        self._turns = asyncio.Semaphore(PROCESSES)
        self._idle: list[_Reader] = []
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
            await _to_the_end(asyncio.gather(*(each.end() for each in idle)))

    async def read(self, path: str, content: bytes, *, charset: str | None = None) -> Document:
        """What the file holds; `path` chooses the format. Several documents are read at a time.

        `charset` is known of a page whose site has said it.

        Raises:
            UnreadableFileError: it holds no text that could be used.
            HostileDocumentError: it takes too much time or memory, or ends whoever reads it.
            ReadersUnavailableError: this machine starts no process.
        """
        answer = await self._answer(_Request(path, content, charset))
        if answer.document is None:
            raise UnreadableFileError(answer.problem or "it cannot be read")
        return answer.document

    async def read_feed(self, content: bytes, *, charset: str | None = None) -> tuple[Entry, ...]:
        """What a feed leads to. Raises what `read` raises."""
        answer = await self._answer(_Request("feed", content, charset, is_feed=True))
        if answer.entries is None:
            raise UnreadableFileError(answer.problem or "it cannot be read")
        return answer.entries

    async def _answer(self, request: "_Request") -> Answer:
        async with self._turns:
            for _ in range(TRIES - 1):
                with suppress(_DiedError):
                    return await self._ask(request)
            try:
                return await self._ask(request)
            except _DiedError as error:
                raise HostileDocumentError(str(error)) from error

    async def _ask(self, request: "_Request") -> Answer:
        reader = self._idle.pop() if self._idle else await _Reader.started(self._program)
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
class _Request:
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


class _DiedError(Exception):
    """The process ended without an answer, and perhaps not because of the document."""


class _Reader:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._answers = process.stdout

    @classmethod
    async def started(cls, program: Sequence[str]) -> Self:
        try:
            process = await asyncio.create_subprocess_exec(
                *program,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd="/",
                # Neither keys nor passwords are a document's business.
                env={},
                # A signal from the terminal is meant for the service, which decides what becomes of its readers.
                start_new_session=True,
            )
        except OSError as error:
            raise ReadersUnavailableError(f"no process can be started: {error}") from error
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

    async def ask(self, request: _Request) -> Answer:
        try:
            async with asyncio.timeout(MAX_SECONDS):
                return await self._exchange(request.encoded())
        except TimeoutError:
            raise HostileDocumentError(f"reading it does not end within {MAX_SECONDS:.0f} seconds") from None
        except ValidationError as error:
            raise _DiedError("what was read of it makes no sense") from error
        except (OSError, EOFError) as error:
            code = await self._ended_by_itself()
            if code == -signal.SIGPROF:
                raise HostileDocumentError(
                    f"reading it takes more than {request.seconds:.0f} seconds of processor time"
                ) from error
            raise _DiedError(f"it ended the process that read it ({_ending(code)})") from error

    async def _exchange(self, request: bytes) -> Answer:
        self._requests.write(request)
        await self._requests.drain()
        size = int.from_bytes(await self._answers.readexactly(SIZE_BYTES), "big")
        if size > MAX_ANSWER_BYTES:
            raise EOFError("an answer of that size is none")
        return _ANSWER.validate_json(await self._answers.readexactly(size))

    async def _ended_by_itself(self) -> int:
        """Its pipes close a moment before it has an exit code."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._process.wait()
        return await self.end()

    async def end(self) -> int:
        """Its exit code, as of the subprocess module: the negative number of the signal that it died of."""
        self._requests.close()
        with suppress(ProcessLookupError):
            # What has died already keeps its own exit code.
            self._process.kill()
        return await _to_the_end(self._process.wait())


async def _to_the_end(ending: Awaitable[_Ended]) -> _Ended:
    """Waits even if whoever waits is cancelled meanwhile: it takes a moment, and what is not waited for stays behind."""
    task = asyncio.ensure_future(ending)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
