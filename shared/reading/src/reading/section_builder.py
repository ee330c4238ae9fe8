"""Builds the tree of sections from headings and blocks in reading order. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from documents.blocks import Block, Gap, ItemList, Listing, ListItem, Paragraph
from documents.sections import ENTRY_LEVEL, PAGE_LEVEL, Section

from reading.blocks import TextBlock
from reading.cleaning import flags_of

MAX_DEPTH: Final = 16
"""Sections within sections; a deeper one becomes the sibling of the deepest."""
MAX_ANCHORS: Final = 200
"""Anchors that one section keeps."""


@dataclass(slots=True)
class _OpenSection:
    title: str
    level: int
    scope: object = None
    """The element that it covers; None for the whole page."""
    is_skipped: bool = False
    anchors: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    children: list[Section] = field(default_factory=list)

    def closed(self) -> Section:
        anchors = list(dict.fromkeys(self.anchors))[:MAX_ANCHORS]
        return Section(
            title=self.title,
            level=self.level,
            anchor=anchors[0] if anchors else "",
            blocks=tuple(self.blocks),
            children=tuple(self.children),
            names=tuple(dict.fromkeys(self.names)),
            anchors=tuple(anchors[1:]),
        )


class SectionBuilder:
    """The sections that are open at a place of the page, the outermost first."""

    def __init__(self) -> None:
        self._open = [_OpenSection("", PAGE_LEVEL)]

    @property
    def is_entry(self) -> bool:
        """Whether the place is within an entry that covers an element of its own, as a function of an API."""
        return self._open[-1].level >= ENTRY_LEVEL and self._open[-1].scope is not None

    @property
    def is_empty(self) -> bool:
        """Whether the innermost section has no blocks and no sections below it."""
        return not (self._open[-1].blocks or self._open[-1].children)

    @property
    def title(self) -> str:
        """The title of the innermost section."""
        return self._open[-1].title

    @property
    def is_skipped(self) -> bool:
        return any(section.is_skipped for section in self._open)

    def open(
        self,
        title: str,
        level: int,
        anchors: Iterable[str] = (),
        scope: object = None,
        *,
        is_skipped: bool = False,
    ) -> None:
        """Open a section, and close those before it that are not above it."""
        while len(self._open) > 1 and (
            len(self._open) >= MAX_DEPTH or (self._open[-1].level >= level and not self._is_around(level))
        ):
            closed = self._close()
            # A heading in a mere wrapper speaks for what the heading before it spoke for.
            scope = closed.scope
        self._open.append(_OpenSection(title, level, scope, is_skipped, list(anchors)))

    def _is_around(self, level: int) -> bool:
        """Return whether the innermost section is an entry that holds further entries, as a class its methods."""
        return level >= ENTRY_LEVEL and self.is_entry

    def add(self, block: Block) -> None:
        self._open[-1].blocks.append(block)

    def add_anchors(self, anchors: Iterable[str]) -> None:
        self._open[-1].anchors += anchors

    def add_name(self, name: str) -> None:
        self._open[-1].names.append(name)

    def end(self, scope: object) -> None:
        """Close the sections that cover the element and no more."""
        while len(self._open) > 1 and self._open[-1].scope is scope:
            self._close()

    def extend(self, scope: object, to: object) -> None:
        """Let the innermost section cover another element."""
        if self._open[-1].scope is scope:
            self._open[-1].scope = to

    def _close(self) -> _OpenSection:
        section = self._open.pop()
        if not section.is_skipped:
            self._open[-1].children.append(section.closed())
        return section

    def finish(self, title: str) -> Section:
        """Close all, and return the page; a first section with the page's own title is merged into it."""
        while len(self._open) > 1:
            self._close()
        page = self._open[0]
        page.title = title
        return _merged(page.closed())


def _merged(page: Section) -> Section:
    first = page.children[0] if page.children else None
    # Generators repeat the page's title in its first heading, and some in the first section below that.
    while first is not None and _is_same_title(first.title, page.title):
        anchors = _anchors((page, first))
        page = Section(
            title=page.title,
            level=PAGE_LEVEL,
            anchor=anchors[0] if anchors else "",
            blocks=(*page.blocks, *first.blocks),
            children=(*first.children, *page.children[1:]),
            names=(*page.names, *first.names),
            anchors=anchors[1:],
        )
        first = page.children[0] if page.children else None
    return page


def _anchors(sections: Sequence[Section]) -> tuple[str, ...]:
    found = [each for section in sections for each in (section.anchor, *section.anchors) if each]
    return tuple(dict.fromkeys(found))


def _is_same_title(one: str, other: str) -> bool:
    return _plain(one) == _plain(other) != ""


def _plain(title: str) -> str:
    return "".join(filter(str.isalnum, title.casefold()))


def sections_of_flat(blocks: Iterable[TextBlock], title: str) -> Section:
    """Return the tree of blocks that know no levels: each heading is a section of the page."""
    builder = SectionBuilder()
    for block in blocks:
        if block.kind == "heading":
            builder.open(block.text, 1)
        elif (made := _block(block)) is not None:
            builder.add(made)
    return builder.finish(title)


def _block(block: TextBlock) -> Block | None:
    lines = block.text.split("\n")
    match block.kind:
        case "paragraph":
            return Paragraph(block.text, (), flags_of(block.text))
        case "list":
            marks = [line.partition("\t") for line in lines]
            number = marks[0][0].rstrip(".")
            items = tuple(ListItem((Paragraph(text, (), flags_of(text)),)) for _, _, text in marks)
            return ItemList(items, number.isdecimal(), int(number) if number.isdecimal() else 1)
        case "listing":
            return Listing(tuple(line.removeprefix("\t") for line in lines))
        case "gap":
            return Gap("listing")
        case _:
            return None
