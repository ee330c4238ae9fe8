"""`brandctl documents` as a process of its own, against a running research service with a hostile document."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from brandctl.research import documents
from chassis.testing import eventually, running
from reading import formats
from research.app import build
from research.settings import Settings
from tests.fixtures.commands.brandctl import CommandResult, Operator
from tests.fixtures.pdf_files import pdf

KEY = "test-service-key-0123456789"
PROSE = "Cold brew coffee steeps for twelve hours, and it needs much water.\n"
# A million elements: more than a reading process may hold.
HOSTILE = "<b></b>" * 700_000


@dataclass(frozen=True)
class Documents:
    """The command, beside a corpus of one's own."""

    operator: Operator
    url: str
    corpus: Path
    database_url: str

    async def __call__(self, *arguments: str) -> CommandResult:
        return await self.operator(*arguments)

    async def rows(self, *arguments: str) -> list[list[str]]:
        lines = (await self("list", *arguments)).out.splitlines()
        return [line.split("\t") for line in lines[1:]]

    async def states(self, brand: str | None = None) -> list[tuple[str, str]]:
        """State and number of each, as the service itself says: to wait for them, no process need be started."""
        path = "/v1/documents" if brand is None else f"/v1/brands/{brand}/documents"
        async with httpx.AsyncClient(base_url=self.url, headers={"X-Service-Key": KEY}) as service:
            items = (await service.get(path)).raise_for_status().json()["items"]
        return [(each["state"], str(each["id"])) for each in items]


@pytest.fixture
async def operator(
    make_database: Callable[..., Awaitable[str]], rabbitmq_url: str, tmp_path: Path
) -> AsyncIterator[Documents]:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "good.md").write_text(PROSE)
    (corpus / "hostile.html").write_text(HOSTILE)
    (corpus / "binary\x1b[31m.txt").write_bytes(b"\0")
    database_url = await make_database("research")
    settings = Settings(
        rabbitmq_url=SecretStr(rabbitmq_url),
        database_url=SecretStr(database_url),
        service_key=SecretStr(KEY),
        corpus=corpus,
        http_port=0,
    )
    async with running(build(settings)) as service:
        url = f"http://127.0.0.1:{service.port}"
        operator = Operator(tmp_path, {"RESEARCH_URL": url, "SERVICE_KEY": KEY}, "documents")
        found = Documents(operator, url, corpus, database_url)

        async def all_seen() -> bool:
            return len(await found.states()) == 3

        await eventually(all_seen)
        yield found


@pytest.mark.extended
async def test_a_hostile_document_is_found_mended_and_released(operator: Documents) -> None:
    ((number, state, path, size, passages, _, problem),) = await operator.rows("--set-aside")
    assert (state, path, size, passages) == ("set_aside", "hostile.html", str(len(HOSTILE)), "0")
    assert "160 MB of memory" in problem
    assert [row[1:3] for row in await operator.rows("--skipped")] == [["skipped", "binary\ufffd[31m.txt"]]
    assert {row[2]: row[1] for row in await operator.rows()}["good.md"] == "read"

    released = await operator("release", "--all")
    assert (released.code, f"{number} released" in released.err) == (0, True)

    async def set_aside_again() -> bool:
        set_aside = [found for state, found in await operator.states() if state == "set_aside"]
        return len(set_aside) == 1 and set_aside != [number]

    await eventually(set_aside_again)
    again = await operator("release", number)
    assert (again.code, "perhaps it was released" in again.err) == (1, True)


@pytest.mark.extended
async def test_how_many_files_are_still_to_be_read_is_said(operator: Documents) -> None:
    assert "files are left" not in (await operator("list")).err
    connection = await asyncpg.connect(operator.database_url)
    await connection.execute("update indexing set to_read = done + 7")
    await connection.close()
    assert "7 files are left" in (await operator("list", "--json")).err


