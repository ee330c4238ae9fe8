"""Every command of `brandctl` has its place in the console, or a reason to have none: docs/console.md holds the table."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from brandctl.app import assemble
from console.app import ConsoleApp
from console.settings import Settings
from tests.fixtures.console.screens import page_routes

PAGE = Path(__file__).parents[2] / "docs" / "console.md"
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \|$", re.MULTILINE)


def section(heading: str) -> list[tuple[list[str], str]]:
    """The rows below a heading, each with its commands and with what is said of them."""
    found = re.search(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, heading
    return [(re.findall(r"`([^`]+)`", commands), told) for commands, told in ROW.findall(found[1])]


IN_THE_CONSOLE = section("What each command of `brandctl` is there")
AT_THE_TERMINAL = section("What belongs to the terminal alone")


def commands(of: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    inner = getattr(of, "commands", {})
    if not inner or (path and of.invoke_without_command):
        yield " ".join(path)
    for name, each in inner.items():
        if not each.hidden:
            yield from commands(each, (*path, name))


def test_each_command_is_told_once() -> None:
    told = Counter(each for row in (*IN_THE_CONSOLE, *AT_THE_TERMINAL) for each in row[0])
    assert {each for each, times in told.items() if times > 1} == set()
    known = set(commands(get_command(assemble())))
    assert known - told.keys() == set(), "docs/console.md says nothing of these"
    assert told.keys() - known == set(), "docs/console.md names these, which are no commands"


def test_each_screen_is_there() -> None:
    settings = {
        "database_url": "postgresql://nobody@127.0.0.1:1/none",
        "service_key": "test-service-key-0123456789",
    }
    pages = page_routes(ConsoleApp(Settings.model_validate(settings)).pages)
    named = {address for _, told in IN_THE_CONSOLE for address in re.findall(r"`([^`]+)`", told)}
    assert all(re.search(r"`/", told) for _, told in IN_THE_CONSOLE)
    assert named - pages == set()
