"""Output of a command: results to standard output, remarks to standard error.

Control characters are escaped: messages, errors and answers may hold text from strangers.
"""

import json
import re
from typing import Any, Final

import typer
from rich.console import Console
from rich.text import Text

_UNPRINTABLE_IN_JSON: Final = re.compile(r"[^\x20-\x7e\n]")


def out() -> Console:
    return Console(highlight=False)


def say(console: Console, text: str, style: str | None = None) -> None:
    """Prints lines without wrapping or markup, since they may hold any text."""
    console.print(Text(printable(text, keep_lines=True), style=style or ""), soft_wrap=True)


def write(text: str) -> None:
    """Writes lines to standard output without wrapping; tabs stay."""
    out().file.write(printable(text, keep_lines=True))


def note(text: str) -> None:
    """Prints a remark to standard error, so that standard output holds the result alone."""
    say(Console(stderr=True, highlight=False), text)


def print_json(value: Any) -> None:
    """Prints JSON with control characters escaped, which JSON readers decode to the same text."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    typer.echo(_UNPRINTABLE_IN_JSON.sub(lambda found: _escaped(found.group()), text))


def printable(text: str, *, keep_lines: bool = False) -> str:
    """Escapes control characters, C1 and marks of direction included."""
    kept = "\n\t" if keep_lines else ""

    def shown(character: str) -> str:
        if character.isprintable() or character in kept:
            return character
        return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"

    return "".join(map(shown, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
