r"""Extracts lists, listings and tables of a page as lines of a passage's text. Pure.

A paragraph is one line without a tab. Each line of a structure begins with a marker and a tab:

    "•\tan item", "1.\ta numbered item", "\ta line of code", "|\ta cell\tthe next cell" (the first row is the head)
"""

import textwrap
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from lxml import etree

from reading.cleaning import one_line, remove_invisible

MAX_ITEMS: Final = 30
MAX_LINES: Final = 40
MAX_LINE: Final = 200
MAX_ROWS: Final = 20
MAX_COLUMNS: Final = 6
_LONGEST_NUMBER: Final = 4

INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small span"  # noqa: SIM905
    " strike strong sub sup time tt u var wbr nobr".split()
)


def extract_list(element: etree._Element, unseen: AbstractSet[etree._Element]) -> str | None:
    """Return the lines of a list; None if an item has more than a paragraph, or the list is too long to quote."""
    items: list[str] = []
    for item in element:
        if item in unseen:
            continue
        if item.tag != "li" or len(items) == MAX_ITEMS or not _is_plain(item, unseen):
            return None
        if text := one_line(visible_text(item, unseen)):
            items.append(text)
    number = _first_number(element)
    return "\n".join(
        f"{f'{number + at}.' if element.tag == 'ol' else '•'}\t{text}" for at, text in enumerate(items)
    )


def _is_plain(item: etree._Element, unseen: AbstractSet[etree._Element]) -> bool:
    paragraphs = 0
    for each in _descendants(item, unseen):
        paragraphs += each.tag == "p"
        if paragraphs > 1 or (each.tag not in INLINE and each.tag not in {"p", "br"}):
            return False
    return True


def _first_number(element: etree._Element) -> int:
    start = element.get("start") or ""
    return int(start) if start.isascii() and start.isdigit() and len(start) <= _LONGEST_NUMBER else 1


def count_linked_characters(element: etree._Element) -> int:
    """Count the characters inside links."""
    return sum(len("".join(map(str, link.itertext()))) for link in element.iter("a") if link.get("href"))


def extract_listing(element: etree._Element, unseen: AbstractSet[etree._Element]) -> str | None:
    """Return the lines of code without their common margin; None if there are none or too many to quote."""
    text = textwrap.dedent(remove_invisible(visible_text(element, unseen)).expandtabs(4))
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    if not any(lines) or len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE:
        return None
    return "\n".join(f"\t{line}" for line in lines)


def extract_table(element: etree._Element, unseen: AbstractSet[etree._Element]) -> str | None:
    """Return the lines of a table; None without a head, with unequal rows, or if it is too large to quote."""
    rows: list[list[str]] = []
    head = False
    for each in _descendants(element, unseen):
        match each.tag:
            case "tr":
                if len(rows) == MAX_ROWS:
                    return None
                rows.append([])
            case "th" | "td":
                if not rows or each.get("rowspan") or each.get("colspan") or len(rows[-1]) == MAX_COLUMNS:
                    return None
                head = head or (len(rows) == 1 and each.tag == "th")
                rows[-1].append(one_line(visible_text(each, unseen)))
            case "thead" | "tbody" | "tfoot" | "caption" | "colgroup" | "col" | "p" | "div" | "br":
                pass
            case tag if tag not in INLINE:
                return None
    if not head or len(rows) < 2 or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:  # noqa: PLR2004
        return None
    return "\n".join("|\t" + "\t".join(row) for row in rows)


def _descendants(element: etree._Element, unseen: AbstractSet[etree._Element]) -> Iterator[etree._Element]:
    walk = etree.iterwalk(element, events=("start",))
    for _, each in walk:
        if each in unseen:
            walk.skip_subtree()
        elif each is not element:
            yield each


def visible_text(element: etree._Element, unseen: AbstractSet[etree._Element]) -> str:
    """Return the text inside, with a line break for each `br` and a space for each unseen element."""
    parts = [element.text or ""]
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, each in walk:
        if each is element:
            continue
        if event == "end":
            parts.append(each.tail or "")
        elif each in unseen:
            walk.skip_subtree()
            parts.append(" ")
        else:
            parts.append("\n" if each.tag == "br" else each.text or "")
    return "".join(parts)
