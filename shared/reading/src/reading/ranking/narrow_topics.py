"""Takes from a page what it says about one part of its subject: "hub gears" from a page on gears. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice, pairwise, takewhile
from typing import Final

from documents.blocks import Block, Paragraph, text_of
from documents.sections import Section
from documents.source_minimum import MIN_SHOWN_WORDS
from documents.words import stems_of, telling_stems
from reading.ranking.aboutness import CollectionFacts, Keyword, SectionKind, SpineCandidate

NAMED_ABOUT: Final = 0.7
"""The least aboutness of a section whose page may be the spine in its stead."""
PAGE_ABOUT: Final = 0.8
"""The most aboutness of a page for one of its sections."""
SHORT_WORDS: Final = 2 * MIN_SHOWN_WORDS
"""A section with fewer words may be too short for an article of its own."""
LEAST_SHARE: Final = 1 / 3
"""The share of a paragraph's sentences from which it is about what they name."""
OWN_SHARE: Final = 0.5
"""The least share of the section on the keyword among all that its page says about it: else too much is aside."""
FIRST_CHARACTERS: Final = 200
READ_CHARACTERS: Final = 2_000
MAX_SECTIONS: Final = 200
"""Sections of a page that are looked through."""
_SENTENCE: Final = re.compile(r"(?<=[.!?]) +(?=[^a-z])")
# An introduction that leads up to several things, of which one is taken: "There are three ways to carry a child".
_COUNTS: Final = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|several|various|different) (?:\w+ ){0,2}"
    r"(?:ways|kinds|types|sorts|forms|methods|options|possibilities|choices|varieties|classes|categories|approaches|variants|groups)\b",
    re.IGNORECASE,
)
_COORDINATION: Final = re.compile(r",| (?:and|or|vs\.?|versus) ", re.IGNORECASE)


def short_sections(found: Iterable[SpineCandidate]) -> Iterator[SpineCandidate]:
    """Yields the sections that are named like the keyword and may be too short for an article of their own."""
    return (
        each
        for each in found
        if each.about >= NAMED_ABOUT
        and each.head.kind is not SectionKind.PAGE
        and each.section.words < SHORT_WORDS
    )


def page_instead(
    short: SpineCandidate, page: Section, keyword: Keyword, facts: CollectionFacts
) -> SpineCandidate | None:
    """Returns the page of a short section as a candidate in its stead; None if it says too little about the keyword.

    The whole page stands for a keyword that its title names. Of a wider page only that is taken which is about the keyword, the
    section first.
    """
    narrower = _narrower(keyword, page, facts, short.section)
    section = passages_on(narrower, page, short.section) if narrower else page
    if section is short.section or section.words < MIN_SHOWN_WORDS:
        return None
    head = replace(short.head, kind=SectionKind.PAGE, title=page.title, titles_above=())
    return replace(short, head=head, section=section, about=min(PAGE_ABOUT, short.about))


def one_of_kinds(keyword: Keyword, section: Section, facts: CollectionFacts) -> Section:
    """Returns a section with what it says about the kind that the keyword is, if it treats several: "Rim and disc brakes"."""
    kinds = _kinds(keyword, section, facts)
    if not kinds:
        return section
    named = [each for each in _below(section) if kinds <= {*telling_stems(each.title)}]
    return passages_on(kinds, section, max(named, key=lambda each: each.words, default=None))


def _narrower(keyword: Keyword, page: Section, facts: CollectionFacts, own: Section) -> frozenset[str]:
    """Returns the stems that make a keyword narrower than a page; none if the page is about it."""
    telling, title = _telling(keyword, facts), frozenset(telling_stems(page.title))
    if telling <= title:
        is_section = telling == frozenset(telling_stems(own.title)) < title - facts.product_words
        return _kinds(keyword, page, facts) or (telling if is_section else frozenset())
    return telling - title


