"""Calls side by side: all end before the first error is raised, and none is left unawaited."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable
from typing import Any

import pytest

from console.side_by_side import side_by_side


async def read(call: Awaitable[Any]) -> Any:
    return await call


async def test_answers_come_in_their_order_and_an_error_when_all_have_ended() -> None:
    ended: list[int] = []

    async def call(number: int, error: Exception | None = None) -> int:
        if error is not None:
            raise error
        await asyncio.sleep(0)
        ended.append(number)
        return number

    assert await side_by_side(read, [call(1), call(2)]) == [1, 2]
    with pytest.raises(ValueError, match="no"):
        await side_by_side(read, [call(3, ValueError("no")), call(4)])
    assert ended == [1, 2, 4]


@pytest.mark.extended
@pytest.mark.parametrize("turns", range(1, 5))
async def test_who_is_cancelled_leaves_nothing_that_was_never_awaited(turns: int) -> None:
    async def call() -> None:
        await asyncio.sleep(3600)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        task = asyncio.create_task(side_by_side(read, [call(), call()]))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        gc.collect()
    assert [str(each.message) for each in told] == []
