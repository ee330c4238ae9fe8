"""How many sources an article needs. Research and the writers both ask here. Pure."""

from typing import Final

MIN_SHOWN_WORDS: Final = 120
"""The fewest words of an article that quotes one page of the brand's own, or of one that may be quoted at length.

A section of 150 words loses about a fifth with its pointers and labels.
"""


def sources_needed(*, quotable: bool, min_sources: int) -> int:
    """Returns the least number of independent sources.

    Args:
        quotable: whether all sources may be quoted at length: the brand's own, or under a licence that allows it.
        min_sources: the brand's minimum where a source is another author's.
    """
    return 1 if quotable else min_sources
