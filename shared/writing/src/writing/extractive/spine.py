"""Turns one section of a source into the parts of an article: its opening, and its sub-sections in their order. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from documents.blocks import Block, DefinitionEntry, Definitions, Listing, Note, Paragraph, Table, words_in
from documents.sections import ENTRY_LEVEL, Section
from documents.words import is_definition, stems_of, telling_stems
from writing.extractive import references
from writing.extractive.mending import announces, beginning_of, is_sentence
from writing.extractive.titles import comparable, heading_of
from writing.extractive.units import Unit, UnitReader, entries_below
from writing.quality.likeness import runs

INTRODUCTION_WORDS: Final = 320
"""The longest introduction in front of sub-sections."""
LONE_WORDS: Final = 900
"""The longest text without sub-sections."""
SUBSECTIONS_WORDS: Final = 650
MAX_WORDS: Final = 950
MAX_SUBSECTIONS: Final = 7
MAX_READ: Final = 40
"""Sub-sections that are read."""
MIN_SHARE: Final = 60
MIN_SUBSECTION_WORDS: Final = 20
OWN_WORDS: Final = 60
"""A sub-section with fewer words of its own takes in the sections below it."""
MIN_OPENING_WORDS: Final = 8
MIN_ENTRY_WORDS: Final = 4
MIN_LEAD_WORDS: Final = 15
SURELY_ABOUT: Final = 0.8
LIFTED_FROM: Final = 4
MIN_CONTENTS: Final = 3
MAX_LISTED_ENTRIES: Final = 20
"""Sub-sections that make a table of contents."""
MAX_CONTENTS_WORDS: Final = 40
TOP_LEVEL: Final = 2
"""The level of an article's headings."""
REPEATED_RUN: Final = 5
REPEATED: Final = 0.4
"""The share of runs of five words from which a unit repeats others."""
_VERB: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|will|would|should|does|do|did|\w+(?:s|ed))\b",
    re.IGNORECASE,
)
_NO_OPENING: Final = re.compile(
    r"^(?:(?:important |please )?note|warning|caution|tip|important|beware|hint|todo|fixme|deprecated|obsolete)\b[:!.,]?",
    re.IGNORECASE,
)
# Parts that any page may have: their text is the page's own introduction.
_INTRODUCTIONS: Final = frozenset(
    "introduction overview description background general about summary basics purpose motivation rationale preface".split()  # noqa: SIM905
)
_SKIPPED: Final = re.compile(
    r"^(?:name|see also|references?|bibliography|further reading|related \w+|authors?|author\(s\)|author.s? .{0,20}|credits|acknowledge?ments|bugs|known bugs|files|synopsis|"
    r"syntax|feedback|reporting bugs|history|news|change ?log|changes|release notes|what.s new.{0,40}|copyright|copying|licen[cs]e|to-?do|"
    r"environment|exit status|diagnostics|availability|colophon|index|contents|table of contents|more information|resources|links|"
    r"notes?|details|conclusions?|miscellaneous|other|more|text|content|untitled|section|misc)$",
    re.IGNORECASE,
)


class NoSpineError(Exception):
    """The section gives no article; the message, which goes on after the name of the page, says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an article under one heading; the opening has none."""

    heading: str | None
    units: tuple[Unit, ...]
    level: int = TOP_LEVEL

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for unit in self.units for block in unit.blocks)

    @property
    def words(self) -> int:
        return sum(unit.words for unit in self.units)


