"""Turns one section of a source into the parts of an article: its opening, and its sub-sections in their order. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from documents.blocks import Definitions, ItemList, Listing, Note, Paragraph
from documents.sections import ENTRY_LEVEL, PAGE_LEVEL, Section
from documents.source_minimum import MIN_SHOWN_WORDS
from documents.words import stems_of, telling_stems
from writing.extractive import openings, references
from writing.extractive.beginnings import (
    BeginningFinder,
    begins_with_synopsis,
    is_skipping,
    named_line,
    opening_first,
)
from writing.extractive.endings import cut_units, ended, has_promise, without_bare_end, without_promises
from writing.extractive.titles import comparable, declaration, declared_name, heading_of, tidy
from writing.extractive.units import TOP_LEVEL, Part, Unit, UnitReader, entries_below
from writing.quality.likeness import runs

WHOLE_WORDS: Final = 6_000
"""A page or section with no more words is shown from beginning to end."""
INTRODUCTION_WORDS: Final = 600
"""The longest introduction in front of sub-sections."""
MAX_WORDS: Final = 4_500
"""The length of an article from a page or section that is too long to be shown whole."""
ENOUGH_WORDS: Final = 300
"""With so many words, no section is begun that must be cut."""
MAX_SUBSECTIONS: Final = 40
LOWEST_LEVEL: Final = 4
MAX_READ: Final = 40
"""Sub-sections that are read."""
MIN_SUBSECTION_WORDS: Final = 20
OWN_WORDS: Final = 60
"""A sub-section with fewer words of its own takes in the sections below it."""
REPEATED_RUN: Final = 5
LEAST_REPEATED: Final = 20
"""Shorter units are not compared: terse sentences are alike."""
REPEATED: Final = 0.8
"""The share of runs of five words from which a unit repeats others. Entries of one kind share much of their wording."""
# Parts that any page may have: their text is the page's own introduction.
_INTRODUCTIONS: Final = frozenset(
    "introduction overview description background general about summary basics purpose motivation rationale preface".split()  # noqa: SIM905
)
_SKIPPED: Final = re.compile(
    r"^(?:name|see also|references?|bibliography|further reading|related \w+|authors?|author\(s\)|author.s? .{0,20}|credits|acknowledge?ments|bugs|known bugs|files|synopsis|"
    r"syntax|feedback|reporting bugs|history|news|change ?log|changes|release notes|what.s new.{0,40}|copyright|copying|licen[cs]e|to-?do|"
    r"environment|exit status|diagnostics|availability|standards|conforming to|colophon|index|contents|table of contents|more information|resources|links|"
    r"notes?|details|conclusions?|miscellaneous|other|more|text|content|untitled|section|misc)$",
    re.IGNORECASE,
)


class NoSpineError(Exception):
    """The section gives no article; the message, which continues after the name of the page, says why."""


class TooLongError(NoSpineError):
    """The section would break off: what has less to do with the keyword does not replace it."""


@dataclass(frozen=True, slots=True)
class Spine:
    """The parts of an article from one section, in the order of the source."""

    parts: tuple[Part, ...]
    left_out: tuple[Section, ...] = ()
    """Sections that there was no room for."""

    @property
    def words(self) -> int:
        return sum(part.words for part in self.parts)


class SpineReader:
    """Reads one section of a source for an article."""

    def __init__(
        self,
        section: Section,
        titles_above: Sequence[str],
        keyword: Sequence[str],
        about: float,
        units: UnitReader,
    ) -> None:
        self._section = section
        self._units = units
        self._heading = frozenset(
            each for title in (*titles_above, section.title) for each in stems_of(title)
        )
        self._known = {*self._heading, *keyword}
        self._beginnings = BeginningFinder(
            section, keyword, about, self._heading, is_whole=section.words <= WHOLE_WORDS
        )

    def read(self) -> Spine:
        """Returns the parts of the article.

        Raises:
            NoSpineError: no paragraph opens an article.
        """
        section, children = self._introduced()
        introduction = self._connected(self._units.read(section, self._heading), self._heading, begins=True)
        introduction = opening_first(introduction)
        subsections = self._below(children)
        if (named := named_line(children)) is not None:
            term, explanation = named
            if introduction and references.is_pointer(introduction[0].first):
                del introduction[0]
            return self._begun([explanation, *introduction], subsections, term=term)
        if (found := self._beginnings.beginning(introduction)) is not None:
            return self._begun(found, subsections)
        if (spine := self._unheaded(subsections)) is not None:
            return spine
        if (later := self._beginnings.later(introduction)) is not None:
            return self._begun(later, subsections)
        raise NoSpineError("has no paragraph that opens an article")

    def read_as_it_stands(self) -> Spine:
        """Returns the section from its first paragraph of prose, which may not say what the subject is.

        Raises:
            NoSpineError: the section has no such paragraph.
        """
        section, children = self._introduced()
        units = self._units.read(section, self._heading)
        subsections = self._below(children)
        if units and units[0].is_bare and isinstance(units[0].blocks[0], ItemList):
            # A list right below the title: what follows may speak of it.
            return self._begun(units, subsections)
        for at, unit in enumerate(units):
            if is_skipping(units[:at]):
                break
            if self._beginnings.may_begin(unit):
                ahead = [each for each in units[:at] if not each.first]
                return self._begun([unit, *ahead, *units[at + 1 :]], subsections)
        found = self._subsections(subsections, 0)
        if found and found[0][1][0].units:
            return self._spine(Part(None, ()), found, subsections)
        raise NoSpineError("has no paragraph that opens an article")

    def _below(self, children: Sequence[Section]) -> list[Section]:
        """Returns the sections that are shown under headings of their own."""
        listed = entries_below(self._section)
        return [each for each in children if each not in listed and not _SKIPPED.match(each.title.strip())]

    def _begun(
        self,
        introduction: Sequence[Unit],
        subsections: Sequence[Section],
        *,
        term: str = "",
    ) -> Spine:
        """Returns the article with this introduction."""
        words = sum(unit.words for unit in introduction)
        parts = self._subsections(subsections, words)
        is_whole = words + sum(_words(each) for _, each in parts) <= WHOLE_WORDS
        longest = WHOLE_WORDS if is_whole or not parts else INTRODUCTION_WORDS
        opening = self._opening(cut_units(introduction, longest), term=term)
        return self._spine(opening, parts, subsections)

    def _opening(self, units: tuple[Unit, ...], source: Section | None = None, *, term: str = "") -> Part:
        """Returns the opening; the term that its first paragraph explains, unless it is a sentence, is its section's title."""
        section = source or self._section
        is_entry = section.level >= ENTRY_LEVEL
        if not term and isinstance(units[0].blocks[0], Paragraph):
            if is_entry:
                term = section.title
            elif section.title.endswith("?"):
                term = ""
            elif self._needs_name(section, units[0].first, is_lifted=source is not None):
                is_declared = declared_name(section.title)
                term = declaration(section.title) if is_declared else tidy(section.title)
        return Part(None, units, term=term)

    def _needs_name(self, section: Section, first: str, *, is_lifted: bool) -> bool:
        """Whether a first sentence says something of its section's title without naming it."""
        if first.startswith("The ") and openings.speaks_of(telling_stems(section.title), first):
            return False
        return (
            openings.is_gloss(first)
            or openings.speaks_of_its_heading(first, is_lifted=is_lifted)
            or openings.says_what_its_heading_is(first)
        )

    def _introduced(self) -> tuple[Section, tuple[Section, ...]]:
        """Returns the section with a first sub-section "Introduction" or "Description" as its own text."""
        section = self._section
        if (
            section.level == PAGE_LEVEL
            and not section.blocks
            and [each.level for each in section.children] == [1]
        ):
            # Its only heading, which is not quite the page's title.
            section = section.children[0]
        for at, child in enumerate(section.children[:MAX_SUBSECTIONS]):
            if comparable(child.title) in _INTRODUCTIONS:
                section = _joined(section, at)
                return section, section.children
        return section, section.children

    def _connected(self, units: Sequence[Unit], heading: AbstractSet[str], *, begins: bool) -> list[Unit]:
        """Returns the units that readers understand behind those before them."""
        if self._units.is_as_it_stands:
            return [*units]
        shown: list[Unit] = []
        is_previous_shown = False
        for at, unit in enumerate(units):
            is_synopsis = (
                begins
                and not unit.behind_drop
                and len(shown) == at
                and (unit.is_bare or openings.says_what_its_heading_is(unit.first))
            )
            if (unit.behind_drop or not is_previous_shown) and not is_synopsis:
                is_first = at == 0 and not unit.behind_drop and not begins
                is_previous_shown = self._stands_alone(unit, heading, is_first=is_first)
                if not is_previous_shown:
                    continue
                if shown or at:
                    unit = replace(unit, behind_drop=True)  # noqa: PLW2901 - the same unit, known to stand behind a drop
            is_previous_shown = True
            shown.append(unit)
            self._known |= frozenset(stems_of(unit.text))
        return shown

    def _stands_alone(self, unit: Unit, heading: AbstractSet[str], *, is_first: bool) -> bool:
        first = unit.first
        if unit.is_bare or not first:
            # A list right under its heading needs no sentence, and terms are explained anywhere.
            return is_first or isinstance(unit.blocks[0], Note | Definitions | Listing) or unit.is_titled
        return not (
            references.is_dependent(first, heading)
            or references.has_unknown_subject(first, self._known | heading)
            or (not is_first and unit.behind_drop and references.adds(first))
            # A name of code may begin a section, "ifupdown is …"; elsewhere the sentence goes on from before.
            or (unit.behind_drop and first[:1].islower() and heading.isdisjoint(stems_of(first.split()[0])))
        )

    def _subsections(
        self, sections: Sequence[Section], words_before: int
    ) -> list[tuple[Section, list[Part]]]:
        """Returns the parts of all sub-sections, if they fit; else of the first ones, some without the sections below them."""
        read = ((section, self._shown_parts(section)) for section in sections[:MAX_READ])
        readable = [(section, parts) for section, parts in read if parts and _is_enough(section, parts)]
        by_title = {comparable(section.title): (section, parts) for section, parts in reversed(readable)}
        distinct = [*reversed(by_title.values())]
        if words_before + sum(_words(parts) for _, parts in distinct) <= WHOLE_WORDS:
            return distinct
        found: list[tuple[Section, list[Part]]] = []
        room = MAX_WORDS - min(words_before, INTRODUCTION_WORDS)
        for section, parts in distinct:
            own = _own(parts)
            if _words(parts) <= room:
                shown = parts
            elif _words(own) <= room and not has_promise(own[0].units):
                shown = own
            elif (
                sum(_words(each) for _, each in found) >= ENOUGH_WORDS or room <= 0 or _lists_entries(section)
            ):
                # Entries are shown all or not at all: readers would miss any of them.
                break
            else:
                shown = _fitting(own, room)
            found.append((section, shown))
            room -= _words(shown)
        return found

    def _shown_parts(self, section: Section) -> list[Part]:
        """Returns the parts of a sub-section; as it stands, where readers would miss it else."""
        parts = self._parts_of(section)
        is_begun = bool(parts) and (
            bool(parts[0].units) or section.own_words < MIN_SUBSECTION_WORDS or parts[0].level > TOP_LEVEL
        )
        if self._units.is_as_it_stands or (is_begun and _is_enough(section, parts)):
            return parts
        strict, self._units = self._units, replace(self._units, is_as_it_stands=True)
        try:
            return self._parts_of(section)
        finally:
            self._units = strict

    def _parts_of(
        self, section: Section, above: AbstractSet[str] = frozenset(), level: int = TOP_LEVEL
    ) -> list[Part]:
        """Returns the part of a section, and those of the sections below it."""
        if section.children and comparable(section.children[0].title) in _INTRODUCTIONS:
            section = _joined(section, 0)
        heading = self._heading | above | frozenset(stems_of(section.title))
        units = self._connected(self._units.read(section, heading), heading, begins=False)
        if section.level >= ENTRY_LEVEL or begins_with_synopsis(units):
            # Another listing or table under a heading stays there: what follows speaks of it.
            units = opening_first(units)
        is_behind = bool(units) and units[0].behind_drop and not self._units.is_as_it_stands
        if is_behind and not self._names(section, units[0]):
            return []
        below = [
            part
            for child in (section.children[:MAX_SUBSECTIONS] if level < LOWEST_LEVEL else ())
            if child not in entries_below(section) and not _SKIPPED.match(child.title.strip())
            for part in self._parts_of(child, heading, level + 1)
        ]
        return [Part(_title(section), tuple(units), level), *below] if below or units else []

    def _names(self, section: Section, unit: Unit) -> bool:
        own = frozenset(telling_stems(section.title)) - self._heading
        return not own.isdisjoint(stems_of(unit.text))

    def _unheaded(self, subsections: Sequence[Section]) -> Spine | None:
        """Starts with the first sub-section without its heading, as a page without introduction does."""
        found = self._subsections(subsections, 0)
        if not found or found[0][0] not in subsections[:2]:
            return None
        section, (part, *parts) = found[0]
        if section.level >= ENTRY_LEVEL or section.title.endswith("?"):
            # An answer stays below its question.
            return None
        first = part.units[0] if part.units else None
        if (
            first is None
            or not self._beginnings.opens(first)
            # "This element …" stays below its heading.
            or openings.speaks_of_its_heading(first.first, is_lifted=True)
            or references.has_unknown_subject(first.first, self._heading)
        ):
            return None
        rest = replace(part, units=part.units[1:])
        stays = bool(rest.units) and rest.words >= OWN_WORDS and not references.adds(rest.units[0].first)
        opening = self._opening((first,) if stays else part.units, section)
        if not stays:
            parts = [replace(each, level=max(TOP_LEVEL, each.level - 1)) for each in parts]
        return self._spine(
            opening, [(section, [*([rest] if stays else []), *parts]), *found[1:]], subsections
        )

    def _spine(
        self,
        opening: Part,
        found: Iterable[tuple[Section, list[Part]]],
        subsections: Sequence[Section],
    ) -> Spine:
        shown = [*found]
        parts = [*_without_repetition([opening, *(part for _, parts in shown for part in parts)])]
        whole = ended(without_promises(parts), MIN_SHOWN_WORDS)
        if not whole:
            raise NoSpineError("has no paragraph that opens an article")
        kept = without_bare_end(whole, MIN_SHOWN_WORDS)
        headings = {part.heading for part in kept}
        lost = {part.heading for part in parts if part.units} - headings
        complete = {id(section) for section, _ in shown if _title(section) not in lost}
        return Spine(tuple(kept), tuple(_left_out(subsections, complete, headings)))


