"""Reads tables and listings of a page. Pure."""

import re
import textwrap
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from lxml import etree

from documents.blocks import Listing, Table
from reading.cleaning import flags_of, one_line, remove_invisible

MAX_ROWS: Final = 200
MAX_COLUMNS: Final = 10
MAX_LINES: Final = 400
MAX_LINE: Final = 1_000
"""Characters of a line; longer ones are data."""
MAX_SPAN: Final = 20

INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small span"  # noqa: SIM905
    " strike strong sub sup time tt u var wbr nobr".split()
)
_STRUCTURE: Final = frozenset(
    [
        "thead",
        "tbody",
        "tfoot",
        "caption",
        "colgroup",
        "col",
        "p",
        "div",
        "br",
        "center",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
    ]
)
_CAPTION_NUMBER: Final = re.compile(
    r"(?:Example|Table|Figure|Listing|Procedure|Equation) [\dA-Z]{1,3}(?:[.-]\d{1,3})*[.:]? +"
)
_SIDES: Final = frozenset({"linenos", "lineno", "gutter"})


def extract_listing(element: etree._Element, unseen: AbstractSet[etree._Element]) -> Listing | None:
    """Return the lines of code without their common margin; None if there are too many, or they speak to a model."""
    return listing_of(visible_text(element, unseen))


def listing_of(text: str) -> Listing | None:
    """Return the listing of a preformatted text; None if it is too long, or speaks to a model."""
    shown = textwrap.dedent(remove_invisible(text).expandtabs(8))
    lines = tuple(line.rstrip() for line in shown.strip("\n").rstrip().split("\n"))
    if len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE or flags_of(shown):
        return None
    return Listing(lines if any(lines) else ())


def extract_table(element: etree._Element, unseen: AbstractSet[etree._Element]) -> Table | None:  # noqa: C901
    """Return a table; None if it is too large, has other tables or listings inside, or speaks to a model."""
    rows: list[list[str]] = []
    is_head: list[bool] = []
    caption = ""
    below: dict[int, tuple[int, str]] = {}
    walk = etree.iterwalk(element, events=("start",))
    for _, each in walk:
        if each is element:
            continue
        if each in unseen:
            walk.skip_subtree()
        elif each.tag == "tr":
            if len(rows) == MAX_ROWS:
                return None
            rows.append([])
            is_head.append(True)
            _fill(rows[-1], below)
        elif each.tag in {"th", "td"}:
            if not rows or len(rows[-1]) >= MAX_COLUMNS or not _is_simple(each, unseen):
                return None
            text = one_line(visible_text(each, unseen))
            is_head[-1] = is_head[-1] and each.tag == "th"
            for further in range(_span(each, "colspan")):
                if (down := _span(each, "rowspan")) > 1:
                    below[len(rows[-1])] = (down - 1, text if not further else "")
                rows[-1].append(text if not further else "")
            _fill(rows[-1], below)
            walk.skip_subtree()
        elif each.tag == "caption":
            caption = strip_caption_number(one_line(visible_text(each, unseen)))
            walk.skip_subtree()
        elif each.tag not in INLINE and each.tag not in _STRUCTURE:
            return None
    return _table(rows, is_head, caption)


def strip_caption_number(caption: str) -> str:
    """Return a caption without its number: "Example 6.1. A kiln" gives "A kiln"."""
    return _CAPTION_NUMBER.sub("", caption, count=1)


def _fill(row: list[str], below: dict[int, tuple[int, str]]) -> None:
    """Add the cells of rows above that reach down into this one."""
    while (cell := below.get(len(row))) is not None and len(row) < MAX_COLUMNS:
        left, text = cell
        if left == 1:
            del below[len(row)]
        else:
            below[len(row)] = (left - 1, text)
        row.append(text)


def _table(rows: list[list[str]], is_head: list[bool], caption: str) -> Table | None:
    filled = [(row, head) for row, head in zip(rows, is_head, strict=True) if any(row)]
    width = max((len(row) for row, _ in filled), default=0)
    if width < 2 or width > MAX_COLUMNS:  # noqa: PLR2004 - what has one column is no table
        return None
    filled_columns = [at for at in range(width) if any(at < len(row) and row[at] for row, _ in filled)]
    if len(filled_columns) < 2:  # noqa: PLR2004 - as above
        return None
    even = [(tuple(row[at] if at < len(row) else "" for at in filled_columns), head) for row, head in filled]
    head = even.pop(0)[0] if even[0][1] else ()
    body = tuple(row for row, _ in even)
    if not body or flags_of(" ".join([caption, *head, *(cell for row in body for cell in row)])):
        return None
    return Table(body, head, caption)


def _span(cell: etree._Element, name: str) -> int:
    value = cell.get(name) or ""
    return min(MAX_SPAN, max(1, int(value))) if value.isascii() and value.isdigit() and len(value) < 4 else 1  # noqa: PLR2004


def _is_simple(cell: etree._Element, unseen: AbstractSet[etree._Element]) -> bool:
    """Return whether a cell can be shown on one line."""
    for each in descendants(cell, unseen):
        if each.tag in {"table", "tr", "td", "th"}:
            return False
        if each.tag == "pre" and "\n" in "".join(map(str, each.itertext())).strip():
            return False
    return True


def code_of_numbered_listing(table: etree._Element) -> etree._Element | None:
    """Return the cell with the code of a listing whose line numbers are the other column."""
    cells = list(table.iter("td"))
    if len(cells) != 2:  # noqa: PLR2004 - numbers and code
        return None
    return cells[1] if not _SIDES.isdisjoint((cells[0].get("class") or "").split()) else None


def descendants(element: etree._Element, unseen: AbstractSet[etree._Element]) -> Iterator[etree._Element]:
    walk = etree.iterwalk(element, events=("start",))
    for _, each in walk:
        if each in unseen:
            walk.skip_subtree()
        elif each is not element:
            yield each


def visible_text(element: etree._Element, unseen: AbstractSet[etree._Element]) -> str:
    """Return the text inside, with a line break for each `br` and a space for each unseen element or block."""
    parts = [element.text or ""]
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, each in walk:
        if each is element:
            continue
        if event == "end":
            if each.tag not in INLINE and each.tag != "br":
                parts.append(" ")
            parts.append(each.tail or "")
        elif each in unseen:
            walk.skip_subtree()
            if each.text or len(each):
                parts.append(" ")
        else:
            parts.append("\n" if each.tag == "br" else each.text or "")
    return "".join(parts)