@pytest.mark.extended
async def test_nothing_to_do_is_said(operator: Documents) -> None:
    (operator.corpus / "hostile.html").unlink()
    ((number, *_),) = await operator.rows("--set-aside")
    assert (await operator("release", number)).code == 0

    async def none_left() -> bool:
        return "set_aside" not in dict(await operator.states())

    await eventually(none_left)
    assert (await operator("list", "--set-aside")).code == 1
    nothing = await operator("release", "--all")
    assert (nothing.code, nothing.err.strip()) == (1, "No document is set aside.")
    for usage in (("release",), ("release", "1", "--all"), ("list", "--set-aside", "--skipped")):
        assert (await operator(*usage)).code == 2


@pytest.mark.extended
async def test_a_brands_documents_are_added_listed_and_removed(operator: Documents, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("guide.md", "scan.pdf", "notes.docx")]
    for file, content in zip(files, (PROSE.encode(), pdf("0 0 9 9 re f"), b"PK"), strict=True):
        file.write_bytes(content)
    added = await operator("add", *map(str, (*files, tmp_path / "missing.md")), "--brand", "acme", "--own")
    assert added.code == 1
    assert "guide.md is document" in added.err
    assert "notes.docx: name: must end in one of" in added.err
    assert "missing.md cannot be read: No such file" in added.err

    async def are_read() -> bool:
        return {state for state, _ in await operator.states("acme")} == {"read", "skipped"}

    await eventually(are_read)
    guide, scan = await operator.rows("--brand", "acme")
    assert (guide[1:4], guide[6:]) == (["read", "guide.md", str(len(PROSE))], [PROSE.strip(), "own"])
    assert "recognised (OCR)" in scan[6]
    # A second time it is no further document, and what is said about it now holds.
    again = await operator("add", str(files[0]), "--brand", "acme", "--not-own", "--licence", "CC BY 4.0")
    assert (again.code, f"is document {guide[0]} of acme" in again.err) == (0, True)
    listed = json.loads((await operator("list", "--brand", "acme", "--json")).out)["items"]
    assert [(each["licence"], each["own"]) for each in listed] == [("CC BY 4.0", False), (None, True)]
    assert len(await operator.rows()) == 3

    assert (await operator("release", scan[0], "--brand", "acme")).code == 0
    removed = await operator("remove", guide[0], scan[0], "--brand", "acme")
    assert (removed.code, removed.err.split()) == (0, [guide[0], "removed", scan[0], "removed"])
    again = await operator("remove", guide[0], "--brand", "acme", "--json")
    told = json.loads(again.out)
    assert (again.code, told["done"], [each["asked"] for each in told["refused"]]) == (1, [], [guide[0]])
    assert (await operator("list", "--brand", "acme")).err.strip() == "acme has no document."


@pytest.mark.extended
async def test_a_folder_is_added_with_all_that_can_be_read_in_it(operator: Documents, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    (folder / "brewing" / ".cache").mkdir(parents=True)
    for number, name in enumerate(
        ("start.md", "brewing/cold.RST", "brewing/logo.png", "brewing/.cache/old.md")
    ):
        (folder / name).write_text(f"{PROSE}\n{number}\n")
    single = tmp_path / "prices.txt"
    single.write_text(PROSE)

    added = await operator("add", str(folder), str(single), "--brand", "acme")
    assert added.code == 0, added.err
    assert f"{folder}: 1 files of other kinds are left out" in added.err
    assert sorted(row[2].rpartition("/")[2] for row in await operator.rows("--brand", "acme")) == [
        "cold.RST",
        "prices.txt",
        "start.md",
    ]
    again = await operator("add", str(folder), "--brand", "acme")
    assert (again.code, len(await operator.rows("--brand", "acme"))) == (0, 3)

    (folder / "empty").mkdir()
    nothing = await operator("add", str(folder / "empty"), "--brand", "acme")
    assert (nothing.code, "has no file that can be read: .adoc" in nothing.err) == (1, True)


def test_the_command_knows_the_files_that_research_reads() -> None:
    assert formats.SUFFIXES == documents._READABLE
