"""Sources and documents beside a real research: settings, uploads, what was read and why not, and refusals without the right."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from playwright.async_api import Page
from slugify import slugify as slug

from chassis.database.pool import Connections
from chassis.testing import eventually
from client import Address
from client.services.research import AsyncResearch
from console.pages import Form
from console.sources.views import CITING, DocumentFilter, fields_of, settings_of, size
from envelope import new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.article_workflow.store import insert_content
from writing.article import Article, ArticleSource

KEY = "test-service-key-0123456789"
SOURCES = "/b/acme/sources"
TEXT = b"# Cold brew\n\nCold brew coffee steeps for twelve hours in cold water, and keeps for two weeks."
HOSTILE = "<img src=x onerror=window.hit=1>.pdf"
SETTINGS = {"folder": "1", "urls": "https://example.org/a\n\nhttps://example.org/b", "queries": "2"}


@pytest.fixture
async def research(service_urls: dict[str, str]) -> AsyncIterator[AsyncResearch]:
    async with AsyncResearch(Address(service_urls["research_url"], KEY)) as client:
        yield client


async def all_are_read(research: AsyncResearch) -> dict[str, Any]:
    async def read() -> list[Any] | None:
        found = (await research.list_documents("acme"))["items"]
        return None if any(each["state"] == "waiting" for each in found) else found

    items: list[Any] = await eventually(read)
    return {each["name"]: each for each in items}


def test_the_form_has_the_settings_and_gives_them_back() -> None:
    settings = {
        "folder": False,
        "web": {"language": "de", "freshness": "week", "queries": 3, "proposals": True},
        "urls": ["https://example.org/a"],
        "feeds": [],
        "blocked_hosts": [],
        "preferred_hosts": ["example.org", "example.com"],
        "own_hosts": [],
    }
    fields = {name: "1" if value is True else value for name, value in fields_of(settings).items() if value}
    assert settings_of(Form(list(fields.items()))) == settings
    assert settings_of(Form([]))["web"] is None
    assert [size(each) for each in (5, 2_400, 1_250_000)] == ["1 kB", "2 kB", "1.2 MB"]
    wanted = DocumentFilter.of({"q": " a\0  b ", "state": "no", "after": "x"}, ("read",))
    assert (wanted.query(after=7), wanted.number) == ("?q=a+b&after=7", None)


@pytest.mark.extended
async def test_settings_are_saved_once_and_never_over_those_of_others(
    acme: None, person: httpx.AsyncClient, research: AsyncResearch
) -> None:
    shown = (await person.get(SOURCES)).text
    was = shown.partition('name="was" value="')[2].partition('"')[0]
    form = {"once": "s1", "was": was, **SETTINGS}
    saved, again = [await person.post(SOURCES, data=form) for _ in range(2)]
    assert saved.headers["location"] == again.headers["location"] == f"{SOURCES}?done=saved"
    assert (await research.get_sources("acme"))["urls"] == ["https://example.org/a", "https://example.org/b"]
    late = await person.post(SOURCES, data={**form, "once": "s2", "urls": "", "own_hosts": "mine.example"})
    assert (late.status_code, "mine.example" in late.text) == (409, True)
    assert (await research.get_sources("acme"))["own_hosts"] == []
    was = late.text.partition('name="was" value="')[2].partition('"')[0]
    wrong = {"once": "s3", "was": was, "urls": "no address <b>"}
    refused = await person.post(SOURCES, data=wrong)
    assert refused.status_code == 422
    assert "no address &lt;b&gt;" in refused.text


@pytest.mark.extended
async def test_documents_are_uploaded_once_found_read_again_and_removed(
    acme: None, person: httpx.AsyncClient, research: AsyncResearch
) -> None:
    documents = f"{SOURCES}/documents"
    about = {"name": "brew.md", "once": "u1", "own": "", "licence": "CC BY 4.0"}
    answers = [await person.post(documents, params=about, content=TEXT) for _ in range(2)]
    assert [(each.status_code, each.text) for each in answers] == [
        (201, "brew.md is uploaded. Research reads it in a moment.")
    ] * 2
    await person.post(documents, params={"name": HOSTILE, "once": "u2"}, content=b"no PDF")
    refused = await person.post(documents, params={"name": "a.exe", "once": "u3"}, content=b"MZ")
    assert (refused.status_code, "must end in one of" in refused.text) == (422, True)
    large = await person.post(documents, params={"name": "a.pdf", "once": "u4"}, content=b"x" * 10_000_001)
    assert large.status_code == 413

    read = await all_are_read(research)
    assert {name: each["state"] for name, each in read.items()} == {"brew.md": "read", HOSTILE: "skipped"}
    assert read["brew.md"]["own"]
    listed = (await person.get(SOURCES)).text
    assert "&lt;img src=x" in listed
    skipped = read[HOSTILE]
    assert skipped["problem"] in listed.replace("&#39;", "'")
    assert "Cold brew" not in (await person.get(f"{SOURCES}?state=skipped")).text
    assert "No document matches" in (await person.get(f"{SOURCES}?q=nothing")).text

    release = f"{documents}/{skipped['id']}/release"
    released = await person.post(release, data={"once": "r1"})
    assert released.headers["location"] == f"{SOURCES}?done=released"
    await all_are_read(research)
    brew = f"{documents}/{read['brew.md']['id']}"
    assert "CC BY 4.0" in (await person.get(brew)).text
    assert (await person.post(f"{brew}/release", data={"once": "r2"})).status_code == 409
    await person.post(f"{brew}/remove", data={"once": "d1"})
    assert (await person.get(brew)).status_code == 404


@pytest.fixture
async def cite(orchestrator_database_url: str) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    """Stores a digest of a document, as an article of `acme`."""
    connections = Connections(orchestrator_database_url, name="test", size=1)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    database = Database(connections, relay, "orchestrator", CATALOGUE)

    async def store(path: str, title: str, text: str) -> None:
        digest = Article(title, slug(title), "About it.", f"{text} [1]\n", 9, (), (1,), section="Steeping")
        async with database.transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=new_event_id(),
                brand_slug="acme",
                keyword=title,
                research_id=UUID(int=5),
                article=digest,
                sources=[ArticleSource(n=1, title="Cold brew", passages=(), path=path)],
            )

    yield store
    await connections.close()


@pytest.mark.extended
async def test_a_document_shows_which_sentences_of_which_articles_rest_on_it_and_where_they_stand_in_it(
    acme: None, person: httpx.AsyncClient, research: AsyncResearch, cite: Callable[..., Awaitable[None]]
) -> None:
    added = await research.add_document("acme", TEXT, name="brew.md")
    document = f"{SOURCES}/documents/{added['id']}"
    assert "No article of this brand cites this document." in (await person.get(document)).text
    for number in range(CITING + 1):
        await cite("brew.md", f"Brewing {number}", "It steeps <b>twelve</b> hours.")
    await cite("other.md", "Storing", "It keeps for two weeks.")

    first = (await person.get(document)).text
    assert "It steeps &lt;b&gt;twelve&lt;/b&gt; hours." in first
    assert "Cold brew \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} Steeping" in first
    assert ("Brewing 20</a>" in first, "Brewing 0</a>" in first, "Storing" in first) == (True, False, False)
    later = first.partition('href="?after=')[2].partition('"')[0]
    second = (await person.get(document, params={"after": later})).text
    assert ("Brewing 0</a>" in second, "Brewing 20</a>" in second) == (True, False)
    assert (await person.get(document, params={"after": "no article"})).status_code == 200


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    acme: None, another: Any, research: AsyncResearch
) -> None:
    added = await research.add_document("acme", TEXT, name="brew.md")
    document = f"{SOURCES}/documents/{added['id']}"
    async with another("viewer", ["acme"]) as eve:
        assert (
            "the right “operate”, which your role (viewer) does not have"
            in (await eve.get("/b/acme/sources")).text
        )
        shown = (await eve.get(SOURCES)).text
        assert "<fieldset disabled" in shown
        for absent in ("data-upload", "Save where", "/sources/folder"):
            assert absent not in shown, absent
        one = (await eve.get(document)).text
        assert "Remove brew.md" not in one
        assert "the right “submit”, which your role (viewer) does not have" in one
        assert (await eve.get(f"{SOURCES}/folder")).status_code == 403
        paths = (SOURCES, f"{document}/release", f"{document}/remove", f"{SOURCES}/folder/1/release")
        for path in paths:
            assert (await eve.post(path, data={"once": "x", **SETTINGS})).status_code == 403, path
        upload = {"name": "a.md", "once": "y"}
        refused = await eve.post(f"{SOURCES}/documents", params=upload, content=TEXT)
        assert refused.status_code == 403
    assert (await research.get_sources("acme"))["urls"] == []


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_person_uploads_in_a_browser_and_axe_finds_nothing(
    console: Any,
    acme: None,
    signed_in: Page,
    research: AsyncResearch,
    corpus: Path,
    page_checks: Any,
    width: int,
) -> None:
    page = signed_in
    (corpus / "a-file-with-a-very-long-name-that-no-line-of-a-telephone-could-hold.md").write_bytes(TEXT)
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(console.url + SOURCES)
    await page.set_input_files(
        "input[type=file]",
        [
            {"name": "brew.md", "mimeType": "text/markdown", "buffer": TEXT},
            {"name": HOSTILE, "mimeType": "application/pdf", "buffer": b"no PDF"},
            {"name": "a.exe", "mimeType": "application/octet-stream", "buffer": b"MZ"},
        ],
    )
    await page.get_by_text("must end in one of").wait_for(timeout=60_000)
    assert "brew.md is uploaded." in await page.inner_text("[data-progress]")
    documents = await all_are_read(research)
    # The list renews itself; nobody loads the page.
    await page.locator("#document-list").get_by_role("link", name="Cold brew").wait_for(timeout=60_000)
    await page.get_by_label("Pages to read").fill("https://example.org/a")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save where research may look").click()
    assert "The settings are saved." in await page.inner_text("main")
    for path in (SOURCES, f"{SOURCES}/documents/{documents[HOSTILE]['id']}", f"{SOURCES}/folder"):
        await page.goto(console.url + path)
        await page.evaluate("document.querySelectorAll('main details').forEach((each) => each.open = true)")
        assert await page.evaluate("window.hit") is None
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert await page_checks.accessibility(page) == [], path