def _left_out(
    subsections: Sequence[Section], shown: AbstractSet[int], headings: set[str | None]
) -> Iterator[Section]:
    """Yields the sub-sections that are not shown, and those below shown ones."""
    for section in subsections:
        children = [each for each in section.children if each not in entries_below(section)]
        is_shown = id(section) in shown or (
            section.own_words < MIN_SUBSECTION_WORDS and not _lists_entries(section)
        )
        for each in children if is_shown else [section]:
            title = _title(each)
            is_named = title in headings or title.endswith("…") or comparable(title) in _INTRODUCTIONS
            if each.words >= MIN_SUBSECTION_WORDS and not is_named and not _SKIPPED.match(each.title.strip()):
                headings.add(title)
                yield each


def _joined(section: Section, at: int) -> Section:
    """Returns a section with the text of one of its sub-sections as its own."""
    child = section.children[at]
    others = (*section.children[:at], *child.children, *section.children[at + 1 :])
    return replace(section, blocks=(*section.blocks, *child.blocks), children=others)


def _title(section: Section) -> str:
    return heading_of(section.title, is_entry=section.level >= ENTRY_LEVEL)


def _without_repetition(parts: Iterable[Part]) -> Iterator[Part]:
    """Yields the parts without units that repeat earlier ones, and without a heading that stands twice."""
    said: set[tuple[str, ...]] = set()
    headings: set[str] = set()
    for part in parts:
        units = []
        for unit in part.units:
            own = runs(unit.text, REPEATED_RUN)
            if len(own & said) < REPEATED * len(own) or unit.words < LEAST_REPEATED:
                units.append(unit)
            said |= own
        if len(units) < len(part.units) and not any(unit.first for unit in units):
            # A listing alone, without the sentence that said what it is.
            units = []
        name = comparable(part.heading or "")
        is_weak = name in headings or name in _INTRODUCTIONS or (part.heading is not None and not name)
        if is_weak and (part.level > TOP_LEVEL or not name):
            # Its text goes on without it.
            if units and units[0].first:
                yield Part(None, tuple(units))
            continue
        headings.add(name)
        if units or part.heading is not None:
            yield replace(part, units=tuple(units))


