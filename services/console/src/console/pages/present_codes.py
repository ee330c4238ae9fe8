"""What code the services run now, for pages that compare it with the code in which messages failed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from client.message_services import MESSAGE_SERVICES

PresentCode = Mapping[str, str]
"""Service → hash of the source that it runs now; without those that do not answer."""
_GOOD_FOR_SECONDS: Final = 10.0


class PresentCodes:
    """What the services said last that they run. It is the same for all people who may see the backbone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: dict[str, tuple[float, str | None]] = {}
        """Service → when it said so, and its code; none from a service of an older version."""

    async def read(self, services: Iterable[str | None], ask: Callable[[str], Awaitable[Any]]) -> PresentCode:
        """Returns what these services run; `ask` reads the backbone of one, of those that said nothing for some seconds."""
        wanted = [each for each in MESSAGE_SERVICES if each in set(services)]
        oldest = self._clock() - _GOOD_FOR_SECONDS
        asked = [each for each in wanted if each not in self._found or self._found[each][0] < oldest]
        for service, answer in zip(asked, await asyncio.gather(*map(ask, asked)), strict=True):
            self._found.pop(service, None)
            if isinstance(answer, dict):
                self._found[service] = self._clock(), answer.get("code")
        found = {each: self._found[each][1] for each in wanted if each in self._found}
        return {service: code for service, code in found.items() if code}
