"""Cuts the blocks of a section into units: blocks that are quoted together or not at all. Pure.

A unit is a paragraph, or a lead-in with the list, listing or table that it leads up to, and the text that continues behind it.
Where something that readers need is left out, the units of the section end.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from documents.blocks import (
    Block,
    DefinitionEntry,
    Definitions,
    Gap,
    ItemList,
    Label,
    Listing,
    Note,
    Paragraph,
    Table,
    text_of,
    words_in,
)
from documents.sections import ENTRY_LEVEL, Section
from writing.extractive import references
from writing.extractive.mending import (
    Mender,
    Structure,
    Surroundings,
    Test,
    announces,
    beginning_of,
    is_sentence,
)
from writing.extractive.sentences import is_prose, split

TOP_LEVEL: Final = 2
"""The level of an article's headings."""
LISTING_WORDS: Final = 80
"""The words of all listings and tables of a unit that count as words of an article."""
MIN_FRAGMENT_WORDS: Final = 8
"""A shorter line without a full stop is a label or a scrap."""
NEAR_BLOCKS: Final = 6
"""A list or table "below" is at most so many blocks away."""
MAX_NOTE_WORDS: Final = 200
MAX_SIDEBAR_WORDS: Final = 90
_NOTES: Final = frozenset(
    ("", "note", "warning", "important", "caution", "tip", "attention", "danger", "hint")
)
MIN_ENTRIES: Final = 3
TOLD_WORDS: Final = 180
"""A section that tells so much does without the entries below it, unless a sentence leads up to them."""
MAX_MEAN_ENTRY: Final = 90
_LEADS: Final = re.compile(
    r"[:;,–—-]$|\b(?:and|or|like|as|is|are|to|with|of|the|includ(?:e|es|ing)|visit|see|at|by|from|in|on|via|into|called|named|namely|than|"  # noqa: RUF001 - dashes
    r"that|which|when|if|run|use|using|enter|type)$"
)

_ADDRESS: Final = re.compile(r"(?:→ )?(?:https?|ftp)://[^\s@]+")
_FORMULA: Final = re.compile(r"\d|[=×+*/<>^±→]")  # noqa: RUF001 - a sign of multiplication
# A rule of a grammar: "value = *( text )".
_RULE: Final = re.compile(r"[a-z][\w-]{0,40} ::?= \S.{0,300}|[a-z][\w-]{0,40} = \S.{0,300}")


@dataclass(frozen=True)
class Unit:
    """Consecutive blocks of a section that stand together."""

    blocks: tuple[Block, ...]
    behind_drop: bool = False
    """True if a paragraph right before it was left out."""
    is_bare: bool = False
    """True if it is a list or table that no sentence leads up to."""
    is_titled: bool = False
    """True if it begins with a table of one row, which names what the text behind it is about."""

    @cached_property
    def words(self) -> int:
        """The words that readers see; those of listings and tables count up to a bound."""
        return shown_words(self.blocks)

    @cached_property
    def text(self) -> str:
        return " ".join(map(text_of, self.blocks))

    @cached_property
    def first(self) -> str:
        """Its first sentence; empty if it starts with no paragraph."""
        block = self.blocks[0] if self.blocks else None
        return next(iter(split(block.text)), "") if isinstance(block, Paragraph) else ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an article under one heading; the opening has none."""

    heading: str | None
    units: tuple[Unit, ...]
    level: int = TOP_LEVEL
    term: str = ""
    """What its first paragraph explains without naming it; shown in front of it."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for unit in self.units for block in unit.blocks)

    @property
    def words(self) -> int:
        return sum(unit.words for unit in self.units)


