"""What the web is asked for a keyword. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from research.synonyms import EQUAL, NEAR

MAX_WORDS: Final = 40
"""Of a keyword; searches take 50."""

_QUESTION: Final = re.compile(
    r"(?:what (?:is|are|does)|how (?:to|do(?:es)?|can)|why (?:is|are|do(?:es)?))\s+(?:(?:an?|the|you|i|we)\s+)?",
    re.IGNORECASE,
)
_ENGLISH: Final = "en"
_MIN_SINGULAR: Final = 3


def queries(keyword: str, language: str | None, at_most: int) -> list[str]:
    """The keyword, then as a question (or, of a question, what it is about), then in other words; no two alike."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in keyword).split()[:MAX_WORDS])
    asked: dict[str, str] = {}
    for query in _variants(plain, in_english=language is None or language[:2] == _ENGLISH):
        asked.setdefault(query.casefold(), query)
    return list(asked.values())[:at_most]


def _variants(keyword: str, *, in_english: bool) -> Iterator[str]:
    yield keyword
    if in_english:
        subject = _QUESTION.sub("", keyword, count=1) if _QUESTION.match(keyword) else ""
        yield subject or f"what is {keyword}"
        yield from _in_other_words(subject or keyword)


def _in_other_words(subject: str) -> Iterator[str]:
    words = subject.split()
    for groups in (EQUAL, NEAR):
        for at, word in enumerate(words):
            for group in groups:
                known = group.split()
                if word.casefold() in known:
                    other = next(each for each in known if each != word.casefold())
                    yield " ".join([*words[:at], other, *words[at + 1 :]])
    last = words[-1] if words else ""
    if last.isalpha() and len(last) > _MIN_SINGULAR and last.endswith("s") and not last.endswith("ss"):
        yield " ".join([*words[:-1], last[:-1]])
    elif last.isalpha() and len(last) >= _MIN_SINGULAR:
        yield " ".join([*words[:-1], f"{last}s"])
