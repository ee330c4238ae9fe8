"""A service that is watched: `python -m benchmarks.systems.sampled FILE MODULE`.

SIGUSR1 begins, SIGUSR1 again ends and writes FILE: a line for each stack that was seen, outermost frame first, frames between
semicolons, and how often it was seen behind a blank: the form that tools for flame graphs read. Looked at is where the main thread
is after every 5 ms of processor time (ITIMER_PROF), so that waiting is not counted; while that one waits for sockets, the time is that
of another thread that has work. Compiled code has no frames of its own: its time
stands with whoever called it, and that of the database driver's reading of answers with the event loop's sockets.
"""

import runpy
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

_EVERY_SECONDS: Final = 0.005
_WAITING: Final = frozenset({"concurrent.futures.thread", "queue", "selectors", "threading"})
"""Where a thread is that has nothing to do."""


class Sampler:
    """Counts the stacks of this process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stacks: Counter[str] = Counter()
        self._looking = False

    def install(self) -> None:
        signal.signal(signal.SIGPROF, self._look)
        signal.signal(signal.SIGUSR1, self._toggle)

    def _toggle(self, _number: int, _frame: FrameType | None) -> None:
        self._looking = not self._looking
        every = _EVERY_SECONDS if self._looking else 0
        signal.setitimer(signal.ITIMER_PROF, every, every)
        if not self._looking:
            draft = self._path.with_suffix(".new")
            draft.write_text("".join(f"{stack} {count}\n" for stack, count in self._stacks.items()))
            draft.replace(self._path)

    def _look(self, _number: int, frame: FrameType | None) -> None:
        if frame is not None and _module(frame) == "selectors":
            frame = _working_thread() or frame
        names = []
        while frame is not None:
            code = frame.f_code
            names.append(
                f"{frame.f_globals.get('__name__', '?')}:{code.co_qualname}".replace(" ", "").replace(";", "")
            )
            frame = frame.f_back
        self._stacks[";".join(reversed(names))] += 1


def _working_thread() -> FrameType | None:
    """Where a thread beside the main one is, if there is one that does not wait for work."""
    main = threading.main_thread().ident
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the way that its documentation gives
        if ident != main and _module(frame) not in _WAITING:
            return frame
    return None


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))


if __name__ == "__main__":
    _, file, module = sys.argv
    Sampler(Path(file)).install()
    sys.argv = [module]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
