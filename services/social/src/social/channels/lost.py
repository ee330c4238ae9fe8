"""What is the same wherever a lost post is looked for among those of its account."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar
from unicodedata import normalize

from receipts import Refused, UnknownOutcome

CLOCKS: Final = timedelta(minutes=5)
"""By which a platform's clock and ours may differ."""
PAGES: Final = 10
"""Of an account's latest posts, among which a lost one is looked for, back to its first attempt."""
READ_SECONDS: Final = 5.0
"""For one request of a look-up."""
_READ_AGAIN_AFTER: Final = (0.2, 0.6)
"""Seconds."""
_T = TypeVar("_T")


async def read(ask: Callable[[], Awaitable[_T]]) -> _T:
    """What a platform answers to a question that changes nothing: asked again at once, a few times, where no whole answer came.

    Raises:
        UnknownOutcome: none came.
        Whatever else `ask` raises, at once.
    """
    for pause in _READ_AGAIN_AFTER:
        try:
            return await ask()
        except UnknownOutcome:
            await asyncio.sleep(pause)
    return await ask()


def since(prepared: Mapping[str, Any]) -> datetime:
    """The moment before which no post can be ours: that of the first attempt, or now, should clocks have been set back."""
    begun = datetime.fromisoformat(prepared["since"]).astimezone(UTC)
    return min(begun, datetime.now(UTC)) - CLOCKS


def confirmed_id(remote: Mapping[str, Any], pattern: str = r"(?!)") -> str:
    """The number of the post before, for what answers it. A person who has confirmed it may have told its address alone: `pattern`.

    Raises:
        Refused: nobody knows it.
    """
    if known := remote.get("id"):
        return str(known)
    if found := re.search(pattern, str(remote.get("url", ""))):
        return found[0]
    raise Refused("no_id", "the post is out, and its number is not known: add the link below it by hand")


def comparable(text: str) -> str:
    """Platforms change white space and compose characters."""
    return " ".join(normalize("NFC", text).split())
