"""What is the same wherever a lost post is looked for among those of its account."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any, Final, Self, TypeVar
from unicodedata import normalize

from receipts import Absent, ClockOffset, Refused, Unclear, UnknownOutcome, Work

CLOCKS: Final = timedelta(minutes=5)
"""By which times that a platform tells of its posts may differ from what its answers say that time it is."""
FARTHEST: Final = timedelta(hours=1)
"""By which a platform's clock may be ahead of ours or behind it. Beyond, no look-up says that something is not there."""
PAGES: Final = 10
"""Of an account's latest posts, among which a lost one is looked for, back to its first attempt."""
READ_SECONDS: Final = 5.0
"""For one request of a look-up."""
_READ_AGAIN_AFTER: Final = (0.2, 0.6)
"""Seconds."""
_ADDRESS: Final = re.compile(r"https?://")
_IS_UNCERTAIN: Final = "is_uncertain"
_T = TypeVar("_T")


def mark_uncertain(prepared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a post that may be out under a row that the database has lost: it may say something else there, or lead by another link.

    The mark is kept with the receipt, for its look-ups: a post that begins like this one is in doubt, then, and nothing is sent.
    """
    return {**prepared, _IS_UNCERTAIN: True}


def is_uncertain(work: Work) -> bool:
    """Whether what is known of it is not certainly what was sent."""
    return _IS_UNCERTAIN in work.prepared


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


class Time(Enum):
    """When a post was made, as seen from the first attempt at ours."""

    BEFORE = auto()
    NEAR = auto()
    """Before it by the clocks, and so little that these may be wrong."""
    SINCE = auto()


@dataclass(frozen=True, slots=True)
class Window:
    """From when a post of an account may be the lost one, by the clock of its platform.

    The answers of the platform say what time it is there. A post that looks like ours and is a little too old is no proof that ours is
    missing; nor is a list, where nobody knows the platform's time or where that is far from ours.
    """

    begun: datetime
    """The first attempt, by the platform's clock as far as that is known."""
    doubt: str = ""
    """Why what is not found may be there all the same; empty: it is certainly not."""

    @classmethod
    def of(cls, work: Work, clock: ClockOffset | None) -> Self:
        """The window for a look-up, by the clock that one of its answers told."""
        begun = min(_begun(work.prepared), work.account.clock())
        if clock is None:
            return cls(begun, "its server does not say what time it is there, so its list proves nothing")
        doubt = ""
        if clock.largest > FARTHEST:
            minutes = round(clock.largest.total_seconds() / 60)
            doubt = (
                f"the clock of its server and ours differ by {minutes} minutes, so its list proves nothing"
            )
        return cls(begun + clock.least, doubt)

    @property
    def opens(self) -> datetime:
        """Before, no post can be ours."""
        return self.begun - FARTHEST - CLOCKS

    def place(self, made: datetime) -> Time:
        if made >= self.begun - CLOCKS:
            return Time.SINCE
        return Time.NEAR if made >= self.opens else Time.BEFORE

    def may_be_ours(self, work: Work, made: datetime, said: str, sent: str) -> bool:
        """Whether a post that does not say the same as ours may be it all the same, because the database has lost what was sent.

        It may have been edited, or have had another link; as a rule both leave its first line as it is.
        """
        first = _first_line(sent)
        return (
            is_uncertain(work)
            and self.place(made) is not Time.BEFORE
            and first != ""
            and comparable(said).startswith(first)
        )

    def missing(self, *, is_near: bool, is_alike: bool = False) -> Absent | Unclear:
        """What it means that a whole list shows none.

        Args:
            is_near: it shows one like ours that is a little too old.
            is_alike: it shows one that begins like ours, and what ours says is not known for certain.
        """
        if is_alike:
            return Unclear(
                "a post that begins like this one is there, and the database has lost what was sent; look whether that is it"
            )
        if is_near:
            return Unclear(
                "a post like this one is there, from shortly before it was sent; look whether that is it"
            )
        return (
            Unclear(f"it was not found, and {self.doubt}; look whether it is there")
            if self.doubt
            else Absent()
        )


def earliest(work: Work) -> datetime:
    """Before, no post can be ours, however far the clocks differ that a look-up believes: for asking a platform for its latest posts."""
    return min(_begun(work.prepared), work.account.clock()) - 2 * FARTHEST - CLOCKS


def age(work: Work) -> timedelta:
    """How long ago the first attempt was."""
    return max(work.account.clock() - _begun(work.prepared), timedelta())


def _begun(prepared: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(prepared.get("since") or prepared["begun_at"]).astimezone(UTC)


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


def _first_line(text: str) -> str:
    """As far as an address, if there is one in it."""
    lines = text.strip().splitlines()
    return comparable(_ADDRESS.split(lines[0])[0]) if lines else ""


def comparable(text: str) -> str:
    """Platforms change white space and compose characters."""
    return " ".join(normalize("NFC", text).split())
