"""Reads listings: `pre`, boxes whose lines are blocks, and paragraphs that are nothing but lines of code. Pure."""

import re
import textwrap
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

from lxml import etree

from documents.blocks import Listing
from reading.cleaning import flags_of, remove_invisible
from reading.html.tables import INLINE

MAX_LINES: Final = 400
MAX_LINE: Final = 1_000
"""Characters of a line; longer ones are data."""
MAX_BREAK_LINE: Final = 90
CODE: Final = frozenset({"code", "tt", "kbd", "samp"})

_NUMBERS: Final = re.compile(r"\s*\d[\d\s]*")
_MAX_TEXTS: Final = 2 * MAX_LINES


def extract_listing(element: etree._Element, unseen: AbstractSet[etree._Element]) -> Listing | None:
    """Return the lines of code without their common margin; None if there are too many, or they speak to a model."""
    return listing_of(_code_text(element, unseen))


def listing_of(text: str) -> Listing | None:
    """Return the listing of a preformatted text; None if it is too long, or speaks to a model."""
    shown = textwrap.dedent(remove_invisible(text).replace("\xa0", " ").expandtabs(8))
    lines = tuple(line.rstrip() for line in shown.strip("\n").rstrip().split("\n"))
    if len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE or flags_of(shown):
        return None
    return Listing(lines if any(lines) else ())


def _code_text(element: etree._Element, unseen: AbstractSet[etree._Element]) -> str:
    """Return the text inside, each block in it on a line of its own."""
    parts = [element.text or ""]
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, each in walk:
        if each is element:
            continue
        if event == "start":
            if each in unseen:
                walk.skip_subtree()
            else:
                parts.append("\n" if each.tag == "br" else each.text or "")
            continue
        tail = each.tail or ""
        is_line = each.tag not in INLINE and each.tag != "br" and each not in unseen
        if is_line and not tail.startswith("\n") and (not (len(each) or each.text) or not _ends_line(parts)):
            parts.append("\n")
        parts.append(tail)
    return "".join(parts)


def _ends_line(parts: Sequence[str]) -> bool:
    return next((part.endswith("\n") for part in reversed(parts) if part), True)


def code_of_numbered_listing(table: etree._Element) -> etree._Element | None:
    """Return the cell with the code of a listing whose line numbers are the other column."""
    cells = list(islice(table.iter("td"), 3))
    if len(cells) != 2:  # noqa: PLR2004 - numbers and code
        return None
    is_code = cells[1].find(".//pre") is not None
    if not is_code and (cells[1].find(".//code") is None or table.find(".//th") is not None):
        return None
    numbers = "".join(map(str, islice(cells[0].itertext(), _MAX_TEXTS)))
    return cells[1] if _NUMBERS.fullmatch(numbers) else None


def is_broken_listing(lines: Sequence[str]) -> bool:
    """Return whether lines that the page breaks are short, and no sentences."""
    if len(lines) < 3 or max(map(len, lines)) > MAX_BREAK_LINE:  # noqa: PLR2004 - two lines are a paragraph
        return False
    return sum(line.endswith((".", "!", "?", ",")) for line in lines) * 3 < len(lines)
