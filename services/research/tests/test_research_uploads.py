"""Documents that brands upload: read once, searched by their brand alone, gone with all that was read of them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.polling import Poller
from chassis.testing import eventually
from messaging import Database, Dependency, WaitFor
from reading.document import ExtractedDocument
from reading.folder import FileStat
from reading.pool import ReaderPool
from reading.ranking.sources import InsufficientSources, ResearchResult
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ProviderUnavailableError, ResearchQuery
from research.http_api import create_api
from research.index.files import IndexedFile
from research.sources.domain import SourceSettings
from research.uploads import UploadIndexer, count_unread, store
from research.web.web_search import READ_PAUSE, SourcesProvider
from tests.fixtures.pdf_files import lines, pdf

KEY = "a-service-key-for-tests"
TEXTS = {
    "guide.md": "# A guide to cold brew\n\nCold brew coffee steeps for twelve hours, and it needs much water.",
    "grind.txt": "On grinding\n\nWhoever makes cold brew coffee at home wants a coarse grind and a jar with a lid.",
}
PDF = pdf(
    lines(
        700,
        "The acid that hot water takes out of the beans stays behind",
        "in cold brew coffee, as every guest will notice.",
    )
)
IN_FOLDER = {
    "summer.md": "In summer a glass of cold brew coffee over ice is what most guests ask for first.",
    "winter.md": "In winter hardly anybody orders cold brew coffee, and the jar stands empty on its shelf.",
}
# The real program; it notes what it reads, and a document that says so ends it.
PROGRAM = """
import os, signal, sys
from reading import child, extraction

def read(path, content, charset):
    with open(sys.argv[1], "a") as log:
        log.write(path + "\\n")
    if content == b"die":
        os.kill(os.getpid(), signal.SIGKILL)
    return extraction.extract(path, content, charset)

child.extract = read
child._limit = lambda address_space: None  # it writes a file
child.main()
"""


def polling(reading: UploadIndexer, database: Database) -> Coroutine[Any, Any, None]:
    """The service's work in the background."""
    every = timedelta(seconds=10)
    return Poller("uploads-index", reading.index_waiting, database, every=every, alarm=reading.alarm).run()


class Place:
    """The API and what reads beside it."""

    def __init__(self, database: Database, folder: Path, readers: ReaderPool) -> None:
        self.database = database
        self.readers = readers
        self.reading = UploadIndexer(database, readers)
        self.corpus = LocalCorpus(database, folder, readers=readers, unread=count_unread)
        api = create_api(
            database,
            ServiceKey(SecretStr(KEY)),
            look_again=lambda: None,
            look_for_uploads=self.reading.alarm.ring,
        )
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(api),
            base_url="http://research/v1/brands",
            headers={"X-Service-Key": KEY},
        )

    async def add(self, brand: str, name: str, content: str | bytes, **about: Any) -> httpx.Response:
        return await self.http.post(f"/{brand}/documents", params={"name": name, **about}, content=content)

    async def items(self, brand: str, **asked: Any) -> list[dict[str, Any]]:
        return list((await self.http.get(f"/{brand}/documents", params=asked)).json()["items"])

    async def all_read(self, *brands: str) -> None:
        async def are_read() -> bool:
            async with self.database.connection() as connection:
                waiting = await count_unread(connection, brands)
                under_way = await connection.fetchval(
                    "select count(*) from indexing where corpus like 'brand:%'"
                )
            return not waiting and not under_way

        await eventually(are_read)

    async def found(self, brand: str) -> set[str | None]:
        findings = await self.corpus.search("cold brew coffee", brand=brand)
        return {source.path for source in findings.sources} if isinstance(findings, ResearchResult) else set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(polling(self.reading, self.database))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def place(research_database: Database, tmp_path: Path) -> AsyncIterator[Place]:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, text in IN_FOLDER.items():
        (folder / name).write_text(text)
    (folder / "LICENSE").write_text("CC BY 4.0")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    log = str(tmp_path / "read.log")
    place = Place(research_database, folder, ReaderPool((sys.executable, "-I", "-B", str(program), log)))
    async with place.http:
        yield place


