"""Waiting for conditions instead of sleeping."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def eventually(check: Callable[[], Any], *, within: float = 60.0) -> Any:
    """Waits until `check`, a plain or an async function, returns something true, and returns it.

    Raises:
        AssertionError: it did not within so many seconds; names the last value.
    """
    deadline = asyncio.get_running_loop().time() + within
    while True:
        result = check()
        value = await result if inspect.isawaitable(result) else result
        if value:
            return value
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"not within {within:g} s: {_described(check)} (last: {value!r})")
        await asyncio.sleep(0.02)


def _described(check: Callable[[], Any]) -> str:
    try:
        return inspect.getsource(check).strip()
    except (OSError, TypeError):  # no function of a file: a partial, for one
        return repr(check)
