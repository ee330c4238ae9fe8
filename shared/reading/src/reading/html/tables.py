"""Reads tables of a page. Pure."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lxml import etree

from documents.blocks import (
    Block,
    DefinitionEntry,
    Definitions,
    ItemList,
    Label,
    ListItem,
    Paragraph,
    Table,
    text_of,
)
from reading.cleaning import flags_of, one_line
from reading.html.formulas import is_formula, plain_formula

MAX_ROWS: Final = 200
MAX_COLUMNS: Final = 10
MAX_SPAN: Final = 20
MAX_TERM: Final = 80
"""Characters of a name in the first column."""
_FEW_TEXTS: Final = 20

INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small span"  # noqa: SIM905
    " strike strong sub sup time tt u var wbr nobr".split()
)
BOLD: Final = frozenset({"b", "strong"})
_CODE: Final = frozenset({"code", "tt", "kbd", "samp", "pre"})
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
_DRAWN: Final = re.compile(
    r"(?=.*(?:[|/\\<>^\u2190-\u21ff\u2500-\u257f]|--))[-|/\\<>^v+=_.\s\u2190-\u21ff\u2500-\u257f]{1,60}"
)
_DRAWN_SHARE: Final = 5
"""A drawing has an arrow or a line in one of so many cells."""
_CAPTION_NUMBER: Final = re.compile(
    r"(?:Example|Table|Figure|Listing|Procedure|Equation) [\dA-Z]{1,3}(?:[.-]\d{1,3})*[.:]? +"
)


@dataclass(slots=True)
class _Row:
    cells: list[str]
    is_head: bool = True
    is_group: bool = False
    """Whether one cell spans the table, and names the rows below it."""


def extract_tables(element: etree._Element, unseen: AbstractSet[etree._Element]) -> tuple[Block, ...]:
    """Return a table, one for each group of its rows, each behind its name; nothing if it cannot be shown.

    It cannot if it is too large, has other tables or listings inside, is a drawing, or speaks to a model.
    """
    rows: list[_Row] = []
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
                return ()
            rows.append(_Row([]))
            _fill(rows[-1].cells, below)
        elif each.tag in {"th", "td"}:
            if not rows or not _add_cell(rows[-1], each, below, unseen):
                return ()
            walk.skip_subtree()
        elif each.tag == "caption":
            caption = strip_caption_number(one_line(visible_text(each, unseen)))
            walk.skip_subtree()
        elif each.tag not in INLINE and each.tag not in _STRUCTURE:
            return ()
    return _tables([row for row in rows if any(row.cells)], caption)


def _add_cell(
    row: _Row, cell: etree._Element, below: dict[int, tuple[int, str]], unseen: AbstractSet[etree._Element]
) -> bool:
    """Add a cell to its row; return whether it can be shown on one line."""
    if len(row.cells) >= MAX_COLUMNS or not _is_simple(cell, unseen):
        return False
    text = one_line(visible_text(cell, unseen))
    columns = _span(cell, "colspan")
    row.is_head = row.is_head and (cell.tag == "th" or not text or is_bold(cell))
    row.is_group = columns > 1 and not row.cells and bool(text)
    for further in range(columns):
        if (down := _span(cell, "rowspan")) > 1:
            below[len(row.cells)] = (down - 1, text if not further else "")
        row.cells.append(text if not further else "")
    _fill(row.cells, below)
    return True


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


def _tables(rows: Sequence[_Row], caption: str) -> tuple[Block, ...]:
    width = max((len(row.cells) for row in rows), default=0)
    if width < 2 or width > MAX_COLUMNS:  # noqa: PLR2004 - what has one column is no table
        return ()
    head = rows[0].cells if rows[0].is_head and sum(map(bool, rows[0].cells)) > 1 else []
    if not head and _is_drawing(rows):
        return ()
    data = rows[bool(head) :]
    has_groups = not all(_is_group(row, width) for row in data)
    parts: list[tuple[str, list[list[str]]]] = [("", [])]
    for row in data:
        if has_groups and _is_group(row, width):
            parts.append((row.cells[0], []))
        else:
            parts[-1][1].append(row.cells)
    shown: list[tuple[str, Block]] = []
    for name, body in parts:
        block = _table(name, body, head, "" if shown else caption, width) if body else None
        if body and block is None:
            return ()
        if block is not None:
            shown.append((name, block))
    blocks = _grouped(shown)
    return () if flags_of(" ".join(map(text_of, blocks))) else blocks


def _grouped(parts: Sequence[tuple[str, Block]]) -> tuple[Block, ...]:
    """Return the groups as one list, if they are lists themselves; else as tables, each behind its name."""
    if any(isinstance(block, Table) for _, block in parts):
        return tuple(each for name, block in parts for each in ([Label(name)] if name else []) + [block])
    unnamed = tuple(block for name, block in parts if not name)
    named = tuple(DefinitionEntry((name,), (block,)) for name, block in parts if name)
    return (*unnamed, *((Definitions(named),) if named else ()))


def _is_group(row: _Row, width: int) -> bool:
    return row.is_group and len(row.cells) >= width


def _is_drawing(rows: Sequence[_Row]) -> bool:
    """Return whether many cells of several columns are arrows and lines."""
    filled = [(at, cell) for row in rows for at, cell in enumerate(row.cells) if cell]
    drawn = [at for at, cell in filled if len(cell) <= MAX_TERM and _DRAWN.fullmatch(cell) is not None]
    return len(set(drawn)) > 1 and len(drawn) * _DRAWN_SHARE >= len(filled)


def _table(name: str, rows: Sequence[list[str]], head: list[str], caption: str, width: int) -> Block | None:
    filled = [at for at in range(width) if any(at < len(row) and row[at] for row in (head, *rows))]
    body = tuple(_columns(row, filled) for row in rows)
    if len(filled) < 2:  # noqa: PLR2004 - as above
        # Of a group, names without explanations.
        return ItemList(tuple(ListItem((Paragraph(row[0]),)) for row in body if row[0])) if name else None
    if not head and not caption and (entries := _definitions(body, is_group=bool(name))):
        return Definitions(entries)
    return Table(body, _columns(head, filled) if head else (), caption)


def _columns(row: Sequence[str], columns: Sequence[int]) -> tuple[str, ...]:
    return tuple(row[at] if at < len(row) else "" for at in columns)


def _definitions(rows: Sequence[tuple[str, ...]], *, is_group: bool) -> tuple[DefinitionEntry, ...]:
    """Return the entries of a table without a head: its first column has names, its second explains them.

    In a group of rows with a name, as of options, some may have no explanation.
    """
    if len(rows[0]) != 2 or not (is_group or len(rows) > 1):  # noqa: PLR2004 - names and explanations
        return ()
    terms, told = [row[0] for row in rows], [row[1] for row in rows]
    explained = sum(any(map(str.isalpha, each)) for each in told)
    is_list = is_group or (
        all(told) and explained * 2 > len(told) and sum(map(len, told)) > sum(map(len, terms))
    )
    if not is_list or not all(terms) or max(map(len, terms)) > MAX_TERM:
        return ()
    return tuple(DefinitionEntry((term,), (Paragraph(text),) if text else ()) for term, text in rows)


def is_bold(element: etree._Element) -> bool:
    """Return whether all that an element holds is bold."""
    inner: etree._Element | None = element
    while inner is not None and not (inner.text or "").strip():
        children = list(islice(inner, 2))
        if len(children) != 1 or (children[0].tail or "").strip():
            return False
        if (inner := children[0]).tag in BOLD:
            return True
    return False


def _span(cell: etree._Element, name: str) -> int:
    value = cell.get(name) or ""
    return min(MAX_SPAN, max(1, int(value))) if value.isascii() and value.isdigit() and len(value) < 4 else 1  # noqa: PLR2004


def _is_simple(cell: etree._Element, unseen: AbstractSet[etree._Element]) -> bool:
    """Return whether a cell can be shown on one line: it has no commands and no items that would run together there."""
    items = commands = 0
    for each in descendants(cell, unseen):
        if each.tag in {"table", "tr", "td", "th"}:
            return False
        if is_formula(each) and (each.tag == "img" or plain_formula(each) is None):
            return False
        if each.tag == "pre" and "\n" in "".join(map(str, each.itertext())).strip():
            return False
        items += each.tag == "li"
        commands += each.tag in _CODE and _begins_line(each)
        if items > 1 or commands > 1:
            return False
    return True


def _begins_line(code: etree._Element) -> bool:
    """Return whether the text of a command begins a line of its cell, and has words of its own."""
    before = code.getprevious()
    text = "".join(map(str, islice(code.itertext(), _FEW_TEXTS)))
    if " " not in text.strip():
        return False
    parent = code.getparent()
    if before is None:
        return parent is not None and not (parent.text or "").strip()
    return before.tag not in INLINE and not (before.tail or "").strip()


def descendants(element: etree._Element, unseen: AbstractSet[etree._Element]) -> Iterator[etree._Element]:
    walk = etree.iterwalk(element, events=("start",))
    for _, each in walk:
        if each in unseen:
            walk.skip_subtree()
        elif each is not element:
            yield each


def visible_lines(element: etree._Element, unseen: AbstractSet[etree._Element]) -> str:
    """Return the text inside, whose lines end at each `br` and nowhere else."""
    marked = visible_text(element, unseen, line_break="\0")
    return marked.replace("\n", "").replace("\0", "\n").replace("\xa0", " ")


def visible_text(
    element: etree._Element, unseen: AbstractSet[etree._Element], *, line_break: str = "\n"
) -> str:
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
            parts.append(line_break if each.tag == "br" else each.text or "")
    return "".join(parts)
