"""Samples the stacks of running processes from outside, with py-spy.

A sampler inside the interpreter only runs between two bytecodes, so it attributes compiled code, and the work of other
threads, to the Python code that follows. py-spy reads the stacks from the memory of the process, a hundred times a
second, and counts the threads that the kernel says are running. Time inside compiled code counts for the Python
function that called it. The processes do not stop for it.
"""

import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from benchmarks.errors import MeasurementError
from brandctl.local import processes

_PER_SECOND: Final = 100
_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 60.0
_FRAME: Final = re.compile(r"(?P<function>.*) \((?P<file>[^()]*)\)")
_LIBRARY: Final = re.compile(r"(?:^|/)lib/python3\.\d+/")
_FOLDERS: Final = ("/site-packages/", "/src/")
_LOCAL: Final = re.compile(r"(\.<locals>\.<[a-z]+>)+$")
"""Comprehensions and generators count for their function."""


@dataclass(frozen=True, slots=True)
class Samplers:
    """Running samplers, one for each process."""

    children: Mapping[str, processes.ChildProcess]
    folder: Path

    def end(self) -> dict[str, list[str]]:
        """Ends them; returns the stacks of each process with the number of their samples.

        Raises:
            MeasurementError: a sampler has failed.
        """
        for child in self.children.values():
            child.process.send_signal(signal.SIGINT)
        for name, child in self.children.items():
            if child.process.wait(_END_SECONDS) != 0:
                raise MeasurementError(f"py-spy beside {name} failed: {child.log_tail(1)}")
        return {name: stack_lines(_stacks(self.folder, name).read_text()) for name in self.children}


@contextmanager
def sampling(pids: Mapping[str, int], folder: Path) -> Iterator[Samplers]:
    """Samples processes, given by name, until `Samplers.end` or the end of the block.

    Raises:
        MeasurementError: py-spy is not installed, or may not read these processes.
    """
    program = _program()
    children: dict[str, processes.ChildProcess] = {}
    try:
        for name, pid in pids.items():
            options = (
                f"--pid={pid} --rate={_PER_SECOND} --format=raw --nonblocking --full-filenames --nolineno"
            )
            children[name] = processes.start(
                f"py-spy beside {name}",
                [program, "record", *options.split(), f"--output={_stacks(folder, name)}"],
                log=folder / f"{name}.py-spy.log",
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
        for name, child in children.items():
            try:
                child.wait_until(partial(_samples, child), within=_START_SECONDS)
            except processes.StartError as error:
                raise MeasurementError(
                    f"py-spy cannot sample {name}; it needs root or CAP_SYS_PTRACE: {child.log_tail(1)}"
                ) from error
        yield Samplers(children, folder)
    finally:
        for child in children.values():
            child.stop(signal.SIGKILL)


@contextmanager
def sampled(pids: Iterable[int], folder: Path) -> Iterator[list[str]]:
    """Samples processes that do the same work; the list has their stacks after the block.

    Raises:
        MeasurementError: as `sampling`.
    """
    lines: list[str] = []
    with sampling({f"process-{pid}": pid for pid in pids}, folder) as samplers:
        yield lines
        lines += [line for of_one in samplers.end().values() for line in of_one]


def _samples(child: processes.ChildProcess) -> bool:
    return "Sampling process" in child.log_tail()


def _program() -> str:
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise MeasurementError(
            "py-spy, the sampler, is not installed; on Linux, deploy/local/setup.sh python installs it"
        )
    return found


def _stacks(folder: Path, name: str) -> Path:
    return folder / f"{name}.py-spy.raw"


def stack_lines(raw: str) -> list[str]:
    """Turns py-spy's raw format into `module:function;module:function count`, outermost first, as flame graph tools read it."""
    counts: Counter[str] = Counter()
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = _frames(stack.split(";"))
        if frames:
            counts[";".join(frames)] += int(count)
    return [f"{stack} {count}" for stack, count in counts.items()]


def _frames(told: Iterable[str]) -> list[str]:
    frames = []
    for frame in told:
        parts = _FRAME.fullmatch(frame.strip())
        if parts is not None:
            function = _LOCAL.sub("", parts["function"])
            frames.append(f"{module_of(parts['file'])}:{function}".replace(" ", ""))
    return frames


def module_of(file: str) -> str:
    """The module that a file holds, by the folder that it was imported from; the file's name if that is unknown."""
    if file.startswith("<"):
        return file.strip("<>").removeprefix("frozen ")
    for folder in _FOLDERS:
        _, found, inside = file.rpartition(folder)
        if found:
            return _dotted(inside)
    parts = _LIBRARY.split(file)
    return _dotted(parts[-1] if len(parts) > 1 else PurePosixPath(file).name)


def _dotted(inside: str) -> str:
    parts = PurePosixPath(inside).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
