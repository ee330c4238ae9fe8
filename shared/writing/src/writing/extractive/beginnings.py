"""Finds where an article may begin: with the first of a text's units, or with a later one that opens better. Pure."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import takewhile
from typing import Final

from documents.blocks import Definitions, ItemList, Listing, Note, Paragraph, Table, words_in
from documents.sections import ENTRY_LEVEL, Section
from documents.words import is_definition, stems_of
from writing.extractive import openings, references
from writing.extractive.mending import is_sentence
from writing.extractive.titles import comparable
from writing.extractive.units import Unit, paragraphs_of

MIN_OPENING_WORDS: Final = 8
MIN_ENTRY_WORDS: Final = 4
MIN_LEAD_WORDS: Final = 15
MIN_LEAD: Final = 3
SURELY_ABOUT: Final = 0.8
LIFTED_FROM: Final = 4
MIN_NAMED: Final = 0.5
"""The share of the keyword that a later paragraph has in its first sentence, to open where the first one cannot."""
MAX_SKIPPED: Final = 60
"""The most words in front of a later paragraph that opens: with more, the article would begin in the middle of its page."""
MIN_TOLD: Final = 60
"""The fewest words of a list of names that opens."""
_NO_OPENING: Final = re.compile(
    r"^(?:now that|(?:important |please )?note|examples?(?=:)|warning|caution|tip|important|beware|hint|todo|fixme|deprecated|obsolete)\b[:!.,]?",
    re.IGNORECASE,
)
# "This section …" stands first.
_ITS_OWN: Final = frozenset(stems_of("section chapter page document article guide text"))
# Between the name of a manual's page and what it is.
_JOINT: Final = re.compile(r"\s+(\\?--?|[–—])\s+")  # noqa: RUF001 - dashes
MAX_NAME: Final = 80
MAX_SYNOPSIS: Final = 6
"""Lines of syntax in front of a text."""


class BeginningFinder:
    """Finds the beginning of an article on a keyword, in the text of one section."""

    def __init__(
        self,
        section: Section,
        keyword: Sequence[str],
        about: float,
        heading: AbstractSet[str],
        *,
        is_whole: bool,
    ) -> None:
        """`is_whole`: there is room for all of the section, so that its synopsis and options are shown, too."""
        self._is_whole = is_whole
        self._section = section
        self._keyword = tuple(keyword)
        self._about = about
        self._heading = heading
        self._above = heading | {*keyword}

    def may_begin(self, unit: Unit) -> bool:
        """Whether a text can start with this unit, once readers know where it is from."""
        first = unit.first
        is_lead = len(unit.blocks) > 1 and len(first.split()) >= MIN_LEAD
        is_told = is_sentence(first) and words_in(unit.blocks[0]) >= MIN_OPENING_WORDS
        needs_before = references.is_dependent(first, self._heading | _ITS_OWN)
        return (
            (is_lead or is_told)
            and not first.endswith("?")
            and not _NO_OPENING.match(first)
            and not (openings.begins_with_pronoun(first) and needs_before)
            and not openings.is_step(first)
            and not openings.goes_on(first)
            and not (references.is_pointer(first) and unit.text == first)
            and not openings.points_at_unknown(first, self._above)
        )

    def beginning(self, introduction: Sequence[Unit]) -> Sequence[Unit] | None:
        """Returns the introduction from its first paragraph, or from a later one that opens better; None if none opens."""
        is_own = self._begins(introduction)
        if (
            is_own
            and len(introduction) > 1
            and not self.opens(introduction[0])
            and openings.tells_what_it_does(introduction[1].first)
        ):
            # "This is an overloaded function.", and then what it does.
            return introduction[1:]
        if is_own and not self._is_weak(introduction[0]):
            return introduction
        is_explained = is_own and openings.is_gloss(introduction[0].first)
        for at, unit in enumerate(introduction[:LIFTED_FROM]):
            if is_skipping(introduction[:at]):
                break
            first = replace(unit, behind_drop=False)
            is_about = is_definition(self._keyword, unit.first) or (
                not is_explained and openings.speaks_of(self._keyword, unit.first)
            )
            # A list in front of a paragraph is no synopsis: the paragraph goes on from it.
            is_behind_synopsis = all(
                each.is_bare and not isinstance(each.blocks[0], ItemList) for each in introduction[:at]
            )
            is_later = is_behind_synopsis or (
                self._share(unit.first) >= MIN_NAMED and not openings.begins_with_condition(unit.first)
            )
            is_better = is_about or (not is_own and is_later)
            if is_better and self.opens(first) and not openings.is_weak(unit.first):
                synopsis = introduction[:at] if is_behind_synopsis and self._is_whole else ()
                return [first, *synopsis, *introduction[at + 1 :]]
        return introduction if is_own else None

    def _is_weak(self, unit: Unit) -> bool:
        """Whether the article may start with this unit, but a paragraph that speaks of the keyword is better."""
        return openings.is_weak(unit.first) or self._share(unit.text) == 0

    def later(self, introduction: Sequence[Unit]) -> Sequence[Unit] | None:
        """Returns the introduction from the first paragraph that opens, where neither its own first one nor a sub-section does."""
        for at, unit in enumerate(introduction[:LIFTED_FROM]):
            if is_skipping(introduction[:at]):
                break
            first = replace(unit, behind_drop=False)
            is_about = self._share(first.text) > 0 and not openings.begins_with_condition(first.first)
            if is_about and self.opens(first) and not references.adds(first.first):
                return [first, *introduction[at + 1 :]]
        return None

    def _begins(self, introduction: Sequence[Unit]) -> bool:
        """Whether the article may start with these units; a first short sentence may stand before the opening."""
        first = introduction[0].blocks if introduction else ()
        if self._says_what_its_heading_is(introduction):
            return True
        is_short = (
            len(first) == 1
            and isinstance(first[0], Paragraph)
            and len(first[0].text.split()) < MIN_OPENING_WORDS
            and not introduction[0].behind_drop
            and not self.opens(introduction[0])
        )
        if not is_short:
            return bool(introduction) and self.opens(introduction[0])
        prose = (each for each in introduction[1:] if isinstance(each.blocks[0], Paragraph))
        return any(self.opens(each) for each in [*prose][:1])

    def _says_what_its_heading_is(self, introduction: Sequence[Unit]) -> bool:
        first = introduction[0] if introduction and self._about >= SURELY_ABOUT else None
        is_told = first is not None and openings.says_what_its_heading_is(first.first)
        return first is not None and is_told and not first.behind_drop and first.words >= MIN_LEAD_WORDS

    def opens(self, unit: Unit) -> bool:
        """Whether the article may start with this unit."""
        first, block = unit.first, unit.blocks[0]
        if unit.behind_drop or first.endswith("?") or _NO_OPENING.match(first):
            return False
        is_silent = self._about < SURELY_ABOUT and self._share(unit.text) == 0
        if is_silent or references.is_dependent(first, self._heading):
            return False
        if isinstance(block, Paragraph) and openings.needs_before(first, self._above):
            return False
        if isinstance(block, Definitions):
            return unit.words >= MIN_TOLD and _is_reference(block)
        if len(unit.blocks) > 1 and not first.endswith((".", "!")):
            is_lead = len(first.split()) >= MIN_ENTRY_WORDS and openings.has_verb(first)
            return is_lead and unit.words >= MIN_LEAD_WORDS
        is_prose = isinstance(block, Paragraph) and (len(unit.blocks) > 1 or is_sentence(block.text))
        is_told = is_definition(self._keyword, first) or openings.is_gloss(first)
        return is_prose and words_in(block) >= (MIN_ENTRY_WORDS if is_told else _least_words(self._section))

    def _share(self, text: str) -> float:
        """Returns the share of the keyword's stems that occur."""
        wanted = frozenset(self._keyword)
        return len(wanted.intersection(stems_of(text))) / max(1, len(wanted))