@dataclass(frozen=True, slots=True)
class Spine:
    """The parts of an article from one section, in the order of the source."""

    parts: tuple[Part, ...]
    left_out: tuple[Section, ...] = ()
    """Sub-sections that there was no room for."""

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
        self._keyword = tuple(keyword)
        self._about = about
        self._units = units
        self._heading = frozenset(
            each for title in (*titles_above, section.title) for each in stems_of(title)
        )
        self._known = set(self._heading) | set(keyword)
        self._readable: frozenset[int] = frozenset()

    def read(self) -> Spine:
        """Returns the parts of the article.

        Raises:
            NoSpineError: no paragraph opens an article.
        """
        section, children = self._introduced()
        introduction = self._connected(self._units.read(section, self._heading), self._heading, begins=True)
        introduction = _opening_first(introduction)
        subsections = [
            each
            for each in children
            if each not in entries_below(section) and not _SKIPPED.match(each.title.strip())
        ]
        if self._begins(introduction):
            return self._begun(introduction, subsections)
        if (later := self._later(introduction)) is not None:
            return self._begun(later, subsections)
        is_reference = all(section.level >= ENTRY_LEVEL for section in subsections)
        ladder = (
            (self._lifted, self._contents, self._unheaded)
            if is_reference
            else (self._lifted, self._unheaded, self._contents)
        )
        for rung in ladder:
            if (found := rung(subsections)) is not None:
                return found
        raise NoSpineError("has no paragraph that opens an article")

    def _begun(self, introduction: Sequence[Unit], subsections: Sequence[Section]) -> Spine:
        """Returns the article with this introduction."""
        opening = Part(None, _trimmed(introduction, INTRODUCTION_WORDS))
        parts = self._subsections(subsections, MAX_WORDS - opening.words)
        if not parts:
            opening = Part(None, _trimmed(introduction, LONE_WORDS))
        return self._spine(opening, parts, subsections)

    def _later(self, introduction: Sequence[Unit]) -> Sequence[Unit] | None:
        """Returns the introduction from the first paragraph that opens, where the own first one does not."""
        for at, unit in enumerate(introduction[:LIFTED_FROM]):
            first = replace(unit, behind_drop=False)
            if self._opens(first) and not references.adds(first.first):
                return [first, *introduction[at + 1 :]]
        return None

    def _introduced(self) -> tuple[Section, tuple[Section, ...]]:
        """Returns the section with a first sub-section "Introduction" or "Description" as its own text."""
        section = self._section
        for at, child in enumerate(section.children[:MAX_SUBSECTIONS]):
            if comparable(child.title) in _INTRODUCTIONS:
                blocks = (*section.blocks, *child.blocks)
                others = (*section.children[:at], *child.children, *section.children[at + 1 :])
                return replace(section, blocks=blocks, children=()), others
        return section, section.children

    def _begins(self, introduction: Sequence[Unit]) -> bool:
        """Whether the article may begin with these units; a first short sentence may stand before the opening."""
        first = introduction[0].blocks if introduction else ()
        is_short = (
            len(first) == 1
            and isinstance(first[0], Paragraph)
            and len(first[0].text.split()) < MIN_OPENING_WORDS
            and not introduction[0].behind_drop
        )
        return any(map(self._opens, introduction[: 2 if is_short else 1]))

    def _opens(self, unit: Unit) -> bool:
        """Whether the article may begin with this unit."""
        first, block = unit.first, unit.blocks[0]
        if unit.behind_drop or first.endswith("?") or _NO_OPENING.match(first):
            return False
        is_silent = self._about < SURELY_ABOUT and self._share(unit.text) == 0
        if is_silent or references.is_dependent(first, self._heading):
            return False
        if isinstance(block, Definitions):
            return unit.words >= MIN_SHARE
        if len(unit.blocks) > 1 and not first.endswith((".", "!")):
            is_lead = len(first.split()) >= MIN_ENTRY_WORDS and _VERB.search(first) is not None
            return is_lead and unit.words >= MIN_LEAD_WORDS
        is_prose = isinstance(block, Paragraph) and (len(unit.blocks) > 1 or is_sentence(block.text))
        return is_prose and words_in(block) >= _least_words(self._section)

    def _share(self, text: str) -> float:
        """Returns the share of the keyword's stems that occur."""
        wanted = frozenset(self._keyword)
        return len(wanted.intersection(stems_of(text))) / max(1, len(wanted))

    def _connected(self, units: Sequence[Unit], heading: AbstractSet[str], *, begins: bool) -> list[Unit]:
        """Returns the units that readers understand behind those before them."""
        shown: list[Unit] = []
        is_previous_shown = False
        for at, unit in enumerate(units):
            is_synopsis = begins and not unit.behind_drop and unit.is_bare and len(shown) == at
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

    def _subsections(self, sections: Sequence[Section], room: int) -> list[tuple[Section, list[Part]]]:
        """Returns the parts of the most telling sub-sections, in the order of the source."""
        read = ((section, self._parts_of(section)) for section in sections[:MAX_READ])
        readable = [(section, parts) for section, parts in read if parts and _is_enough(section, parts)]
        self._readable = frozenset(id(section) for section, _ in readable)
        by_title = {comparable(section.title): (section, parts) for section, parts in reversed(readable)}
        distinct = [*reversed(by_title.values())]
        ranked = sorted(range(len(distinct)), key=lambda at: -self._telling(*distinct[at], at))
        chosen = sorted(ranked[:MAX_SUBSECTIONS])
        left = min(room, SUBSECTIONS_WORDS)
        found: list[tuple[Section, list[Part]]] = []
        for done, at in enumerate(chosen):
            section, parts = distinct[at]
            share = max(MIN_SHARE, left // (len(chosen) - done))
            fitting = _fitting(parts, share)
            found.append((section, fitting))
            left -= sum(part.words for part in fitting)
            room -= sum(part.words for part in fitting)
            if room <= 0:
                break
        return found

    def _telling(self, section: Section, parts: Sequence[Part], place: int) -> float:
        words = sum(part.words for part in parts)
        return (
            self._share(section.title)
            + 0.5 * self._share(parts[0].units[0].first if parts[0].units else "")
            + min(1.0, words / 200)
            - 0.05 * place
        )

    def _parts_of(self, section: Section) -> list[Part]:
        """Returns a sub-section's own part, with parts below it if it is short."""
        heading = self._heading | frozenset(stems_of(section.title))
        units = self._connected(self._units.read(section, heading), heading, begins=False)
        if units and not isinstance(units[0].blocks[0], Table):
            # A table under its heading stays there: what follows speaks of it.
            units = _opening_first(units)
        if units and units[0].behind_drop and not self._names(section, units[0]):
            return []
        own = Part(heading_of(section.title, is_entry=section.level >= ENTRY_LEVEL), tuple(units))
        if own.words >= OWN_WORDS or not section.children:
            return [own] if units else []
        below = []
        for child in section.children[:MAX_SUBSECTIONS]:
            if child in entries_below(section) or _SKIPPED.match(child.title.strip()):
                continue
            inner = heading | frozenset(stems_of(child.title))
            found = self._connected(self._units.read(child, inner), inner, begins=False)
            if found and not (found[0].behind_drop and not self._names(child, found[0])):
                title = heading_of(child.title, is_entry=child.level >= ENTRY_LEVEL)
                below.append(Part(title, tuple(found), level=TOP_LEVEL + 1))
        return [own, *below] if below or units else []

    def _names(self, section: Section, unit: Unit) -> bool:
        own = frozenset(telling_stems(section.title)) - self._heading
        return not own.isdisjoint(stems_of(unit.text))

    def _contents(self, subsections: Sequence[Section]) -> Spine | None:
        """Opens with the first paragraph of each sub-section, and goes on with what stands behind those."""
        entries: list[DefinitionEntry] = []
        behind: list[tuple[Section, list[Part]]] = []
        is_reference = all(section.level >= ENTRY_LEVEL for section in subsections)
        for section in subsections[: MAX_LISTED_ENTRIES if is_reference else MAX_SUBSECTIONS]:
            heading = self._heading | frozenset(stems_of(section.title))
            units = _opening_first(self._connected(self._units.read(section, heading), heading, begins=True))
            if not units or units[0].behind_drop or not isinstance(units[0].blocks[0], Paragraph):
                continue
            first = units[0].blocks[0]
            is_whole = len(units[0].blocks) == 1 and len(first.text.split()) <= MAX_CONTENTS_WORDS
            told = first if is_whole else beginning_of(first, 2 if units[0].first.endswith("?") else 1)
            size = len(told.text.split())
            is_short = _least_words(section) <= size <= MAX_CONTENTS_WORDS
            if not is_short or not told.text.endswith((".", "!")) or announces(told.text):
                continue
            title = heading_of(section.title, is_entry=section.level >= ENTRY_LEVEL)
            entries.append(DefinitionEntry((title,), (told,)))
            rest = units[1:] if is_whole else []
            if (
                rest
                and self._stands_alone(rest[0], heading, is_first=True)
                and not references.adds(rest[0].first)
            ):
                part = Part(title, _trimmed(rest, 2 * SUBSECTIONS_WORDS // MAX_SUBSECTIONS))
                if part.words >= OWN_WORDS:
                    behind.append((section, [part]))
        if len(entries) < (2 if is_reference else MIN_CONTENTS):
            return None
        return self._spine(Part(None, (Unit((Definitions(tuple(entries)),)),)), behind, subsections)

    def _lifted(self, subsections: Sequence[Section]) -> Spine | None:
        """Opens with the first paragraph of an early sub-section, if that says what the keyword is."""
        for section in subsections[:LIFTED_FROM]:
            heading = self._heading | frozenset(stems_of(section.title))
            units = self._connected(self._units.read(section, heading), heading, begins=True)
            if units and self._opens(units[0]) and is_definition(self._keyword, units[0].first):
                rest = replace(section, blocks=section.blocks[len(units[0].blocks) :])
                others = [rest if each is section else each for each in subsections]
                opening = Part(None, (units[0],))
                return self._spine(opening, self._subsections(others, MAX_WORDS - opening.words), others)
        return None

    def _unheaded(self, subsections: Sequence[Section]) -> Spine | None:
        """Begins with the first sub-section without its heading, as a page without introduction does."""
        found = self._subsections(subsections, MAX_WORDS)
        if not found or found[0][0] not in subsections[:2]:
            return None
        section, (part, *parts) = found[0]
        first = part.units[0] if part.units else None
        if (
            first is None
            or not self._opens(first)
            or references.has_unknown_subject(first.first, self._heading)
        ):
            return None
        rest = replace(part, units=part.units[1:])
        stays = bool(rest.units) and rest.words >= OWN_WORDS and not references.adds(rest.units[0].first)
        opening = Part(None, (first,) if stays else part.units)
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
        titles = {id(section) for section, _ in shown}
        left_out = tuple(
            each for each in subsections if id(each) not in titles and id(each) in self._readable
        )
        parts = [opening, *(part for _, parts in shown for part in parts)]
        return Spine(tuple(_without_repetition(parts)), left_out)


def _without_repetition(parts: Iterable[Part]) -> Iterator[Part]:
    """Yields the parts without units that repeat earlier ones, and without a heading that stands twice."""
    said: set[tuple[str, ...]] = set()
    headings: set[str] = set()
    for part in parts:
        units = []
        for unit in part.units:
            own = runs(unit.text, REPEATED_RUN)
            if len(own & said) < REPEATED * len(own) or unit.words < REPEATED_RUN:
                units.append(unit)
            said |= own
        name = comparable(part.heading or "")
        is_weak = name in headings or name in _INTRODUCTIONS or (part.heading is not None and not name)
        if (is_weak and (part.level > TOP_LEVEL or not name)) or (not units and part.level > TOP_LEVEL):
            continue
        headings.add(name)
        if units or part.heading is not None:
            yield replace(part, units=tuple(units))


def _is_enough(section: Section, parts: Sequence[Part]) -> bool:
    """Whether a sub-section is worth its heading: not only the beginning of a text that ends at a hole."""
    words = sum(part.words for part in parts)
    blocks = [block for part in parts for block in part.blocks]
    if all(isinstance(block, Listing | Table) for block in blocks):
        return False
    return words >= max(MIN_SUBSECTION_WORDS, min(OWN_WORDS, section.own_words // 3))


def _least_words(section: Section) -> int:
    """Returns the fewest words of an opening: "Query or set the limits." tells of a function all there is."""
    return MIN_ENTRY_WORDS if section.level >= ENTRY_LEVEL else MIN_OPENING_WORDS


def _opening_first(units: Sequence[Unit]) -> list[Unit]:
    """Moves notes, a synopsis and its options in front of the introduction behind its first paragraph."""
    ahead = 0
    while ahead < len(units) and isinstance(units[ahead].blocks[0], Note | Listing | Table):
        ahead += 1
    if not 0 < ahead < len(units):
        return [*units]
    first = replace(units[ahead], behind_drop=False)
    return [first, *units[:ahead], *units[ahead + 1 :]]


def _trimmed(units: Sequence[Unit], room: int) -> tuple[Unit, ...]:
    """Returns the first units within the room, and at least one."""
    kept: list[Unit] = []
    words = 0
    for unit in units:
        words += unit.words
        if kept and words > room:
            break
        kept.append(unit)
    return tuple(kept)


def _fitting(parts: Sequence[Part], room: int) -> list[Part]:
    """Returns the first parts within the room, cut at the end of a unit."""
    kept: list[Part] = []
    for part in parts:
        if room <= 0 and any(each.units for each in kept):
            break
        fitting = replace(part, units=_trimmed(part.units, room))
        kept.append(fitting)
        room -= fitting.words
    return kept
