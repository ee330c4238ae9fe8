"""Builds the tree of sections from headings and blocks in reading order. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from documents.blocks import Block, Listing, Paragraph
from documents.sections import ENTRY_LEVEL, PAGE_LEVEL, Section
from reading.boilerplate import is_notice, may_name_subject

MAX_DEPTH: Final = 16
"""Sections within sections; a deeper one becomes the sibling of the deepest."""
_SITE_HEADINGS: Final = 3
"""Headings at the top of a page in which its title is looked for."""
_SITE_BEHIND: Final = re.compile(r"\s+(?:[-\u2013\u2014|\u00b7\u2022\u00bb]|::)\s+\S")
_SITE_BEFORE: Final = re.compile(r"\S(?:\s+[-\u2013\u2014|\u00b7\u2022\u00bb]|\s*:{1,2})\s+$")
_MIN_TITLE: Final = 3
SUBJECT_WORDS: Final = 40
"""Words under a heading like "Search" that make it a subject of the page."""
MAX_ANCHORS: Final = 200
"""Anchors that one section keeps."""


ADMONITIONS: Final = frozenset("note notes tip tips warning caution important hint example examples".split())  # noqa: SIM905
"""Headings that name a box and no subject."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading between the blocks of a text that is no tree."""

    text: str
    level: int = 1


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
    def blocks(self) -> list[Block]:
        """The blocks of the innermost section so far."""
        return self._open[-1].blocks

    @property
    def is_empty(self) -> bool:
        """Whether the innermost section has no blocks and no sections below it."""
        return not (self._open[-1].blocks or self._open[-1].children)

    @property
    def title(self) -> str:
        """The title of the innermost section."""
        return self._open[-1].title

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
        if name != self._open[-1].title:
            self._open[-1].names.append(name)

    def add_signature(self, name: str, line: str) -> bool:
        """Add another signature to an entry that has nothing but signatures so far; return whether it is one."""
        section = self._open[-1]
        if section.level < ENTRY_LEVEL or section.children or len(section.blocks) > 1:
            return False
        before = section.blocks[0] if section.blocks else Listing((section.title,))
        if not isinstance(before, Listing):
            return False
        section.blocks = [Listing((*before.lines, line))]
        self.add_name(name)
        return True

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
        closed = section.closed()
        if not section.is_skipped or (may_name_subject(section.title) and closed.words >= SUBJECT_WORDS):
            self._open[-1].children.append(closed)
        return section

    def finish(self, title: str) -> Section:
        """Close all, and return the page; a first section with the page's own title is merged into it.

        A page without a title has that of its first section.
        """
        while len(self._open) > 1:
            self._close()
        page = self._open[0]
        page.title = title or (page.children[0].title if page.children else "")
        return _merged(page.closed())


def _merged(page: Section) -> Section:
    # Generators repeat the page's title in its first heading, and some in the first section below that; above it may
    # stand the name of the site.
    for _ in range(_SITE_HEADINGS):
        if not _is_repeated(page):
            break
        first = page.children[0]
        anchors = _anchors((page, first))
        page = Section(
            title=first.title if _has_site(page.title, first.title) else page.title,
            level=PAGE_LEVEL,
            anchor=anchors[0] if anchors else "",
            blocks=(*page.blocks, *first.blocks),
            children=(*first.children, *page.children[1:]),
            names=(*page.names, *first.names),
            anchors=anchors[1:],
        )
    return page


def _is_repeated(page: Section) -> bool:
    """Return whether the first section has the page's title, or holds only another one that has it."""
    section = page
    for _ in range(_SITE_HEADINGS):
        if not section.children:
            return False
        section = section.children[0]
        if _is_same_title(section.title, page.title) or _has_site(page.title, section.title):
            return True
        if section.blocks:
            return False
    return False


def _anchors(sections: Sequence[Section]) -> tuple[str, ...]:
    found = [each for section in sections for each in (section.anchor, *section.anchors) if each]
    return tuple(dict.fromkeys(found))


def _is_same_title(one: str, other: str) -> bool:
    return _plain(one).removesuffix("manualpage") == _plain(other).removesuffix("manualpage") != ""


def _has_site(title: str, heading: str) -> bool:
    """Return whether a page's title is its heading and the name of the site: "Kilns - The Pottery", "Pottery: Kilns"."""
    if len(heading) < _MIN_TITLE:
        return False
    return (title.startswith(heading) and _SITE_BEHIND.match(title, len(heading)) is not None) or (
        title.endswith(heading) and _SITE_BEFORE.search(title[: -len(heading)]) is not None
    )


def _plain(title: str) -> str:
    return "".join(filter(str.isalnum, title.casefold()))


def sections_of_flat(parts: Iterable[Heading | Block], title: str) -> Section:
    """Return the tree of headings and blocks in reading order."""
    builder = SectionBuilder()
    for part in parts:
        if isinstance(part, Heading):
            builder.open(part.text, part.level)
        elif not (isinstance(part, Paragraph) and is_notice(part.text)):
            builder.add(part)
    return builder.finish(title)
