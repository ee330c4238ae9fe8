"""Messages that wait for another attempt, of real services side by side, of which some are away."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect
from starlette.requests import Request

from chassis.http.api import api
from chassis.http.callers import SERVICE, Caller
from chassis.testing import eventually, serving
from console.retries.views import PAGE_SIZE, SHORT_PAGE, RetryFilter
from messaging import headers as header

LIST = "/retries"
HOSTILE = "<img src=x onerror='window.hit = 1'>"
Wait = Callable[..., Awaitable[None]]


@pytest.fixture
async def service_urls(service_urls: dict[str, str]) -> AsyncIterator[dict[str, str]]:
    """Social is of a version that has no list of retries yet; publisher and research are away."""

    async def authorise(_: Request) -> Caller:
        return SERVICE

    async with serving(api("Older", authorise)) as older:
        yield service_urls | {"social_url": older}


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
    for away in ("research", "publisher"):
        assert f"The service “{away}” does not answer" in shown
    assert "The service “social” does not show its messages:" in shown
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


def chosen_of(page: str) -> list[str]:
    return re.findall(r'name="chosen" value="([0-9a-f-]+)"', page)


@pytest.mark.extended
async def test_messages_are_run_or_cancelled_and_a_cancelled_one_is_a_dead_letter(
    wait: Wait, person: httpx.AsyncClient, signed_in_as: Any, console: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    await wait(4, type_name="dead_letters.erase")
    first, second, *_ = chosen_of((await person.get(LIST)).text)
    form = {"service": "monitor", "chosen": first}
    without = await person.post(LIST, data=form | {"once": "r1", "do": "cancel"})
    assert (without.status_code, "Reason" in without.text) == (422, True)
    cancel = form | {"once": "r2", "do": "cancel", "reason": "not needed"}
    for _ in range(2):
        told = (await person.post(LIST, data=cancel, follow_redirects=True)).text
        assert "One message is cancelled." in told
    late = (await person.post(LIST, data=cancel | {"once": "r3"}, follow_redirects=True)).text
    assert "One message waits no more" in late

    async def recorded() -> bool:
        return "RetryCancelled" in (await person.get("/dead-letters")).text

    await eventually(recorded)
    listed = (await person.get("/dead-letters")).text
    assert "cancelled by Ada: not needed" in listed
    for wrong in ({"do": "burn"}, {"do": "run", "service": "gateway"}):
        answer = await person.post(LIST, data=form | {"once": str(wrong)} | wrong)
        assert answer.status_code == 422

    page = (await person.get(LIST, params={"service": "monitor", "type": "dead_letters.erase"})).text
    assert "all 3 that match" in page
    own = page.split('action="/retries"')[1]
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', own))
    await wait(type_name="dead_letters.erase")
    every = fields | {"which": "all", "do": "cancel", "reason": "none of them"}
    told = (await person.post(LIST, data=every, follow_redirects=True)).text
    assert "3 messages are cancelled." in told
    assert second not in chosen_of((await person.get(LIST)).text)
    assert len(chosen_of((await person.get(LIST)).text)) == 1
    # Without a type or a chain, nobody means all that wait.
    wide = every | {"once": "w", "type": "", "chain": ""}
    assert "Nothing was done" in (await person.post(LIST, data=wide, follow_redirects=True)).text
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        for number, who in enumerate((eve, otto)):
            answer = await who.post(LIST, data=cancel | {"once": f"e{number}"})
            assert answer.status_code == 403
    assert len(chosen_of((await person.get(LIST)).text)) == 1
    assert (
        "Cancelled the next attempt of failed work" in (await person.get("/audit-log?service=monitor")).text
    )


@pytest.mark.extended
async def test_a_person_runs_a_message_now_in_a_browser(
    wait: Wait, signed_in: Page, console: Any, page_checks: Any
) -> None:
    page = signed_in
    await wait(2, type_name="dead_letters.erase")
    await page.goto(f"{console.url}{LIST}?service=monitor")
    await page.locator("[name=chosen]").first.check()
    await page.get_by_role("button", name="Run one message now").click()
    await expect(page.locator("main")).to_contain_text("One message is due now.")
    # Its attempt begins, and the list follows by itself.
    await expect(page.locator("main")).to_contain_text("One message waits.", timeout=60_000)
    await page.locator("[name=chosen]").first.check()
    await page.get_by_label("Reason (needed to cancel)").fill("not needed")
    await page.get_by_role("button", name="Cancel one message").click()
    await expect(page.locator("main")).to_contain_text("One message is cancelled.")
    assert await page_checks.accessibility(page) == []


@pytest.mark.extended
async def test_a_person_watches_the_list_in_a_browser(
    wait: Wait, signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    page = signed_in
    await wait(12)
    await look_at(page, LIST)
    # On the phone each cell has the name of its column.
    due = page.locator("table.list").first.locator("tbody tr").first.locator("td").nth(3)
    assert await due.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"Due: "'
    await page.get_by_role("link", name="All of monitor").click()
    await page.get_by_role("link", name="Its chain").first.click()
    await expect(page.locator("input[name=chain]:not([type=hidden])")).to_have_value("chain-1")
    await look_at(page, f"{LIST}?service=monitor")
    await wait()
    # The list follows by itself, without a reload.
    await expect(page.locator("main")).to_contain_text("13 messages wait.", timeout=60_000)
