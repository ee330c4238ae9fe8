"""An event loop without sockets, threads or real time: its clock jumps to the next thing that is due.

Every callback belongs to a process of the simulation, known by a context variable. Callbacks of a dead process are
dropped, those of a frozen one kept until it thaws; so a process can end, or be suspended, at any `await`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from datetime import timedelta
from heapq import heappop, heappush
from random import Random
from typing import Any, Final, Protocol

MAX_STEPS: Final = 100_000
"""Callbacks in one schedule; some hundreds are usual, so that many mean that somebody runs in circles."""


class StuckError(Exception):
    """Nothing is left that could happen, or the same happens for ever."""


class LoopProcess(Protocol):
    """The parts of a process that the loop needs."""

    alive: bool
    clock: timedelta
    frozen: bool
    held: "list[CallbackHandle]"
    tasks: "list[VirtualTask]"


PROCESS: Final[ContextVar[LoopProcess | None]] = ContextVar("process", default=None)


class CallbackHandle:
    """A callback to be run once."""

    __slots__ = ("args", "callback", "context", "dropped")

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...], context: Context) -> None:
        self.callback = callback
        self.args = args
        self.context = context
        self.dropped = False

    def cancel(self) -> None:
        self.dropped = True

    def cancelled(self) -> bool:
        return self.dropped


class VirtualTask(asyncio.Task[Any]):
    """A task with a hash that is the same in every run: asyncio keeps tasks in sets and cancels them in that order."""

    def __init__(self, coroutine: Any, loop: "VirtualLoop", context: Context, number: int) -> None:
        self.number = number
        self.own_context = context
        super().__init__(coroutine, loop=loop, context=context)

    def __hash__(self) -> int:
        return self.number


# To a type checker, the many methods that nobody here asks for (transports, threads, signals) are missing.
_Base: Any = asyncio.AbstractEventLoop


class VirtualLoop(_Base):  # type: ignore[misc]  # as above
    """Runs callbacks in the order they were scheduled, or (`shuffled`) sometimes in another, chosen by `random`."""

    def __init__(self, random: Random, *, shuffled: bool) -> None:
        self.now = 0.0
        self.steps = 0
        self.errors: list[str] = []
        self._random = random.random
        self._shuffled = shuffled
        self._ready: deque[CallbackHandle] = deque()
        self._timers: list[tuple[float, int, CallbackHandle | asyncio.Future[None]]] = []
        self._numbers = 0
        self._dead: list[LoopProcess] = []

    # -- what asyncio asks of a loop ---------------------------------------------------------------------------------

    def time(self) -> float:
        return self.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> CallbackHandle:
        handle = CallbackHandle(callback, args, copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> CallbackHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> CallbackHandle:
        handle = CallbackHandle(callback, args, copy_context() if context is None else context)
        self._numbers += 1
        heappush(self._timers, (when, self._numbers, handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> VirtualTask:
        context = copy_context() if context is None else context
        self._numbers += 1
        task = VirtualTask(coro, self, context, self._numbers)
        if name is not None:
            task.set_name(name)
        process = context.get(PROCESS)
        if process is not None:
            process.tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")

    # -- what the simulation adds ------------------------------------------------------------------------------------

    def pause(self, seconds: float) -> "asyncio.Future[None]":
        """Done after so many seconds of virtual time: a sleep at half the price."""
        future: asyncio.Future[None] = asyncio.Future(loop=self)
        self._numbers += 1
        heappush(self._timers, (self.now + seconds, self._numbers, future))
        return future

    def thaw(self, process: LoopProcess) -> None:
        process.frozen = False
        self._ready.extend(process.held)
        process.held = []

    def bury(self, process: LoopProcess) -> None:
        """Takes a dead process's tasks apart, once the callback that is running now has ended."""
        self._dead.append(process)

    def run(self, coroutine: Coroutine[Any, Any, None], context: Context) -> None:
        """Runs until the coroutine has ended, and raises what it raises."""
        asyncio._set_running_loop(self)
        try:
            main = self.create_task(coroutine, context=context)
            self._run_until(main)
        finally:
            self.take_apart()
            asyncio._set_running_loop(None)
        main.result()

    def _run_until(self, main: VirtualTask) -> None:
        while True:
            self._run_ready()
            if main.done():
                return
            if self.steps > MAX_STEPS:
                raise StuckError(f"{MAX_STEPS:,} steps and no end")
            if not self._timers:
                raise StuckError("everything waits for something that will never happen")
            when, _, due = heappop(self._timers)
            if isinstance(due, CallbackHandle):
                if not due.dropped:
                    self.now = max(self.now, when)
                    self._ready.append(due)
            elif not due.done():
                self.now = max(self.now, when)
                due.set_result(None)

    def _run_ready(self) -> None:
        ready, random = self._ready, self._random
        while ready and self.steps <= MAX_STEPS:
            if self._shuffled and len(ready) > 1:
                ready.rotate(-int(random() * len(ready)))
            handle = ready.popleft()
            if handle.dropped:
                continue
            context = handle.context
            process = context.get(PROCESS)
            if process is not None and (process.frozen or not process.alive):
                if process.alive:
                    process.held.append(handle)
                continue
            self.steps += 1
            context.run(handle.callback, *handle.args)
            if self._dead:
                self.take_apart()

    def take_apart(self) -> None:
        """Closes the coroutines of dead processes. Their clean-up runs, but every fake ignores the dead."""
        while self._dead:
            process = self._dead.pop()
            for task in process.tasks:
                if task.done():
                    if not task.cancelled():
                        task.exception()
                    continue
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                coroutine = task.get_coro()
                with suppress(BaseException):
                    task.own_context.run(coroutine.close)
            process.tasks.clear()
            process.held.clear()
