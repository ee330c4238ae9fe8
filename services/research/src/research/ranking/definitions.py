"""Whether a text says what a keyword is. Pure; for English."""

import re
from functools import lru_cache
from typing import Final

NAME_LINE: Final = re.compile(
    r"(?P<names>[\w.:+-]{2,60}(?:, [\w.:+-]{2,60}){0,9}|[A-Z]{2,20}(?: [A-Z]{2,20}){1,5}) (?:-|--|–|—) \S[^\n]{8,200}"  # noqa: RUF001
)
"""The beginning of a page of a manual, "git-bisect - Use binary search to find …": many have no other definition."""

_ENTRY: Final = re.compile(r"(?:An?|To|Any|The (?:\w+ ){1,2}(?:of|that|which|in|to|by|for))\s")


def is_entry(text: str) -> bool:
    """Whether it explains what the heading above it names, as a glossary does: "A tree that …"."""
    return _ENTRY.match(text) is not None


def says_what_is(keyword: str, text: str) -> bool:
    """Whether a sentence begins with the keyword and goes on with what it is; `keyword` is normalised."""
    return _definition_of(keyword).search(text) is not None


def goes_on_about(keyword: str, text: str) -> bool:
    """Whether a sentence says what the keyword is or does, for readers who know already that the page is about it.

    On a page about table partitioning, "Partitioning refers to …" does.
    """
    return _deed_of(keyword).search(text) is not None


@lru_cache(64)
def _definition_of(keyword: str) -> re.Pattern[str]:
    name = r"[\W_]+".join(map(re.escape, keyword.split()))
    return re.compile(
        rf"(?:^|[.!?]\s)(?:An? |The (?:term )?)?[\"'“‘]?{name}(?:s|es)?[\"'”’]?(?: \([^()]{{1,80}}\)|, or [^,.;]{{1,60}},)? "  # noqa: RUF001
        r"(?:(?:is|are) (?:an?|the|any|one)\b|means\b|refers? to\b|denotes?\b)",
        re.IGNORECASE,
    )


@lru_cache(64)
def _deed_of(keyword: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in keyword.split()] or [r"(?!)"]
    whole = r"[\W_]+".join(words)
    return re.compile(
        rf"(?:^|[.!?]\s)(?:An? |The )?(?:{whole}|{words[-1]})(?:s|es)?(?: command| module| files?| statement)?(?: \([^()]{{1,80}}\))? "
        r"(?:(?:is|are) (?:an?|the|any|one)\b|means\b|refers? to\b|denotes?\b|provides?\b|allows?\b|lets?\b|enables?\b"
        r"|[a-z]{3,}s (?:an?|the|all|any|one|your)\b)",
        re.IGNORECASE,
    )