@pytest.mark.extended
async def test_a_brands_documents_are_searched_with_the_folder_and_by_nobody_else(place: Place) -> None:
    await place.corpus.refresh()
    async with place.running():
        for name, text in TEXTS.items():
            added = await place.add("acme", name, text, licence="CC BY-SA 4.0" if name == "grind.txt" else "")
            assert (added.status_code, added.json()["state"]) == (201, "waiting")
        await place.add(
            "acme",
            "C:\\drafts\\acid.pdf",
            PDF,
            title="Acid in coffee",
            own=True,
            url="https://acme.example/acid",
        )
        await place.add("rival", "copy.txt", TEXTS["grind.txt"])
        await place.all_read("acme", "rival")
    guide, grind, acid = await place.items("acme")
    assert (guide["title"], guide["state"], guide["passages"], guide["own"], guide["licence"]) == (
        "A guide to cold brew", "read", 1, False, None
    )  # fmt: skip
    assert (acid["name"], acid["title"], acid["own"], acid["url"]) == (
        "acid.pdf", "Acid in coffee", True, "https://acme.example/acid"
    )  # fmt: skip
    assert [each["name"] for each in await place.items("rival")] == ["copy.txt"]

    findings = await place.corpus.search("cold brew coffee", brand="acme")
    assert isinstance(findings, ResearchResult)
    assert not findings.is_preliminary
    assert {source.path: (source.licence, source.quotable) for source in findings.sources} == {
        "summer.md": ("CC BY 4.0", True),
        "winter.md": ("CC BY 4.0", True),
        f"uploads/{guide['id']}/guide.md": (None, False),
        f"uploads/{grind['id']}/grind.txt": ("CC BY-SA 4.0", True),
        f"uploads/{acid['id']}/acid.pdf": (None, True),
    }
    # Two of the folder and one of its own.
    assert len(await place.found("rival")) == 3
    assert isinstance(await place.corpus.search("cold brew coffee", brand="nobody"), InsufficientSources)
    # A look at the folder leaves them alone, and they do not appear in its list.
    await place.corpus.refresh()
    assert len(await place.found("acme")) == 5
    listed = (await place.http.get("http://research/v1/documents")).json()
    assert ([each["path"] for each in listed["items"]], listed["counts"]["read"]) == (
        ["summer.md", "winter.md"],
        2,
    )


async def test_the_same_bytes_are_one_document_and_copies_count_once(place: Place) -> None:
    await place.corpus.refresh()
    async with place.running():
        first = await place.add("acme", "grind.txt", TEXTS["grind.txt"])
        await place.all_read("acme")
        again = await place.add(
            "acme", "again.txt", TEXTS["grind.txt"], licence="All rights reserved", own=True, title="Grinding"
        )
        assert (again.status_code, again.json()["id"], again.json()["name"]) == (
            200,
            first.json()["id"],
            "grind.txt",
        )
        assert len(await place.items("acme")) == 1
        # What was said anew holds at once, and what was not said stays.
        await place.add("acme", "again.txt", TEXTS["grind.txt"])
        findings = await place.corpus.search("cold brew coffee", brand="acme")
        assert isinstance(findings, ResearchResult)
        (source,) = (each for each in findings.sources if each.path and each.path.startswith("uploads/"))
        assert (source.title, source.licence, source.quotable) == ("Grinding", "All rights reserved", True)
        # The same text as in the folder, in another format, is no further source.
        await place.add("acme", "summer.html", f"<h1>Summer</h1><p>{IN_FOLDER['summer.md']}</p>")
        await place.all_read("acme")
        assert len(await place.found("acme")) == 3


async def test_one_page_of_a_brands_own_is_enough_and_found_by_the_title_that_it_was_given(
    place: Place,
) -> None:
    await place.corpus.refresh()
    text = "Old title\n\n" + "\n\n".join(
        f"Step {n} of the way takes cold water, coarse coffee and a good hour." for n in range(20)
    )

    async def search(keyword: str) -> list[tuple[str, float]]:
        found = await place.corpus.search(keyword, brand="acme")
        if isinstance(found, InsufficientSources):
            return []
        return [(each.section.title, each.about) for each in found.sources if each.section is not None]

    async with place.running():
        added = (await place.add("acme", "way.txt", text)).json()
        await place.all_read("acme")
        # Somebody else's, as far as is known.
        assert await search("old title") == []
        await place.add("acme", "way.txt", text, own=True, title="Steeping coffee")
        assert await search("steeping coffee") == [("Steeping coffee", 1.0)]
        assert await search("old title") == []
        await place.http.delete(f"/acme/documents/{added['id']}")
        assert await search("steeping coffee") == []