def shown_words(blocks: Sequence[Block]) -> int:
    """Counts words; listings and tables, apart from sentences in their cells, add at most `LISTING_WORDS` together."""
    prose = data = 0
    for block in blocks:
        match block:
            case Listing():
                data += words_in(block)
            case Table(rows):
                told = sum(len(cell.split()) for row in rows for cell in row if is_sentence(cell))
                prose += told
                data += words_in(block) - told
            case ItemList(items):
                prose += sum(shown_words(item.blocks) for item in items)
            case Definitions(entries):
                prose += sum(len(" ".join(each.terms).split()) + shown_words(each.blocks) for each in entries)
            case Note(_, inner):
                prose += shown_words(inner)
            case _:
                prose += words_in(block)
    return prose + min(LISTING_WORDS, data)


def paragraphs_of(blocks: Sequence[Block]) -> Iterator[Paragraph]:
    """Yields the paragraphs of blocks that are not in lists."""
    return (block for block in blocks if isinstance(block, Paragraph))


def entries_below(section: Section) -> tuple[Section, ...]:
    """Returns the entries of a page or section of short entries, which are shown as one list."""
    entries = tuple(each for each in section.children if each.level >= ENTRY_LEVEL)
    if len(entries) < MIN_ENTRIES or sum(each.words for each in entries) > MAX_MEAN_ENTRY * len(entries):
        return ()
    return entries


@dataclass(frozen=True, slots=True)
class UnitReader:
    """Cuts sections of one source into units."""

    is_outdated: Test
    """Whether a sentence speaks of a time that is over."""
    resolves: Test
    """Whether a link's target has an address, or is shown."""
    is_whole: bool = False
    """Whether the article shows the page or section from beginning to end."""
    strangers: AbstractSet[str] = frozenset()
    """Names that the source introduces elsewhere."""
    is_as_it_stands: bool = False
    """Whether the text goes on behind what is left out, so that more of it is shown."""
    has_address: Test = bool
    """Whether readers can go to a link's target."""

    def read(self, section: Section, heading: AbstractSet[str]) -> tuple[Unit, ...]:
        """Returns the units of the section's own blocks, up to the first hole.

        `heading` are the stems of its title and those above it.
        """
        blocks = tuple(_with_formulas(map(_address_as_listing, section.blocks)))
        entries = [each for each in entries_below(section) if each.blocks]
        if entries and (shown_words(blocks) < TOLD_WORDS or announces(text_of(blocks[-1]))):
            blocks = _announced_once(blocks)
            listed = (
                DefinitionEntry(
                    tuple(dict.fromkeys((each.title, *each.names))), _told_first(each.blocks), each.anchor
                )
                for each in entries
            )
            blocks = (*blocks, Definitions(tuple(listed)))
        mender = Mender(
            self.is_outdated,
            self.resolves,
            heading,
            self.is_whole,
            self.strangers,
            self.is_as_it_stands,
            self.has_address,
            has_all=self.is_whole and not any(isinstance(each, Gap) for each in section.blocks),
        )
        return tuple(_BlockReader(blocks, mender).units())


