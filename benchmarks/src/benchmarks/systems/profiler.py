"""Runs a service under a sampling profiler: `python -m benchmarks.systems.profiler FILE MODULE`.

SIGUSR1 starts the samples; a second SIGUSR1 stops them and writes FILE in the format of flame graph tools. Each line is
a stack, outermost frame first, frames between semicolons, then a blank and its microseconds of processor time. After
every 5 ms of processor time (ITIMER_PROF), each thread's own time since the last sample counts for its present stack;
waiting does not count. Compiled code has no frames: its time counts for the Python code before or after it.
"""

import runpy
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

_EVERY_SECONDS: Final = 0.005
_MICROSECOND: Final = 1_000
"""Nanoseconds."""


class Sampler:
    """Sums up the processor time of this process by stack."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spent: Counter[str] = Counter()
        self._clocks: dict[int, int] = {}
        self._looking = False

    def install(self) -> None:
        """Handles the signals; runs in the main thread, as all of Python's signal handlers."""
        signal.signal(signal.SIGPROF, self._look)
        signal.signal(signal.SIGUSR1, self._toggle)

    def _toggle(self, _number: int, _frame: FrameType | None) -> None:
        self._looking = not self._looking
        self._clocks = {ident: _spent_by(ident) for ident in sys._current_frames()}  # noqa: SLF001
        every = _EVERY_SECONDS if self._looking else 0
        signal.setitimer(signal.ITIMER_PROF, every, every)
        if not self._looking:
            draft = self._path.with_suffix(".new")
            draft.write_text(
                "".join(f"{stack} {spent // _MICROSECOND}\n" for stack, spent in self._spent.items())
            )
            draft.replace(self._path)

    def _look(self, _number: int, frame: FrameType | None) -> None:
        main = threading.main_thread().ident
        for ident, current in sys._current_frames().items():  # noqa: SLF001 - the way that its documentation gives
            spent = _spent_by(ident)
            since = spent - self._clocks.get(ident, 0)
            self._clocks[ident] = spent
            if since > _MICROSECOND:
                self._spent[_stack(frame if ident == main and frame is not None else current)] += since


def _spent_by(ident: int) -> int:
    """Nanoseconds of processor time of a living thread."""
    return time.clock_gettime_ns(time.pthread_getcpuclockid(ident))


def _stack(frame: FrameType | None) -> str:
    names = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "?")
        names.append(f"{module}:{frame.f_code.co_qualname}".replace(" ", "").replace(";", ""))
        frame = frame.f_back
    return ";".join(reversed(names))


if __name__ == "__main__":
    _, file, name = sys.argv
    Sampler(Path(file)).install()
    sys.argv = [name]
    runpy.run_module(name, run_name="__main__", alter_sys=True)
