"""The names of the brands that a person may see, for the bar of every page; asked at most every few seconds."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakValueDictionary

from client import ClientError, RefusedError, UnchangedError, etag_of
from console.service_clients import ServiceConnections, is_away

if TYPE_CHECKING:
    from client.services.orchestrator import AsyncOrchestrator

_GOOD_FOR_SECONDS: Final = 10.0
_MOST_PEOPLE: Final = 2_000
MOST_BRANDS: Final = 1_000


class BrandName(NamedTuple):
    slug: str
    name: str


class KnownBrands(tuple[BrandName, ...]):  # noqa: SLOT001  (it keeps a dictionary)
    """Brands by slug, up to MOST_BRANDS; every page looks some of them up."""

    @cached_property
    def by_slug(self) -> Mapping[str, str]:
        """Their names."""
        return dict(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class _NameList:
    """An answer of the orchestrator with its entity tag, which is the same for the same names."""

    names: KnownBrands
    etag: str | None


_NONE: Final = _NameList(KnownBrands(), None)


class BrandNames:
    """The names by API key. Each is asked for with the person's own key, so that the orchestrator alone decides who may see them.

    People who see the same brands hold the same answer, so 1,000 brands take no memory for each of them; while no name changes, the
    orchestrator sends none.
    """

    def __init__(self, services: ServiceConnections, clock: Callable[[], float] = time.monotonic) -> None:
        self._services = services
        self._clock = clock
        self._known: dict[str, tuple[_NameList, float]] = {}
        self._answers: WeakValueDictionary[str, _NameList] = WeakValueDictionary()

    async def of(self, key_id: str, orchestrator: "AsyncOrchestrator") -> KnownBrands:
        """Returns up to MOST_BRANDS brands; the last known ones while the orchestrator is away.

        Raises:
            RefusedError: the key is refused.
        """
        known, until = self._known.get(key_id, (_NONE, 0.0))
        if self._clock() < until:
            return known.names
        try:
            found = await self._read(orchestrator, known)
        except ClientError as error:
            if isinstance(error, RefusedError) and not is_away(error):
                raise
            self._services.note_failure("orchestrator")
            return known.names
        self._services.note_answer("orchestrator")
        self._known.pop(key_id, None)
        self._known[key_id] = found, self._clock() + _GOOD_FOR_SECONDS
        while len(self._known) > _MOST_PEOPLE:
            del self._known[next(iter(self._known))]
        return found.names

    async def _read(self, orchestrator: "AsyncOrchestrator", known: _NameList) -> _NameList:
        try:
            answer = await orchestrator.list_brand_names(if_none_match=known.etag)
        except UnchangedError:
            return known
        etag = etag_of(answer)
        same = None if etag is None else self._answers.get(etag)
        if same is not None:
            return same
        found = _NameList(
            KnownBrands(BrandName(each["slug"], each["name"]) for each in answer["items"]), etag
        )
        if etag is not None:
            self._answers[etag] = found
        return found

    def forget(self, key_id: str) -> None:
        """Asks again next time, as after a brand was made."""
        self._known.pop(key_id, None)
