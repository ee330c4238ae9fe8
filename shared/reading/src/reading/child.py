"""A process that reads documents for another program, one after the other; a hostile document may kill it.

Standard input: for each document a line of JSON `{"path": …, "size": bytes, "seconds": …, "charset": …, "feed": …}`, then
its bytes. Standard output: the ready mark, then an answer per document (see `reading.answers`). The process opens
no file and no connection, and has no secrets.
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from typing import BinaryIO, Final

from reading.answers import READY, ReaderAnswer, encode
from reading.extraction import extract
from reading.feeds import parse_feed
from reading.formats import UnreadableFileError

MEMORY_BYTES: Final = 160 * 1024 * 1024
"""Memory for documents, on top of the process's own. Two such processes and the research service fit in 512 MB."""
WORN_BYTES: Final = 48 * 1024 * 1024
"""Growth after which the pool replaces the process, so that earlier documents leave memory for later ones."""

_TOO_MUCH: Final = f"reading it takes more than {MEMORY_BYTES // 1024 // 1024} MB of memory; split it"


def main() -> None:
    """Read documents until standard input ends."""
    requests = sys.stdin.buffer
    # Prints of libraries must not look like answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Only the pool ends this process, by SIGKILL or end of input; a Ctrl-C says nothing about a document.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # The default action ends the process even within a regular expression.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(5)
    before = _address_space()
    _limit(before + MEMORY_BYTES)
    answers.write(READY)
    answers.flush()
    while line := requests.readline():
        answer = b""
        with suppress(MemoryError):
            answer = encode(_read(requests, line, worn_from=before + WORN_BYTES))
        # Only after the error is released, as it references the objects that filled the memory.
        answers.write(answer or encode(ReaderAnswer(refusal=_TOO_MUCH, worn=True)))
        answers.flush()


def _read(requests: BinaryIO, line: bytes, *, worn_from: int) -> ReaderAnswer:
    """Raises MemoryError."""
    request = json.loads(line)
    content = requests.read(request["size"])
    # Processor time, so that a busy machine does not count against a document.
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    answer = _extracted(request["path"], content, request["charset"], is_feed=request["feed"])
    signal.setitimer(signal.ITIMER_PROF, 0)
    return replace(answer, worn=_address_space() > worn_from)


def _extracted(path: str, content: bytes, charset: str | None, *, is_feed: bool) -> ReaderAnswer:
    try:
        if is_feed:
            return ReaderAnswer(entries=parse_feed(content, charset))
        return ReaderAnswer(document=extract(path, content, charset))
    except UnreadableFileError as error:
        return ReaderAnswer(problem=str(error))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever one file holds, the others must still be read
        return ReaderAnswer(problem=f"it cannot be read ({type(error).__name__}: {error})"[:500])


def _limit(address_space: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    # No core dumps, no files.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _address_space() -> int:
    """Return the size of the process's address space in bytes."""
    with open("/proc/self/statm", "rb") as facts:  # noqa: PTH123 - pathlib is not needed here otherwise
        return int(facts.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main()
