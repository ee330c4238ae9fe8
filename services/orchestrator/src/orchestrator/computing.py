"""Pure computing beside the event loop: for what takes milliseconds, and would cost as much again if each went to a thread alone."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, Final, TypeVar

GOES_ON: Final = 0.02
"""Seconds, after which what is done is handed over, though others wait."""

ResultT = TypeVar("ResultT")


class ComputeThread:
    """One thread: a second one would only quarrel with it and with the event loop. What waits for it is done in one go.

    So what waited together ends together, and what follows from it can be written together.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="computing")
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._going: asyncio.Task[None] | None = None

    async def do(self, work: Callable[[], ResultT]) -> ResultT:
        """What `work` returns, or raises, in its turn."""
        result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, result))
        if self._going is None or self._going.done():
            self._going = asyncio.create_task(self._do_all())
        return await result

    async def _do_all(self) -> None:
        loop = asyncio.get_running_loop()
        # Whose caller was cancelled is not done.
        while jobs := [job for job in self._waiting if not job[1].done()]:
            self._waiting = []
            try:
                done = await loop.run_in_executor(self._thread, _do, [work for work, _ in jobs])
            except BaseException as error:
                for _, result in jobs:
                    if not result.done():
                        result.set_exception(RuntimeError(f"nothing can be computed: {error!r}"))
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
    """Of the first of them, as many as are done in time and one at least: what came of each."""
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
