"""Folds sampled stacks of a service into named steps.

A step is one of our modules (`writing.extractive`, `messaging.flow`), or a library's purpose (`database driver`). The
innermost frame with a step decides. A library without a step, such as the Markdown parser, counts for its caller.

A function call is finer: the innermost function of ours, and the library with a purpose that it called.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

_KeyT = TypeVar("_KeyT")
Stack = tuple[str, ...]
"""Frames as `module:function`, outermost first."""
Stacks = Mapping[Stack, int]
"""Samples of each."""

SMALLEST_SHARE: Final = 0.02
"""Of a process's time; what has less is summed up."""
REST: Final = "the rest"
"""What small entries of a list are summed up as."""
IDLE: Final = "event loop, sockets"
_LIBRARIES: Final = {
    "asyncpg": "database driver",
    "aio_pika": "broker client",
    "aiormq": "broker client",
    "pamqp": "broker client",
    "messaging.broker": "broker client",
    "httpx": "HTTP client",
    "httpcore2": "HTTP client",
    "uvicorn": "HTTP server",
    "starlette": "HTTP server",
    "fastapi": "HTTP server",
    "chassis.http": "HTTP server",
    "chassis.http.client": "HTTP client",
    "chassis.http.outgoing": "HTTP client",
    "structlog": "log lines",
    "logging": "log lines",
    "chassis.redaction": "log lines",
    "opentelemetry": "spans",
    "chassis.observing": "spans",
    "asyncio": IDLE,
    "uvloop": IDLE,
    "selectors": IDLE,
    "threading": "threads",
    "concurrent.futures": "threads",
}
OURS: Final = frozenset(
    {
        "benchmarks",
        "chassis",
        "documents",
        "envelope",
        "events",
        "gateway",
        "integrations",
        "messaging",
        "monitor",
        "orchestrator",
        "publisher",
        "reading",
        "receipts",
        "research",
        "review",
        "social",
        "writing",
    }
)
"""The packages that a service is made of, and those of the handlers that are measured."""
_BEGINNINGS: Final = frozenset(
    {"asyncio.runners:Runner.run", "asyncio.events:Handle._run", "concurrent.futures.thread:_WorkItem.run"}
)
"""Where a task of the event loop begins (uvloop has one frame for the whole loop), or a thread's target."""


def read(lines: Iterable[str]) -> Stacks:
    """Parses the format of [benchmarks.systems.profiler][]: frames between semicolons, a blank, the number of samples."""
    stacks: Counter[Stack] = Counter()
    for line in lines:
        frames, _, count = line.rpartition(" ")
        stacks[_inside_of_the_loop(tuple(frames.split(";")))] += int(count)
    return stacks


def read_by_service(lines: Iterable[str]) -> dict[str, Stacks]:
    """Parses lines that start with the service."""
    of_service: dict[str, list[str]] = {}
    for line in lines:
        service, _, stack = line.partition(";")
        of_service.setdefault(service, []).append(stack)
    return {service: read(stacks) for service, stacks in of_service.items()}


def by_step(stacks: Stacks) -> dict[str, float]:
    """Each step's share of all samples, the largest first."""
    counts: Counter[str] = Counter()
    for stack, count in stacks.items():
        counts[step_of(stack)] += count
    return _shares(counts)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """Where time is spent."""

    function: str
    """As `module:function`, or a step where no function of ours is on the stack."""
    through: str = ""
    """The step of the library that the function called, if any."""

    def __str__(self) -> str:
        return f"{self.function}, {self.through}" if self.through else self.function


def by_function(stacks: Stacks) -> dict[FunctionCall, float]:
    """Each function call's share of all samples, the largest first."""
    counts: Counter[FunctionCall] = Counter()
    for stack, count in stacks.items():
        counts[_call_of(stack)] += count
    return _shares(counts)


def largest_functions(stacks: Stacks, milliseconds: float) -> list[dict[str, str | float]]:
    """The function calls that have at least 2% of the time, and the rest, each with its part of the time."""
    told = [
        (place.function, place.through, share)
        for place, share in by_function(stacks).items()
        if share >= SMALLEST_SHARE
    ]
    told.append((REST, "", 1 - sum(share for _, _, share in told)))
    return [
        {"function": function, "through": through, "ms": round(share * milliseconds, 4)}
        for function, through, share in told
    ]


def account(lines: Iterable[str], spent: Mapping[str, float]) -> dict[str, Any]:
    """Values for a row: `spent`, milliseconds by part, and that of `python` by function call."""
    stacks = read(lines)
    return {
        "samples": sum(stacks.values()),
        "cpu_ms": dict(spent),
        "cpu_ms_by_function": largest_functions(stacks, spent["python"]),
    }


def all_functions(stacks: Stacks, milliseconds: float) -> str:
    """A line for each function call, with its part of the time."""
    return "".join(f"{share * milliseconds:10.4f}  {place}\n" for place, share in by_function(stacks).items())


def _shares(counts: Counter[_KeyT]) -> dict[_KeyT, float]:
    total = counts.total() or 1
    return {key: count / total for key, count in counts.most_common()}


def _call_of(stack: Sequence[str]) -> FunctionCall:
    library = ""
    for frame in reversed(stack):
        module = frame.partition(":")[0]
        if _library(module) is not None:
            library = library or _library(module) or ""
        elif module.partition(".")[0] in OURS:
            return FunctionCall(frame, library)
    return FunctionCall(library or IDLE)


def step_of(stack: Sequence[str]) -> str:
    for frame in reversed(stack):
        step = _step(frame.partition(":")[0])
        if step is not None:
            return step
    return IDLE


def _step(module: str) -> str | None:
    known = _library(module)
    if known is not None:
        return known
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] in OURS else None


def _library(module: str) -> str | None:
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in (3, 2, 1))
    return next((_LIBRARIES[name] for name in names if name in _LIBRARIES), None)


def _inside_of_the_loop(stack: Stack) -> Stack:
    """Without the common frames that start the event loop."""
    begins = [number for number, frame in enumerate(stack) if frame in _BEGINNINGS]
    inner = stack[begins[-1] + 1 :] if begins else stack
    if not inner or inner[0].startswith(("asyncio.base_events", "selectors")):
        return ("asyncio:loop",)
    return inner
