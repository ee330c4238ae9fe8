r"""Parses a passage's text into paragraphs, lists, listings and tables. Pure.

Research separates them by blank lines. A paragraph is one line without a tab. Each line of the others starts with a
marker and a tab: "•\titem", "1.\titem", "\tcode", "|\tcell\tcell".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

# Articles of one brand quote the same passages many times: results that depend on the text alone are cached, in 1 MB.
_PASSAGES: Final = 256
_LONGEST_REMEMBERED: Final = 4_000

_MARKED = re.compile(r"(•|\||\d{1,6}\.|)\t(.*)")


class PassageBlockKind(Enum):
    PARAGRAPH = "paragraph"
    LIST = "list"
    NUMBERED_LIST = "numbered list"
    LISTING = "listing"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class PassageBlock:
    """One block. `lines` are the paragraph; the items; the lines of code; or the rows, with cells separated by tabs."""

    kind: PassageBlockKind
    lines: tuple[str, ...]
    start: int = 1
    """The first number of a numbered list."""

    @property
    def text(self) -> str:
        """Its prose; empty for a listing or table."""
        return " ".join(self.lines) if self.kind in PROSE else ""

    @property
    def words(self) -> int:
        return len(self.text.split())


PROSE = frozenset({PassageBlockKind.PARAGRAPH, PassageBlockKind.LIST, PassageBlockKind.NUMBERED_LIST})


def blocks_of(text: str) -> tuple[PassageBlock, ...]:
    return (_blocks if len(text) <= _LONGEST_REMEMBERED else _blocks.__wrapped__)(text)


@lru_cache(_PASSAGES)
def _blocks(text: str) -> tuple[PassageBlock, ...]:
    return tuple(_cut(text))


def _cut(text: str) -> Iterator[PassageBlock]:
    for piece in text.replace("\0", "").split("\n\n"):
        lines = piece.strip("\n").split("\n")
        marked = [_MARKED.fullmatch(line) for line in lines] if "\t" in piece else [None]
        found = [match for match in marked if match is not None]
        kinds = {_kind(match[1]) for match in found}
        if len(found) < len(lines) or len(kinds) != 1:
            if paragraph := " ".join(piece.split()):
                yield PassageBlock(PassageBlockKind.PARAGRAPH, (paragraph,))
            continue
        (kind,) = kinds
        start = int(found[0][1][:-1]) if kind is PassageBlockKind.NUMBERED_LIST else 1
        yield PassageBlock(
            kind,
            tuple(match[2] if kind is PassageBlockKind.LISTING else match[2].strip(" ") for match in found),
            start,
        )


def _kind(marker: str) -> PassageBlockKind:
    match marker:
        case "•":
            return PassageBlockKind.LIST
        case "|":
            return PassageBlockKind.TABLE
        case "":
            return PassageBlockKind.LISTING
        case _:
            return PassageBlockKind.NUMBERED_LIST