def _kinds(keyword: Keyword, section: Section, facts: CollectionFacts) -> frozenset[str]:
    """Returns the stems that tell the keyword from other kinds that the section's title names; none if it names no others."""
    telling, title = _telling(keyword, facts), telling_stems(section.title)
    kinds, noun = telling.difference(keyword.stems[-1:]), keyword.stems[-1]
    if not telling <= {*title} or _COORDINATION.search(section.title) is None:
        return frozenset()
    others = {*title} - telling - facts.product_words
    is_one = any(_stand_side_by_side(other, noun, section, facts.product_words) for other in others)
    return kinds if is_one else frozenset()


def passages_on(narrower: AbstractSet[str], page: Section, own: Section | None) -> Section:
    """Returns a page with only its statements about these stems: its section on them, and other paragraphs.

    Text before that section that starts with the stems opens it: "Rim brakes squeeze …". If the section is the lesser part of
    it all, the section alone.
    """
    # Of an introduction to more, one that speaks of them at once.
    introduction = _on(narrower, page.blocks) if _is_named_first(narrower, page) else ()
    introduction = tuple(each for each in introduction if not _COUNTS.search(text_of(each)))
    inside = {_key(each) for _, each in own.walk()} if own else set()
    sections = [*_below(page)]
    found = ((each, _on_or_named(narrower, each)) for each in sections if _key(each) not in inside)
    others = [replace(each, blocks=blocks, children=()) for each, blocks in found if blocks]
    if own is None:
        return replace(page, blocks=introduction, children=tuple(others))
    before = {_key(each) for each in takewhile(lambda each: _key(each) != _key(own), sections)}
    if not introduction and others and _key(others[0]) in before and _begins_with(narrower, others[0]):
        introduction = others.pop(0).blocks
    if introduction:
        whole = replace(page, blocks=introduction, children=(own, *others))
    else:
        whole = replace(page, blocks=own.blocks, children=(*own.children, *others))
    return whole if own.words >= OWN_SHARE * whole.words else own


def _is_named_first(stems: AbstractSet[str], section: Section) -> bool:
    return stems <= {*stems_of(_SENTENCE.split(section.text[:READ_CHARACTERS])[0])}


def _begins_with(stems: AbstractSet[str], section: Section) -> bool:
    """Whether a section starts with the subject: "Rim brakes squeeze …"."""
    first = section.blocks[0]
    is_told = isinstance(first, Paragraph) and not first.text.endswith(":")
    return is_told and stems <= {*telling_stems(section.text[:FIRST_CHARACTERS])[: len(stems) + 1]}


def _telling(keyword: Keyword, facts: CollectionFacts) -> frozenset[str]:
    return frozenset(keyword.stems) - facts.product_words or frozenset(keyword.stems)


def _below(section: Section) -> Iterator[Section]:
    return (each for _, each in islice(section.walk(), 1, MAX_SECTIONS))


def _key(section: Section) -> tuple[str, int, str]:
    """What tells a section of a page from the others, however it was loaded."""
    return section.title, section.level, section.anchor


def _on_or_named(stems: AbstractSet[str], section: Section) -> tuple[Block, ...]:
    return section.blocks if stems <= {*telling_stems(section.title)} else _on(stems, section.blocks)


def _on(stems: AbstractSet[str], blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Returns the paragraphs on these stems, each with the lists, tables and listings behind it."""
    kept: list[Block] = []
    is_kept = False
    for block in blocks:
        if isinstance(block, Paragraph):
            is_kept = _is_on(stems, block.text)
        if is_kept:
            kept.append(block)
    return tuple(kept)


def _is_on(stems: AbstractSet[str], text: str) -> bool:
    sentences = _SENTENCE.split(text)
    naming = [stems <= {*stems_of(each)} for each in sentences]
    return naming[0] or sum(naming) >= max(1, LEAST_SHARE * len(sentences))


def _stand_side_by_side(one: str, other: str, section: Section, between: AbstractSet[str]) -> bool:
    """Whether both stand side by side in the titles or texts of a section; a product's name may stand between them."""
    for _, each in section.walk():
        stems = [stem for stem in stems_of(f"{each.title} {each.text}") if stem not in between]
        if (one, other) in pairwise(stems):
            return True
    return False
