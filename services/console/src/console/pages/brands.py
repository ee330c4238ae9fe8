"""The names of the brands that a person may see, for the bar of every page; asked at most every few seconds."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from client import ClientError, RefusedError
from console.service_clients import ServiceConnections, is_away

if TYPE_CHECKING:
    from client.services.orchestrator import AsyncOrchestrator

_GOOD_FOR_SECONDS: Final = 10.0
_MOST_PEOPLE: Final = 2_000
MOST_BRANDS: Final = 1_000
_PAGE: Final = 100


class BrandName(NamedTuple):
    slug: str
    name: str


class BrandNames:
    def __init__(self, services: ServiceConnections, clock: Callable[[], float] = time.monotonic) -> None:
        self._services = services
        self._clock = clock
        self._known: dict[str, tuple[tuple[BrandName, ...], float]] = {}

    async def of(self, key_id: str, orchestrator: "AsyncOrchestrator") -> tuple[BrandName, ...]:
        """Returns up to MOST_BRANDS brands; the last known ones while the orchestrator is away.

        Raises:
            RefusedError: the key is refused.
        """
        known, until = self._known.get(key_id, ((), 0.0))
        if self._clock() < until:
            return known
        try:
            found = await _read(orchestrator)
        except ClientError as error:
            if isinstance(error, RefusedError) and not is_away(error):
                raise
            self._services.note_failure("orchestrator")
            return known
        self._services.note_answer("orchestrator")
        self._known.pop(key_id, None)
        self._known[key_id] = found, self._clock() + _GOOD_FOR_SECONDS
        while len(self._known) > _MOST_PEOPLE:
            del self._known[next(iter(self._known))]
        return found

    def forget(self, key_id: str) -> None:
        """Asks again next time, as after a brand was made."""
        self._known.pop(key_id, None)


async def _read(orchestrator: "AsyncOrchestrator") -> tuple[BrandName, ...]:
    found: list[BrandName] = []
    after: str | None = None
    while len(found) < MOST_BRANDS:
        answer = await orchestrator.list_brands(after=after, limit=_PAGE)
        found += [BrandName(each["slug"], each["name"]) for each in answer["items"]]
        after = answer["next"]
        if after is None:
            break
    return tuple(found)
