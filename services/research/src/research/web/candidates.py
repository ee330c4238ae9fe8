"""Selects which page addresses to read for a keyword. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, zip_longest
from typing import Final

from research.sources.domain import SourceSettings
from research.web.addresses import host_of, page_key, site_of

MAX_FOUND: Final = 12
"""Pages to read per keyword from search results."""
MAX_OF_SITE: Final = 3
"""Of these, pages per site that is not preferred."""
MAX_OF_FEEDS: Final = 8
"""Pages to read per keyword from feeds."""
_MIN_STEM: Final = 4


_WORD: Final = re.compile(r"\w{2,}")


@dataclass(frozen=True, slots=True)
class PageCandidate:
    """The address of a page, with the date that the search or feed gives."""

    address: str
    written_on: date | None = None


@dataclass(frozen=True, slots=True)
class FeedCandidate:
    """A candidate from a feed, with its title and summary there."""

    candidate: PageCandidate
    text: str


@dataclass(frozen=True, slots=True)
class CandidateSelection:
    candidates: tuple[PageCandidate, ...]
    blocked: int
    """Number of candidates on blocked hosts."""


def select_candidates(
    given: Sequence[PageCandidate], searches: Sequence[Sequence[PageCandidate]], sources: SourceSettings
) -> CandidateSelection:
    """Select the pages to read, without duplicates: all given ones, then the best of the searches.

    The first results of all searches come before the second ones, and so on; preferred hosts come before all others.

    Args:
        given: pages from the brand's own addresses and feeds.
        searches: results of each search, best first.
        sources: blocked and preferred hosts.
    """
    in_turn = [
        candidate for candidate in chain.from_iterable(zip_longest(*searches)) if candidate is not None
    ]
    known: set[str] = set()
    of_brand = list(_allowed(given, sources, known))
    found = list(_allowed(in_turn, sources, known))
    found.sort(key=lambda candidate: not sources.prefers(host_of(candidate.address)))
    blocked = sum(sources.blocks(host_of(candidate.address)) for candidate in (*given, *in_turn))
    return CandidateSelection((*of_brand, *_varied(found, sources)), blocked)


def select_by_keyword(keyword: str, told: Iterable[FeedCandidate]) -> list[PageCandidate]:
    """Select feed entries with at least half of the keyword's words: most words first, then newest first."""
    beginnings = [_beginning(word) for word in _words(keyword)]

    def named(each: FeedCandidate) -> int:
        words = set(_words(each.text))
        return sum(any(word.startswith(beginning) for word in words) for beginning in beginnings)

    ranked = sorted(
        ((named(each), each.candidate) for each in told),
        key=lambda each: (-each[0], -(each[1].written_on or date.min).toordinal()),
    )
    needed = (len(beginnings) + 1) // 2
    return [candidate for count, candidate in ranked if count and count >= needed][:MAX_OF_FEEDS]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _beginning(word: str) -> str:
    """Return the rough stem of a word; the ranking of the page's text decides later."""
    return word[: max(_MIN_STEM, len(word) - 2)]


def _allowed(
    candidates: Iterable[PageCandidate], sources: SourceSettings, known: set[str]
) -> Iterator[PageCandidate]:
    for candidate in candidates:
        page = page_key(candidate.address)
        if page not in known and not sources.blocks(host_of(candidate.address)):
            known.add(page)
            yield candidate


def _varied(found: Sequence[PageCandidate], sources: SourceSettings) -> list[PageCandidate]:
    kept: list[PageCandidate] = []
    sites: Counter[str] = Counter()
    for candidate in found:
        site = site_of(candidate.address)
        if sites[site] < MAX_OF_SITE or sources.prefers(host_of(candidate.address)):
            sites[site] += 1
            kept.append(candidate)
    return kept[:MAX_FOUND]
