"""The words of a text as ranking and writers compare them: in lower case, and as light English stems. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"\w+")
# A fast path for ASCII, which most texts are: maps letters to lower case and all other characters to spaces.
_ASCII: Final = (
    bytes(at if chr(at) == "_" or chr(at).isalnum() else ord(" ") for at in range(128)).lower().ljust(256)
)
_NUMBERING: Final = re.compile(
    r"^(?:(?:chapter|appendix|part|section) (?:\d+|[A-Z])[.:]? (?:[–—-] )?|(?:[A-Z]\.)?\d+(?:\.\d+)*\.? (?=\D)(?<=\. )|\d+(?:\.\d+)+ )",  # noqa: RUF001 - a dash between number and title
    re.IGNORECASE,
)
_MANUAL_SECTION: Final = re.compile(r"\s?\(\d\w?\)(?: manual page)?$", re.IGNORECASE)
_SUFFIXES: Final = tuple("ations ation ings ing ions ion ates ate ers er ied ies ed es s e y".split())  # noqa: SIM905
_MIN_STEM: Final = 3
_STEMS: Final = 8192
_TEXTS: Final = 4096
_LONGEST_REMEMBERED: Final = 500


def words_of(text: str) -> list[str]:
    """Returns the words in lower case. An identifier such as wal_level is one word, and does not mention its parts."""
    if text.isascii():
        return text.encode().translate(_ASCII).decode().split()
    return [*map(str.casefold, _WORD.findall(text))]


@lru_cache(_STEMS)
def stem(word: str) -> str:
    """Returns a light English stem: scan, scans and scanning become equal."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            word = word[: -len(suffix)]
            break
    doubled = len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls"
    return word[:-1] if doubled else word


def stems_of(text: str) -> tuple[str, ...]:
    return (_stems_of if len(text) <= _LONGEST_REMEMBERED else _stems_of.__wrapped__)(text)


@lru_cache(_TEXTS)
def _stems_of(text: str) -> tuple[str, ...]:
    return tuple(map(stem, words_of(text)))


COMMON_WORDS: Final = frozenset(
    "a an the of to in is are was were be been and or not for with by on at from as that which can may must will "  # noqa: SIM905
    "has have had do does it its than if when but you your more most one no this these how what why who up out".split()
)
COMMON_STEMS: Final = frozenset(map(stem, COMMON_WORDS))


def telling_stems(text: str) -> tuple[str, ...]:
    """Returns the stems without function words, in order; all stems if there are no others."""
    return (_telling if len(text) <= _LONGEST_REMEMBERED else _telling.__wrapped__)(text)


@lru_cache(_TEXTS)
def _telling(text: str) -> tuple[str, ...]:
    # By words: "notes" and "not" have one stem.
    telling = [word for word in words_of(text) if word not in COMMON_WORDS]
    return tuple(map(stem, telling)) or stems_of(text)


def bare_title(title: str) -> str:
    """Returns a title without its number and a manual's section: "3.1. smtpd(8)" is "smtpd"."""
    return _MANUAL_SECTION.sub("", _NUMBERING.sub("", " ".join(title.split())))


def find_run(wanted: Sequence[str], stems: Sequence[str]) -> int | None:
    """Returns the first place where the wanted stems stand side by side."""
    size = len(wanted)
    places = range(len(stems) - size + 1) if wanted else ()
    first = wanted[0] if wanted else ""
    return next((at for at in places if stems[at] == first and [*stems[at : at + size]] == [*wanted]), None)


_ARTICLES: Final = frozenset("a an the".split())  # noqa: SIM905
_DEFINES: Final = frozenset(
    "is are means refers denotes describes provides allows lets enables implements consists contains represents".split()  # noqa: SIM905
)
_NOUNS: Final = frozenset(
    "command commands statement function module file files feature option mechanism program system".split()  # noqa: SIM905
)


def is_definition(keyword: Sequence[str], sentence: str) -> bool:
    """Whether a sentence starts with the keyword (its stems) and says what it is or does: "A hook is a program …"."""
    words = words_of(sentence[:300])
    while words and words[0] in _ARTICLES:
        del words[0]
    stems = tuple(map(stem, words))
    size = len(keyword)
    if not size or stems[:size] != tuple(keyword):
        return False
    after = words[size:]
    if after and after[0] in _NOUNS:
        del after[0]
    # "The cache is empty." says how it is.
    return len(after) > 2 and after[0] in _DEFINES  # noqa: PLR2004
