"""Ranks documents for a keyword and decides if they suffice for an article. Pure: no I/O, no clock, no randomness."""

from reading.ranking.passages import SearchHits, find_abbreviation, passage_score
from reading.ranking.relevance import KeywordQuery, Places, QueryTerm
from reading.ranking.source_selection import (
    MAX_PASSAGES_PER_SOURCE,
    MAX_SOURCES,
    MAX_SOURCES_PER_HOST,
    select_sources,
)

__all__ = [
    "MAX_PASSAGES_PER_SOURCE",
    "MAX_SOURCES",
    "MAX_SOURCES_PER_HOST",
    "KeywordQuery",
    "Places",
    "QueryTerm",
    "SearchHits",
    "find_abbreviation",
    "passage_score",
    "select_sources",
]