class _BlockReader:
    """Reads blocks in order. Each method takes blocks from the place that it has reached."""

    def __init__(self, blocks: Sequence[Block], mender: Mender) -> None:
        self._blocks = blocks
        self._mender = mender
        self._at = 0
        self._beside_listing = False
        self._is_connected = True
        """Whether all that stands before is shown."""

    def units(self) -> Iterator[Unit]:
        behind_drop = False
        while self._at < len(self._blocks):
            unit = self._next() or (Unit((), behind_drop=True) if self._mender.is_as_it_stands else None)
            if unit is None:
                return
            if unit.blocks:
                yield replace(unit, behind_drop=behind_drop)
            self._is_connected = self._is_connected and not unit.behind_drop
            if unit.behind_drop and self._mender.has_all:
                self._mender = replace(self._mender, has_all=False)
            behind_drop = unit.behind_drop or (behind_drop and not unit.blocks)

    def _next(self) -> Unit | None:
        """Returns the next unit, one without blocks where something is left out, or None at a hole."""
        block = self._blocks[self._at]
        match block:
            case Paragraph():
                return self._paragraph(block)
            case Label():
                return self._label(block)
            case Note():
                return self._note(block)
            case Gap(kind):
                self._at += 1
                # At the beginning it is the page's table of contents, or the like.
                self._is_connected = self._at == 1 and kind != "figure"
                return Unit(()) if kind == "figure" or self._at == 1 else None
            case Table(rows) if len(rows) == 1:
                return self._titled(block)
            case _:
                self._at += 1
                self._beside_listing = isinstance(block, Listing)
                structure = self._mender.structure(block)
                return None if structure is None else Unit(structure, is_bare=True)

    def _label(self, label: Label) -> Unit | None:
        """A label belongs to the structure behind it; others are scraps."""
        self._at += 1
        if self._structure_at(self._at) != self._at:
            return Unit(())
        found = self._next()
        return found and replace(found, blocks=(label, *found.blocks))

    def _note(self, note: Note) -> Unit:
        """A note is an aside: a cut or long one may lose its rest."""
        self._at += 1
        shown = self._mender.inner(note.blocks)
        told = " ".join(each.text for each in paragraphs_of(note.blocks))
        if references.needs_listing(told) and not (self._beside_listing or _has_listing(note.blocks)):
            return Unit(())
        most = MAX_NOTE_WORDS if note.title.casefold() in _NOTES else MAX_SIDEBAR_WORDS
        is_told = self._mender.is_as_it_stands or shown == note.blocks
        return Unit((replace(note, blocks=shown),) if shown and is_told and words_in(note) <= most else ())

    def _titled(self, row: Table) -> Unit | None:
        """A table of one row names what the text behind it is about."""
        self._at += 1
        shown = self._mender.structure(row)
        behind = self._blocks[self._at] if self._at < len(self._blocks) else None
        if not isinstance(behind, Paragraph):
            return Unit(shown or (), is_bare=True)
        titled = self._paragraph(behind)
        if titled is None or not titled.blocks or shown is None:
            return titled
        return replace(titled, blocks=(*shown, *titled.blocks), is_titled=True)

    def _paragraph(self, paragraph: Paragraph) -> Unit | None:
        """Reads a paragraph with what it leads up to, and what continues behind that."""
        blocks: list[Block] = []
        current: Paragraph | None = self._take_lead(paragraph, blocks)
        while current is not None:
            behind = self._structure_at(self._at + 1)
            leads = behind is not None and self._leads(current.text, self._blocks[behind])
            structure = self._structure_shown(behind) if leads else None
            # Readers miss a picture less than a list: the text goes on.
            if self._leads_to_figure(current):
                return self._before_hole(blocks, self._without_lead(current), self._at + 2)
            if self._leads_to_gap(current) or (leads and structure is None):
                return self._before_hole(blocks, self._without_lead(current), self._end_of_hole)
            shown = self._readable(current, leads=leads, continues=bool(blocks))
            if shown is None and structure is not None and not announces(current.text):
                # Its last sentence does not lead up to the listing, so that readers do without it.
                shown = self._without_lead(current)
            if shown is None and (leads or blocks):
                return self._without_paragraph(current, blocks, behind, structure)
            self._at += 1
            if shown is None and not is_sentence(current.text):
                # It leads up to what the page does not have.
                shown = self._without_lead(current)
            if shown is None:
                return Unit((), behind_drop=not _is_scrap(current))
            blocks.append(shown)
            self._beside_listing = False
            if behind is None or structure is None:
                break
            blocks += structure
            self._at = behind + 1
            self._beside_listing = isinstance(self._blocks[behind], Listing)
            self._take_listing_of_last_item(blocks)
            current = self._continuation()
        return Unit(tuple(blocks))

    def _take_lead(self, paragraph: Paragraph, blocks: list[Block]) -> Paragraph:
        """Takes a paragraph that leads up to parts: "In one of two forms:" in front of "The old form:" with its listing.

        Returns the first paragraph that is not taken.
        """
        if not self._leads_to_lead(paragraph):
            return paragraph
        lead = self._readable(paragraph, leads=True, continues=False)
        following = self._blocks[self._at + 1]
        if lead is None or not isinstance(following, Paragraph):
            return paragraph
        blocks.append(lead)
        self._at += 1
        return following

    def _without_paragraph(
        self,
        paragraph: Paragraph,
        blocks: Sequence[Block],
        behind: int | None,
        structure: tuple[Block, ...] | None,
    ) -> Unit:
        """Returns the unit without a paragraph that is not shown, and what belongs to it."""
        if behind is not None and structure is not None and references.is_all_of_type(paragraph.text):
            # What its bold type means is lost; the listing says the rest.
            self._at = behind + 1
            return Unit((*blocks, *structure), is_bare=not blocks)
        last = self._without_lead(paragraph) if structure is not None else None
        return self._before_hole(blocks, last, self._end_of_hole)

    def _leads_to_lead(self, paragraph: Paragraph) -> bool:
        """Whether a paragraph leads up to parts that a short line each leads up to."""
        following = self._blocks[self._at + 1] if self._at + 1 < len(self._blocks) else None
        return (
            paragraph.text.endswith(":")
            and isinstance(following, Paragraph)
            and following.text.endswith(":")
            and self._structure_at(self._at + 2) is not None
            and len(split(following.text)) == 1
        )

    def _structure_at(self, at: int) -> int | None:
        """Returns the place of the structure there, or behind labels there."""
        while at < len(self._blocks) and isinstance(self._blocks[at], Label):
            at += 1
        return at if at < len(self._blocks) and isinstance(self._blocks[at], Structure) else None

    def _leads(self, text: str, structure: Block) -> bool:
        return isinstance(structure, Listing) or self._mender.is_as_it_stands or announces(text)

    def _structure_shown(self, place: int | None) -> tuple[Block, ...] | None:
        """Returns the structure at the place with the labels in front of it; None if it cannot be shown."""
        block = self._blocks[place] if place is not None else None
        if place is None or not isinstance(block, Structure):
            return None
        labels = [each for each in self._blocks[self._at + 1 : place] if isinstance(each, Label)]
        structure = self._mender.structure(block)
        return structure and (*labels, *structure)

    def _gap_behind(self) -> str:
        behind = self._blocks[self._at + 1] if self._at + 1 < len(self._blocks) else None
        return behind.kind if isinstance(behind, Gap) else ""

    def _leads_to_figure(self, paragraph: Paragraph) -> bool:
        return self._gap_behind() == "figure" and paragraph.text.endswith(":")

    def _leads_to_gap(self, paragraph: Paragraph) -> bool:
        kind = self._gap_behind()
        return kind not in {"", "figure"} and announces(paragraph.text)

    @property
    def _end_of_hole(self) -> int:
        """The place to continue behind a paragraph with a hidden list or listing."""
        if not self._mender.is_as_it_stands:
            return len(self._blocks)
        behind = self._structure_at(self._at + 1)
        return 1 + (self._at if behind is None else behind)

    def _before_hole(self, blocks: Sequence[Block], last: Paragraph | None, end: int) -> Unit:
        """Moves on to `end`; returns the blocks before the hole."""
        self._at = end
        shown = (*blocks, *([last] if last is not None else []))
        return Unit(shown, behind_drop=last is None)

    def _without_lead(self, paragraph: Paragraph) -> Paragraph | None:
        """Returns a paragraph without its last sentence, which leads up to something that is not shown."""
        sentences = split(paragraph.text)
        if len(sentences) <= 1 or paragraph.flags:
            return None
        before = beginning_of(paragraph, len(sentences) - 1)
        return self._mender.paragraph(before, surroundings=self._surroundings())

    def _readable(self, paragraph: Paragraph, *, leads: bool, continues: bool) -> Paragraph | None:
        text = paragraph.text
        is_cut = not is_sentence(text) and (
            len(text.split()) < MIN_FRAGMENT_WORDS or _LEADS.search(text) is not None
        )
        if not leads and ((is_cut and not continues) or not is_prose(text)):
            return None
        around = self._surroundings()
        if leads or continues:
            around = replace(around, below=True, listing=True, names=True)
        return self._mender.paragraph(paragraph, leads=leads, surroundings=around)

    def _surroundings(self) -> Surroundings:
        behind = self._blocks[self._at + 1 : self._at + 1 + NEAR_BLOCKS]
        return Surroundings(
            above=self._is_connected and self._at > 0,
            below=any(isinstance(each, Structure) for each in behind),
            listing=self._beside_listing,
            names=any(isinstance(each, ItemList | Table | Definitions) for each in behind),
        )

    def _take_listing_of_last_item(self, blocks: list[Block]) -> None:
        """A last item that ends in a colon leads up to the listing behind its list."""
        behind = self._blocks[self._at] if self._at < len(self._blocks) else None
        if (
            isinstance(blocks[-1], ItemList)
            and text_of(blocks[-1]).endswith(":")
            and isinstance(behind, Listing)
        ):
            blocks += self._mender.structure(behind) or ()
            self._at += 1

    def _continuation(self) -> Paragraph | None:
        """Returns the paragraph that continues with the sentence before a listing: "does not set …"."""
        block = self._blocks[self._at] if self._at < len(self._blocks) else None
        return block if isinstance(block, Paragraph) and block.text[:1].islower() else None


