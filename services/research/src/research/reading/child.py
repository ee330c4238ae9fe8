"""A process that reads documents for the service, one after the other, and may die of any of them.

On standard input: a line of JSON `{"path": …, "size": bytes, "seconds": …, "charset": …, "feed": …}`, then the bytes; again and again, until it
ends. On standard output: that it is ready, then an answer for each, as in `research.reading.answers`. It opens no file
and no connection, and no secret is handed to it.
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from typing import BinaryIO, Final

from research.reading.answers import READY, Answer, encode
from research.reading.extraction import extract
from research.reading.feeds import entries_of
from research.reading.formats import UnreadableFileError

MEMORY_BYTES: Final = 160 * 1024 * 1024
"""What documents may take on top of what the process needs anyway. Two such processes and the service fit in 512 MB."""
WORN_BYTES: Final = 48 * 1024 * 1024
"""What may stick to it before it makes room for a fresh one, so that a document does not pay for those before it."""

_TOO_MUCH: Final = f"reading it takes more than {MEMORY_BYTES // 1024 // 1024} MB of memory; split it"


def main() -> None:
    """Reads until its input ends."""
    requests = sys.stdin.buffer
    # Whatever prints, it must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # The service ends it, by SIGKILL or by closing its input; a Ctrl-C is no verdict on a document.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # By default it ends the process, even in the midst of a regular expression.
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
        # Not while the error is held, which holds all that has taken the memory.
        answers.write(answer or encode(Answer(refusal=_TOO_MUCH, worn=True)))
        answers.flush()


def _read(requests: BinaryIO, line: bytes, *, worn_from: int) -> Answer:
    """Raises MemoryError."""
    request = json.loads(line)
    content = requests.read(request["size"])
    # Time of the processor, so that a busy machine makes no document suspect.
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    answer = _extracted(request["path"], content, request["charset"], is_feed=request["feed"])
    signal.setitimer(signal.ITIMER_PROF, 0)
    return replace(answer, worn=_address_space() > worn_from)


def _extracted(path: str, content: bytes, charset: str | None, *, is_feed: bool) -> Answer:
    try:
        if is_feed:
            return Answer(entries=entries_of(content, charset))
        return Answer(document=extract(path, content, charset))
    except UnreadableFileError as error:
        return Answer(problem=str(error))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever one file holds, the others must still be read
        return Answer(problem=f"it cannot be read ({type(error).__name__}: {error})"[:500])


def _limit(address_space: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    # No core is dumped, no file is written.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _address_space() -> int:
    """Bytes."""
    with open("/proc/self/statm", "rb") as facts:  # noqa: PTH123 - pathlib is not needed here otherwise
        return int(facts.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main()
