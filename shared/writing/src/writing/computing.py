"""Runs short CPU work in one thread beside the event loop; waiting jobs share one hand-over, which costs milliseconds."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, Final, TypeVar

GOES_ON: Final = 0.02
"""Seconds; after this time, finished results are returned although other jobs wait."""

ResultT = TypeVar("ResultT")


class ComputeThread:
    """Runs jobs in one thread and in batches; a second thread would only compete with it and with the event loop.

    Jobs that waited together end together, so that their results can be stored together.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="computing")
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._going: asyncio.Task[None] | None = None

    async def do(self, work: Callable[[], ResultT]) -> ResultT:
        """Runs `work` in its turn; returns its result or raises its exception."""
        result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, result))
        if self._going is None or self._going.done():
            self._going = asyncio.create_task(self._do_all())
        return await result

    async def _do_all(self) -> None:
        loop = asyncio.get_running_loop()
        # Skip jobs of cancelled callers.
        while jobs := [job for job in self._waiting if not job[1].done()]:
            self._waiting = []
            try:
                done = await loop.run_in_executor(self._thread, _do, [work for work, _ in jobs])
            except BaseException as error:
                for _, result in jobs:
                    if not result.done():
                        result.set_exception(RuntimeError(f"the compute thread failed: {error!r}"))
                raise
            self._waiting = [*jobs[len(done) :], *self._waiting]
            for (_, result), (value, problem) in zip(jobs, done, strict=False):
                if result.done():
                    continue
                if problem is None:
                    result.set_result(value)
                else:
                    result.set_exception(problem)


def _do(works: Sequence[Callable[[], Any]]) -> list[tuple[Any, Exception | None]]:
    """Runs the first jobs until the time is over, at least one; returns each one's result or exception."""
    ends = monotonic() + GOES_ON
    done: list[tuple[Any, Exception | None]] = []
    for work in works:
        if done and monotonic() >= ends:
            break
        try:
            done.append((work(), None))
        except Exception as problem:  # noqa: BLE001  (raised again, where it was asked for)
            done.append((None, problem))
    return done
