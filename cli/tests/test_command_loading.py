"""Imports of a command: only its own modules, neither its neighbours nor those that run the whole system."""

import json
import subprocess
import sys
from typing import Final

import pytest
import typer

from brandctl.app import COMMANDS, GROUP_MEMBERS, assemble

_LOADED: Final = """
import atexit, json, sys
atexit.register(lambda: print("\\n" + json.dumps(sorted(sys.modules))))
sys.argv[0] = "brandctl"
from brandctl.app import main
main()
"""


def loaded_by(*arguments: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments, "--help"], capture_output=True, text=True, check=True
    )
    return set(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.extended
@pytest.mark.parametrize("arguments", [("cycles", "list"), ("submit",), ("drafts", "approve")])
def test_a_command_loads_itself_alone(arguments: tuple[str, ...]) -> None:
    loaded = loaded_by(*arguments)

    own = {COMMANDS[arguments[0]], *GROUP_MEMBERS.get(arguments[0], ())}
    others = {place.partition(":")[0] for place in (*COMMANDS.values(), *sum(GROUP_MEMBERS.values(), ()))} - {
        place.partition(":")[0] for place in own
    }
    # `submit --wait` watches what it handed in.
    assert loaded & others <= {COMMANDS["watch"].partition(":")[0]}
    assert not {"faststream", "asyncpg", "messaging", "uvicorn"} & loaded


def test_every_command_is_found_by_the_name_under_which_it_is_declared() -> None:
    whole = typer.main.get_command(assemble())
    assert set(whole.commands) == set(COMMANDS)  # type: ignore[attr-defined]
    for name in COMMANDS:
        assert set(typer.main.get_command(assemble((name,))).commands) == {name}  # type: ignore[attr-defined]