def _address_as_listing(block: Block) -> Block:
    """An address or rule of a grammar on a line of its own is shown like a listing, with the sentence that leads up to it."""
    if not isinstance(block, Paragraph) or block.flags or is_sentence(block.text):
        return block
    is_line = _ADDRESS.fullmatch(block.text) or _RULE.fullmatch(block.text)
    return Listing((block.text,)) if is_line else block


def _with_formulas(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yields the blocks with lines of numbers or formulas, that a paragraph leads up to, as one listing."""
    is_led = False
    lines: list[str] = []
    for block in blocks:
        if is_led and isinstance(block, Paragraph) and _is_formula(block):
            lines.append(block.text)
            continue
        if lines:
            yield Listing(tuple(lines))
            lines = []
        is_led = isinstance(block, Paragraph) and block.text.endswith(":")
        yield block
    if lines:
        yield Listing(tuple(lines))


def _is_formula(paragraph: Paragraph) -> bool:
    is_short = len(paragraph.text.split()) < MIN_FRAGMENT_WORDS and not paragraph.text.endswith(
        (":", ";", ",")
    )
    is_line = is_short and not paragraph.flags and not is_sentence(paragraph.text)
    return is_line and _FORMULA.search(paragraph.text) is not None


def _announced_once(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Returns the text in front of a list of all entries without what announced some of them, where several sentences do."""
    several = [each for each in paragraphs_of(blocks) if each.text.startswith("The following ")]
    return tuple(each for each in blocks if each not in several) if len(several) > 1 else blocks


def _has_listing(blocks: Sequence[Block]) -> bool:
    return any(isinstance(each, Listing | Table) for each in blocks)


def _told_first(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Returns the blocks of an entry with what it says before the syntax that is in front of it."""
    at = next((at for at, block in enumerate(blocks) if not isinstance(block, Listing)), 0)
    return (blocks[at], *blocks[:at], *blocks[at + 1 :]) if isinstance(blocks[at], Paragraph) else blocks


def _is_scrap(paragraph: Paragraph) -> bool:
    """Whether readers miss nothing without a paragraph: pointers, labels."""
    text = paragraph.text
    is_label = len(text.split()) < MIN_FRAGMENT_WORDS and not is_sentence(text) and not text.endswith(":")
    return not paragraph.flags and (is_label or all(map(references.is_pointer, split(text))))
