"""Documents that cannot be read in bounds are set aside, seen by the operator, and read again when released."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.polling import Poller
from chassis.testing import eventually
from messaging import Database
from reading.pool import ReaderPool
from reading.ranking.sources import ResearchResult
from research.clients.local_corpus import LocalCorpus
from research.http_api import create_api
from research.index import listing

KEY = "a-service-key-for-tests"
PROSE = "Cold brew coffee steeps for twelve hours, and it needs much water."
OTHERS = {
    "b.md": "Whoever makes cold brew coffee at home wants a coarse grind and a jar with a lid.",
    "c.md": "The acid that hot water takes out of the beans stays behind in cold brew coffee.",
    "d.md": "In summer a glass of cold brew coffee over ice is what most guests ask for first.",
}
# The real program; a document that says so spins, ends its process, or waits for ever. It notes what it reads.
PROGRAM = """
import os, re, signal, sys, time
from pathlib import Path
from reading import child, extraction

def read(path, content, charset):
    with open(sys.argv[1], "a") as log:
        log.write(path + "\\n")
    if content.startswith(b"spin"):
        re.search("#+$", "#" * 10_000_000 + "x")
    if content.startswith(b"die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if content.startswith(b"wait"):
        time.sleep(1000)
    return extraction.extract(path, content)

child.extract = read
child._limit = lambda address_space: None  # it writes a file
child.main()
"""


class Folder:
    """A corpus, and what its readers were asked to read."""

    def __init__(self, place: Path) -> None:
        self.path = place / "corpus"
        self.path.mkdir()
        self._program = place / "program.py"
        self._program.write_text(PROGRAM)
        self._log = place / "read.log"
        for name in ("a.md", "b.md", "d.md"):
            self.write(name, OTHERS.get(name, PROSE))

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def readers(self) -> ReaderPool:
        return ReaderPool((sys.executable, "-I", "-B", str(self._program), str(self._log)))

    def corpus(self, database: Database) -> LocalCorpus:
        return LocalCorpus(database, self.path, readers=self.readers())

    def reads(self, name: str) -> int:
        return self._log.read_text().splitlines().count(name) if self._log.exists() else 0


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


async def problems(database: Database) -> dict[str, str | None]:
    async with database.connection() as connection:
        found = await listing.list_documents(
            connection, state=listing.CorpusFileState.SET_ASIDE, after="", limit=100
        )
    return {each.path: each.problem for each in found}


async def marks(database: Database) -> dict[str, int]:
    async with database.connection() as connection:
        rows = await connection.fetch("select path, starts from reads_under_way")
    return {row["path"]: row["starts"] for row in rows}


async def found(corpus: LocalCorpus) -> set[str | None]:
    findings = await corpus.search("cold brew coffee", brand="acme")
    assert isinstance(findings, ResearchResult), findings
    return {source.path for source in findings.sources}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("text", "reads", "reason"), [("spin", 1, "3 seconds of processor time"), ("die", 2, "SIGKILL")]
)
async def test_a_hostile_document_is_set_aside_and_the_others_are_searched(
    research_database: Database, folder: Folder, text: str, reads: int, reason: str
) -> None:
    folder.write("c.md", text)
    corpus = folder.corpus(research_database)
    await corpus.refresh()
    assert await found(corpus) == {"a.md", "b.md", "d.md"}
    assert list(await problems(research_database)) == ["c.md"]
    assert reason in str((await problems(research_database))["c.md"])
    assert folder.reads("c.md") == reads
    assert await marks(research_database) == {}
    # A restart and a rescan leave it alone.
    await corpus.refresh()
    await folder.corpus(research_database).refresh()
    assert folder.reads("c.md") == reads
    # A change does not.
    folder.write("c.md", OTHERS["c.md"])
    await corpus.refresh()
    assert await problems(research_database) == {}
    assert await found(corpus) == {"a.md", "b.md", "c.md", "d.md"}


async def killed_while_reading(database: Database, folder: Folder, name: str, reads: int) -> None:
    """What is left when the service dies in the midst of it: nobody takes anything back."""
    corpus = folder.corpus(database)
    task = asyncio.create_task(corpus.refresh())
    await eventually(lambda: folder.reads(name) >= reads)
    left = await marks(database)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with database.connection() as connection:
        for path, starts in left.items():
            stat = (folder.path / path).stat()
            await connection.execute(
                "insert into reads_under_way (corpus, path, size, modified_ns, reader, starts)"
                " values ($1, $2, $3, $4, gen_random_uuid(), $5)"
                " on conflict (corpus, path) do update set starts = excluded.starts, reader = excluded.reader",
                str(folder.path),
                path,
                stat.st_size,
                stat.st_mtime_ns,
                starts,
            )


@pytest.mark.extended
async def test_what_the_service_dies_of_is_read_once_more_alone_and_then_set_aside(
    research_database: Database, folder: Folder
) -> None:
    folder.write("c.md", "wait")
    await killed_while_reading(research_database, folder, "c.md", 1)
    assert await marks(research_database) == {"a.md": 1, "b.md": 1, "c.md": 1, "d.md": 1}
    await killed_while_reading(research_database, folder, "c.md", 2)
    # Read alone, the innocent have had their end.
    assert {path: starts for path, starts in (await marks(research_database)).items() if starts > 1} == {
        "c.md": 2
    }
    corpus = folder.corpus(research_database)
    await corpus.refresh()
    assert await found(corpus) == {"a.md", "b.md", "d.md"}
    assert "ended 2 times" in str((await problems(research_database))["c.md"])
    assert (folder.reads("c.md"), await marks(research_database)) == (2, {})


async def test_who_was_killed_over_the_first_files_tells_nobody_that_there_is_nothing(
    research_database: Database, folder: Folder
) -> None:
    folder.write("c.md", "wait")
    await killed_while_reading(research_database, folder, "c.md", 1)
    folder.write("c.md", OTHERS["c.md"])
    corpus = folder.corpus(research_database)
    running = asyncio.create_task(corpus.refresh())
    async with asyncio.timeout(60):
        assert await found(corpus) == {"a.md", "b.md", "c.md", "d.md"}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.extended
async def test_who_is_stopped_while_reading_condemns_nothing(
    research_database: Database, folder: Folder
) -> None:
    folder.write("c.md", "wait")
    for stops in range(1, 4):
        refreshing = asyncio.create_task(folder.corpus(research_database).refresh())
        await eventually(lambda stops=stops: folder.reads("c.md") == stops)
        refreshing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await refreshing
        assert await marks(research_database) == {}
    assert await problems(research_database) == {}


@pytest.mark.extended
async def test_replicas_take_turns_and_read_each_document_once(
    research_database: Database, folder: Folder
) -> None:
    corpora = [folder.corpus(research_database) for _ in range(3)]
    await asyncio.gather(*(corpus.refresh() for corpus in corpora))
    assert [folder.reads(name) for name in ("a.md", "b.md", "d.md")] == [1, 1, 1]
    for corpus in corpora:
        assert await found(corpus) == {"a.md", "b.md", "d.md"}


async def test_a_machine_that_starts_no_readers_sets_nothing_aside(
    research_database: Database, folder: Folder
) -> None:
    broken = LocalCorpus(
        research_database,
        folder.path,
        readers=ReaderPool((sys.executable, "-c", "raise SystemExit(3)")),
    )
    for _ in range(3):
        with pytest.raises(ExceptionGroup):
            await broken.refresh()
    assert (await problems(research_database), await marks(research_database)) == ({}, {})
    corpus = folder.corpus(research_database)
    await corpus.refresh()
    assert len(await found(corpus)) == 3


@pytest.fixture
async def running(research_database: Database, folder: Folder) -> AsyncIterator[httpx.AsyncClient]:
    """The API beside a corpus that is kept up to date."""
    folder.write("c.md", "die")
    folder.write("e.txt", "\0")
    corpus = folder.corpus(research_database)
    api = create_api(
        research_database,
        ServiceKey(SecretStr(KEY)),
        look_again=corpus.alarm.ring,
        look_for_uploads=lambda: None,
    )
    every = timedelta(hours=1)
    poller = Poller("corpus-index", corpus.refresh, research_database, every=every, alarm=corpus.alarm)
    indexing = asyncio.create_task(poller.run())
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(api), base_url="http://research", headers={"X-Service-Key": KEY}
    ) as client:
        await corpus.search("anything", brand="acme")  # waits for the first look
        yield client
    indexing.cancel()
    await asyncio.gather(indexing, return_exceptions=True)


async def test_the_operator_sees_what_was_set_aside_and_why(running: httpx.AsyncClient) -> None:
    answer = (await running.get("/v1/documents", params={"state": "set_aside"})).json()
    (item,) = answer["items"]
    assert (item["path"], item["state"], item["passages"], item["size"]) == ("c.md", "set_aside", 0, 3)
    assert "ended the process that read it" in item["problem"]
    assert (answer["next"], answer["counts"]) == (
        None,
        {"read": 3, "skipped": 1, "set_aside": 1, "waiting": 0},
    )


async def test_the_list_of_documents_comes_in_pages(running: httpx.AsyncClient) -> None:
    paths: list[str] = []
    after = ""
    while after is not None:
        page = (await running.get("/v1/documents", params={"limit": 2, "after": after})).json()
        paths += [item["path"] for item in page["items"]]
        after = page["next"]
    assert paths == ["a.md", "b.md", "c.md", "d.md", "e.txt"]
    (item,) = (await running.get("/v1/documents", params={"q": "E.TX"})).json()["items"]
    assert item["path"] == "e.txt"


async def test_a_released_document_is_read_again_at_once(running: httpx.AsyncClient, folder: Folder) -> None:
    (item,) = (await running.get("/v1/documents", params={"state": "set_aside"})).json()["items"]
    facts = (folder.path / "c.md").stat()
    (folder.path / "c.md").write_text("abc")  # another text that looks the same from outside
    os.utime(folder.path / "c.md", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    answer = await running.post(f"/v1/documents/{item['id']}/release")
    assert (answer.status_code, answer.json()) == (202, {"id": item["id"]})

    async def read() -> bool:
        counts = (await running.get("/v1/documents")).json()["counts"]
        return bool(counts == {"read": 4, "skipped": 1, "set_aside": 0, "waiting": 0})

    await eventually(read)
    again = await running.post(f"/v1/documents/{item['id']}/release")
    assert again.status_code == 404
    assert "released" in again.json()["detail"]


async def test_what_is_searched_needs_no_release(running: httpx.AsyncClient) -> None:
    items = (await running.get("/v1/documents", params={"state": "read"})).json()["items"]
    answer = await running.post(f"/v1/documents/{items[0]['id']}/release")
    assert answer.status_code == 409
    assert (await running.get("/v1/documents")).json()["counts"]["read"] == 3


@pytest.mark.extended
@pytest.mark.parametrize("unknown", ["0", "x", str(2**63), "-1"])
async def test_nonsense_is_refused(running: httpx.AsyncClient, unknown: str) -> None:
    assert (await running.post(f"/v1/documents/{unknown}/release")).status_code == 422
    assert (await running.get("/v1/documents", params={"after": "\0"})).status_code == 200


async def test_documents_need_the_key(running: httpx.AsyncClient) -> None:
    headers = {"X-Service-Key": "wrong"}
    assert (await running.get("/v1/documents", headers=headers)).status_code == 401
    assert (await running.post("/v1/documents/1/release", headers=headers)).status_code == 401
