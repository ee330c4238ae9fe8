"""Texts of others, such as a program's log or a statement, in a Markdown table."""

from typing import Final

_LONGEST: Final = 160
"""Characters of a text in a table."""


def cell(text: str) -> str:
    """The beginning of a text, in one line, for a table; it may be the end of a program's log."""
    line = _cut(" ".join(text.split("\n", 1)[0].split()))
    return line.replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> str:
    """The beginning of a text as code, for a table."""
    return f"`{_cut(text).replace('|', chr(92) + '|').replace('`', '')}`"


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
