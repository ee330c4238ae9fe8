"""The local corpus on a real PostgreSQL: indexing, looking up, refusing."""

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from messaging import Database
from reading.pool import ReaderPool
from reading.ranking.sources import InsufficientSources, ResearchResult
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ProviderUnavailableError

RANKS_TEXT: Final = frozenset(
    {"reading.ranking.passages", "reading.ranking.source_selection", "reading.ranking.definitions"}
)
FILLER = "There is more to say about kitchens, kettles and cups than fits on this page."


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def moved(folder: Path, name: str) -> Path:
    return folder.rename(folder.with_name(name))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus"
    write(
        corpus,
        "water.md",
        f"# Water\n\nCold-brew coffee wants soft water, and it needs much of it.\n\n{FILLER}",
    )
    write(
        corpus, "beans.md", f"# Beans\n\nFor cold brew coffee the darker roasts are often chosen.\n\n{FILLER}"
    )
    write(
        corpus,
        "deep/down/time.html",
        f"<title>Time</title><p>Cold brew coffee steeps for twelve hours or more.</p><p>{FILLER}</p>",
    )
    write(
        corpus, "tea.txt", f"About tea\n\nGreen tea is brewed with cooler water than black tea.\n\n{FILLER}"
    )
    return corpus


def corpus_of(database: Database, folder: Path) -> LocalCorpus:
    return LocalCorpus(database, folder, readers=ReaderPool())


async def paths(corpus: LocalCorpus, keyword: str = "Cold-Brew coffee") -> set[str | None]:
    findings = await corpus.search(keyword, brand="acme")
    assert isinstance(findings, ResearchResult), findings
    return {source.path for source in findings.sources}


async def test_hyphens_and_case_do_not_matter(research_database: Database, folder: Path) -> None:
    corpus = corpus_of(research_database, folder)
    await corpus.refresh()
    for keyword in ("cold brew coffee", "Cold-Brew Coffee", "COLD\u2011BREW COFFEE"):
        assert await paths(corpus, keyword) == {"water.md", "beans.md", "deep/down/time.html"}


async def test_too_few_sources_are_a_refusal(research_database: Database, folder: Path) -> None:
    corpus = corpus_of(research_database, folder)
    await corpus.refresh()
    for keyword in ("green tea", "chocolate cake", "the who", "!?", "kettle\\'s :* & | <->"):
        assert isinstance(await corpus.search(keyword, brand="acme"), InsufficientSources), keyword


async def test_a_request_waits_for_the_first_index(research_database: Database, folder: Path) -> None:
    corpus = corpus_of(research_database, folder)
    asking = asyncio.create_task(paths(corpus))
    await asyncio.sleep(0)
    assert not asking.done()
    running = asyncio.create_task(corpus.refresh())
    assert len(await asyncio.wait_for(asking, 60)) == 3
    running.cancel()


async def test_only_changes_are_read_again(research_database: Database, folder: Path) -> None:
    await corpus_of(research_database, folder).refresh()
    before = await indexed(research_database)
    (folder / "beans.md").unlink()
    changed = write(
        folder, "water.md", f"# Water\n\nNothing is said here about the drink any longer.\n\n{FILLER}"
    )
    os.utime(changed, (1, 1))
    write(folder, "ice.md", f"# Ice\n\nServe cold brew coffee over ice in a tall glass.\n\n{FILLER}")
    corpus = corpus_of(research_database, folder)
    await corpus.refresh()
    after = await indexed(research_database)
    assert after.keys() == {"water.md", "deep/down/time.html", "tea.txt", "ice.md"}
    assert {path for path in before.keys() & after.keys() if before[path] != after[path]} == {"water.md"}
    findings = await corpus.search("cold brew coffee", brand="acme")
    assert isinstance(findings, InsufficientSources)
    assert "only 2 documents" in findings.detail


async def indexed(database: Database) -> dict[str, int]:
    async with database.connection() as connection:
        rows = await connection.fetch("select path, document_id from documents")
    return {row["path"]: row["document_id"] for row in rows}


@pytest.mark.extended
async def test_another_folder_replaces_the_first(
    research_database: Database, folder: Path, tmp_path: Path
) -> None:
    await corpus_of(research_database, folder).refresh()
    other = tmp_path / "other"
    write(other, "a.md", FILLER)
    await corpus_of(research_database, other).refresh()
    assert (await indexed(research_database)).keys() == {"a.md"}


