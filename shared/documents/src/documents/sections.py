"""Sections: a page as a tree of headings, each with its own blocks. Pure data."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from documents.blocks import Block, text_of

PAGE_LEVEL: Final = 0
"""The level of a page's root section; `h1` to `h6` have 1 to 6."""
ENTRY_LEVEL: Final = 8
"""The level of an entry of an API or of a list of settings: a definition with a signature, or a keyword in bold."""
TERM_LEVEL: Final = 9
"""The level of a term of a definition list, if it can be addressed."""


@dataclass(frozen=True)
class Section:
    """A heading with the blocks up to the next heading, and the sections below it."""

    title: str
    """Without its number: "Graphical Desktops", not "13.3. Graphical Desktops"."""
    level: int
    anchor: str = ""
    """The id that a link to it ends in; empty for a page, or if it has none."""
    blocks: tuple[Block, ...] = ()
    """Its own, before the first section below it."""
    children: tuple["Section", ...] = ()
    names: tuple[str, ...] = ()
    """Other names that the page itself gives it: terms of an index that lead here, second signatures."""
    anchors: tuple[str, ...] = ()
    """Further ids within it, before the first section below it: links of an index lead to them too."""

    @cached_property
    def text(self) -> str:
        """The words of its own blocks."""
        return " ".join(map(text_of, self.blocks))

    @cached_property
    def own_words(self) -> int:
        return len(self.text.split())

    @cached_property
    def words(self) -> int:
        """Words of its own and of all sections below it."""
        return self.own_words + sum(child.words for child in self.children)

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], "Section"]]:
        """Yields it and all sections below it in reading order, each with the titles above it, the page's first."""
        # Iterative: a document may be nested thousands of levels deep.
        pending = [(path, self)]
        while pending:
            above, section = pending.pop()
            yield above, section
            pending += [((*above, section.title), child) for child in reversed(section.children)]


@dataclass(frozen=True, slots=True)
class TocLink:
    """A page or section that a table of contents lists, by its target, and how deep the entry is nested (0-based)."""

    title: str
    target: str
    """A path in the same collection with an optional `#anchor`."""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class IndexTerm:
    """An entry of a book's index: a term and the place that treats it."""

    term: str
    target: str
    """A path in the same collection with an optional `#anchor`."""