async def test_what_is_removed_is_gone_at_once_and_for_good(place: Place) -> None:
    await place.corpus.refresh()
    async with place.running():
        added = (await place.add("acme", "grind.txt", TEXTS["grind.txt"])).json()
        await place.all_read("acme")
        assert len(await place.found("acme")) == 3
        other = f"/rival/documents/{added['id']}"
        assert (await place.http.delete(other)).status_code == 404
        assert (await place.http.get(other)).status_code == 404
        own = f"/acme/documents/{added['id']}"
        assert (await place.http.get(own)).json()["name"] == "grind.txt"
        assert (await place.http.delete(own)).status_code == 204
        assert await place.found("acme") == set()
        assert ((await place.http.delete(own)).status_code, (await place.http.get(own)).status_code) == (
            404,
            404,
        )
        await place.all_read("acme")

    async def rows() -> int:
        async with place.database.connection() as connection:
            return int(
                await connection.fetchval("select count(*) from documents where corpus like 'brand:%'")
            )

    async with place.running():
        await eventually(lambda: _is_zero(rows))


async def _is_zero(count: Callable[[], Awaitable[int]]) -> bool:
    return await count() == 0


async def test_what_is_removed_while_it_is_read_does_not_come_back(place: Place) -> None:
    added = (await place.add("acme", "grind.txt", TEXTS["grind.txt"])).json()
    assert (await place.http.delete(f"/acme/documents/{added['id']}")).status_code == 204
    # The reading has come to its end, and to the index only now.
    state = FileStat(f"uploads/{added['id']}/grind.txt", added["size"], 0)
    async with place.database.transaction() as tx:
        assert (
            await store.confirm_files(tx.connection, "acme", [IndexedFile(state, ExtractedDocument("a", ()))])
            == []
        )


async def test_research_waits_for_what_its_brand_has_just_uploaded(place: Place) -> None:
    await place.corpus.refresh()
    await place.add("acme", "grind.txt", TEXTS["grind.txt"])
    searching = Dependency("local_corpus", outages=(ProviderUnavailableError,))
    wanted = ResearchQuery("cold brew coffee", "acme", SourceSettings(), command=uuid4())
    with pytest.raises(WaitFor, match="1 of the brand's documents are still unread") as waiting:
        await SourcesProvider(place.corpus, searching, None).search(wanted)
    # It costs the request no attempt, and is nobody else's outage.
    assert (waiting.value.after, searching.away) == (READ_PAUSE, False)
    # Others do not wait for it.
    assert isinstance(await place.corpus.search("cold brew coffee", brand="rival"), InsufficientSources)
    async with place.running():
        await place.all_read("acme")
    assert len(await place.found("acme")) == 3


async def test_what_cannot_be_read_is_listed_with_its_reason_and_read_again_on_demand(place: Place) -> None:
    async with place.running():
        await place.add("acme", "scan.pdf", pdf("0 0 9 9 re f"))
        await place.add("acme", "bomb.html", "die")
        await place.add("acme", "grind.txt", TEXTS["grind.txt"])
        await place.all_read("acme")
        states = {each["name"]: (each["state"], each["problem"]) for each in await place.items("acme")}
        assert states["grind.txt"] == ("read", None)
        assert states["scan.pdf"][0] == "skipped"
        assert "recognised (OCR)" in states["scan.pdf"][1]
        assert states["bomb.html"][0] == "set_aside"
        assert "ended the process that read it" in states["bomb.html"][1]
        (bomb,) = await place.items("acme", state="set_aside")
    assert (await place.http.post(f"/acme/documents/{bomb['id']}/release")).status_code == 202
    assert [each["name"] for each in await place.items("acme", state="waiting")] == ["bomb.html"]
    (good,) = await place.items("acme", state="read")
    assert (await place.http.post(f"/acme/documents/{good['id']}/release")).status_code == 409
    assert (await place.http.post(f"/rival/documents/{good['id']}/release")).status_code == 404


