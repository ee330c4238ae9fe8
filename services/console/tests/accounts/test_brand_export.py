"""The export of a brand as a download, beside real services; and all that must not get it."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from brandctl.orchestrator.brand_export import export as export_by_brandctl
from chassis.testing import eventually, running
from client import Address
from client.errors import UnreachableError
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import AsyncSocial, Social
from console.brand_settings import exporting
from research.app import build as build_research
from research.settings import Settings as ResearchSettings

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
SETTINGS = "/b/acme/settings"
EXPORT = f"{SETTINGS}/export"
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'


@pytest.fixture
async def service_urls(
    service_urls: dict[str, str],
    make_database: Callable[[str], Awaitable[str]],
    broker_urls: dict[str, str],
    tmp_path: Any,
) -> AsyncIterator[dict[str, str]]:
    """With research, which has the brand's sources and documents."""
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
async def forget_passwords(console: Any) -> Callable[[], Awaitable[None]]:
    async def forget() -> None:
        connection = await asyncpg.connect(console.database_url)
        try:
            await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
        finally:
            await connection.close()

    return forget


async def subscribe(database_url: str, address: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            """
            insert into newsletter_subscribers (brand_slug, address_digest, address, state, confirmed_at)
            values ('acme', $2, $1, 'confirmed', now())
            """,
            address,
            address.encode(),
        )
    finally:
        await connection.close()


