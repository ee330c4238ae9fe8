"""Finds the sections that a keyword is about, in the index and on pages of the web: the spines of articles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from chassis import Connection
from documents.words import telling_stems
from reading.collection import heads_of
from reading.ranking.aboutness import (
    MIN_CANDIDATE,
    CollectionFacts,
    Keyword,
    SectionHead,
    SpineCandidate,
    aboutness,
    parse_keyword,
    rank_candidates,
)
from reading.ranking.narrow_topics import one_of_kinds, page_instead, short_sections
from research.domain import WebPage
from research.index.section_lookup import SectionPlace, facts_of, find_sections, load_sections
from research.index.sections import shorten_section

MAX_LOADED: Final = 8
"""Sections whose text is compared."""
MAX_HEADS: Final = 500
"""Sections of a web page that are compared."""
MAX_SPINES: Final = 4
"""Sections that are offered to a writer, with all below them."""


@dataclass(frozen=True, slots=True)
class SectionHits:
    """The sections about a keyword: those to make an article of, best first."""

    keyword: Keyword
    spines: Sequence[SpineCandidate] = ()
    """Their `key` is a `SectionPlace` or a `WebPage`."""
    nearest: tuple[float, SectionPlace] | None = None
    """The section of the index that is most about the keyword, and how much."""


async def search_sections(
    connection: Connection, corpora: Sequence[str], text: str, pages: Sequence[WebPage]
) -> SectionHits:
    """Find the sections of these corpora and pages that the keyword is about."""
    keyword = parse_keyword(text)
    if not keyword.stems or keyword.is_generic:
        return SectionHits(keyword)
    facts = await facts_of(connection, corpora)
    facts = replace(facts, abbreviations=_abbreviations_of(keyword, facts.abbreviations))
    forms = {text, *facts.abbreviations, *facts.abbreviations.values()}
    places = await find_sections(connection, corpora, sorted(forms), facts)
    rated = _rated(keyword, [(place.head, place) for place in places], facts)
    chosen = [place for about, place in rated if about >= MIN_CANDIDATE][:MAX_LOADED]
    loaded = [
        SpineCandidate(place.head, shorten_section(section), key=place)
        for place, section in await load_sections(connection, chosen)
    ]
    found = (
        replace(each, section=one_of_kinds(keyword, each.section, facts))
        for each in (*loaded, *_of_pages(keyword, pages, facts))
    )
    spines = rank_candidates(keyword, found, facts)
    page = await _page_of_short(connection, spines, keyword, facts)
    spines = [*spines[: MAX_SPINES - len(page)], *page]
    return SectionHits(
        keyword,
        spines,
        rated[0] if rated else None,
    )


async def _page_of_short(
    connection: Connection, spines: Sequence[SpineCandidate], keyword: Keyword, facts: CollectionFacts
) -> list[SpineCandidate]:
    """Load the page of the first short section, which may be the spine in its stead."""
    short = next(short_sections(spines), None)
    if short is None:
        return []
    if isinstance(short.key, WebPage):
        page = short.key.document.sections
        key: SectionPlace | WebPage = short.key
    else:
        assert isinstance(short.key, SectionPlace)
        found = await load_sections(connection, [short.key.page])
        key, page = found[0] if found else (short.key, None)
    instead = None if page is None else page_instead(short, shorten_section(page), keyword, facts)
    return [] if instead is None else [replace(instead, key=key)]


def _abbreviations_of(keyword: Keyword, known: Mapping[str, str]) -> dict[str, str]:
    """Return what the keyword is short for, or its abbreviation, among those of the corpus."""
    initials = "".join(word[0] for word in keyword.text.split()).upper()
    return {
        short: spelled
        for short, spelled in known.items()
        if keyword.text == short or (initials == short and keyword.stems == telling_stems(spelled))
    }


def _rated(
    keyword: Keyword, heads: Sequence[tuple[SectionHead, SectionPlace]], facts: CollectionFacts
) -> list[tuple[float, SectionPlace]]:
    """Return the sections that share a title with the keyword, most of it first; of equal ones, the longer first."""
    rated = [(aboutness(keyword, head, facts), place) for head, place in heads]
    found = [each for each in rated if each[0] > 0]
    found.sort(key=lambda each: (-each[0], -min(each[1].words, 250), each[1].path, each[1].position))
    return found


def _of_pages(keyword: Keyword, pages: Sequence[WebPage], facts: CollectionFacts) -> list[SpineCandidate]:
    """Return the best candidates among the sections of web pages."""
    rated = [
        (aboutness(keyword, head, facts), SpineCandidate(head, section, key=page))
        for page in pages
        if page.document.sections is not None
        for head, section in islice(heads_of(page.document.sections, path=page.document.url or ""), MAX_HEADS)
    ]
    found = sorted(
        (each for each in rated if each[0] >= MIN_CANDIDATE),
        key=lambda each: (-each[0], -min(each[1].head.words, 250)),
    )
    return [replace(each, section=shorten_section(each.section)) for _, each in found[:MAX_LOADED]]
