"""An operator's statements about a folder's documents (`sources.toml`) accompany each source, or the mistake is listed."""

from pathlib import Path

import pytest

from messaging import Database
from reading.pool import ReaderPool
from reading.ranking.sources import InsufficientSources, ResearchResult, ResearchSource
from research import store
from research.clients.local_corpus import LocalCorpus
from research.index import listing

STEEPING = "# Steeping coffee\n\n" + "\n\n".join(
    f"Step {n} of steeping takes cold water, coarse coffee and a good hour." for n in range(20)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "handbook" / "part").mkdir(parents=True)
    (tmp_path / "handbook" / "part" / "steeping.md").write_text(STEEPING)
    return tmp_path


async def first_source(corpus: LocalCorpus) -> ResearchSource | None:
    await corpus.refresh()
    found = await corpus.search("steeping coffee", brand="acme")
    return found.sources[0] if isinstance(found, ResearchResult) else None


async def test_statements_go_along_with_each_source(research_database: Database, folder: Path) -> None:
    corpus = LocalCorpus(research_database, folder, readers=ReaderPool())
    source = await first_source(corpus)
    assert source is not None
    assert (source.work, source.author, source.licence, source.url) == (None, None, None, None)
    assert source.quotable

    (folder / "sources.toml").write_text('work = "All"\nauthor = "Ann"\nlicence = "CC BY 4.0"')
    (folder / "handbook" / "sources.toml").write_text(
        'work = "The Handbook"\naddress = "https://example.org/book"\nlicence = "CC BY-SA 4.0"'
    )
    source = await first_source(corpus)
    assert source is not None
    assert (source.work, source.author, source.licence) == ("The Handbook", None, "CC BY-SA 4.0")
    assert source.url == "https://example.org/book/part/steeping.md"
    assert source.quotable

    # What a document states itself goes first.
    (folder / "handbook" / "part" / "steeping.md").write_text(f"---\nauthor: Jane Doe\n---\n{STEEPING}")
    source = await first_source(corpus)
    assert source is not None
    assert (source.work, source.author) == ("The Handbook", "Jane Doe")


async def test_what_may_only_be_quoted_in_short_needs_others(
    research_database: Database, folder: Path
) -> None:
    (folder / "handbook" / "sources.toml").write_text('quote = "short"')
    corpus = LocalCorpus(research_database, folder, readers=ReaderPool())
    await corpus.refresh()
    refused = await corpus.search("steeping coffee", brand="acme")
    assert isinstance(refused, InsufficientSources)
    assert (
        "“Steeping coffee” (handbook/part/steeping.md) may only be quoted in short extracts" in refused.detail
    )
    assert "state its licence" in refused.detail


async def test_a_mistake_is_listed_and_nothing_is_quoted_at_length_until_it_is_mended(
    research_database: Database, folder: Path
) -> None:
    corpus = LocalCorpus(research_database, folder, readers=ReaderPool())
    assert await first_source(corpus) is not None
    statements = folder / "handbook" / "sources.toml"
    statements.write_text('quote = "all"')
    assert await first_source(corpus) is None
    async with research_database.connection() as connection:
        listed = await listing.list_documents(connection, state=None, after="", limit=10)
    assert [(each.path, each.state, each.problem) for each in listed] == [
        ("handbook/part/steeping.md", "read", None),
        ("handbook/sources.toml", "skipped", 'quote is neither "whole" nor "short"'),
    ]
    statements.unlink()
    assert await first_source(corpus) is not None


async def test_research_from_before_a_statement_is_not_reused(
    research_database: Database, folder: Path
) -> None:
    corpus = LocalCorpus(research_database, folder, readers=ReaderPool())
    source = await first_source(corpus)
    assert source is not None
    key = store.ResearchCacheKey("acme", "steeping coffee", "local_corpus", "")

    async def is_reused() -> bool:
        async with research_database.connection() as connection:
            return (await store.fresh_researches(connection, [key])) != [None]

    async with research_database.transaction() as tx:
        await store.save_researches(tx.connection, [store.NewResearch(key, "normal", [source])])
    (folder / "handbook" / "more.md").write_text(STEEPING)
    await corpus.refresh()
    assert await is_reused()
    (folder / "sources.toml").write_text('quote = "short"')
    await corpus.refresh()
    assert not await is_reused()
