"""Common code of look-ups: search for a lost post among the posts of its account."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any, Final, Self, TypeVar
from unicodedata import normalize

from receipts import ClockOffset, EffectAbsent, EffectUnclear, Refused, StepInHand, UnknownOutcome

CLOCKS: Final = timedelta(minutes=5)
"""Most difference between a platform's times of posts and its clock."""
FARTHEST: Final = timedelta(hours=1)
"""Most difference between a platform's clock and ours with which a look-up can prove that a post is missing."""
PAGES: Final = 10
"""Most pages of an account's latest posts that a look-up reads, back to the first attempt."""
READ_SECONDS: Final = 5.0
"""Timeout of one request of a look-up."""
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


def is_uncertain(work: StepInHand) -> bool:
    """Whether what is known of it is not certainly what was sent."""
    return _IS_UNCERTAIN in work.prepared


async def read(ask: Callable[[], Awaitable[_T]]) -> _T:
    """Awaits a read-only request; repeats it a few times after incomplete answers.

    Raises:
        UnknownOutcome: no complete answer came. Other errors of `ask` pass at once.
    """
    for pause in _READ_AGAIN_AFTER:
        try:
            return await ask()
        except UnknownOutcome:
            await asyncio.sleep(pause)
    return await ask()


class RelativeTime(Enum):
    """The time of a post relative to our first attempt."""

    BEFORE = auto()
    NEAR = auto()
    """Before it, but within the error of the clocks."""
    SINCE = auto()


@dataclass(frozen=True, slots=True)
class LookupWindow:
    """The time from which a post of an account may be the lost one, by the clock of its platform.

    The platform's answers give its time. A similar post that is slightly too old leaves doubt, and so does a list if the platform's
    time is unknown or far from ours.
    """

    begun: datetime
    """The first attempt, by the platform's clock if known."""
    doubt: str = ""
    """Why a post may exist although the list lacks it; empty if the list is proof."""

    @classmethod
    def of(cls, work: StepInHand, clock: ClockOffset | None) -> Self:
        """The window of a look-up, by the clock in one of its answers."""
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
        """The earliest possible time of our post."""
        return self.begun - FARTHEST - CLOCKS

    def place(self, made: datetime) -> RelativeTime:
        if made >= self.begun - CLOCKS:
            return RelativeTime.SINCE
        return RelativeTime.NEAR if made >= self.opens else RelativeTime.BEFORE

    def may_be_ours(self, work: StepInHand, made: datetime, said: str, sent: str) -> bool:
        """Whether a post that does not say the same as ours may be it all the same, because the database has lost what was sent.

        It may have been edited, or have had another link; as a rule both leave its first line as it is.
        """
        first = _first_line(sent)
        return (
            is_uncertain(work)
            and self.place(made) is not RelativeTime.BEFORE
            and first != ""
            and comparable(said).startswith(first)
        )

    def missing(self, *, is_near: bool, is_alike: bool = False) -> EffectAbsent | EffectUnclear:
        """Returns what a complete list without our post proves.

        Args:
            is_near: it shows a similar post that is slightly too old.
            is_alike: it shows a post with our first line, and our own text is uncertain.
        """
        if is_alike:
            return EffectUnclear(
                "a post that begins like this one is there, and the database has lost what was sent; look whether that is it"
            )
        if is_near:
            return EffectUnclear(
                "a post like this one is there, from shortly before it was sent; look whether that is it"
            )
        return (
            EffectUnclear(f"it was not found, and {self.doubt}; look whether it is there")
            if self.doubt
            else EffectAbsent()
        )


@dataclass(slots=True)
class PostSearch:
    """The search for a lost post in the pages of an account's posts, so far.

    `sent` is the text that was sent; its first line shows a post that may be ours although it says something else. Empty:
    such posts do not count.
    """

    work: StepInHand
    sent: str = ""
    is_near: bool = False
    is_alike: bool = False

    def is_ours(self, window: LookupWindow, made: datetime, said: str, *, is_same: bool) -> bool:
        """Whether a post is the lost one, because it says the same (`is_same`) since the first attempt."""
        time = window.place(made)
        if not is_same or time is RelativeTime.BEFORE:
            self.is_alike = self.is_alike or window.may_be_ours(self.work, made, said, self.sent)
            return False
        self.is_near = self.is_near or time is RelativeTime.NEAR
        return time is RelativeTime.SINCE

    def missing(self, window: LookupWindow) -> EffectAbsent | EffectUnclear:
        """The outcome if no page had the post."""
        return window.missing(is_near=self.is_near, is_alike=self.is_alike)


def too_many(listed: int) -> EffectUnclear:
    """The outcome of a search that reached its limit of pages, after so many posts in all."""
    return EffectUnclear(
        f"there are {listed} or more posts since the first attempt; look whether it is among them"
    )


def earliest(work: StepInHand) -> datetime:
    """The earliest possible time of our post, with the largest accepted clock difference; for requests for latest posts."""
    return min(_begun(work.prepared), work.account.clock()) - 2 * FARTHEST - CLOCKS


def age(work: StepInHand) -> timedelta:
    """Time since the first attempt."""
    return max(work.account.clock() - _begun(work.prepared), timedelta())


def _begun(prepared: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(prepared.get("since") or prepared["begun_at"]).astimezone(UTC)


def confirmed_id(remote: Mapping[str, Any], pattern: str = r"(?!)") -> str:
    """The id of a post that a later step replies to; `pattern` reads it from an address that a person confirmed.

    Raises:
        Refused: the id is unknown.
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
    """The text in comparable form: platforms change white space and compose characters."""
    return " ".join(normalize("NFC", text).split())