def is_skipping(units: Sequence[Unit]) -> bool:
    """Whether an article that begins behind these units leaves out what its readers would miss."""
    told = [unit for unit in units if unit.first]
    has_list = any(isinstance(unit.blocks[0], ItemList) for unit in units)
    return (
        has_list
        or sum(unit.words for unit in told) > MAX_SKIPPED
        or any(len(unit.blocks) > 1 for unit in told)
    )


def _is_reference(listed: Definitions) -> bool:
    """Whether a list explains names: of those, the first explanation says what the page is about."""
    first = listed.entries[0]
    told = next(paragraphs_of(first.blocks), None)
    return all(" " not in term for term in first.terms) and told is not None and is_sentence(told.text)


def _least_words(section: Section) -> int:
    """Returns the fewest words of an opening: "Query or set the limits." tells of a function all there is."""
    return MIN_ENTRY_WORDS if section.level >= ENTRY_LEVEL else MIN_OPENING_WORDS


def named_line(sections: Sequence[Section]) -> tuple[str, Unit] | None:
    """Returns the name and its explanation from the first section of a manual's page: "postmap - lookup table management"."""
    for section in sections[:1]:
        line = section.blocks[0] if len(section.blocks) == 1 else None
        if comparable(section.title) == "name" and isinstance(line, Paragraph) and not line.flags:
            name, joint, explanation = (
                _JOINT.split(line.text, 1) if _JOINT.search(line.text) else (line.text, "", "")
            )
            if joint and len(name) <= MAX_NAME and explanation:
                return name, Unit((Paragraph(explanation),))
    return None


def begins_with_synopsis(units: Sequence[Unit]) -> bool:
    """Whether a text begins with notes, or a few lines of syntax, that its first paragraph does not speak of."""
    ahead = [*takewhile(lambda unit: isinstance(unit.blocks[0], Note | Listing), units)]
    listings = [block for unit in ahead for block in unit.blocks if isinstance(block, Listing)]
    behind = units[len(ahead)].first if len(ahead) < len(units) else ""
    return (
        bool(ahead)
        and sum(len(each.lines) for each in listings) <= MAX_SYNOPSIS
        and not (listings and references.needs_listing(behind))
    )


def opening_first(units: Sequence[Unit]) -> list[Unit]:
    """Moves notes, a synopsis and its options in front of the introduction behind its first paragraph."""
    if units and units[0].is_titled:
        # The facts on a setting stand behind what it does.
        titled, *others = units
        facts = [at for at, each in enumerate(titled.blocks) if isinstance(each, Table)][:1]
        told = tuple(each for at, each in enumerate(titled.blocks) if at not in facts)
        return [
            replace(titled, blocks=told, is_titled=False),
            Unit(tuple(titled.blocks[at] for at in facts), is_bare=True),
            *others,
        ]
    ahead = 0
    while ahead < len(units) and isinstance(units[ahead].blocks[0], Note | Listing | Table):
        ahead += 1
    if not 0 < ahead < len(units):
        return [*units]
    if isinstance(units[ahead].blocks[0], Definitions):
        # The options of a synopsis stay behind it.
        return [*units]
    first = replace(units[ahead], behind_drop=False)
    return [first, *units[:ahead], *units[ahead + 1 :]]
