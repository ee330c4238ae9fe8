"""Reading the corpus beside serving: unchanged files are skipped, read ones are searched, and progress is reported."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from chassis.testing import eventually
from messaging import Database
from reading.pool import ReaderPool
from reading.ranking.sources import InsufficientSources, ResearchResult
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ProviderUnavailableError
from research.index import listing

TEXTS = {
    "a.md": "Cold brew coffee wants soft water, because hard water hides the little acid that it has.",
    "b.md": "For cold brew coffee the darker roasts are often chosen, since they give their taste away sooner.",
    "c.md": "Cold brew coffee steeps for twelve hours or more, and in the fridge for a whole day.",
}
# The real program; it notes what it reads, and waits with what is told to wait until a file is there.
PROGRAM = """
import sys, time
from pathlib import Path
from reading import child, extraction

def read(path, content, charset):
    with open(sys.argv[1], "a") as log:
        log.write(path + "\\n")
    while b"wait" in content and not Path(sys.argv[2]).exists():
        time.sleep(0.02)
    return extraction.extract(path, content)

child.extract = read
child._limit = lambda address_space: None
child.main()
"""


class Folder:
    def __init__(self, place: Path) -> None:
        self.path = place / "corpus"
        self.path.mkdir()
        self.gate = place / "gate"
        self._log = place / "log"
        self._program = place / "program.py"
        self._program.write_text(PROGRAM)
        for name, text in TEXTS.items():
            (self.path / name).write_text(text)

    def corpus(self, database: Database, *, patience: float = 20.0) -> LocalCorpus:
        program = (sys.executable, "-I", "-B", str(self._program), str(self._log), str(self.gate))
        return LocalCorpus(
            database,
            self.path,
            readers=ReaderPool(program),
            patience_seconds=patience,
        )

    def reads(self) -> list[str]:
        return sorted(self._log.read_text().split()) if self._log.exists() else []


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


async def counts(database: Database) -> dict[str, int]:
    async with database.connection() as connection:
        return await listing.count_by_state(connection)


@pytest.mark.extended
async def test_a_file_that_was_only_touched_is_not_read_again(
    research_database: Database, folder: Folder
) -> None:
    await folder.corpus(research_database).refresh()
    assert folder.reads() == ["a.md", "b.md", "c.md"]
    for name in TEXTS:
        os.utime(folder.path / name, (1, 1))
    (folder.path / "b.md").write_text(TEXTS["b.md"] + " That is all.")
    corpus = folder.corpus(research_database)
    await corpus.refresh()
    assert folder.reads() == ["a.md", "b.md", "b.md", "c.md"]
    await corpus.refresh()
    assert folder.reads() == ["a.md", "b.md", "b.md", "c.md"]
    assert isinstance(await corpus.search("cold brew coffee", brand="acme"), ResearchResult)


async def test_while_the_corpus_is_read_a_page_answers_alone_or_the_request_waits(
    research_database: Database, folder: Folder
) -> None:
    (folder.path / "z.md").write_text("Please wait, says the kettle to those who want tea at once.")
    for n in range(40):  # more than one batch
        (folder.path / f"m{n}.md").write_text(f"Note {n} has nothing to say about anything of interest here.")
    steps = "\n\n".join(f"Step {n} of it takes cold water, coarse coffee and a good hour." for n in range(30))
    (folder.path / "d.md").write_text(f"# Steeping coffee\n\nSteeping coffee is slow work.\n\n{steps}\n")
    corpus = folder.corpus(research_database, patience=0.1)
    reading = asyncio.create_task(corpus.refresh())

    async def answered() -> ResearchResult | None:
        try:
            findings = await corpus.search("steeping coffee", brand="acme")
        except ProviderUnavailableError:
            return None
        assert isinstance(findings, ResearchResult)
        return findings

    # A batch is written when all of it was read; what waits holds up its own batch alone.
    found = await eventually(answered)
    assert found.is_preliminary
    assert not reading.done()
    # Three short texts are read, but a writer that finds too little in them would refuse for good.
    for keyword in ("patience of kettles", "cold brew coffee"):
        with pytest.raises(ProviderUnavailableError, match=r"\d+ of 45 files"):
            await corpus.search(keyword, brand="acme")
    assert (await counts(research_database))["waiting"] > 0
    folder.gate.touch()
    await reading
    assert (await counts(research_database))["waiting"] == 0
    complete = await corpus.search("cold brew coffee", brand="acme")
    assert isinstance(complete, ResearchResult)
    assert not complete.is_preliminary
    assert isinstance(await corpus.search("patience of kettles", brand="acme"), InsufficientSources)


async def test_after_an_upgrade_documents_are_read_once_more_and_served_meanwhile(
    research_database: Database, folder: Folder
) -> None:
    (folder.path / "d.md").write_text("Please wait, says the kettle to those who want tea at once.")
    folder.gate.touch()
    await folder.corpus(research_database).refresh()
    before = folder.reads()
    async with research_database.connection() as connection:
        # As a release left it that took less from a file.
        await connection.execute(
            "delete from sections; update documents set extraction = 0; update indexing set extraction = 0"
        )
    folder.gate.unlink()
    corpus = folder.corpus(research_database, patience=0.0)
    reading = asyncio.create_task(corpus.refresh())
    await eventually(lambda: len(folder.reads()) > len(before))
    async with research_database.connection() as connection:
        assert await connection.fetchval("select count(distinct document_id) from passages") == 4
    with pytest.raises(ProviderUnavailableError, match="still reading the corpus"):
        await corpus.search("cold brew coffee", brand="acme")
    folder.gate.touch()
    await reading
    assert isinstance(await corpus.search("cold brew coffee", brand="acme"), ResearchResult)
    await corpus.refresh()
    assert folder.reads() == sorted([*before, *before])
    async with research_database.connection() as connection:
        assert await connection.fetchval("select count(distinct document_id) from sections") == 4


async def test_a_corpus_that_was_read_before_is_searched_at_once(
    research_database: Database, folder: Folder
) -> None:
    await folder.corpus(research_database).refresh()
    (folder.path / "d.md").write_text("Please wait, says the kettle to those who want tea at once.")
    corpus = folder.corpus(research_database, patience=3600.0)
    reading = asyncio.create_task(corpus.refresh())
    await eventually(lambda: "d.md" in folder.reads())
    async with asyncio.timeout(60):
        found = await corpus.search("cold brew coffee", brand="acme")
    assert isinstance(found, ResearchResult)
    assert not found.is_preliminary
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
