"""A brand of another installation is imported in the console; and files, people and days that it has to refuse."""

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from chassis.testing import eventually, running
from client.brand_archive import BrandArchive
from client.brand_import import BrandImport
from client.errors import UnreachableError
from research.app import build as build_research
from research.settings import Settings as ResearchSettings
from tests.fixtures.brands.installation import Installation, fill_acme, installation

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
IMPORT = "/import"
BY_SCRIPT = {"Content-Type": "application/octet-stream"}


@pytest.fixture
async def service_urls(
    service_urls: dict[str, str],
    make_database: Callable[[str], Awaitable[str]],
    broker_urls: dict[str, str],
    tmp_path: Any,
) -> AsyncIterator[dict[str, str]]:
    """With research, which takes the brand's documents."""
    settings = {
        "database_url": await make_database("research"),
        "rabbitmq_url": broker_urls["research"],
        "service_key": KEY,
        "http_port": 0,
        "corpus": tmp_path,
        "orchestrator_url": service_urls["orchestrator_url"],
        "gateway_url": service_urls["gateway_url"],
    }
    async with running(build_research(ResearchSettings.model_validate(settings))) as research:
        yield {**service_urls, "research_url": f"http://127.0.0.1:{research.port}"}


@pytest.fixture
async def former(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Installation]:
    """Another installation, whose brand acme has something of everything."""
    async with installation(make_database, "https://former.example") as made:
        await fill_acme(made)
        yield made


@pytest.fixture
async def archive(former: Installation) -> bytes:
    def write() -> bytes:
        file = io.BytesIO()
        orchestrator, research, publisher, social = former.clients()
        with orchestrator, research, publisher, social, ZipFile(file, "w", ZIP_DEFLATED) as opened:
            BrandArchive(opened, "acme", orchestrator).write_all(research, publisher, social)
        return file.getvalue()

    return await asyncio.to_thread(write)


async def upload(person: httpx.AsyncClient, content: bytes, once: str = "u1") -> str:
    """Sends an archive as the page's script does; returns the address of its page."""
    begun = await person.post(IMPORT, data={"once": once, "name": "acme.zip", "size": str(len(content))})
    assert begun.status_code == 201, begun.text
    address = begun.text
    for number, place in enumerate(range(0, len(content), 1_000_000)):
        piece = content[place : place + 1_000_000]
        taken = await person.post(f"{address}/pieces/{number}", content=piece, headers=BY_SCRIPT)
        assert taken.status_code == 204, taken.text
    looked = await person.post(f"{address}/look", data={"once": f"{once}-look"})
    assert looked.status_code == 303
    return address


async def press(person: httpx.AsyncClient, address: str, once: str, **fields: str) -> httpx.Response:
    return await person.post(f"{address}/begin", data={"once": once, **fields})


async def ended(person: httpx.AsyncClient, address: str, word: str) -> str:
    """The page of the import once it says this word."""

    async def shown() -> str:
        text = (await person.get(address)).text
        return text if f">{word}</span>" in text else ""

    return await eventually(shown)


async def execute(console: Any, statement: str, *values: Any) -> Any:
    connection = await asyncpg.connect(console.database_url)
    try:
        return await connection.fetchval(statement, *values)
    finally:
        await connection.close()


