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


def made(number: int, caused_by: int | None = None, **fields: Any) -> dict[str, Any]:
    """A message of the list of a service, made at that second."""
    cause = None if caused_by is None else item(caused_by * 1000, caused_by)["message_id"]
    more: dict[str, Any] = {"service": "social", "caused_by": cause, "attempts": [], "ended_at": None}
    return item(number * 1000, number) | more | fields


def test_a_tree_has_each_message_once_below_its_cause_whatever_the_causes_say() -> None:
    messages = [made(5, 2), made(4, 1), made(3, 2), made(2, 1), made(1)]
    shown = [(each.depth, each.message["at"][17:19]) for each in message_chains.tree(messages)]
    assert shown == [(0, "01"), (1, "02"), (2, "03"), (2, "05"), (1, "04")]
    # The cause is on another page; a circle; its own cause.
    strange = [made(9, 1), made(8, 7), made(7, 8), made(6, 6)]
    found = message_chains.tree(strange)
    assert {each.message["message_id"] for each in found} == {each["message_id"] for each in strange}
    assert [each.is_cut_off for each in found if each.message["message_id"] == strange[0]["message_id"]] == [
        True
    ]
    line = [made(number, number - 1 if number else None) for number in range(20_000)]
    deep = message_chains.tree(line)
    assert (len(deep), max(each.depth for each in deep)) == (20_000, message_chains.MOST_DEPTH)


def test_the_time_of_a_message_is_divided_into_waiting_and_work() -> None:
    start = datetime(1970, 1, 1, tzinfo=UTC)

    def at(seconds: float) -> str:
        return (start + timedelta(seconds=seconds)).isoformat()

    attempts = [{"began_at": at(12), "ended_at": at(15)}, {"began_at": at(45), "ended_at": at(50)}]
    times = message_chains.times_of(made(10, attempts=attempts, ended_at=at(50.5)))
    assert (times.waited, times.worked) == (32.5, 8.0)
    assert message_chains.times_of(made(10)).waited is None
    # The clock of the sender is ahead.
    assert message_chains.times_of(made(10, ended_at=at(9))).waited == 0
    told = [message_chains.duration(each) for each in (None, 0.04, 12, 119, 120, 7200, 200_000)]
    assert told == ["", "0.0 s", "12 s", "119 s", "2 min", "2 h", "2 d"]


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
async def test_a_tree_shows_causes_and_attempts_and_keywords_show_what_is_next(
    monitor_database_url: str, person: httpx.AsyncClient, console: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    begun = await console.orchestrator.submit_keywords(
        "acme", b"cold brew\nmoka pot", content_type="text/plain"
    )
    chain, now = begun["correlation_id"], datetime.now(UTC)
    ids = [id_at(now + timedelta(seconds=number), number) for number in range(3)]
    connection = await asyncpg.connect(monitor_database_url)
    try:
        await connection.execute(
            """
            insert into processed_events (event_id, type, queue, outcome, chain, caused_by, processed_at)
            select id, 'dead_letter.resolved', 'monitor-commands', 'handled', $3, cause, now() + interval '2 minutes'
            from unnest($1::uuid[], $2::uuid[]) as t (id, cause)
            """,
            ids,
            [uuid4(), ids[0], ids[1]],
            chain,
        )
        await connection.execute(
            """
            insert into message_attempts (event_id, attempt, began_at, ended_at, outcome, reason, next_at, waits)
            values ($1, 1, now(), now() + interval '5 seconds', 'retried', $2, now() + interval '35 seconds', 3),
                   ($1, 2, now() + interval '40 seconds', now() + interval '100 seconds', 'handled', null, null, 0)
            """,
            ids[1],
            HOSTILE,
        )
    finally:
        await connection.close()
    tree = (await person.get(f"/chains/{chain}?view=tree")).text
    assert "Sent for the message" in tree
    order = [tree.index(f"<code>{each}</code></p>") for each in ids]
    assert order == sorted(order)
    for told in (
        "2 recorded attempts",
        "It waited 3 times",
        "65 s in handlers",
        "&lt;img",
        "What comes next",
    ):
        assert told in tree, told
    assert HOSTILE not in tree
    by_keyword = (await person.get("/chains", params={"q": "Cold brew"})).text
    by_message = (await person.get("/chains", params={"q": str(ids[2])})).text
    by_itself = (await person.get("/chains", params={"q": chain})).text
    nothing = (await person.get("/chains", params={"q": "tea"})).text
    for found in (by_keyword, by_message, by_itself):
        assert f'href="/chains/{chain}"' in found
    assert "Nothing is found by this" in nothing


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(
    record: Callable[..., Awaitable[None]], signed_in_as: Any, console: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    await record(1)
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        for address in (PAGE, f"{PAGE}/messages.json", "/chains?q=x"):
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
    await page.get_by_role("link", name="As a tree").click()
    await expect(page.get_by_text("Each message stands below the one")).to_be_visible()
    await page.get_by_role("link", name="Find a chain").click()
    await look_at(page, "/chains?q=cold%20brew")
