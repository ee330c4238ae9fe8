"""Coalesces concurrent requests: those that arrive during a call share the next call."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from opentelemetry import context as otel_context

from chassis.observing import traces

KeyT = TypeVar("KeyT")
AnswerT = TypeVar("AnswerT")


class RequestCoalescer(Generic[KeyT, AnswerT]):
    """Runs one call at a time for all waiting keys. A first request never waits for others.

    `ask` returns an answer, or the error to raise, for each of at most `limit` keys. If it raises, all of them fail.
    """

    def __init__(
        self, ask: Callable[[Sequence[KeyT]], Awaitable[Mapping[KeyT, AnswerT | Exception]]], *, limit: int
    ) -> None:
        self._ask = ask
        self._limit = limit
        self._waiting: list[tuple[KeyT, asyncio.Future[AnswerT], otel_context.Context]] = []
        self._asking: asyncio.Task[None] | None = None

    async def get(self, key: KeyT) -> AnswerT:
        answer: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answer, otel_context.get_current()))
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_all())
        return await answer

    async def _ask_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            keys = list(dict.fromkeys(key for key, _, _ in batch))
            try:
                # One caller started this task, and it continues for others.
                with traces.on_behalf_of([context for _, _, context in batch]):
                    answers = await self._ask(keys)
            except Exception as error:  # noqa: BLE001  (raised again to the callers)
                answers = dict.fromkeys(keys, error)
            for key, future, _ in batch:
                answer = answers[key]
                if future.done():
                    continue  # its caller was cancelled meanwhile
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