async def test_replicas_read_each_document_once_and_after_a_restart_the_rest(
    place: Place, tmp_path: Path
) -> None:
    for number in range(6):
        await place.add(
            "acme", f"{number}.txt", f"Number {number}\n\n{TEXTS['grind.txt']} It is number {number}."
        )
    log = tmp_path / "read.log"
    replicas = [UploadIndexer(place.database, place.readers) for _ in range(3)]
    tasks = [asyncio.create_task(polling(each, place.database)) for each in replicas]
    await place.all_read("acme")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(log.read_text().split()) == sorted(
        {f"uploads/{each['id']}/{each['name']}" for each in await place.items("acme")}
    )
    # One more comes while nobody is there to read it.
    await place.add("acme", "late.txt", TEXTS["grind.txt"])
    fresh = asyncio.create_task(polling(UploadIndexer(place.database, place.readers), place.database))
    await place.all_read("acme")
    fresh.cancel()
    await asyncio.gather(fresh, return_exceptions=True)
    assert len(log.read_text().split()) == 7


async def test_uploads_have_bounds(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_DOCUMENTS", 3)
    answers = []
    for number in range(0, 6, 2):
        pair = (place.add("acme", "a.txt", f"Text number {each}.") for each in (number, number + 1))
        answers += await asyncio.gather(*pair)
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [409] * 3
    assert "remove some first" in next(each for each in answers if each.status_code == 409).json()["detail"]
    assert (await place.add("acme", "a.txt", "Text number 0.")).status_code in {200, 409}
    assert (await place.add("rival", "a.txt", "Text number 0.")).status_code == 201
    monkeypatch.setattr(store, "MAX_BYTES", 100)
    assert (await place.add("third", "a.txt", "x" * 101)).status_code == 409


@pytest.mark.extended
@pytest.mark.parametrize(
    ("brand", "name", "content", "about", "status", "said"),
    [
        ("acme", "a.txt", b"", {}, 422, "the file is empty"),
        ("acme", "a.docx", b"PK", {}, 422, "must end in one of .adoc"),
        ("acme", "..", b"x", {}, 422, "must end in one of"),
        ("Acme!", "a.txt", b"x", {}, 422, ""),
        ("acme", "a.txt", b"x" * 5_000_001, {}, 413, "a.txt is larger than 5 MB"),
        ("acme", "a.pdf", b"x" * 10_000_001, {}, 413, "larger than 10 MB"),
        ("acme", "a.txt", b"x", {"url": "javascript:alert(1)"}, 422, "must be a web address"),
        ("acme", "a.txt", b"x", {"own": "perhaps"}, 422, "own"),
    ],
)
async def test_what_is_no_document_is_refused(
    place: Place, brand: str, name: str, content: bytes, about: dict[str, str], status: int, said: str
) -> None:
    answer = await place.add(brand, name, content, **about)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text
    assert await place.items("acme") == []


async def test_the_list_comes_in_pages_and_needs_the_key(place: Place) -> None:
    for number in range(3):
        await place.add("acme", "a.txt", f"Text number {number}.")
    page = (await place.http.get("/acme/documents", params={"limit": 2})).json()
    assert page["counts"] == {"waiting": 3, "read": 0, "skipped": 0, "set_aside": 0}
    rest = (await place.http.get("/acme/documents", params={"limit": 2, "after": page["next"]})).json()
    assert ([len(page["items"]), len(rest["items"])], rest["next"]) == ([2, 1], None)
    await place.add("acme", "Handbook.txt", "Text number 4.", title="Über 100 % coffee")
    assert [each["name"] for each in await place.items("acme", q="HANDB")] == ["Handbook.txt"]
    assert [each["name"] for each in await place.items("acme", q="über 100 %")] == ["Handbook.txt"]
    assert await place.items("acme", q="%") != await place.items("acme", q="nothing") == []
    for method in ("GET", "POST"):
        refused = await place.http.request(
            method, "/acme/documents?name=a.txt", headers={"X-Service-Key": "wrong"}
        )
        assert refused.status_code == 401
