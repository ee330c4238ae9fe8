"""Recognises definitions of a keyword in English text. Pure."""

import re
from functools import lru_cache
from typing import Final

NAME_LINE: Final = re.compile(
    r"(?P<names>[\w.:+-]{2,60}(?:, [\w.:+-]{2,60}){0,9}|[A-Z]{2,20}(?: [A-Z]{2,20}){1,5}) (?:-|--|–|—) \S[^\n]{8,200}"  # noqa: RUF001
)
"""The first line of a manual page, "git-bisect - Use binary search to find …": many have no other definition."""

_ENTRY: Final = re.compile(r"(?:An?|To|Any|The (?:\w+ ){1,2}(?:of|that|which|in|to|by|for))\s")


def is_glossary_entry(text: str) -> bool:
    """Return whether the text explains its heading as a glossary does: "A tree that …"."""
    return _ENTRY.match(text) is not None


def has_definition(keyword: str, text: str) -> bool:
    """Return whether a sentence starts with the keyword and defines it; `keyword` is normalised."""
    return _definition_pattern(keyword).search(text) is not None


def has_page_definition(keyword: str, text: str) -> bool:
    """Return whether a sentence defines the keyword, or its last word, on a page that is about the keyword.

    On a page about table partitioning, "Partitioning refers to …" does.
    """
    return _page_definition_pattern(keyword).search(text) is not None


@lru_cache(64)
def _definition_pattern(keyword: str) -> re.Pattern[str]:
    name = r"[\W_]+".join(map(re.escape, keyword.split()))
    return re.compile(
        rf"(?:^|[.!?]\s)(?:An? |The (?:term )?)?[\"'“‘]?{name}(?:s|es)?[\"'”’]?(?: \([^()]{{1,80}}\)|, or [^,.;]{{1,60}},)? "  # noqa: RUF001
        r"(?:(?:is|are) (?:an?|the|any|one)\b|means\b|refers? to\b|denotes?\b)",
        re.IGNORECASE,
    )


@lru_cache(64)
def _page_definition_pattern(keyword: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in keyword.split()] or [r"(?!)"]
    whole = r"[\W_]+".join(words)
    return re.compile(
        rf"(?:^|[.!?]\s)(?:An? |The )?(?:{whole}|{words[-1]})(?:s|es)?(?: command| module| files?| statement)?(?: \([^()]{{1,80}}\))? "
        r"(?:(?:is|are) (?:an?|the|any|one)\b|means\b|refers? to\b|denotes?\b|provides?\b|allows?\b|lets?\b|enables?\b"
        r"|[a-z]{3,}s (?:an?|the|all|any|one|your)\b)",
        re.IGNORECASE,
    )
