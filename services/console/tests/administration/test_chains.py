"""The page of a chain, over real services of which some are away."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from client import message_chains
from console.chains import views
from console.urls import chain_path
from messaging import headers as header

CHAIN = "0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10"
PAGE = f"/chains/{CHAIN}"
HOSTILE = "<img src=x onerror='window.hit = 1'>"


def id_at(at: datetime, number: int = 0) -> UUID:
    """A UUIDv7 of a time."""
    return UUID(int=int(at.timestamp() * 1000) << 80 | 0x7000_8000_0000_0000_0000 | number)


@pytest.fixture
def record(monitor_database_url: str) -> Callable[..., Awaitable[None]]:
    """Has messages of the chain in the record of the monitor, and one that waits there."""

    async def insert(count: int, *, waiting: bool = False) -> None:
        now = datetime.now(UTC)
        connection = await asyncpg.connect(monitor_database_url)
        try:
            await connection.execute(
                """
                insert into processed_events (event_id, type, queue, outcome, chain)
                select id, 'dead_letter.resolved', 'monitor-commands', 'handled', $2 from unnest($1::uuid[]) as id
                """,
                [id_at(now - timedelta(seconds=number), number) for number in range(count)],
                CHAIN,
            )
            if waiting:
                failure = {header.ATTEMPT: 2, header.FAILURE_TYPE: "OSError", header.FAILURE_MESSAGE: HOSTILE}
                await connection.execute(
                    """
                    insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at)
                    values ($1, 'returns', 'monitor-commands', $2, 'dead_letters.erase', $3, '', $4,
                            now() + interval '1 hour', now() + interval '1 hour')
                    """,
                    uuid4(),
                    uuid4(),
                    CHAIN,
                    json.dumps(failure),
                )
        finally:
            await connection.close()

    return insert


def item(at: int, number: int) -> dict[str, Any]:
    event_id = UUID(int=at << 80 | number)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)
    return {"at": moment.isoformat(), "message_id": str(event_id), "place": f"{at * 1000}-{event_id}"}


def test_lists_of_services_become_one_line_without_gaps_and_repetitions() -> None:
    lists = {
        "orchestrator": [item(at, 1) for at in range(90, 0, -1)],
        "social": [item(at, 2) for at in range(70, 20, -5)],
        "monitor": [],
    }

    def answer(name: str, after: str | None, size: int) -> dict[str, Any]:
        items = lists[name]
        start = 0 if after is None else 1 + [each["place"] for each in items].index(after)
        shown = items[start : start + size]
        return {"items": shown, "next": shown[-1]["place"] if start + size < len(items) else None}

    shown: list[Any] = []
    places = message_chains.read_places("")
    for _ in range(30):
        answers = {name: answer(name, place, 7) for name, place in places.items() if name in lists}
        page = message_chains.merge(answers, places, size=7)
        shown += page.items
        if page.next is None:
            break
        places = message_chains.read_places(page.next)
    assert len(shown) == len({(each["service"], each["message_id"]) for each in shown}) == 100
    times = [each["at"] for each in shown]
    assert times == sorted(times, reverse=True)


def test_a_page_that_is_not_full_keeps_back_what_is_older_than_its_end() -> None:
    end = item(50, 1)["place"]
    answers = {
        "social": {"items": [item(60, 1)], "next": end},
        "orchestrator": {"items": [item(70, 2), item(40, 2)], "next": None},
    }
    page = message_chains.merge(answers, {"social": None, "orchestrator": None}, size=10)
    assert [each["message_id"] for each in page.items] == [
        item(70, 2)["message_id"],
        item(60, 1)["message_id"],
    ]
    assert message_chains.read_places(page.next or "") == {
        "social": end,
        "orchestrator": item(70, 2)["place"],
    }


def test_strange_addresses_are_read_as_far_as_they_mean_something() -> None:
    place = item(5, 1)["place"]
    assert message_chains.read_places(f"social.{place}~gateway.~monitor.x~x") == {"social": place}
    assert chain_path("a b") == "/chains/a%20b"
    assert chain_path("a/b") == "/messages?chain=a%2Fb"


def test_traces_are_looked_for_since_the_chain_began() -> None:
    now = datetime(2026, 11, 28, tzinfo=UTC)
    assert views.jaeger_search(None, CHAIN, now) is None
    link = views.jaeger_search("http://jaeger.example/", CHAIN, now)
    assert link is not None
    assert link.startswith("http://jaeger.example/search?service=orchestrator&tags=%7B%22correlation_id")
    assert "&start=17" in link
    assert "&start=17" in (views.jaeger_search("http://jaeger.example/", "x", now) or "")


@pytest.mark.extended
async def test_what_failed_or_waits_comes_first_then_the_last_hundred(
    record: Callable[..., Awaitable[None]], person: httpx.AsyncClient
) -> None:
    nothing = await person.get(PAGE)
    assert (nothing.status_code, "No message of this chain is in the records" in nothing.text) == (200, True)
    await record(230, waiting=True)
    pages = [(await person.get(PAGE)).text]
    while 'rel="next"' in pages[-1]:
        following = (
            pages[-1].split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
        )
        pages.append((await person.get(PAGE + following)).text)
        assert len(pages) < 5
    first = pages[0]
    for told in ("Waits for another attempt", "OSError: &lt;img", "The service “social” does not answer"):
        assert told in first, told
    assert HOSTILE not in first
    rows = [page.split("<tbody>")[1].split("</tbody>")[0].count("<tr>") for page in pages]
    assert rows == [100, 100, 31]
    assert "Waits for another attempt</h2>" not in pages[1]
    csv = await person.get(f"{PAGE}/messages.csv")
    # Services that are away would leave holes.
    assert (csv.status_code, "would not be whole" in csv.text) == (503, True)


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(
    record: Callable[..., Awaitable[None]], signed_in_as: Any, console: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    await record(1)
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        for address in (PAGE, f"{PAGE}/messages.json"):
            assert (await eve.get(address)).status_code == 403
            refused = await otto.get(address)
            assert (refused.status_code, "dead_letter.resolved" in refused.text) == (403, False)
    async with signed_in_as("Ola", "operator") as ola:
        assert "dead_letter.resolved" in (await ola.get(PAGE)).text
        assert (await ola.get(f"/chains/{'x' * 201}")).status_code == 404


@pytest.mark.extended
async def test_a_person_follows_a_chain_in_a_browser(
    record: Callable[..., Awaitable[None]], signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    page = signed_in
    await record(130, waiting=True)
    await look_at(page, PAGE)
    await page.get_by_role("link", name="Earlier messages").click()
    await expect(page.locator("tbody tr")).to_have_count(31)
    await page.get_by_role("link", name="First page").click()
    await expect(page.locator("tbody tr")).to_have_count(100)
