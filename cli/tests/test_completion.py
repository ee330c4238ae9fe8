"""The shell's completion of commands, also in a real bash."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main

from brandctl.app import assemble
from brandctl.completion import NAME, bash, fish, places, zsh


def known(command: Any, path: tuple[str, ...]) -> dict[tuple[str, ...], set[str]]:
    """The options of every command, by its path, as the parser has them."""
    options = {
        spelling
        for each in command.params
        if not getattr(each, "hidden", False)
        for spelling in (*each.opts, *each.secondary_opts)
        if spelling.startswith("-")
    }
    found = {path: options | {"--help"}}
    for name, sub in getattr(command, "commands", {}).items():
        found |= known(sub, (*path, name))
    return found


def test_every_command_and_option_is_offered() -> None:
    parsed = known(typer.main.get_command(assemble()), (NAME,))

    assert {each.path: set(each.options) for each in places(assemble())} == parsed
    for each in places(assemble()):
        inner = {path[-1] for path in parsed if path[:-1] == each.path}
        assert not inner or set(each.words) == inner


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("brandctl dea", {"dead-letters"}),
        ("brandctl drafts re", {"return", "reject"}),
        ("brandctl drafts list --st", {"--state"}),
        ("brandctl drafts list --state wait", {"waiting"}),
        ("brandctl drafts list --state=wait", {"waiting"}),
        ("brandctl drafts list --brand drafts --js", {"--json"}),
        ("brandctl brands set acme --approval ", {"everything", "first", "nothing"}),
        ("brandctl completion ", {"bash", "zsh", "fish", "--help"}),
        ("brandctl keys create --scope read --scope sub", {"submit"}),
        ("/somewhere/bin/brandctl sub", {"subjects", "submit", "subscriptions"}),
        # Files, which bash finds by itself.
        ("brandctl submit acme --file key", set()),
        ("brandctl drafts list --limit ", set()),
    ],
)
def test_bash_offers_what_can_be_said_there(tmp_path: Path, line: str, offered: set[str]) -> None:
    script = tmp_path / "brandctl.bash"
    script.write_text(bash(assemble()))
    words = line.replace("=", " = ").split() + ([""] if line.endswith(" ") else [])
    asked = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1};"
        ' _brandctl; printf "%s\\n" "${COMPREPLY[@]}"; complete -p brandctl >&2'
    )
    ended = subprocess.run(
        ["/bin/bash", "--norc", "-uc", asked], capture_output=True, text=True, check=False, timeout=60
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == "complete -o default -F _brandctl brandctl\n"
    assert set(ended.stdout.split()) == offered


def test_zsh_and_fish_are_told_the_same() -> None:
    assert zsh(assemble()).endswith(bash(assemble()))
    told = fish(assemble())
    for each in places(assemble()):
        for option in each.options:
            named = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            assert f"'__brandctl_at {each.said}' {named}" in told
    assert "'__brandctl_at brandctl completion' -f -a 'bash zsh fish'" in told
    assert (
        "'__brandctl_at brandctl keys create' -l scope -x -a 'read submit review operate repair admin'"
        in told
    )
