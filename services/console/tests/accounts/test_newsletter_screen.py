"""The newsletter's page beside a real publisher, gateway and mail server."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from client import Address
from client.services.publisher import AsyncPublisher
from console.newsletter.views import as_csv, missing
from tests.fixtures.mail_servers import MailServer

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
NEWSLETTER = "/b/acme/newsletter"


@pytest.fixture
async def mail_server() -> AsyncIterator[MailServer]:
    made = MailServer()
    await made.listen()
    yield made
    made.close()


@pytest.fixture
async def connected(service_urls: dict[str, str], mail_server: MailServer, acme: None) -> None:
    """The mail server is an account of the brand."""
    account = {
        "kind": "smtp",
        "brands": ["acme"],
        "settings": {
            "host": "127.0.0.1",
            "port": mail_server.port,
            "security": "plain",
            "sender": "Acme <news@acme.example>",
        },
        "credentials": {},
    }
    async with httpx.AsyncClient(
        base_url=service_urls["gateway_url"], headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
    ) as gateway:
        assert (await gateway.put("/v1/accounts/post", json=account)).status_code == 200


@pytest.fixture
async def publisher(service_urls: dict[str, str]) -> AsyncIterator[AsyncPublisher]:
    async with AsyncPublisher(Address(service_urls["publisher_url"], KEY)) as client:
        yield client


async def subscribe(publisher_database_url: str, *addresses: str) -> None:
    connection = await asyncpg.connect(publisher_database_url)
    try:
        for number, address in enumerate(addresses):
            await connection.execute(
                "insert into newsletter_subscribers (brand_slug, address_digest, address, state, confirmed_at)"
                " values ('acme', $1, $2, 'confirmed', now())",
                bytes([number]),
                address,
            )
    finally:
        await connection.close()


def test_what_is_missing_is_said_first() -> None:
    account = {"name": "post", "sender": "", "state": "ok"}
    state = {"is_on": True, "account": "post", "problem": "", "mail_accounts": [account]}
    assert missing(state) == ""
    assert missing({**state, "problem": "away"}) == "problem"
    assert missing({**state, "mail_accounts": None}) == "gateway"
    assert missing({**state, "mail_accounts": []}) == "account"
    assert missing({**state, "account": "other"}) == "reconnect"
    assert missing({**state, "mail_accounts": [{**account, "state": "needs_reconnecting"}]}) == "reconnect"
    assert missing({**state, "is_on": False, "problem": "old"}) == ""


def test_no_spreadsheet_finds_a_formula() -> None:
    one = {
        "address": "=a@b.example",
        "state": "confirmed",
        "signed_up_at": "2027-01-01",
        "confirmed_at": None,
    }
    assert as_csv([one]).splitlines()[1] == "'=a@b.example,confirmed,2027-01-01,"


@pytest.mark.extended
async def test_without_a_mail_server_the_page_says_what_is_missing(
    acme: None, person: httpx.AsyncClient
) -> None:
    shown = (await person.get(NEWSLETTER)).text
    assert "No mail server is connected." in shown
    assert "Turn the newsletter on" not in shown
    refused = await person.post(f"{NEWSLETTER}/on", data={"once": "n0"})
    assert (refused.status_code, "connect one with the page “Accounts”" in refused.text) == (409, True)


@pytest.mark.extended
async def test_it_is_turned_on_and_off_and_one_address_is_removed(
    connected: None,
    person: httpx.AsyncClient,
    publisher: AsyncPublisher,
    publisher_database_url: str,
) -> None:
    for _ in range(2):
        turned = await person.post(f"{NEWSLETTER}/on", data={"once": "n1", "account": "post"})
        assert turned.headers["location"] == f"{NEWSLETTER}?done=on"
    await subscribe(publisher_database_url, "ada@a.example", "<i>bob@b.example")
    shown = (await person.get(turned.headers["location"])).text
    assert "The newsletter is on. It is sent by post." in shown
    assert "2 confirmed subscribers" in shown
    assert ("&lt;i&gt;bob" in shown, "<i>bob" in shown) == (True, False)
    file = await person.get(f"{NEWSLETTER}/subscribers.csv")
    assert "ada@a.example,confirmed" in file.text
    assert file.headers["Content-Disposition"] == 'attachment; filename="acme-subscribers.csv"'
    ada = (await publisher.list_subscribers("acme"))["items"]
    one = next(each["id"] for each in ada if each["address"] == "ada@a.example")
    removed = await person.post(f"{NEWSLETTER}/subscribers/{one}/remove", data={"once": "n2"})
    assert removed.headers["location"] == f"{NEWSLETTER}?done=removed"
    assert "ada@a.example" not in (await person.get(NEWSLETTER)).text
    await person.post(f"{NEWSLETTER}/off", data={"once": "n3"})
    assert (await publisher.get_newsletter_state("acme"))["is_on"] is False


@pytest.mark.extended
async def test_who_only_reads_sees_numbers_and_no_addresses(
    console: Any, connected: None, publisher: AsyncPublisher, publisher_database_url: str
) -> None:
    await publisher.enable_newsletter("acme")
    await subscribe(publisher_database_url, "ada@a.example")
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as eve:
        link = await console.invite("Eve", "editor")
        await eve.post(link, data={"name": "Eve", "password": PASSWORD})
        shown = (await eve.get(NEWSLETTER)).text
        assert ("1 confirmed subscriber" in shown, "ada@" in shown, "Turn the" in shown) == (
            True,
            False,
            False,
        )
        assert (await eve.get(f"{NEWSLETTER}/subscribers.csv")).status_code == 403
        for path in ("on", "off", f"subscribers/{'0' * 32}/remove", f"letters/{'0' * 32}/again"):
            assert (await eve.post(f"{NEWSLETTER}/{path}", data={"once": "x"})).status_code == 403, path


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_person_turns_it_on_in_a_browser_and_axe_finds_nothing(
    console: Any,
    connected: None,
    signed_in: Page,
    publisher_database_url: str,
    page_checks: Any,
    width: int,
) -> None:
    page = signed_in
    await subscribe(publisher_database_url, "ada@a.example", "b" * 60 + "@b.example")
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(console.url + NEWSLETTER)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Turn the newsletter on").click()
    await page.get_by_text("The newsletter is on. Articles").wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page_checks.accessibility(page) == []
