"""The tutorials, step by step: commands, and presses in a browser, do what the page says and show what the page shows."""

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import Page, expect

from brandctl.local import ports
from chassis.testing import eventually
from tests.fixtures.command_blocks import ROOT, Block, is_run_by, parts_of

PAGES: Final = (
    "README.md",
    "docs/tutorials/first-article.md",
    "docs/tutorials/your-wordpress.md",
    "docs/tutorials/assistant.md",
)
"""Those with blocks that this test runs."""
WITHIN_SECONDS: Final = 600
"""Time for a step, on a loaded machine."""
PORT: Final = "8765"
"""The port that the pages show for a stand-in; a test uses a free one."""
STARTED: Final = {"make": "Everything stays up", ".venv/bin/python": "http://"}
"""Program that stays → what it prints once it is ready."""
_ASSIGNMENT: Final = re.compile(r"([A-Z]+)=(\$\(.*\))")
_PRESS: Final = re.compile(
    r"`(?P<value>[^`]+)` as \*\*(?P<field>[^*]+)\*\*|\*\*(?P<pressed>[^*]+)\*\*|says “(?P<said>[^”]+)”"
    r"|assistant: \*“(?P<asked>[^”]+)”\*"
)
_OWN: Final = frozenset(
    {"BRAND", "KEYWORDS", "CORPUS", "MODEL", "DEMO_EXIT", "SERVICE_KEY", "SERVICE_KEY_FILE", "ENV_FILE"}
)


@dataclass(frozen=True)
class Step:
    """A command of a page.

    Attributes:
        command: as typed.
        shown: the output on the page; `…` stands for any text, and alone on a line for any lines.
        stays: whether it runs on in a terminal of its own; then it prints each entry of `shown` at some time.
    """

    command: str
    shown: tuple[str, ...] = ()
    stays: bool = False


@dataclass(frozen=True)
class Press:
    """What a sentence of a page does in the browser.

    Attributes:
        name: of the link, button, menu or field; empty where the page only has to say something.
        value: of the field.
        said: the words that the page has then.
        asked: what the reader asks an assistant instead.
    """

    name: str = ""
    value: str = ""
    said: str = ""
    asked: str = ""


def steps_of(parts: list[str | Block]) -> list[Step | Press]:
    """Returns the steps of a page.

    Commands of `sh` blocks stay; the block without a language after them is their output. Those of `console` blocks have theirs
    below them. Names in bold are pressed, and “`Ada` as **Name**” fills a field.
    """
    steps: list[Step | Press] = []
    output_follows = False
    for part in parts:
        if isinstance(part, str):
            for found in _PRESS.finditer(_words(part)):
                texts = found.groupdict("")
                name = texts["field"] or texts["pressed"]
                steps.append(Press(name, texts["value"], texts["said"], texts["asked"]))
        elif part.language == "sh" and is_run_by(__file__, part):
            steps += [Step(line, stays=True) for line in part.text.splitlines()]
        elif part.language == "console" and is_run_by(__file__, part):
            for typed in re.split(r"^\$ ", part.text, flags=re.MULTILINE)[1:]:
                command, *shown = typed.rstrip("\n").splitlines()
                steps.append(Step(command, tuple(shown)))
        elif not part.language and output_follows:
            last = steps.pop()
            assert isinstance(last, Step)
            entries = re.split(r"\n(?= +\S.*: (?:completed|refused))", part.text)
            steps.append(Step(last.command, tuple(entries), stays=True))
        if not isinstance(part, str) or _PRESS.search(part):
            output_follows = isinstance(part, Block) and part.language == "sh" and is_run_by(__file__, part)
    return steps


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
        self._variables = inherited | {"BRANDCTL_CHECKOUT": str(folder), "HOME": str(folder)}

    @contextmanager
    def stay(self, step: Step) -> Iterator[str]:
        """Starts a command, yields what it has printed when it is ready, and ends it as Ctrl-C does."""
        words = shlex.split(step.command, comments=True)
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
            printed = output.read_text()
            for entry in step.shown:
                assert _words(entry) in _words(printed), f"{entry}\n{printed}"
            yield printed
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


def test_names_in_bold_are_pressed_and_fields_filled() -> None:
    text = "Enter `Ada` as\n**Name**, press **Begin**, and the page says “Hello, Ada”."
    assert steps_of([text]) == [Press("Name", "Ada"), Press("Begin"), Press(said="Hello, Ada")]


def test_every_tutorial_with_commands_is_run() -> None:
    with_demo = {
        f"docs/tutorials/{page.name}"
        for page in (ROOT / "docs/tutorials").glob("*.md")
        if "make demo" in page.read_text(encoding="utf-8")
    }
    assert with_demo == set(PAGES) - {"README.md"}


async def press(page: Page, step: Press) -> None:
    """Does in the browser what a sentence says."""
    if step.said:
        await expect(page.locator("main")).to_contain_text(step.said)
    elif step.value:
        await page.get_by_label(step.name).first.fill(step.value)
    else:
        name = re.compile(rf"^\s*{re.escape(step.name.removesuffix('…'))}(?!\w)")
        links = page.get_by_role("link", name=name).or_(page.get_by_role("button", name=name))
        menus = page.locator("summary", has_text=name)
        await links.or_(menus).filter(visible=True).first.click()


async def ask_assistant(console: str, key: str, request: str) -> None:
    """Calls the tools of the console's address that the request takes, as an assistant does."""
    found = re.fullmatch(r"Submit the keyword (.+) for (\w+), and tell me when a draft waits\.", request)
    assert found is not None
    url = console.partition("/start/")[0] + "/mcp"
    submission = {"brand": found[2].lower(), "keywords": [found[1]], "request_id": "of-the-tutorial"}
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, trust_env=False) as connection,
        Client(streamable_http_client(url, http_client=connection)) as client,
    ):
        submitted: Any = (await client.call_tool("submit_keywords", submission)).structured_content
        assert submitted["waits_for_a_person"]

        async def written() -> bool:
            answer = await client.call_tool("follow_keywords", {"cycle_id": submitted["cycle_id"]})
            progress: Any = answer.structured_content
            return bool(progress["keywords"][0]["state"] == "needs_review")

        await eventually(written, within=WITHIN_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
async def test_a_tutorial_does_what_it_says(
    name: str, tmp_path: Path, new_browser_context: Callable[..., Awaitable[Any]]
) -> None:
    port = str(ports.free_port())
    # In the README, bold is for emphasis.
    parts = [each for each in parts_of(name) if isinstance(each, Block) or name != "README.md"]
    terminals = Terminals(tmp_path)
    page: Page | None = None
    console = ""
    with ExitStack() as staying:
        for step in steps_of(parts):
            if isinstance(step, Press):
                if page is None:
                    context = await new_browser_context(viewport={"width": 1280, "height": 900})
                    page = await context.new_page()
                    await page.goto(console)
                if step.asked:
                    await ask_assistant(console, (tmp_path / "assistant.key").read_text().strip(), step.asked)
                else:
                    await press(page, step)
                continue
            typed = replace(step, command=step.command.replace(PORT, port), shown=_with(port, step.shown))
            if step.stays:
                printed = await asyncio.to_thread(staying.enter_context, terminals.stay(typed))
                console = console or "".join(re.findall(r"^Console\n +(\S+)$", printed, re.MULTILINE))
            else:
                await asyncio.to_thread(terminals.type, typed)


def _with(port: str, shown: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line.replace(PORT, port) for line in shown)
