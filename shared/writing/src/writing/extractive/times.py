"""Finds statements about a present that is over. Pure."""

import re
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

DAYS_A_YEAR: Final = 365.25
# A statement about "now" holds for about so long; one about "next month" was about a day that is gone.
_FRESH_YEARS: Final = 1.0
# Sentences of at most this many characters are cached.
_REMEMBERED: Final = 1024
_LONGEST: Final = 1000

# These are about a day near the one on which they were written, whichever that was.
_NEAR_ITS_DAY = re.compile(
    # "Leaves fill the bulb for next year" is true of every year.
    r"\b(?:(?<!for )next|last|this|coming|past) (?:week|month|year|spring|summer|autumn|fall|winter|quarter|decade)\b"
    r"|\b(?:yesterday|tomorrow|tonight)\b"
    r"|\b(?:upcoming|forthcoming|soon-to-be|as of (?:now|today|this)|at (?:the )?time of (?:this )?writing|at the moment of writing)\b"
    r"|\b(?:will|is|are) (?:soon )?(?:be |to be |going to be |expected to be |scheduled to be |due to be |planned to be )"
    r"(?:released|launched|announced|introduced|shipped|discontinued|deprecated)\b"
    r"(?! (?:if|when|once|after|unless|whenever|as soon|until))"
    # "Links to the page will be removed" is what follows from a step.
    r"|\b(?:will soon be|(?:is|are) (?:going|expected|scheduled|due|planned) to be) (?:published|available|removed|dropped)\b"
    r"|\bwill be (?:published|available|removed|dropped) (?:soon|in (?:a |the )?(?:\w+ )?(?:version|release)|in \d)"
    r"|\b(?:is|are) (?:scheduled|planned|slated) (?:for|to)\b|\bin the (?:near|foreseeable) future\b|\bin (?:a )?future (?:release|version)s?\b"
    # Not "recently used files", or whatever a reader did recently.
    r"|(?<!most )(?<!how )(?<!more )(?<!you )\brecently\b(?!-)(?! (?:used|opened|created|changed|modified|accessed|added|viewed|visited)\b)"
    r"|\b(?:lately|not long ago|so far this)\b",
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
    """Returns the age in years; None if the source has no date."""
    return None if published_on is None else max(0.0, (today - published_on).days / DAYS_A_YEAR)


def is_outdated(text: str, published_on: date | None, today: date) -> bool:
    """Whether a text refers to a present or future that is, or may be, over.

    A reference to a day near an unknown date counts as over; an undated source may speak of the present.
    """
    years = _age(published_on, today)
    told = (_told_of if len(text) <= _LONGEST else _told_of.__wrapped__)(text)
    if told.ahead is not None and told.ahead <= today.year:
        return True
    if years is not None and years < _FRESH_YEARS:
        return False
    return told.near or (years is not None and told.now)


class _Times(NamedTuple):
    """A text's references to the time of its writing."""

    ahead: int | None
    """The earliest future year that it mentions."""
    near: bool
    now: bool


# The same sentences occur in article after article.
@lru_cache(_REMEMBERED)
def _told_of(text: str) -> _Times:
    ahead = min((int(match[1]) for match in _AHEAD.finditer(text)), default=None)
    return _Times(ahead, _NEAR_ITS_DAY.search(text) is not None, _NOW.search(text) is not None)
