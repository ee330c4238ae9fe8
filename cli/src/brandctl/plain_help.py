"""Help that fits 80 columns: names of options are never cut, and examples keep their lines."""

import re
from typing import Any, Final

_KEEP_LINES: Final = "\b\n"
"""Marks a paragraph with lines that the parser must not fill."""
_EXAMPLE: Final = re.compile(r"(?m)(?<=\n\n)(?=(?: {4}\S.*\n?)+)")


def apply(command: Any) -> None:
    """Has a command, and every command below it, print its help as text of two columns instead of a table in a frame."""
    command.rich_markup_mode = None
    if command.help:
        command.help = _EXAMPLE.sub(_KEEP_LINES, command.help)
    for each in getattr(command, "commands", {}).values():
        # In a list of commands the parser would cut the sentence, and not wrap it.
        each.short_help = each.short_help or " ".join((each.help or "").partition("\n\n")[0].split())
        apply(each)
