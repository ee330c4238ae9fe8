"""Decides which parts of a block are quoted: paragraphs without references to missing text, lists and tables whole. Pure."""

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from documents.blocks import (
    Block,
    DefinitionEntry,
    Definitions,
    Gap,
    ItemList,
    Label,
    Link,
    Listing,
    ListItem,
    Note,
    Paragraph,
    Table,
    text_of,
    words_in,
)
from writing.extractive import references
from writing.extractive.sentences import spans, split

_SIGN: Final = re.compile(r"[-•*–] (?=\S)")  # noqa: RUF001 - a dash
_NAME: Final = re.compile(r"\b[A-Z][a-z]+\b")
_NUMBER: Final = re.compile(r"(\d{1,2})[.)] (?=\S)")
ELLIPSIS: Final = "[…]"
MAX_PARAGRAPH_WORDS: Final = 220
MAX_NUMBERED_WORDS: Final = 3_000
MAX_ROWS: Final = 200
MAX_COLUMNS: Final = 12
MAX_LINES: Final = 400
WHOLE_LIST_WORDS: Final = 3_000
"""Longer lists of independent items stop at `SHOWN_LIST_WORDS`."""
SHOWN_LIST_WORDS: Final = 450
LEAST_ITEMS_SHOWN: Final = 0.8
MAX_DEPTH: Final = 12
_BEFORE: Final = 40
"""Characters before a link that tell whether its words are the title of a place."""

_OF_ITSELF: Final = re.compile(r"(?:in )?(?:this|the following)\b", re.IGNORECASE)
_ENDS: Final = re.compile(r"[.!?…][\"'”’)\]]*$")  # noqa: RUF001 - typographic quotes close sentences
_ANNOUNCES: Final = re.compile(
    r"\b(?:following|follows?|below|for example|for instance|like this|such as|e\.g\.|these|here (?:is|are)|this way|as in|"
    r"two|three|four|five|six|seven|eight|nine|ten|several|steps)\b",
    re.IGNORECASE,
)

# A sentence that its page does not end.
_BROKEN_OFF: Final = re.compile(r"\b(?:an?|the|of|for|to|with|by|and|or)$")
_SEE_ALSO: Final = re.compile(r"(?:see(?: also)?|references?|related(?: \w+)?):?$", re.IGNORECASE)

Structure: TypeAlias = ItemList | Listing | Table | Definitions
Test: TypeAlias = Callable[[str], bool]


class _Reference(Enum):
    """How a sentence refers elsewhere."""

    POINTS = "points"
    """Nothing is lost without it."""
    DANGLES = "dangles"
    """It holds matter, and needs what is not there."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The parts around a paragraph that are shown."""

    above: bool = False
    """All that stands before it in its section."""
    below: bool = False
    """One behind it in its section."""
    listing: bool = False
    """A listing with it or right before it."""
    names: bool = False
    """A list or table behind it in its section."""