def _is_enough(section: Section, parts: Sequence[Part]) -> bool:
    """Whether a sub-section is worth its heading: not only the beginning of a text that ends at a hole."""
    words = sum(part.words for part in parts)
    blocks = [block for part in parts for block in part.blocks]
    title = comparable(section.title)
    is_example = title.startswith("example") or title.endswith(("example", "examples"))
    if all(isinstance(block, Listing) for block in blocks):
        return is_example
    return words >= max(MIN_SUBSECTION_WORDS, min(OWN_WORDS, section.own_words // 2))


def _lists_entries(section: Section) -> bool:
    return any(each.level >= ENTRY_LEVEL for each in section.children)


def _words(parts: Sequence[Part]) -> int:
    return sum(part.words for part in parts)


def _own(parts: Sequence[Part]) -> list[Part]:
    """Returns the first part alone, unless it is short."""
    return [*parts[:1]] if parts[0].words >= OWN_WORDS else [*parts]


def _fitting(parts: Sequence[Part], room: int) -> list[Part]:
    """Returns the first parts within the room, cut at the end of a unit."""
    kept: list[Part] = []
    for part in parts:
        if room <= 0 and any(each.units for each in kept):
            break
        fitting = replace(part, units=cut_units(part.units, room))
        kept.append(fitting)
        room -= fitting.words
    return kept