@pytest.mark.extended
async def test_an_owner_imports_a_brand_that_then_looks_the_same(
    console: Any,
    signed_in: Page,
    former: Installation,
    archive: bytes,
    page_checks: Any,
    tmp_path: Path,
    service_urls: dict[str, str],
) -> None:
    page, file = signed_in, tmp_path / "acme.zip"
    file.write_bytes(archive)
    await page.goto(f"{console.url}/start-here")
    await page.get_by_role("link", name="import a brand").click()
    await page.wait_for_url("**/import")
    assert await page_checks.accessibility(page) == []
    await page.get_by_label("Zip file of an export").set_input_files(file)
    await page.wait_for_url(re.compile(r"/import/[0-9a-f-]{36}$"))
    told = await page.inner_text("main")
    for words in (
        "Import Acme Coffee",
        "2 articles",
        "1 document",
        "Channel mastodon-eu",
        "Nothing is stored yet.",
    ):
        assert words in told
    assert (await console.orchestrator.list_brands())["items"] == []
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert await page_checks.accessibility(page) == []

    await execute(console, "update sessions set confirmed_at = now() - interval '1 hour'")
    await page.reload()
    await page.get_by_label("Short name here").fill("coffee")
    await page.get_by_label(re.compile("password")).fill(PASSWORD)
    await page.get_by_role("button", name="Import Acme Coffee").click()
    await page.get_by_text("is here, and paused").wait_for()
    assert await page_checks.accessibility(page) == []
    assert "mastodon-eu" in await page.inner_text("main")

    brand = await console.orchestrator.get_brand("coffee")
    assert (brand["name"], brand["paused_at"] is not None) == ("Acme Coffee", True)
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, trust_env=False, timeout=60) as http:

        async def rows(service: str, part: str) -> Any:
            url = f"{service_urls[f'{service}_url']}/v1/brands/coffee/parts/{part}"
            return (await http.get(url)).json()["items"]

        for service, part in (("orchestrator", "articles"), ("publisher", "pages"), ("social", "feed-posts")):
            here, there = await rows(service, part), await former.rows(service, part)
            assert [_without_addresses(each) for each in here] == [_without_addresses(each) for each in there]
            assert here
    await page.get_by_role("link", name="Open the brand coffee").click()
    await page.wait_for_url("**/b/coffee")
    assert await execute(console, "select count(*) from brand_archive_pieces") == 0


def _without_addresses(row: Any) -> str:
    return re.sub(r"https?://[^\"/]+/sites/\w+/", "", json.dumps(row, sort_keys=True))


@pytest.mark.extended
async def test_the_same_file_twice_changes_nothing_and_a_second_copy_is_refused(
    console: Any, person: httpx.AsyncClient, archive: bytes
) -> None:
    first = await upload(person, archive)
    # Two presses of one form, and another form of the same page.
    answers = await asyncio.gather(
        press(person, first, "b1"), press(person, first, "b1"), press(person, first, "b2")
    )
    assert [(each.status_code, each.headers["location"]) for each in answers] == [(303, first)] * 3
    assert "is here, and paused" in await ended(person, first, "Imported")
    await console.orchestrator.resume_brand("acme")

    again = await upload(person, archive, "u2")
    assert "The brand Acme Coffee has the short name “acme” here already." in (await person.get(again)).text
    await press(person, again, "b3")
    assert "Nothing was changed." in await ended(person, again, "Imported")
    assert (await console.orchestrator.get_brand("acme"))["paused_at"] is None

    copy = await upload(person, archive, "u3")
    await press(person, copy, "b4", slug="copy")
    assert "The brand is here already, as “acme”." in await ended(person, copy, "Broken off")
    assert [each["slug"] for each in (await console.orchestrator.list_brands())["items"]] == ["acme"]
    removed = await person.post(f"{copy}/remove", data={"once": "r1"})
    assert removed.headers["location"] == f"{IMPORT}?done=removed"
    assert (await person.get(copy)).status_code == 404


