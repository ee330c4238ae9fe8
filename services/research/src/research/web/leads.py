"""Addresses that may be worth reading, and which of them are read. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, zip_longest
from typing import Final

from research.sources.domain import Sources
from research.web.addresses import host_of, same_page, site_of

MAX_FOUND: Final = 12
"""Pages read of what searches found for one keyword."""
MAX_OF_SITE: Final = 3
"""Of them, pages of one site that is not preferred."""
MAX_OF_FEEDS: Final = 8
"""Pages read of what feeds lead to."""
_MIN_STEM: Final = 4


_WORD: Final = re.compile(r"\w{2,}")


@dataclass(frozen=True, slots=True)
class Lead:
    """An address, and when its page was written as far as who led there knows."""

    address: str
    written_on: date | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A lead, and what is said of it where it was found: title and summary."""

    lead: Lead
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    leads: tuple[Lead, ...]
    blocked: int
    """Leads that were dropped because of their hosts."""


def chosen(given: Sequence[Lead], searches: Sequence[Sequence[Lead]], sources: Sources) -> Choice:
    """Which pages are read, each once.

    Args:
        given: what the brand names itself; all of them are read.
        searches: of each search what it found, best first: the first of each, then the second of each, and so on, those
            of preferred hosts before all others.
        sources: which hosts are blocked and which are preferred.
    """
    in_turn = [lead for lead in chain.from_iterable(zip_longest(*searches)) if lead is not None]
    known: set[str] = set()
    of_brand = list(_allowed(given, sources, known))
    found = list(_allowed(in_turn, sources, known))
    found.sort(key=lambda lead: not sources.prefers(host_of(lead.address)))
    blocked = sum(sources.blocks(host_of(lead.address)) for lead in (*given, *in_turn))
    return Choice((*of_brand, *_varied(found, sources)), blocked)


def about(keyword: str, told: Iterable[Told]) -> list[Lead]:
    """Those that are told to be about the keyword: first those that name most of its words, of these the newest."""
    beginnings = [_beginning(word) for word in _words(keyword)]

    def named(each: Told) -> int:
        words = set(_words(each.text))
        return sum(any(word.startswith(beginning) for word in words) for beginning in beginnings)

    ranked = sorted(
        ((named(each), each.lead) for each in told),
        key=lambda each: (-each[0], -(each[1].written_on or date.min).toordinal()),
    )
    needed = (len(beginnings) + 1) // 2
    return [lead for count, lead in ranked if count and count >= needed][:MAX_OF_FEEDS]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _beginning(word: str) -> str:
    """What its inflections have in common, roughly: whether a page is a source is decided by its text."""
    return word[: max(_MIN_STEM, len(word) - 2)]


def _allowed(leads: Iterable[Lead], sources: Sources, known: set[str]) -> Iterator[Lead]:
    for lead in leads:
        page = same_page(lead.address)
        if page not in known and not sources.blocks(host_of(lead.address)):
            known.add(page)
            yield lead


def _varied(found: Sequence[Lead], sources: Sources) -> list[Lead]:
    kept: list[Lead] = []
    sites: Counter[str] = Counter()
    for lead in found:
        site = site_of(lead.address)
        if sites[site] < MAX_OF_SITE or sources.prefers(host_of(lead.address)):
            sites[site] += 1
            kept.append(lead)
    return kept[:MAX_FOUND]
