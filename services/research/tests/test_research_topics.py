"""Keywords that a brand's documents treat: each finds a section to make an article of, and the cost is bounded."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from documents.blocks import Paragraph
from documents.sections import Section
from messaging import Database
from reading.document import DocumentPassage, ExtractedDocument
from reading.folder import FileStat
from reading.pool import ReaderPool
from research.clients.local_corpus import LocalCorpus
from research.clients.spines import search_sections
from research.http_api import create_api
from research.index import topics
from research.index.collection_facts import update_collection_facts
from research.index.files import IndexedFile, save_files
from research.uploads import UploadIndexer

ROOT = Path(__file__).parents[3]
KEY = "a-service-key-for-tests"


@pytest.fixture
async def api(research_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    app = create_api(research_database, ServiceKey(SecretStr(KEY)), look_again=lambda: None)
    async with (
        serving(app) as url,
        httpx.AsyncClient(base_url=url, headers={"X-Service-Key": KEY}, timeout=60) as client,
    ):
        yield client


def page(title: str, *children: Section, words: int = 200) -> ExtractedDocument:
    root = Section(title, 0, blocks=prose(title, words), children=children)
    passages = (DocumentPassage(title, f"{title} is on this page."),)
    return ExtractedDocument(title, passages, sections=root)


def section(title: str, words: int = 200) -> Section:
    return Section(title, 2, title.lower(), prose(title, words))


def prose(title: str, words: int) -> tuple[Paragraph, ...]:
    return tuple(
        Paragraph(f"{title} has a rule of its own, and step {n} is one.") for n in range(words // 11)
    )


async def index(database: Database, corpus: str, *pages: ExtractedDocument) -> None:
    files = [IndexedFile(FileStat(f"{n:04}.html", 1, 1), each) for n, each in enumerate(pages)]
    async with database.transaction() as tx:
        await save_files(tx.connection, corpus, files)
    await update_collection_facts(database, corpus)


async def keywords(api: httpx.AsyncClient, slug: str = "acme", **query: int) -> list[str]:
    answer = await api.get(f"/v1/brands/{slug}/topics", params=query)
    assert answer.status_code == 200, answer.text
    return [each["keyword"] for each in answer.json()["items"]]


async def test_topics_are_titles_with_enough_text_each_once(
    api: httpx.AsyncClient, research_database: Database
) -> None:
    assert await keywords(api) == []
    await index(
        research_database,
        "/corpus",
        page("Moka pots", section("Grinding for moka"), section("Cleaning", words=40), section("Examples")),
        page("Introduction"),
        page("The moka pot"),
        page("Thirteen words in a title that no person would ever type as keyword"),
    )
    await index(research_database, "brand:acme", page("Our roastery"))
    await index(research_database, "brand:rival", page("Secret plans"))
    assert await keywords(api) == ["Moka pots", "Grinding for moka", "Our roastery"]
    assert (await api.put("/v1/brands/acme/sources", json={"folder": False})).status_code == 200
    assert await keywords(api) == ["Our roastery"]


async def test_a_topic_says_whether_one_document_is_enough(
    api: httpx.AsyncClient, research_database: Database
) -> None:
    async def quotable() -> dict[str, bool]:
        answer = (await api.get("/v1/brands/acme/topics")).json()
        return {each["keyword"]: each["quotable"] for each in answer["items"]}

    bees = f"# Town bees\n\n{' '.join(f'Bees find flower {n} near the hive.' for n in range(30))}".encode()
    waxes = bees.replace(b"bees", b"waxes").replace(b"Bees", b"Waxes")
    for content, rights in ((bees, {}), (waxes, {"own": "true"})):
        sent = await api.post("/v1/brands/acme/documents", params={"name": "a.md", **rights}, content=content)
        assert sent.status_code == 201, sent.text
    await UploadIndexer(research_database, ReaderPool()).index_waiting()
    assert await quotable() == {"Town bees": False, "Town waxes": True}
    # The same file again, as the brand's own.
    again = await api.post("/v1/brands/acme/documents", params={"name": "a.md", "own": "true"}, content=bees)
    assert again.status_code == 200
    await UploadIndexer(research_database, ReaderPool()).index_waiting()
    assert await quotable() == {"Town bees": True, "Town waxes": True}


async def test_pages_follow_each_other_and_each_looks_at_a_bounded_number_of_documents(
    api: httpx.AsyncClient, research_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "MAX_DOCUMENTS", 4)
    names = [f"Kettle of {each}" for each in ("iron", "copper", "steel", "glass", "silver", "clay")]
    await index(research_database, "/corpus", *(page(each) for each in names), page("Notes", words=20))
    seen, after, rounds = [], 0, 0
    while True:
        answer = (await api.get("/v1/brands/acme/topics", params={"after": after, "limit": 3})).json()
        seen += [each["keyword"] for each in answer["items"]]
        rounds += 1
        if answer["next"] is None:
            break
        after = answer["next"]
    assert (seen, rounds) == (names, 3)


async def test_every_topic_of_the_sample_documents_finds_a_section_about_it(
    api: httpx.AsyncClient, research_database: Database
) -> None:
    folder = ROOT / "deploy" / "demo" / "corpus"
    await LocalCorpus(research_database, folder, readers=ReaderPool()).refresh()
    found = await keywords(api, limit=100)
    assert len(found) >= 10
    async with research_database.connection() as connection:
        for keyword in found:
            hits = await search_sections(connection, [str(folder.resolve())], keyword, ())
            assert hits.spines, keyword
