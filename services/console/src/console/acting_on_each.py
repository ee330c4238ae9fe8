"""Acts on each of many things, some side by side, and keeps what is said against it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from client import ClientError, RefusedError
from console.service_clients import sentence_of
from console.texts import Texts

PARALLEL: Final = 5
_Thing = TypeVar("_Thing")


@dataclass(slots=True)
class ActedOn(Generic[_Thing]):
    """What became of each thing."""

    done: list[_Thing] = field(default_factory=list)
    refused: list[tuple[_Thing, str]] = field(default_factory=list)
    """With what the service says."""


async def act_on_each(
    things: Sequence[_Thing],
    act: Callable[[_Thing], Awaitable[None]],
    t: Texts,
    *,
    parallel: int = PARALLEL,
) -> ActedOn[_Thing]:
    """Acts on each thing, some side by side; with `parallel=1`, one after another in this order."""
    limit, outcome = asyncio.Semaphore(parallel), ActedOn[_Thing]()

    async def act_on(thing: _Thing) -> None:
        async with limit:
            try:
                await act(thing)
            except ClientError as error:
                why = sentence_of(error, t) if isinstance(error, RefusedError) else str(error)
                outcome.refused.append((thing, why))
            else:
                outcome.done.append(thing)

    await asyncio.gather(*map(act_on, things))
    return outcome
