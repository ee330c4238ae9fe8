"""Messages that wait for another attempt, of real services side by side, of which some are away."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from console.retries.views import PAGE_SIZE, SHORT_PAGE, RetryFilter
from messaging import headers as header

LIST = "/retries"
HOSTILE = "<img src=x onerror='window.hit = 1'>"
Wait = Callable[..., Awaitable[None]]


@pytest.fixture
def wait(monitor_database_url: str) -> Wait:
    """Has messages wait at the monitor."""

    async def insert(
        count: int = 1, *, type_name: str = "dead_letter.resolved", chain: str = "chain-1", **headers: Any
    ) -> None:
        failure = {
            header.ATTEMPT: 3,
            header.FAILURE_TYPE: "ConnectionError",
            header.FAILURE_MESSAGE: f"no route to {HOSTILE}",
        }
        connection = await asyncpg.connect(monitor_database_url)
        try:
            await connection.executemany(
                """
                insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at)
                values ($1, 'returns', 'monitor-commands', $2, $3, $4, $5, $6, $7, $7)
                """,
                [
                    (
                        uuid4(),
                        uuid4(),
                        type_name,
                        chain,
                        json.dumps({"payload": {"brand_slug": "acme"}}).encode(),
                        json.dumps(failure | headers),
                        datetime.now(UTC) + timedelta(hours=1, seconds=number),
                    )
                    for number in range(count)
                ],
            )
        finally:
            await connection.close()

    return insert


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ({"service": "monitor", "type": " x\0 "}, RetryFilter("monitor", "x")),
        ({"service": "gateway", "chain": "c"}, RetryFilter(chain="c")),
        ({"after": f"12-{uuid4()}"}, RetryFilter()),
        ({"service": "social", "after": "'"}, RetryFilter("social")),
    ],
)
def test_what_no_link_of_ours_has_is_left_out(query: dict[str, str], kept: RetryFilter) -> None:
    assert RetryFilter.of(query) == kept


@pytest.mark.extended
async def test_services_are_side_by_side_and_who_is_away_is_told(
    wait: Wait, person: httpx.AsyncClient
) -> None:
    shown = (await person.get(LIST)).text
    assert shown.count("Nothing waits.") == 2
    for away in ("research", "publisher", "social"):
        assert f"The service “{away}” does not answer" in shown
    await wait()
    await wait(type_name="dead_letters.erase", chain="chain-2", **{header.WAITS_FOR: "gateway"})
    shown = (await person.get(LIST)).text
    for told in ("2 messages wait.", "ConnectionError", "gateway is away", "no route to &lt;img", "acme"):
        assert told in shown, told
    assert HOSTILE not in shown
    for narrow in ({"type": "dead_letters.erase"}, {"chain": "chain-2"}):
        found = (await person.get(LIST, params=narrow)).text
        assert "One message waits." in found
        assert "No message matches that waits now." in found
        assert ">ConnectionError" not in found
    of_one = (await person.get(LIST, params={"service": "monitor"})).text
    assert "does not answer" not in of_one


@pytest.mark.extended
async def test_a_service_with_many_has_pages_of_its_own(wait: Wait, person: httpx.AsyncClient) -> None:
    await wait(PAGE_SIZE + 1)
    first = (await person.get(LIST)).text
    assert first.count("ConnectionError") == SHORT_PAGE
    assert "All of monitor" in first
    pages = [(await person.get(LIST, params={"service": "monitor"})).text]
    following = pages[0].split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    pages.append((await person.get(LIST + following)).text)
    assert [page.count("ConnectionError") for page in pages] == [PAGE_SIZE, 1]
    assert ('rel="next"' in pages[1], "First page" in pages[1]) == (False, True)


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(wait: Wait, signed_in_as: Any, console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    await wait()
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(LIST)).status_code == 403
        assert LIST not in (await eve.get("/")).text
        shown = (await otto.get(LIST)).text
        assert "you may see only some brands" in shown
        assert "ConnectionError" not in shown
    async with signed_in_as("Ola", "operator") as ola:
        assert "ConnectionError" in (await ola.get(LIST)).text


@pytest.mark.extended
@pytest.mark.extended
async def test_a_person_watches_the_list_in_a_browser(
    wait: Wait, signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    page = signed_in
    await wait(12)
    await look_at(page, LIST)
    await page.get_by_role("link", name="All of monitor").click()
    await page.get_by_role("link", name="Its chain").first.click()
    await expect(page.locator("[name=chain]")).to_have_value("chain-1")
    await look_at(page, f"{LIST}?service=monitor")
    await wait()
    # The list follows by itself, without a reload.
    await expect(page.locator("main")).to_contain_text("13 messages wait.", timeout=60_000)
