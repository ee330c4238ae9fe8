"""What each line of a post's plain text is, for channels with formatting of their own. Pure.

Posts are edited as plain text; so the text alone says what is a headline, a quotation or an item.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

import regex

BULLET: Final = "• "
_QUOTATION: Final = regex.compile(r"(?:[“„].*[”“]|«.*»|”.*”|‘.*’)")  # noqa: RUF001


class LineKind(Enum):
    HEADLINE = auto()
    QUOTATION = auto()
    ITEM = auto()
    TEXT = auto()


def lines_of(text: str, title: str) -> Iterator[tuple[LineKind, str]]:
    """The lines with their kinds, blank ones too; an item without its bullet."""
    for number, line in enumerate(text.split("\n")):
        if number == 0 and line == title and "\n" in text:
            yield LineKind.HEADLINE, line
        elif line.startswith(BULLET):
            yield LineKind.ITEM, line.removeprefix(BULLET)
        elif _QUOTATION.fullmatch(line):
            yield LineKind.QUOTATION, line
        else:
            yield LineKind.TEXT, line