@pytest.mark.extended
async def test_an_import_that_broke_off_or_lost_its_process_is_continued(
    console: Any, person: httpx.AsyncClient, archive: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = BrandImport._import_site

    def break_off(importing: BrandImport) -> None:
        raise UnreachableError("nobody answers")

    monkeypatch.setattr(BrandImport, "_import_site", break_off)
    address = await upload(person, archive)
    await press(person, address, "b1")
    broken = await ended(person, address, "Broken off")
    assert "A service did not answer." in broken
    assert "Continue the import of acme" in broken
    # As a process leaves it that was killed.
    await execute(
        console, "update brand_archives set state = 'running', seen_at = now() - interval '1 minute'"
    )
    assert "The console was restarted in the middle." in (await person.get(address)).text
    monkeypatch.setattr(BrandImport, "_import_site", whole)
    # Another short name counts for nothing now.
    await press(person, address, "b2", slug="other")
    assert "is here, and paused" in await ended(person, address, "Imported")
    assert [each["slug"] for each in (await console.orchestrator.list_brands())["items"]] == ["acme"]


@pytest.mark.extended
async def test_files_that_are_no_exports_are_refused_before_anything_is_stored(
    console: Any, person: httpx.AsyncClient
) -> None:
    bomb = io.BytesIO()
    with ZipFile(bomb, "w", ZIP_DEFLATED) as opened:
        opened.writestr("<b>zeros</b>", b"0" * 50_000_000)
    for number, (content, sentence) in enumerate(
        (
            (b"no zip", "is no export of a brand"),
            (bomb.getvalue(), "unpacks to 500 times its size: &lt;b&gt;zeros"),
            (b"PK\x05\x06" + b"\xff" * 18, "has more than 50000 files"),
        )
    ):
        address = await upload(person, content, f"u{number}")
        shown = (await person.get(address)).text
        assert sentence in shown, shown
        assert "Nothing was stored." in shown
        assert (await press(person, address, f"b{number}", slug="acme")).status_code == 303
    assert (await console.orchestrator.list_brands())["items"] == []
    assert await execute(console, "select count(*) from brand_archive_pieces") == 0


@pytest.mark.extended
async def test_uploads_are_bounded(console: Any, person: httpx.AsyncClient) -> None:
    for size, status in (("1000000001", 413), ("0", 422), ("-1", 422), ("x", 422)):
        answer = await person.post(IMPORT, data={"once": f"s{size}", "name": "a", "size": size})
        assert answer.status_code == status, size
    addresses = []
    for number in range(3):
        begun = await person.post(IMPORT, data={"once": f"u{number}", "name": "a.zip", "size": "1500000"})
        addresses.append(begun.text)
    fourth = await person.post(IMPORT, data={"once": "u4", "name": "a.zip", "size": "10"})
    assert (fourth.status_code, "Three archives" in fourth.text) == (409, True)
    for number, size in (("0", 999_999), ("0", 1_000_001), ("1", 1), ("2", 1), ("-1", 1), ("x", 1)):
        wrong = await person.post(f"{addresses[0]}/pieces/{number}", content=b"0" * size, headers=BY_SCRIPT)
        assert wrong.status_code == 422, number
    # A file of which a part is missing is not opened.
    await person.post(f"{addresses[0]}/pieces/1", content=b"0" * 500_000, headers=BY_SCRIPT)
    await person.post(f"{addresses[0]}/look", data={"once": "l1"})
    assert "The file has not arrived whole." in (await person.get(addresses[0])).text
    assert (await person.get(f"{IMPORT}/not-an-id")).status_code == 404


@pytest.mark.extended
async def test_only_owners_of_all_brands_import(
    console: Any, another: Any, person: httpx.AsyncClient
) -> None:
    address = await upload(person, b"no zip")
    async with another("operator") as operator:
        for path in (IMPORT, address):
            assert (await operator.get(path)).status_code == 403
        for path in (
            IMPORT,
            f"{address}/pieces/0",
            f"{address}/look",
            f"{address}/begin",
            f"{address}/remove",
        ):
            assert (await operator.post(path, data={"once": "o1", "size": "1"})).status_code == 403, path
        assert 'href="/import"' not in (await operator.get("/start-here")).text


@pytest.mark.extended
async def test_the_password_is_asked_for_before_an_import(
    console: Any, person: httpx.AsyncClient, archive: bytes
) -> None:
    address = await upload(person, archive)
    await execute(console, "update sessions set confirmed_at = now() - interval '1 hour'")
    asked = await press(person, address, "b1", slug="acme")
    assert (asked.status_code, 'name="password_again"' in asked.text) == (403, True)
    await press(person, address, "b1", slug="../acme", password_again=PASSWORD)
    refused = await press(person, address, "b1", slug="Acme & co", password_again=PASSWORD)
    assert (refused.status_code, "cannot be a short name" in refused.text) == (422, True)
    await press(person, address, "b1", slug="acme", password_again=PASSWORD)
    await ended(person, address, "Imported")
