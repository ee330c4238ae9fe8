"""The tutorials, command by command: each does what the page says, and prints what the page shows."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from brandctl.local import ports

ROOT: Final = Path(__file__).parents[2]
TUTORIALS: Final = ROOT / "docs" / "tutorials"
WITHIN_SECONDS: Final = 600
"""Time for a step, on a loaded machine."""
PORT: Final = "8765"
"""The port that the pages show for a stand-in; a test uses a free one."""
STARTED: Final = {"make": "Everything stays up", ".venv/bin/python": "http://"}
"""Program that stays → what it prints once it is ready."""
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_ASSIGNMENT: Final = re.compile(r"([A-Z]+)=(\$\(.*\))")
_OWN: Final = frozenset(
    {"BRAND", "KEYWORDS", "CORPUS", "MODEL", "DEMO_EXIT", "SERVICE_KEY", "SERVICE_KEY_FILE", "ENV_FILE"}
)


@dataclass(frozen=True)
class Step:
    """A command of a page.

    Attributes:
        command: as typed.
        shown: the output on the page; `…` stands for any text, and alone on a line for any lines.
        stays: whether it runs on in a terminal of its own.
    """

    command: str
    shown: tuple[str, ...] = ()
    stays: bool = False


def steps_of(text: str) -> list[Step]:
    """Returns the commands of a page: those of `sh` blocks stay, those of `console` blocks have output."""
    found: list[Step] = []
    for kind, block in _BLOCK.findall(text):
        if kind == "sh":
            found += [Step(line, stays=True) for line in block.splitlines()]
        elif kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, *shown = part.rstrip("\n").splitlines()
                found.append(Step(command, tuple(shown)))
    return found


def is_as_shown(printed: str, shown: tuple[str, ...]) -> bool:
    """Returns whether an output is the one of the page; spaces between columns do not matter."""
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else f"{_pattern(line)}\n" for line in shown)
    text = "".join(f"{_words(line)}\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, text) is not None


def _words(line: str) -> str:
    return " ".join(line.split())


def _pattern(line: str) -> str:
    return ".*".join(re.escape(part.strip()) + " ?" for part in _words(line).split("…"))


class Terminals:
    """Runs the commands of a page in a checkout whose `.local` is another folder.

    Args:
        folder: has the data of the demo.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        inherited = {name: value for name, value in os.environ.items() if name not in _OWN}
        self._variables = inherited | {"BRANDCTL_CHECKOUT": str(folder)}

    @contextmanager
    def stay(self, command: str) -> Iterator[None]:
        """Starts a command, waits until it is ready, and ends it as Ctrl-C does."""
        words = shlex.split(command)
        set_before = dict(word.split("=", 1) for word in words if re.match(r"[A-Z_]+=", word))
        program, *arguments = words[len(set_before) :]
        line = [sys.executable, *arguments]
        if program == "make":
            assert arguments == ["demo"]
            line = [sys.executable, "-m", "brandctl", "demo", "--folder", str(self._folder / ".local")]
        output = self._folder / f"{program.replace('/', '-')}.log"
        with output.open("wb") as written:
            process = subprocess.Popen(
                line,
                cwd=ROOT,
                env=self._variables | set_before,
                stdout=written,
                stderr=subprocess.STDOUT,
            )
        try:
            deadline = time.monotonic() + WITHIN_SECONDS
            while STARTED[program] not in output.read_text():
                assert process.poll() is None, output.read_text()
                assert time.monotonic() < deadline, output.read_text()
                time.sleep(0.05)
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(WITHIN_SECONDS)

    def type(self, step: Step) -> None:
        """Runs a command. A list is read again until it is as the page shows it."""
        if assignment := _ASSIGNMENT.fullmatch(step.command):
            self._variables[assignment[1]] = self._run(f'printf %s "{assignment[2]}"')
            return
        deadline = time.monotonic() + WITHIN_SECONDS
        printed = self._run(step.command)
        while not is_as_shown(printed, step.shown):
            is_list = re.search(r"brandctl \w+ (list|articles)", step.command)
            assert is_list, f"$ {step.command}\n{printed}"
            assert time.monotonic() < deadline, f"$ {step.command}\n{printed}"
            printed = self._run(step.command)

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=ROOT,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WITHIN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
        return done.stdout


def test_an_output_is_compared_line_by_line() -> None:
    assert is_as_shown("id\tbrand\n01a2\tacme\n", ("id … brand", "… acme"))
    assert is_as_shown("a\nb\nc\nd\n", ("a", "…", "d"))
    assert is_as_shown("a\n", ("a", "…"))
    assert not is_as_shown("a\nb\n", ("a",))
    assert not is_as_shown("a\nc\n", ("…", "b"))


def test_every_tutorial_with_commands_is_run() -> None:
    with_demo = {
        page.name for page in TUTORIALS.glob("*.md") if "make demo" in page.read_text(encoding="utf-8")
    }
    assert with_demo == {"first-article.md", "your-wordpress.md", "assistant.md"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first-article.md", "your-wordpress.md", "assistant.md"])
def test_the_commands_of_a_tutorial_do_what_it_says(name: str, tmp_path: Path) -> None:
    text = (TUTORIALS / name).read_text(encoding="utf-8").replace(PORT, str(ports.free_port()))
    terminals = Terminals(tmp_path)
    with ExitStack() as staying:
        for step in steps_of(text):
            if step.stays:
                staying.enter_context(terminals.stay(step.command))
            else:
                terminals.type(step)