def contents(zipped: bytes) -> dict[str, bytes]:
    with ZipFile(io.BytesIO(zipped)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.extended
async def test_the_file_is_that_of_brandctl(
    console: Any,
    acme: None,
    person: httpx.AsyncClient,
    publisher_database_url: str,
    service_urls: dict[str, str],
    tmp_path: Any,
) -> None:
    await subscribe(publisher_database_url, "reader@acme.example")
    await console.orchestrator.submit_keywords(
        "acme", f"cold brew\n{HOSTILE}".encode(), content_type="text/plain"
    )
    await console.orchestrator.set_schedule("acme", "weekly", keywords=["tea"], cron="0 9 * * 1")
    answer = await person.post(EXPORT, data={"once": "e1"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    assert answer.headers["content-disposition"] == 'attachment; filename="acme.zip"'
    downloaded = contents(answer.content)

    def by_brandctl() -> None:
        made = [
            each(Address(service_urls[f"{each.service}_url"], KEY))
            for each in (Orchestrator, Research, Publisher, Social)
        ]
        orchestrator, research, publisher, social = made
        export_by_brandctl("acme", orchestrator, research, publisher, social, False, tmp_path / "acme.zip")  # type: ignore[arg-type]
        for each in made:
            each.close()

    await asyncio.to_thread(by_brandctl)
    wanted = contents((tmp_path / "acme.zip").read_bytes())
    told, asked = (json.loads(each.pop("manifest.json")) for each in (downloaded, wanted))
    for each in ("exported_at", "archive_id"):
        assert told.pop(each) != asked.pop(each)
    assert told == asked
    assert (told["keywords"], told["schedules"], told["subscribers"]) == (2, 1, 1)
    assert list(downloaded) == list(wanted)
    assert b"reader@acme.example" in downloaded["subscribers.jsonl"]
    keywords = downloaded["keywords.jsonl"].splitlines()
    assert {json.loads(each)["keyword"] for each in keywords} == {"cold brew", HOSTILE}


@pytest.mark.extended
async def test_the_password_is_asked_for_and_the_button_stands_on_the_page_after_it(
    acme: None, person: httpx.AsyncClient, forget_passwords: Callable[[], Awaitable[None]]
) -> None:
    await forget_passwords()
    asked = await person.post(EXPORT, data={"once": "e1"})
    assert asked.status_code == 403
    assert 'name="password_again"' in asked.text
    wrong = await person.post(EXPORT, data={"once": "e1", "password_again": "wrong"})
    assert wrong.status_code == 403
    right = await person.post(EXPORT, data={"once": "e1", "password_again": PASSWORD})
    assert right.headers["location"] == f"{SETTINGS}?done=may_export"
    shown = (await person.get(right.headers["location"])).text
    assert "Your password is taken." in shown
    assert shown.count("Download the export of Acme</button>") == 2
    assert (await person.post(EXPORT, data={"once": "e1"})).headers["content-type"] == "application/zip"


@pytest.mark.extended
async def test_who_may_not_run_the_brand_gets_no_file(acme: None, another: Any, console: Any) -> None:
    await console.orchestrator.set_brand("rival", name="Rival")
    async with another("editor", ["acme"]) as eve:
        assert "Download the export" not in (await eve.get(SETTINGS)).text
        refused = await eve.post(EXPORT, data={"once": "e1"})
        assert (refused.status_code, b"PK" in refused.content) == (403, False)
    async with another("operator", ["acme"], "Olga") as eve:
        assert "Download the export" in (await eve.get(SETTINGS)).text
        assert (await eve.post(EXPORT, data={"once": "e1"})).status_code == 200
        assert (await eve.post("/b/rival/settings/export", data={"once": "e1"})).status_code == 404
        forged = await eve.post(EXPORT, data={"once": "e1"}, headers={"Origin": "https://evil.example"})
        assert forged.status_code == 403
        assert (await eve.get(EXPORT)).headers["location"] == SETTINGS


@pytest.mark.extended
async def test_a_service_that_is_away_is_a_page_that_says_so(
    acme: None, person: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        raise UnreachableError("no answer")

    monkeypatch.setattr(AsyncSocial, "list_reach", away)
    answer = await person.post(EXPORT, data={"once": "e1"})
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (503, "text/html")


async def test_a_service_that_goes_away_meanwhile_breaks_the_transfer_off(
    acme: None, person: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise UnreachableError("no answer")

    monkeypatch.setattr(Social, "list_reach", away)
    with pytest.raises(httpx.RemoteProtocolError):
        await person.post(EXPORT, data={"once": "e1"})


@pytest.mark.extended
async def test_a_browser_that_stops_reading_or_goes_holds_no_thread_and_little_memory(
    acme: None, person: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0

    def endless(archive: Any, *_: Any) -> None:
        nonlocal made
        with archive.archive.open("endless.bin", "w") as file:
            while True:
                file.write(uuid4().bytes * 4_096)
                made += 1

    monkeypatch.setattr(exporting.BrandArchive, "write_all", endless)
    monkeypatch.setattr(exporting, "ZIP_DEFLATED", 0)
    for _ in range(2):
        async with (
            person.stream("POST", EXPORT, data={"once": "e1"}) as first,
            person.stream("POST", EXPORT, data={"once": "e2"}) as second,
        ):
            assert first.status_code == second.status_code == 200
            third = await person.post(EXPORT, data={"once": "e3"})
            assert third.status_code == 429
            assert "Other exports are under way." in third.text
            # The sockets' buffers fill up; then both threads wait.
            before = -1

            async def stands() -> bool:
                nonlocal before
                before, earlier = made, before
                await asyncio.sleep(0.2)
                return made == earlier

            await eventually(stands)

        async def free() -> bool:
            return exporting._under_way._value == exporting.MOST_AT_ONCE

        await eventually(free)
    assert made * 65_536 < 200_000_000


@pytest.mark.extended
async def test_a_person_downloads_it_in_a_browser(
    console: Any,
    acme: None,
    signed_in: Page,
    forget_passwords: Callable[[], Awaitable[None]],
    page_checks: Any,
) -> None:
    page = signed_in
    await console.orchestrator.set_brand("acme", name=f"Acme {HOSTILE}")
    await forget_passwords()
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 900})
        await page.goto(console.url + SETTINGS)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
    async with page.expect_navigation():
        await page.get_by_role("button", name="Download the export of Acme").click()
    await page.fill("[name=password_again]", PASSWORD)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Go on").click()
    assert await page_checks.accessibility(page) == []
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download the export of Acme").first.click()
    found = await download.value
    assert found.suggested_filename == "acme.zip"
    with ZipFile(await found.path()) as archive:
        assert archive.namelist()[-1] == "manifest.json"
    assert await page.evaluate("window.hit") is None
