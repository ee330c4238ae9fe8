"""Compares the result of `reading` for a page with a simpler reading of the same bytes: its additions and losses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from documents.blocks import (
    Block,
    Definitions,
    Gap,
    ItemList,
    Label,
    Listing,
    Note,
    Paragraph,
    Table,
)
from documents.sections import Section
from reading.extraction import extract
from tests.articles.quotation_check import PageText, ShownPart, comparable, is_shown, without_brackets
from tests.articles.raw_pages import RawPage, read_page
from tests.articles.raw_text import visible_text

LEAST_LETTERS: Final = 3
_NUMBER: Final = re.compile(
    r"^(?:(?:Chapter|Appendix|Example|Table|Figure)\s)?(?:\d+|[A-Z])(?:\.\d+)*[.:]?\s+"
)
"""Of a heading or caption."""


@dataclass(slots=True)
class ReadingCounts:
    """How much of a folder was read, and what was added or lost."""

    parts: int = 0
    added: list[str] = field(default_factory=list)
    """Parts that their pages do not show."""
    words: int = 0
    lost: list[str] = field(default_factory=list)

    @property
    def lost_share(self) -> float:
        return sum(len(text.split()) for text in self.lost) / max(1, self.words)


def compare_readings(folder: Path) -> ReadingCounts:
    """Reads the HTML pages of a folder twice. Indexes and pages without text of their own are not compared."""
    counts = ReadingCounts()
    for file in sorted(folder.rglob("*.html")):
        path, content = str(file.relative_to(folder)), file.read_bytes()
        document = extract(path, content)
        if document.sections is None or document.index_terms or not document.sections.words:
            continue
        page = read_page(path, content)
        counts.parts += sum(1 for _ in parts_of(document.sections))
        counts.added += [f"{path}: {part}" for part in parts_not_in_page(page, document.sections)]
        counts.words += len("".join(visible_text(page.main, furniture=False)).split())
        counts.lost += [f"{path}: {text}" for text in text_not_read(page, document.sections)]
    return counts


def parts_not_in_page(page: RawPage, sections: Section) -> list[str]:
    """Returns the paragraphs, listings, cells, terms and headings below the title that the page does not show."""
    shown = PageText.of(page.text)
    return [
        f"{part.kind}: {part.text}"
        for part in parts_of(sections)
        if part.text.strip() and not is_shown(part.text, [shown], kind=part.kind)
    ]


def text_not_read(page: RawPage, sections: Section) -> list[str]:
    """Returns the blocks of the page's main part, apart from navigation, that are neither read nor known to be left out."""
    texts = [sections.title, *(part.text for part in parts_of(sections))]
    read = comparable("\n".join(map(without_brackets, texts)))
    blocks = "".join(visible_text(page.main, furniture=False)).split("\n\n")
    bare = ((block, _NUMBER.sub("", without_brackets(block).strip())) for block in blocks)
    return [
        " ".join(block.split())
        for block, text in bare
        if sum(map(str.isalnum, text)) >= LEAST_LETTERS and comparable(text) not in read
    ]


def parts_of(sections: Section) -> Iterator[ShownPart]:
    """Yields all that a page's tree shows below its title, in the kinds of the check of quotations."""
    for above, section in sections.walk():
        if above:
            yield ShownPart("heading", section.title, ())
        yield from _parts_of_blocks(section.blocks)


def _parts_of_blocks(blocks: Sequence[Block]) -> Iterator[ShownPart]:  # noqa: C901 - one for each kind
    for block in blocks:
        match block:
            case Paragraph(text) | Label(text):
                yield ShownPart("p", text, ())
            case Listing(lines):
                yield ShownPart("pre", "\n".join(lines), ())
            case Table(rows, head, caption):
                yield from (ShownPart("td", text, ()) for row in ((caption,), head, *rows) for text in row)
            case ItemList(items):
                for item in items:
                    yield from _parts_of_blocks(item.blocks)
            case Definitions(entries):
                for entry in entries:
                    yield from (ShownPart("term", term, ()) for term in entry.terms)
                    yield from _parts_of_blocks(entry.blocks)
            case Note(title, inner):
                yield ShownPart("heading", title, ())
                yield from _parts_of_blocks(inner)
            case Gap():
                pass
