"""Writes blocks of documents as Markdown that renders as exactly their text, each paragraph and item with its source. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

from documents.blocks import Block, Definitions, ItemList, Label, Listing, Note, Paragraph, Table
from writing.body import escape, escape_beginning, escape_cell

Resolve = Callable[[str], str | None]
"""Returns the address of a link's target; None if it has none on the web."""

_FENCE: Final = re.compile(r"`{3,}")
_ADDRESS_KEPT: Final = ":/?#@!$&'*+,;=%-._~"


class MarkdownWriter:
    """Writes the blocks of one source, with the number of its citations."""

    def __init__(self, n: int, resolve: Resolve) -> None:
        self._mark = f" [{n}]"
        self._resolve = resolve

    def blocks(self, blocks: Sequence[Block]) -> Iterator[str]:
        """Yields the Markdown of each block."""
        for block in blocks:
            match block:
                case Paragraph():
                    yield self._line(block) + self._mark
                case Label(text):
                    # The title of what follows; "Examples:" and "(2 more in the source)" are said in passing.
                    is_title = not text.startswith("(") and not text.endswith(":")
                    yield (f"**{escape(text)}**" if is_title else escape_beginning(escape(text))) + self._mark
                case Listing(lines):
                    yield fenced(lines)
                case Table():
                    yield _table(block)
                case ItemList(items, ordered, start):
                    marks = (f"{start + at}. " if ordered else "- " for at in range(len(items)))
                    yield "\n".join(
                        self._item(mark, item.blocks) for mark, item in zip(marks, items, strict=True)
                    )
                case Definitions(entries):
                    yield "\n".join(
                        self._item(
                            "- ",
                            each.blocks,
                            f"**{', '.join(escape(term.rstrip(' :')) for term in each.terms)}**: ",
                        )
                        for each in entries
                    )
                case Note(title, inner):
                    yield self._note(title, inner)

    def titled(self, title: str, paragraph: Paragraph, joint: str) -> str:
        """Returns a paragraph behind a title in bold."""
        return f"**{escape(title)}**{joint}{self._inline(paragraph)}{self._mark}"

    def _item(self, mark: str, blocks: Sequence[Block], term: str = "") -> str:
        first, rest = blocks[0], blocks[1:]
        if isinstance(first, Paragraph):
            own = self._inline(first) if term else self._line(first)
            parts = [term + own + self._mark, *self.blocks(rest)]
        else:
            parts = [*([term.removesuffix(": ") + self._mark] if term else []), *self.blocks(blocks)]
        indent = " " * len(mark)
        return mark + _joined(parts).replace("\n", f"\n{indent}").replace(f"\n{indent}\n", "\n\n")

    def _note(self, title: str, blocks: Sequence[Block]) -> str:
        first, *rest = blocks
        if title and isinstance(first, Paragraph):
            parts = [self.titled(f"{title.rstrip(':')}:", first, " "), *self.blocks(rest)]
        else:
            parts = [*([f"**{escape(title)}**{self._mark}"] if title else []), *self.blocks(blocks)]
        return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(parts).split("\n"))

    def _line(self, paragraph: Paragraph) -> str:
        return escape_beginning(self._inline(paragraph))

    def _inline(self, paragraph: Paragraph) -> str:
        text, at, parts = paragraph.text, 0, []
        for link in paragraph.links:
            address = self._resolve(link.target)
            if address is None or not at <= link.start < link.end <= len(text):
                continue
            parts += [
                escape(text[at : link.start]),
                f"[{escape(text[link.start : link.end])}]({_destination(address)})",
            ]
            at = link.end
        return "".join([*parts, escape(text[at:])])


def _joined(parts: Sequence[str]) -> str:
    """A list follows its item's paragraph directly, so that the list around it stays tight."""
    text = parts[0] if parts else ""
    for part in parts[1:]:
        text += ("\n" if part.startswith(("- ", "1. ")) else "\n\n") + part
    return text


def fenced(lines: Sequence[str]) -> str:
    """Returns a listing in a fence of more backquotes than it has in a row; the paragraph before it carries the citation."""
    text = "\n".join(lines)
    fence = "`" * max(3, *(len(run) + 1 for run in _FENCE.findall(text)), 3)
    return f"{fence}\n{text}\n{fence}"


def _table(table: Table) -> str:
    # Without a head, a first row without gaps serves as one.
    full = all(table.rows[0])
    head, *rows = (
        (table.head, *table.rows)
        if table.head
        else (*([] if full else [("",) * len(table.rows[0])]), *table.rows)
    )
    lines = [[escape_cell(cell) for cell in row] for row in (head, *rows)]
    lines.insert(1, ["---"] * len(head))
    return "\n".join(f"| {' | '.join(row[: len(head)])} |" for row in lines)


def _destination(address: str) -> str:
    return quote(address, safe=_ADDRESS_KEPT).replace("&", "\\&")