@dataclass(frozen=True, slots=True)
class Mender:
    """Mends the blocks of one source, below headings with the stems `heading`."""

    is_outdated: Test
    """Whether a sentence speaks of a time that is over."""
    resolves: Test
    """Whether a link's target has an address."""
    heading: AbstractSet[str]
    is_whole: bool = False
    """Whether the page or section around it is shown from beginning to end."""
    strangers: AbstractSet[str] = frozenset()
    """Names that the source introduces elsewhere."""
    is_as_it_stands: bool = False
    """Whether the text goes on behind a sentence that is left out."""
    has_address: Test = bool
    """Whether a link's target has an address that readers can go to."""
    has_all: bool = False
    """Whether what stands above and below on the page is shown, and no picture is lost: "the soil below" is no loss either."""

    def paragraph(
        self, paragraph: Paragraph, *, leads: bool = False, surroundings: Surroundings | None = None
    ) -> Paragraph | None:
        """Returns the paragraph without sentences that refer elsewhere; None if nothing is left.

        Args:
            paragraph: as it is in the source.
            leads: whether its last sentence leads up to a block that is shown with it.
            surroundings: the shown parts around it.
        """
        if paragraph.flags:
            return None
        paragraph = self._without_pointers(paragraph, surroundings or Surroundings())
        sentences = spans(paragraph.text)
        kept: list[int] = []
        words = 0
        is_pointer_dropped = False
        for at, (begin, end) in enumerate(sentences):
            text = paragraph.text[begin:end]
            leading = leads and at == len(sentences) - 1
            words += len(text.split())
            away = self._reference(paragraph, (begin, end), leading, surroundings or Surroundings())
            # A mere pointer left out before "For example:" is no gap.
            is_torn = (
                at > 0
                and not self.is_as_it_stands
                and kept[-1:] != [at - 1]
                and not (leading and kept and is_pointer_dropped)
                and (references.is_dependent(text, self.heading) or references.speaks_of_given(text))
            )
            if away is None and not is_torn and (words <= MAX_PARAGRAPH_WORDS or leading or not kept):
                kept.append(at)
                continue
            is_aside = (
                leading
                and kept
                and away is _Reference.POINTS
                and not references.promises(text, has_more=False)
            )
            if (leading and not is_aside) or (is_torn and not kept):
                return None
            is_pointer_dropped = away is _Reference.POINTS
            if kept[-1:] == [at - 1] and away is _Reference.DANGLES and references.qualifies(text):
                # Without its exception, the sentence before claims too much.
                kept.pop()
            if away is _Reference.DANGLES and not (leads or self.is_as_it_stands):
                break
        return _sentences(paragraph, kept, sentences) if kept else None

    def _reference(
        self, paragraph: Paragraph, span: tuple[int, int], leading: bool, around: Surroundings
    ) -> _Reference | None:
        begin, end = span
        sentence = paragraph.text[begin:end]
        if len(sentence) > references.MAX_CHARACTERS or references.has_credentials(sentence):
            return _Reference.DANGLES
        told = references.without_lead(sentence) if leading or around.below else sentence
        # A bracket that is still there has an address: readers can follow it.
        told = references.without_pointing(told)
        is_numbered = references.is_pointer(told) and references.is_numbered(told)
        is_left_out = self.is_outdated(sentence) or self._is_aside(sentence)
        if is_left_out or (leading and is_numbered) or references.points_at_table(told):
            return _Reference.POINTS
        is_away = references.is_positional(
            told,
            has_above=around.above or self.has_all,
            has_below=around.below or self.has_all,
            is_whole=self.is_whole,
        ) or (not (leading or around.names) and references.speaks_of_names_below(told))
        is_away = is_away or (references.needs_figure(told) and not self._leads_away(paragraph, begin, end))
        if is_away or (
            not (around.listing or around.above) and references.needs_listing(told, is_whole=self.is_whole)
        ):
            return _Reference.POINTS if references.is_pointer(told) else _Reference.DANGLES
        aside = references.pointing_brackets(sentence) if paragraph.links else []
        links = [
            each
            for each in paragraph.links
            if begin <= each.start < end
            and not any(first <= each.start - begin < last for first, last in aside)
        ]
        if leading or any(self.resolves(each.target) for each in links):
            return None
        if references.is_pointer(told):
            speaks_of_itself = self.is_as_it_stands and _OF_ITSELF.match(sentence) is not None
            return None if speaks_of_itself else _Reference.POINTS
        names_place = any(
            references.is_place_name(paragraph.text[max(begin, each.start - _BEFORE) : each.start], name)
            for each in links
            if (name := paragraph.text[each.start : each.end])
        )
        return _Reference.DANGLES if names_place or references.is_numbered(told) else None

    def _leads_away(self, paragraph: Paragraph, begin: int, end: int) -> bool:
        """Whether a part of a paragraph has a link that readers can follow to a picture."""
        return any(self.has_address(each.target) for each in paragraph.links if begin <= each.start < end)

    def _is_aside(self, sentence: str) -> bool:
        """Whether a sentence speaks of bold type, or of a company in the examples of a book."""
        return references.speaks_of_type(sentence) or not self.strangers.isdisjoint(_NAME.findall(sentence))

    def _without_pointers(self, paragraph: Paragraph, around: Surroundings) -> Paragraph:
        """Cuts brackets and last clauses that only say where else something stands: "(see section 4)", ", as shown in Table 2"."""
        for sentence_begin, sentence_end in reversed(spans(paragraph.text)):
            sentence = paragraph.text[sentence_begin:sentence_end]
            for begin, end in reversed(references.pointing_parts(sentence)):
                if references.is_pointer(sentence):
                    continue
                place = (sentence_begin + begin, sentence_begin + end)
                if self._is_away(paragraph, place, around):
                    paragraph = _without(paragraph, *place)
        return paragraph

    def _is_away(self, paragraph: Paragraph, place: tuple[int, int], around: Surroundings) -> bool:
        """Whether a clause points at what is not shown and has no address."""
        begin, end = place
        links = [each for each in paragraph.links if begin <= each.start < end]
        part = paragraph.text[begin:end]
        if references.needs_figure(part):
            return not self._leads_away(paragraph, begin, end)
        return not any(self.resolves(each.target) for each in links) and (
            bool(links)
            or references.speaks_of_type(part)
            or references.is_numbered(part)
            or references.is_positional(
                part, has_above=around.above, has_below=around.below, is_whole=self.is_whole
            )
        )

    def structure(self, block: Structure) -> tuple[Block, ...] | None:
        """Returns the list, listing or table as it is shown; None if it is too long or unusable."""
        shown: tuple[Block, ...] = ()
        match block:
            case Listing(lines) if 0 < len(lines) <= MAX_LINES:
                shown = (block,)
            case Table(rows) if 0 < len(rows) <= MAX_ROWS:
                shown = _table(block)
            case ItemList(items):
                shown = self._list(block, [self.inner(item.blocks) for item in items])
            case Definitions(entries):
                shown = _definitions([replace(each, blocks=self.inner(each.blocks)) for each in entries])
        return shown or None

    def _list(self, whole: ItemList, items: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
        sign = _NUMBER if _is_numbered(items) else _SIGN
        told = replace(
            whole,
            items=tuple(ListItem(_without_sign(item, sign)) for item in items if item),
            ordered=whole.ordered or sign is _NUMBER,
        )
        if told.ordered:
            # A step that only points elsewhere is a step.
            steps = [item or _step(each.blocks) for item, each in zip(items, whole.items, strict=True)]
            told = replace(told, items=tuple(ListItem(_without_sign(item, sign)) for item in steps if item))
            items = steps
        if whole.ordered:
            return (told,) if all(items) and words_in(told) <= MAX_NUMBERED_WORDS else ()
        # A few items that only point elsewhere are not missed.
        if len(told.items) < LEAST_ITEMS_SHOWN * len(items):
            return ()
        return _shortened(told, told.items, lambda some: replace(told, items=some))

    def inner(self, blocks: Sequence[Block], depth: int = 1) -> tuple[Block, ...]:
        """Returns the blocks of an item, an explanation or a note up to a hole."""
        shown: list[Block] = []
        for at, block in enumerate(blocks if depth < MAX_DEPTH else ()):
            leads = isinstance(block, Paragraph) and isinstance(_behind(blocks, at), Structure)
            found = self._inner(block, depth, is_first=not shown or leads)
            if found is None:
                break
            shown += found
        if shown and len(shown) < len(blocks) and text_of(shown[-1]).endswith(":"):
            # It led up to something that is not shown.
            last = shown.pop()
            if isinstance(last, Paragraph) and (sentences := len(split(last.text))) > 1:
                shown.append(beginning_of(last, sentences - 1))
        return tuple(shown)

    def _inner(self, block: Block, depth: int, *, is_first: bool) -> tuple[Block, ...] | None:
        """Returns a block as it is shown within another one; None at a hole."""
        match block:
            case Paragraph():
                return self._inner_paragraph(block, is_first=is_first)
            case ItemList(items):
                inner = (self.inner(item.blocks, depth + 1) for item in items)
                told = tuple(ListItem(_without_sign(each)) for each in inner if each)
                return (replace(block, items=told),) if told else ()
            case Definitions(entries):
                explained = (replace(each, blocks=self.inner(each.blocks, depth + 1)) for each in entries)
                told_of = tuple(each for each in explained if each.blocks)
                return (Definitions(told_of),) if told_of else ()
            case Note(title, inside):
                noted = self.inner(inside, depth + 1)
                return (Note(title, noted),) if noted else ()
            case Label() | Gap():
                return () if isinstance(block, Label) else None
            case _:
                return self.structure(block)

    def _inner_paragraph(self, paragraph: Paragraph, *, is_first: bool) -> tuple[Block, ...] | None:
        """Keeps items whole: a list without an item is worse than a reference in one."""
        text = paragraph.text
        leads = text.endswith(":")
        if not is_first and _BROKEN_OFF.search(text):
            return ()
        mended = self.paragraph(paragraph, leads=leads, surroundings=Surroundings(listing=True))
        if mended is not None:
            return (mended,)
        if paragraph.flags or references.has_credentials(text):
            return None
        if all(map(references.is_pointer, split(text))):
            return ()
        # A later paragraph that speaks of another part of the page is not missed.
        near = Surroundings(above=True, below=True, listing=True, names=True)
        is_told = is_first or leads or self.paragraph(paragraph, surroundings=near) is not None
        return (paragraph,) if is_told else ()


def _behind(blocks: Sequence[Block], at: int) -> Block | None:
    return blocks[at + 1] if at + 1 < len(blocks) else None


def _without(paragraph: Paragraph, begin: int, end: int) -> Paragraph:
    """Returns the paragraph without some of its characters: a bracket, or a clause, for which there is a mark."""
    mark = "" if paragraph.text[begin:end].endswith(")") else f" {ELLIPSIS}"
    shift = len(mark) - (end - begin)
    links = [
        each if each.end <= begin else Link(each.start + shift, each.end + shift, each.target)
        for each in paragraph.links
        if each.end <= begin or each.start >= end
    ]
    return Paragraph(paragraph.text[:begin] + mark + paragraph.text[end:], tuple(links))


def _step(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Returns the first paragraph of an item."""
    return tuple(each for each in blocks[:1] if isinstance(each, Paragraph) and not each.flags)


def _is_numbered(items: Sequence[tuple[Block, ...]]) -> bool:
    """Whether the page typed numbers in front of the items of a list; the last one may have none."""
    firsts = [item[0].text if item and isinstance(item[0], Paragraph) else "" for item in items]
    numbers = [found and int(found[1]) for found in map(_NUMBER.match, firsts)]
    if len(numbers) > 2 and numbers[-1] is None:  # noqa: PLR2004
        numbers.pop()
    return len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)]


def _without_sign(blocks: tuple[Block, ...], pattern: re.Pattern[str] = _SIGN) -> tuple[Block, ...]:
    """Returns an item's blocks without a sign that the page typed in front of its text: "- ", "• ", "1. "."""
    first = blocks[0]
    sign = pattern.match(first.text) if isinstance(first, Paragraph) else None
    if sign is None or not isinstance(first, Paragraph):
        return blocks
    size = sign.end()
    links = (
        Link(each.start - size, each.end - size, each.target) for each in first.links if each.start >= size
    )
    return (Paragraph(first.text[size:], tuple(links)), *blocks[1:])


def _table(table: Table) -> tuple[Block, ...]:
    """Returns the table without empty columns, whose pictures are lost, if more than one is left."""
    rows = [*table.rows]
    while rows and len(rows[0]) > 1 and sum(map(bool, rows[-1])) <= 1:
        # A sub-head with nothing below it.
        rows.pop()
    if not rows:
        return ()
    table = replace(table, rows=tuple(rows))
    lines = (table.head or ("",) * len(table.rows[0]), *table.rows)
    full = [at for at in range(len(lines[0])) if any(line[at : at + 1] not in {("",), ()} for line in lines)]
    if not 1 < len(full) <= MAX_COLUMNS:
        return ()
    if len(full) == len(lines[0]):
        return (table,)
    head, *shown = (tuple(line[at] if at < len(line) else "" for at in full) for line in lines)
    return (replace(table, head=head if table.head else (), rows=tuple(shown)),)


def _definitions(entries: Sequence[DefinitionEntry]) -> tuple[Block, ...]:
    told = [each for each in entries if each.blocks and each.terms and not _SEE_ALSO.match(each.terms[0])]
    if not told:
        return ()
    if words_in(Definitions(tuple(told))) > WHOLE_LIST_WORDS:
        room = SHOWN_LIST_WORDS // len(told)
        shorter = (replace(each, blocks=_beginning(each.blocks, room)) for each in told)
        told = [each for each in shorter if each.blocks]
    return _shortened(Definitions(tuple(told)), told, Definitions) if told else ()


def _shortened(
    whole: ItemList | Definitions,
    parts: Sequence[ListItem] | Sequence[DefinitionEntry],
    build: Callable[..., ItemList | Definitions],
) -> tuple[Block, ...]:
    """Returns the list, or its first items if it is long, with the number of those left out."""
    if words_in(whole) <= WHOLE_LIST_WORDS:
        return (whole,)
    words = count = 0
    for part in parts:
        words += words_in(build((part,)))
        if words > SHOWN_LIST_WORDS and count:
            break
        count += 1
    if count == len(parts):
        return (whole,)
    return (build(tuple(parts[:count])), Label(f"({len(parts) - count} more in the source)"))


def _beginning(blocks: Sequence[Block], room: int) -> tuple[Block, ...]:
    """Returns the first paragraph of an explanation with a syntax listing in front of it, and more within the room."""
    first = next((at for at, block in enumerate(blocks) if isinstance(block, Paragraph)), 0)
    end, words = first + 1, sum(map(words_in, blocks[: first + 1]))
    while end < len(blocks) and (words := words + words_in(blocks[end])) <= room:
        end += 1
    shown, last = blocks[:end], blocks[end - 1]
    if end == len(blocks) or not isinstance(last, Paragraph) or not announces(last.text):
        return tuple(shown)
    # It leads up to what is left out.
    sentences = len(spans(last.text))
    return (*shown[:-1], *([beginning_of(last, sentences - 1)] if sentences > 1 else []))


def is_sentence(text: str) -> bool:
    """Whether a text ends as a sentence does."""
    return _ENDS.search(text) is not None


def announces(text: str) -> bool:
    """Whether a paragraph leads up to the block behind it, by its end."""
    last = (split(text) or (text,))[-1]
    return _ENDS.search(text) is None or _ANNOUNCES.search(last) is not None


def beginning_of(paragraph: Paragraph, sentences: int) -> Paragraph:
    """Returns the paragraph's first sentences."""
    every = spans(paragraph.text)
    return _sentences(paragraph, range(min(sentences, len(every))), every)


def _sentences(paragraph: Paragraph, kept: Sequence[int], sentences: Sequence[tuple[int, int]]) -> Paragraph:
    """Returns the kept sentences with their links, and a mark where some between them are left out."""
    if len(kept) == len(sentences):
        return paragraph
    text, links = "", []
    for place, at in enumerate(kept):
        begin, end = sentences[at]
        if place:
            is_next = kept[place - 1] == at - 1
            text += paragraph.text[sentences[at - 1][1] : begin] if is_next else f" {ELLIPSIS} "
        shift = len(text) - begin
        links += [
            Link(each.start + shift, each.end + shift, each.target)
            for each in paragraph.links
            if begin <= each.start and each.end <= end
        ]
        text += paragraph.text[begin:end]
    return Paragraph(text, tuple(links))
