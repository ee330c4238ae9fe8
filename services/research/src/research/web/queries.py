"""Builds the web queries for a keyword, and filters those that a model proposes. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from research.synonyms import EQUAL, NEAR

MAX_WORDS: Final = 40
"""Words of a keyword to search for; search engines accept 50."""

_QUESTION: Final = re.compile(
    r"(?:what (?:is|are|does)|how (?:to|do(?:es)?|can)|why (?:is|are|do(?:es)?))\s+(?:(?:an?|the|you|i|we)\s+)?",
    re.IGNORECASE,
)
_ENGLISH: Final = "en"
_MIN_SINGULAR: Final = 3
LONGEST: Final = 100
"""Characters of a proposed query."""
MOST_WORDS: Final = 12
_MIN_STEM: Final = 4
"""Letters that a word shares with its inflections: “encrypt” and “encryption”."""
_OPERATOR: Final = re.compile(r"[\"“”„«»:|*()<>{}\[\]=~!@\\^;`$]|(?:^|\s)[-+]|\.\.")
"""Operators of search engines: `site:`, quotes, `-word`, `!bang`, `2000..2010`."""
_BOOLEAN: Final = re.compile(r"\b(?:AND|OR|NOT|NEAR)\b")
_ADDRESS: Final = re.compile(r"/|\bwww\b|[^\W\d_]\.[^\W\d_]{2,}", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")
_FILLERS: Final = frozenset(
    (
        "a",
        "an",
        "and",
        "are",
        "at",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "it",
        "of",
        "on",
        "or",
        "the",
        "to",
        "us",
        "we",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "with",
        "you",
        "your",
    )
)
"""Words without meaning for a search."""


def build_queries(keyword: str, language: str | None, at_most: int) -> list[str]:
    """Return the keyword, its question (or the subject of a question), then variants with synonyms; all distinct."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in keyword).split()[:MAX_WORDS])
    asked: dict[str, str] = {}
    for query in _variants(plain, in_english=language is None or language[:2] == _ENGLISH):
        asked.setdefault(query.casefold(), query)
    return list(asked.values())[:at_most]


def merge_queries(by_rule: Sequence[str], proposed: Sequence[str], at_most: int) -> list[str]:
    """Return the keyword itself, then the proposed queries, then those made by rules; all distinct."""
    asked: dict[str, str] = {}
    for query in (*by_rule[:1], *proposed, *by_rule[1:]):
        asked.setdefault(query.casefold(), query)
    return list(asked.values())[:at_most]


def filter_proposals(proposed: Sequence[str], keyword: str, at_most: int) -> tuple[str, ...]:
    """Return those proposed queries that are plain words and about the keyword; all distinct."""
    kept = {" ".join(keyword.split()).casefold(): ""}
    for each in proposed:
        query = " ".join(each.split())
        if _is_plain(query, keyword) and _is_about(query, keyword):
            kept.setdefault(query.casefold(), query)
    return tuple(query for query in kept.values() if query)[:at_most]


def _is_plain(query: str, keyword: str) -> bool:
    """Return whether the query has no operators or addresses; the keyword's own punctuation is allowed: “C++”."""
    if not 0 < len(query) <= LONGEST or len(query.split()) > MOST_WORDS or not query.isprintable():
        return False
    own = {word.casefold() for word in keyword.split()}
    strange = " ".join(word for word in query.split() if word.casefold() not in own)
    return not (_BOOLEAN.search(query) or _OPERATOR.search(strange) or _ADDRESS.search(strange))


def _is_about(query: str, keyword: str) -> bool:
    """Return whether the query has more than half of the keyword's content words, as inflections or synonyms too."""
    wanted = _content(keyword)
    words = _content(query)
    found = sum(any(_are_alike(word, other) for other in words) for word in wanted)
    return 2 * found > len(wanted)


def _content(text: str) -> set[str]:
    words = set(_WORD.findall(text.casefold()))
    return words - _FILLERS or words


def _are_alike(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    if short == long or (len(short) >= _MIN_STEM and long.startswith(short)):
        return True
    return any(word in group.split() and other in group.split() for group in (*EQUAL, *NEAR))


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
