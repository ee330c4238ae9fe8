"""Short ids for people: the last few digits, if they are unique.

An id is a UUIDv7: ids of the same time begin alike and end at random. The ids of each table are remembered in
`$XDG_STATE_HOME/brandctl/ids` (`~/.local/state`), so that commands accept their short forms; other ids must be whole.
"""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID

import typer

SHORTEST: Final = 6
"""Digits of a short id. Among 5,000 ids, two end alike in half of all cases; both are then longer."""
REMEMBERED: Final = 5_000
"""Ids that are remembered, the latest ones; 180 kB."""
_WHOLE: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ENDING: Final = re.compile(r"…?([0-9a-f]{4,32})", re.IGNORECASE)


def is_id(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None


def shorten(ids: Iterable[str]) -> Mapping[str, str]:
    """Each id with its short form, `…4b5c6d`; the id itself if it cannot be remembered."""
    shown = dict.fromkeys(ids)
    known = [*dict.fromkeys((*shown, *_remembered()))][:REMEMBERED]
    if not shown or not _remember(known):
        return {each: each for each in shown}
    lengths = dict.fromkeys(shown, SHORTEST)
    for length in range(SHORTEST, 12):
        endings = Counter(each[-length:] for each in known)
        for each in shown:
            if lengths[each] == length and endings[each[-length:]] > 1:
                lengths[each] = length + 1
    return {each: f"…{each[-length:]}" for each, length in lengths.items()}


def parse_id(text: str) -> UUID:
    """Returns the id for a whole id, or for the ending of an id that a table has shown.

    Raises:
        typer.BadParameter: the text is neither, or several ids end so.
    """
    with suppress(ValueError):
        return UUID(text)
    ending = _ENDING.fullmatch(text)
    if ending is None:
        raise typer.BadParameter(
            f"'{text}' is no id; give a whole id, or the last digits of one that a list has shown"
        )
    found = [each for each in _remembered() if each.replace("-", "").endswith(ending[1].lower())]
    if len(found) == 1:
        return UUID(found[0])
    problem = "several ids that lists have shown end" if found else "no id that a list has shown here ends"
    raise typer.BadParameter(f"{problem} with '{ending[1]}'; give the whole id, which --json shows")


def parse_reference(text: str) -> str:
    """As `parse_id`, but any name passes unchanged: only a text that starts with … is the ending of an id.

    Raises:
        typer.BadParameter: no list has shown an id that ends so, or several have.
    """
    return str(parse_id(text)) if text.startswith("…") else text


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "brandctl" / "ids"


def _remembered() -> list[str]:
    """The remembered ids, latest first."""
    try:
        lines = _file().read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError, RuntimeError):  # RuntimeError: there is no home
        return []
    return [line for line in lines if is_id(line)]


def _remember(ids: list[str]) -> bool:
    """Stores the ids; returns whether that worked. Of two commands at once, one command's ids stay."""
    try:
        path = _file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(draft, "w", encoding="ascii") as file:
            file.write("".join(f"{each}\n" for each in ids))
        Path(name).replace(path)
    except (OSError, RuntimeError):
        return False
    return True
