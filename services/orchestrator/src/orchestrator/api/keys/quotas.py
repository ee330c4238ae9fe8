"""Rate limits of API keys, shared by all replicas.

Each replica takes a share of the key's requests for the current minute, by the database's clock, and spends it locally.
Shares shrink as the limit comes near, so that little is left unspent elsewhere when a caller is refused.
"""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from chassis.http.callers import Caller
from chassis.http.throttling import QuotaState
from messaging import Database
from orchestrator.api.keys import store

_SWEPT_FROM: Final = 1_000


@dataclass(slots=True)
class _LocalShare:
    """This replica's share of a key's requests in the current minute."""

    quota: int
    left: int
    elsewhere: int
    """Requests that no replica had taken at that time."""
    until: float


class KeyQuotas:
    """Counts the requests of callers that have a limit.

    Args:
        database: of the service.
        clock: monotonic seconds.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._parts: dict[str, _LocalShare] = {}
        self._taking: dict[str, asyncio.Lock] = {}

    async def __call__(self, caller: Caller) -> QuotaState | None:
        """Counts one request; returns the state of the caller's quota, or None for a caller without a limit.

        Raises:
            DatabaseUnavailableError: the database is unreachable.
        """
        if caller.per_minute is None:
            return None
        part = self._current(caller)
        if part is None:
            part = await self._taken(caller)
        is_exceeded = part.left == 0
        if not is_exceeded:
            part.left -= 1
        resets_in = max(1, math.ceil(part.until - self._clock()))
        return QuotaState(part.quota, part.left + part.elsewhere, resets_in, is_exceeded)

    def _current(self, caller: Caller) -> _LocalShare | None:
        """The share in hand; None if it is used up and more is available, or if it is of another minute or limit."""
        part = self._parts.get(caller.key_id)
        if part is None or part.quota != caller.per_minute or self._clock() >= part.until:
            return None
        return part if part.left or not part.elsewhere else None

    async def _taken(self, caller: Caller) -> _LocalShare:
        assert caller.per_minute is not None
        # Of many that come at once, one asks for all.
        async with self._taking.setdefault(caller.key_id, asyncio.Lock()):
            if (part := self._current(caller)) is not None:
                return part
            async with self._database.connection() as connection:
                share = await store.take_share(connection, caller.key_id, caller.per_minute)
            part = _LocalShare(
                caller.per_minute, share.taken, share.left, until=self._clock() + share.seconds_left
            )
            self._parts[caller.key_id] = part
        if len(self._parts) > _SWEPT_FROM:
            self._sweep()
        return part

    def _sweep(self) -> None:
        now = self._clock()
        for key_id in [key_id for key_id, part in self._parts.items() if part.until <= now]:
            del self._parts[key_id]
            if not self._taking[key_id].locked():
                del self._taking[key_id]
