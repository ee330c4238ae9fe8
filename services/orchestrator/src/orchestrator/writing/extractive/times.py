"""What the age of a source does to what it says. Pure."""

import re
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

DAYS_A_YEAR: Final = 365.25
# A statement about "now" holds for about so long; one about "next month" was about a day that is gone.
_FRESH_YEARS: Final = 1.0
_LOSS_A_YEAR: Final = 0.04
_LEAST: Final = 0.7
_UNKNOWN: Final = 0.95
# Sentences, of so many characters at most.
_REMEMBERED: Final = 1024
_LONGEST: Final = 1000

# These are about a day near the one on which they were written, whichever that was.
_NEAR_ITS_DAY = re.compile(
    r"\b(?:next|last|this|coming|past) (?:week|month|year|spring|summer|autumn|fall|winter|quarter|decade)\b"
    r"|\b(?:yesterday|tomorrow|tonight)\b"
    r"|\b(?:upcoming|forthcoming|soon-to-be|as of (?:now|today|this)|at (?:the )?time of (?:this )?writing|at the moment of writing)\b"
    r"|\b(?:will|is|are) (?:soon )?(?:(?:be |to be |going to be |expected to be |scheduled to be |due to be |planned to be )"
    r"(?:released|launched|published|announced|introduced|available|shipped|discontinued|deprecated|removed|dropped))\b"
    r"(?! (?:if|when|once|after|unless|whenever|as soon|until))"
    r"|\b(?:is|are) (?:scheduled|planned|slated) (?:for|to)\b|\bin the (?:near|foreseeable) future\b|\bin (?:a )?future (?:release|version)s?\b"
    r"|\b(?:recently|lately|not long ago|so far this)\b",
    re.IGNORECASE,
)
# These hold as long as nothing changes.
_NOW = re.compile(
    r"\b(?:currently|nowadays|presently|today|these days|at present|at the moment|right now|"
    r"still (?:experimental|in beta|under development|being developed)|the (?:latest|newest|most recent) "
    r"(?:\w+ )?(?:version|release|model|generation|edition)|brand[- ]new|state[- ]of[- ]the[- ]art)\b",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"\b(?:will|shall|going to|expected|plan(?:s|ned)?|scheduled)\b[^.]{0,60}?\b(20\d\d)\b", re.IGNORECASE
)


def _age(published_on: date | None, today: date) -> float | None:
    """Years; None if the source does not say when it was written."""
    return None if published_on is None else max(0.0, (today - published_on).days / DAYS_A_YEAR)


def weight(published_on: date | None, today: date) -> float:
    """What a source's age leaves of its worth, up to 1."""
    years = _age(published_on, today)
    return _UNKNOWN if years is None else max(_LEAST, 1 - _LOSS_A_YEAR * years)


def is_outdated(text: str, published_on: date | None, today: date) -> bool:
    """Whether a text speaks of a present or future that is, or may be, over.

    What is near an unknown day is taken for over; what an undated source says of the present is let stand.
    """
    years = _age(published_on, today)
    told = (_told_of if len(text) <= _LONGEST else _told_of.__wrapped__)(text)
    if told.ahead is not None and told.ahead <= today.year:
        return True
    if years is not None and years < _FRESH_YEARS:
        return False
    return told.near or (years is not None and told.now)


class _Times(NamedTuple):
    """What a text says of the day on which it was written."""

    ahead: int | None
    """The earliest of the years that it looks ahead to."""
    near: bool
    now: bool


# The same sentences are looked at for article after article.
@lru_cache(_REMEMBERED)
def _told_of(text: str) -> _Times:
    ahead = min((int(match[1]) for match in _AHEAD.finditer(text)), default=None)
    return _Times(ahead, _NEAR_ITS_DAY.search(text) is not None, _NOW.search(text) is not None)
