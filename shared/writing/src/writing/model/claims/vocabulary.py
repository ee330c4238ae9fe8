"""Reads the words that the checks know, which are in `words.toml`."""

import re
import tomllib
from importlib.resources import files
from typing import Any, Final

_TABLES: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))


def words(table: str, name: str) -> frozenset[str]:
    return frozenset(_TABLES[table][name].split())


def listed(table: str, name: str) -> list[list[str]]:
    """Returns the groups of a list, which “;” separates, in their order."""
    return [group.split() for group in _TABLES[table][name].split(";")]


def by_word(table: str) -> dict[str, str]:
    """Returns the name of each word's line in a table."""
    return {word: name for name, line in _TABLES[table].items() for word in line.split()}


def rows(table: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = _TABLES[table]
    return found


def pairs(table: str) -> dict[tuple[str, str], str]:
    """Returns the name of the line of each pair of words."""
    return {
        (one, other): name
        for name, line in _TABLES[table].items()
        for one, _, other in (pair.partition(" ") for pair in line)
    }


def phrases() -> list[tuple[re.Pattern[str], str]]:
    """Returns patterns of phrases with what stands for them."""
    found: list[tuple[re.Pattern[str], str]] = []
    for row in rows("phrases"):
        pattern = row["says"]
        for name, stands_for in _TABLES["patterns"].items():
            pattern = pattern.replace(name, stands_for)
        found.append((re.compile(pattern, re.IGNORECASE), row["means"]))
    return found
