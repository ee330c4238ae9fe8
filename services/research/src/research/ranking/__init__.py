"""Which documents answer a keyword, and whether they are enough for an article. Pure: no I/O, no clock, no randomness."""

from research.ranking.choosing import MAX_PASSAGES_PER_SOURCE, MAX_SOURCES, MAX_SOURCES_PER_HOST, decide
from research.ranking.passages import Hits, abbreviation, passage_score
from research.ranking.relevance import Places, Query, Term

__all__ = [
    "MAX_PASSAGES_PER_SOURCE",
    "MAX_SOURCES",
    "MAX_SOURCES_PER_HOST",
    "Hits",
    "Places",
    "Query",
    "Term",
    "abbreviation",
    "decide",
    "passage_score",
]
