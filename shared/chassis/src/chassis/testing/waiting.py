"""Waiting for conditions instead of sleeping."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def eventually(check: Callable[[], Any], *, within: float = 180.0) -> Any:
    """Waits until `check`, a plain or an async function, returns something true, and returns it.

    It asks every 20 ms at first, then less often, so that asking takes no time from what is waited for: the end is noticed
    within a twentieth of the time that it took, and within a tenth of a second.

    Raises:
        AssertionError: it did not within so many seconds; names the last value.
    """
    began = asyncio.get_running_loop().time()
    while True:
        result = check()
        value = await result if inspect.isawaitable(result) else result
        if value:
            return value
        waited = asyncio.get_running_loop().time() - began
        if waited > within:
            raise AssertionError(f"not within {within:g} s: {_described(check)} (last: {value!r})")
        await asyncio.sleep(min(max(0.02, waited / 20), 0.1))


def _described(check: Callable[[], Any]) -> str:
    try:
        return inspect.getsource(check).strip()
    except (OSError, TypeError):  # no function of a file: a partial, for one
        return repr(check)