@pytest.mark.extended
async def test_unusable_files_are_recorded_and_skipped(
    research_database: Database, folder: Path, tmp_path: Path
) -> None:
    (folder / "binary.txt").write_bytes(b"\0\1\2")
    (folder / "latin.md").write_bytes(b"caf\xe9 au lait")
    (folder / "huge.txt").write_bytes(b"word " * 1_100_000)
    (folder / "data.txt").write_bytes(b"word " * 900_000 + b".")
    outside = write(tmp_path, "outside.md", "Cold brew coffee is a secret that nobody should read.")
    (folder / "link.md").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "dangling.md").symlink_to(folder / "gone.md")
    os.mkfifo(folder / "pipe.txt")
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text(FILLER)
    write(folder, ".hidden.md", FILLER)
    write(folder, "picture.png", FILLER)
    corpus = corpus_of(research_database, folder)
    await corpus.refresh()
    async with research_database.connection() as connection:
        rows = await connection.fetch(
            "select path, problem from documents where problem is not null order by path"
        )
    assert [(row["path"], row["problem"].split(" (")[0].split(";")[0]) for row in rows] == [
        ("binary.txt", "it is a binary file"),
        ("huge.txt", "it is larger than 5 MB"),
        ("latin.md", "it is not valid utf-8"),
    ]
    assert len(await paths(corpus)) == 3
    assert "link.md" not in await indexed(research_database)


async def test_links_inside_the_folder_are_followed(research_database: Database, folder: Path) -> None:
    write(folder, "..2026/ice.md", f"# Ice\n\nServe cold brew coffee over ice in a tall glass.\n\n{FILLER}")
    (folder / "ice.md").symlink_to(folder / "..2026/ice.md")
    corpus = corpus_of(research_database, folder)
    await corpus.refresh()
    assert "ice.md" in await paths(corpus)


async def test_the_licence_of_the_folder_applies_where_a_document_names_none(
    research_database: Database, folder: Path
) -> None:
    write(folder, "LICENSE", "\n  CC0 1.0 Universal\n\nmore text")
    write(
        folder,
        "ice.md",
        f"---\nlicense: MIT\n---\n# Ice\n\nServe cold brew coffee over ice in a tall glass.\n\n{FILLER}",
    )
    corpus = corpus_of(research_database, folder)
    await corpus.refresh()
    findings = await corpus.search("cold brew coffee", brand="acme")
    assert isinstance(findings, ResearchResult)
    assert {source.path: source.licence for source in findings.sources}["ice.md"] == "MIT"
    assert {source.licence for source in findings.sources if source.path != "ice.md"} == {"CC0 1.0 Universal"}


async def test_a_missing_folder_is_said_and_forgets_nothing(
    research_database: Database, folder: Path
) -> None:
    await corpus_of(research_database, folder).refresh()
    away = moved(folder, "away")
    corpus = corpus_of(research_database, folder)
    with pytest.raises(Exception, match="cannot be read"):
        await corpus.refresh()
    with pytest.raises(ProviderUnavailableError, match="cannot be read"):
        await corpus.search("cold brew coffee", brand="acme")
    moved(away, folder.name)
    assert len(await indexed(research_database)) == 4
    await corpus.refresh()
    assert len(await paths(corpus)) == 3


@pytest.mark.extended
async def test_a_thousand_files_are_indexed_without_blocking(
    research_database: Database, tmp_path: Path
) -> None:
    for n in range(1000):
        write(tmp_path, f"{n // 100}/{n}.md", f"# Note {n}\n\n" + "\n\n".join([FILLER] * 10))
    corpus = corpus_of(research_database, tmp_path)
    indexing = asyncio.create_task(corpus.refresh())
    # Time of this thread, so that it does not count who else has the processors.
    longest, last, began = 0.0, time.thread_time(), time.monotonic()
    while not indexing.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
    await indexing
    assert len(await indexed(research_database)) == 1000
    assert longest < (time.monotonic() - began) / 4


@pytest.mark.extended
async def test_documents_full_of_a_keyword_hold_up_nobody(
    research_database: Database, tmp_path: Path
) -> None:
    for n in range(16):
        paragraph = f"cold brew coffee {n} " * 1000 + "is all there is."
        write(tmp_path, f"{n}.txt", "\n\n".join([paragraph] * 40))
    corpus = corpus_of(research_database, tmp_path)
    ranked_in: Counter[int] = Counter()

    def note_thread(frame: FrameType, event: str, _: object) -> None:
        # Sections are ranked by their titles alone, which are short; to make a tuple of hits ranks nothing.
        is_ranking = frame.f_globals.get("__name__") in RANKS_TEXT and frame.f_code.co_name != "__init__"
        if event == "call" and is_ranking:
            ranked_in[threading.get_ident()] += 1

    # Before the first thread of the corpus begins.
    threading.setprofile(note_thread)
    sys.setprofile(note_thread)
    try:
        await corpus.refresh()
        found = await corpus.search("cold brew coffee", brand="acme")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # typeshed knows no end of it before Python 3.12
    assert isinstance(found, ResearchResult)
    # Which thread did it, and not how long it took: a busy machine stretches that.
    assert ranked_in
    assert threading.get_ident() not in ranked_in
