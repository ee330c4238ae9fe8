"""Differences between two versions of an article. Pure."""

from dataclasses import dataclass
from difflib import unified_diff
from typing import Final

from envelope.brand.article import ArticleText, field_lines

MAX_LINES: Final = 2_000
"""Lines of a version that are compared, as the time grows with their square."""
MAX_CHARACTERS: Final = 200_000
"""Length at which a diff is cut; `is_cut` then says so."""


@dataclass(frozen=True, slots=True)
class VersionDiff:
    text: str
    """A unified diff; empty if nothing differs."""
    is_cut: bool


def document(text: ArticleText) -> str:
    """A version's fields and text as one document."""
    return f"{field_lines(dict(text))}\n{text.body_markdown.rstrip()}\n"


def difference(before: str, after: str, *, called: tuple[str, str]) -> VersionDiff:
    """The diff from `before` to `after`; `called` are the names of the two in it."""
    old, new = before.splitlines(), after.splitlines()
    found: list[str] = []
    length = 0
    for line in unified_diff(old[:MAX_LINES], new[:MAX_LINES], *called, lineterm=""):
        length += len(line) + 1
        if length > MAX_CHARACTERS:
            return VersionDiff("\n".join(found) + "\n", is_cut=True)
        found.append(line)
    return VersionDiff("\n".join(found) + "\n" if found else "", is_cut=max(len(old), len(new)) > MAX_LINES)
