"""Commands in the documents: brandctl takes every command of a code block, with those options."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main

from brandctl.app import assemble
from brandctl.gateway.accounts import PLACES, USERS
from tests.fixtures.command_blocks import ROOT, blocks_of, documents
from tests.fixtures.commands.brandctl_script import Script

_COMMAND: Final = re.compile(
    r"^(?:[^#\n]*\| )?(?:\$ )?(?:docker compose run --rm |\./|(?:\S*/)?\.venv/bin/)?brandctl (?P<typed>.*)$",
    re.MULTILINE,
)
_OF_THE_SHELL: Final = "<>|&;"
_ID: Final = "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"


def typed() -> Iterator[tuple[str, list[str]]]:
    for page in documents():
        for block in blocks_of(page):
            if block.has_commands:
                for found in _COMMAND.finditer(block.text.replace("\\\n", " ")):
                    yield page, _words(found["typed"])


def _words(typed: str) -> list[str]:
    words = shlex.shlex(typed, posix=True, punctuation_chars=_OF_THE_SHELL)
    words.whitespace_split = True
    # What the shell does with it is not brandctl's.
    arguments = takewhile(lambda word: not word or word[0] not in _OF_THE_SHELL, words)
    return ["ID" if each == "…" else each for each in arguments]


def parsed(command: Any, arguments: list[str], parent: Any = None, name: str = "brandctl") -> Any:
    """The context of the innermost command, as it would be called.

    Raises:
        Exception: the parser's, in its words.
    """
    context = command.make_context(name, list(arguments), parent=parent)
    rest = [*getattr(context, "_protected_args", ()), *context.args]
    if not hasattr(command, "commands") or not rest:
        return context
    inner, sub, left = command.resolve_command(context, rest)
    return parsed(sub, left, context, inner)


def test_every_documented_command_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("keywords.txt", "logo.png"):
        (tmp_path / name).touch()
    commands = list(typed())
    assert len({where for where, _ in commands}) >= 20

    wrong, brandctl = [], typer.main.get_command(assemble())
    for where, arguments in commands:
        # Where an id stands for any, one of that form.
        given = [_ID if each in {"ID", "$ID", "GROUP", "CONTENT_ID"} else each for each in arguments]
        try:
            context = parsed(brandctl, given)
        except Exception as error:  # noqa: BLE001  (the parser's own, which are not typer's to give away)
            wrong.append(f"{where}: brandctl {' '.join(arguments)}: {getattr(error, 'message', error)}")
            continue
        # Files that it has opened.
        context.close()
        if arguments[:2] == ["accounts", "connect"]:
            asked = context.params
            needed = {
                "--url": asked["kind"] not in PLACES or asked["url"],
                "--user": asked["kind"] not in USERS or asked["user"],
                "--brand": asked["brand"] or asked["all_brands"],
            }
            wrong += [
                f"{where}: brandctl {' '.join(arguments)}: lacks {name}"
                for name in needed
                if not needed[name]
            ]

    assert wrong == [], "\n".join(wrong)


_INLINE: Final = re.compile(r"`(?:\./)?brandctl ([^`]+)`")
_SHORTENED: Final = {"Exit", "MissingParameter", "NoArgsIsHelpError"}
"""What the parser says of a command that a sentence names without all that it takes, or with `--help`."""


def named_commands() -> Iterator[tuple[str, list[str]]]:
    """Those that sentences name. The steps for contributors invent names."""
    for page in sorted({*documents()} - {"CONTRIBUTING.md"}):
        for found in _INLINE.finditer((ROOT / page).read_text(encoding="utf-8")):
            # Behind an option it is a value, elsewhere it is what else there may be.
            text = re.sub(r"( [^- ]\S*) …$", r"\1", found[1])
            yield page, _words(text.replace("KIND", "mastodon"))


def test_every_command_that_a_sentence_names_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").touch()
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    commands = list(named_commands())
    assert len(commands) >= 100
    wrong, brandctl = [], typer.main.get_command(assemble())
    for where, arguments in commands:
        # Documents have numbers.
        some = "1" if arguments[0] == "documents" else _ID
        given = [some if each.endswith("ID") or each == "GROUP" else each for each in arguments]
        try:
            parsed(brandctl, given).close()
        except Exception as error:  # noqa: BLE001  (the parser's own, which are not typer's to give away)
            if type(error).__name__ not in _SHORTENED:
                wrong.append(f"{where}: brandctl {' '.join(arguments)}: {getattr(error, 'message', error)}")
    assert wrong == [], "\n".join(wrong)


_ON_THIS_MACHINE: Final = ("demo", "run", "stop", "backup", "restore", "drafts edit")


@pytest.mark.extended
def test_every_documented_command_works_beside_containers(tmp_path: Path) -> None:
    script = Script(tmp_path)
    # Of those that differ in what they say about it alone, one.
    commands = {
        (*(each for each in arguments[:2]), *(each for each in arguments if each.startswith("--"))): arguments
        for _, arguments in (*typed(), *named_commands())
    }
    assert len(commands) >= 80
    for arguments in commands.values():
        done = script(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        asks_elsewhere = any(re.fullmatch(r"--\w+-url", each) for each in arguments)
        if asks_elsewhere or " ".join(arguments).startswith(_ON_THIS_MACHINE):
            assert done.stdout.startswith(f"here: {' '.join(arguments)} (of")
        else:
            assert script.arguments() == arguments
