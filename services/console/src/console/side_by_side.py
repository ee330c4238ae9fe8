"""Calls of services side by side."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any


async def side_by_side(
    read: Callable[[Awaitable[Any]], Awaitable[Any]], calls: Sequence[Awaitable[Any]]
) -> list[Any]:
    """The answers of `read` for each call, in their order. Raises the first call's error once all have ended."""
    try:
        answers = await asyncio.gather(*map(read, calls), return_exceptions=True)
    finally:
        # Whoever is cancelled before they begin would leave coroutines that nobody has awaited, which Python complains of.
        for call in calls:
            if inspect.iscoroutine(call):
                call.close()
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return list(answers)
