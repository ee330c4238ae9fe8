"""The programs of `docs/examples`, each run against a real orchestrator: Python, curl, TypeScript."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from chassis.testing import eventually
from client.typescript import INSTALLED, program, write_types
from tests.end_to_end.test_client_front import end
from tests.fixtures.brands.installation import Installation, installation
from tests.fixtures.command_blocks import ROOT, blocks_run_by

PAGES = ("docs/clients.md",)
"""Those with blocks that this test runs."""
EXAMPLES = ROOT / "docs" / "examples"
KEYWORDS = ("cold brew", "moka pot", "chemex")
TOLD = [
    "cold brew\tcompleted\thttps://pages.example/sites/acme/cold-brew",
    "moka pot\trefused\ttwo sources",
    "chemex\tneeds_review\t",
]


@pytest.fixture
async def made(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Installation]:
    async with installation(make_database, "https://pages.example") as made:
        await made.ask("orchestrator", "PUT", "/v1/brands/acme", json={"name": "Acme"})
        yield made


async def run(made: Installation, *command: str | Path) -> list[str]:
    """The lines that an example prints, whose keywords end while it waits. Every key is one here."""
    return await run_line(made, *command, "acme", *KEYWORDS)


async def run_line(made: Installation, *line: str | Path) -> list[str]:
    """The same for a line that names the brand and the keywords."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BRAND_ENGINE_URL": made.urls["orchestrator"],
        "BRAND_ENGINE_KEY": "be_any",
        "POLL_SECONDS": "0.05",
    }
    process = await asyncio.create_subprocess_exec(
        *line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:

        async def accepted() -> str | None:
            cycles = await made.ask("orchestrator", "GET", "/v1/cycles", params={"brand": "acme"})
            assert process.returncode is None or cycles["items"], await process.communicate()
            return next((str(each["cycle_id"]) for each in cycles["items"]), None)

        await end(made, await eventually(accepted))
        out, err = await asyncio.wait_for(process.communicate(), 120)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()
    return out.decode().splitlines()


async def test_the_commands_of_the_page(made: Installation) -> None:
    [block] = blocks_run_by(__file__, PAGES[0])
    address = "http://127.0.0.1:8010"
    assert address in block.text
    command = block.text.replace(address, made.urls["orchestrator"]).replace("be_…", "be_any")
    assert await run_line(made, "bash", "-c", command) == [TOLD[0], TOLD[1]]


async def test_the_example_in_python(made: Installation) -> None:
    assert await run(made, sys.executable, EXAMPLES / "submit.py") == TOLD


@pytest.mark.real
async def test_the_example_with_curl(made: Installation) -> None:
    assert await run(made, "sh", EXAMPLES / "submit.sh") == TOLD


@pytest.mark.real
async def test_the_example_in_typescript(made: Installation, tmp_path: Path) -> None:
    await asyncio.to_thread(write_types, tmp_path, ["orchestrator"])
    shutil.copy(EXAMPLES / "submit.mts", tmp_path)
    assert await asyncio.to_thread(compiled, tmp_path) == ""
    node = shutil.which("node")
    assert node is not None
    assert await run(made, node, tmp_path / "submit.mjs") == TOLD

    text = (tmp_path / "submit.mts").read_text()
    (tmp_path / "submit.mts").write_text(text.replace("each.published_url", "each.publishedUrl"))
    assert "Property 'publishedUrl' does not exist" in await asyncio.to_thread(compiled, tmp_path)


def compiled(folder: Path) -> str:
    """What the compiler complains of."""
    options = ("--strict", "--target", "es2022", "--lib", "es2023", "--module", "nodenext")
    types = ("--types", "node", "--typeRoots", str(INSTALLED / "node_modules" / "@types"))
    command = (str(program("tsc")), *options, *types, "submit.mts")
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
