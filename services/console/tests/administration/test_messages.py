"""Messages, handled and running ones too, of real services side by side, of which some are away."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from console.messages.views import PAGE_SIZE, SHORT_PAGE, MessageFilter
from messaging import headers as header

LIST = "/messages"
CHAIN = "0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10"
OTHER = "0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e11"
HOSTILE = "<img src=x onerror='window.hit = 1'>"
Record = Callable[..., Awaitable[None]]


def id_at(at: datetime, number: int = 0) -> UUID:
    """A UUIDv7 of a time."""
    return UUID(int=int(at.timestamp() * 1000) << 80 | 0x7000_8000_0000_0000_0000 | number)


@pytest.fixture
def record(monitor_database_url: str) -> Record:
    """Has messages in the record of the monitor."""

    async def insert(
        count: int = 1,
        *,
        type_name: str = "dead_letter.resolved",
        chain: str = CHAIN,
        outcome: str = "handled",
    ) -> None:
        now = datetime.now(UTC)
        connection = await asyncpg.connect(monitor_database_url)
        try:
            await connection.executemany(
                """
                insert into processed_events (event_id, type, queue, outcome, chain)
                values ($1, $2, 'monitor-commands', $3, $4)
                """,
                [
                    (id_at(now - timedelta(seconds=number), number), type_name, outcome, chain)
                    for number in range(count)
                ],
            )
        finally:
            await connection.close()

    return insert


@pytest.fixture
def wait(monitor_database_url: str) -> Record:
    """Has a message wait at the monitor, and one in the handler of a dead process."""

    async def insert() -> None:
        failure = {header.ATTEMPT: 3, header.FAILURE_TYPE: "OSError", header.FAILURE_MESSAGE: HOSTILE}
        noted = [
            {"event_id": str(uuid4()), "type": "dead_letter.resolved", "queue": "q", "attempt": 1, "age": 7}
        ]
        connection = await asyncpg.connect(monitor_database_url)
        try:
            await connection.execute(
                """
                insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at)
                values ($1, 'returns', 'monitor-commands', $2, 'dead_letter.resolved', 'chain-3', '', $3,
                        now() + interval '1 hour', now() + interval '1 hour')
                """,
                uuid4(),
                uuid4(),
                json.dumps(failure),
            )
            await connection.execute(
                """
                insert into running_messages (process, host, pid, seen_at, messages)
                values ($1, $2, 42, now() - interval '1 hour', $3::text::jsonb)
                """,
                uuid4(),
                f"host {HOSTILE}",
                json.dumps(noted),
            )
        finally:
            await connection.close()

    return insert


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ({"service": "monitor", "type": " x\0 "}, MessageFilter("monitor", "x")),
        ({"service": "gateway", "chain": "c", "state": "lost"}, MessageFilter(chain="c")),
        ({"since": "2026-11-28", "until": "yesterday"}, MessageFilter(since="2026-11-28")),
        ({"after": f"12-{uuid4()}"}, MessageFilter()),
        ({"service": "social", "after": "'"}, MessageFilter("social")),
    ],
)
def test_what_no_link_of_ours_has_is_left_out(query: dict[str, str], kept: MessageFilter) -> None:
    assert MessageFilter.of(query) == kept


def test_days_are_those_of_the_readers_zone() -> None:
    given = MessageFilter(since="2026-11-28", until="2026-11-28").arguments("Europe/Berlin")
    assert given["since"] == datetime(2026, 11, 27, 23, tzinfo=UTC)
    assert given["until"] == datetime(2026, 11, 28, 23, tzinfo=UTC)


@pytest.mark.extended
async def test_services_are_side_by_side_and_who_is_away_is_told(
    record: Record, wait: Record, person: httpx.AsyncClient
) -> None:
    shown = (await person.get(LIST)).text
    assert shown.count("The service has no messages.") == 2
    for away in ("research", "publisher", "social"):
        assert f"The service “{away}” does not answer" in shown
    await record()
    await record(type_name="dead_letters.erase", chain=OTHER, outcome="dead")
    await wait()
    shown = (await person.get(LIST)).text
    for told in (
        "dead_letter.resolved",
        "dead_letters.erase",
        "OSError: &lt;img",
        "One message is in a handler now",
        "orphaned",
        "The record reaches back to",
        "/dead-letters?state=any&amp;id=",
    ):
        assert told in shown, told
    assert HOSTILE not in shown
    for narrow in ({"type": "dead_letters.erase"}, {"chain": OTHER}, {"state": "dead_lettered"}):
        found = (await person.get(LIST, params=narrow)).text
        assert "No message matches." in found
        assert "dead_letters.erase</th>" not in found
        assert found.count("Its failure") == 1
    tomorrow = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"
    assert "Its failure" not in (await person.get(LIST, params={"since": tomorrow})).text
    assert "This is no id of a message" in (await person.get(LIST, params={"id": "x"})).text
    of_one = (await person.get(LIST, params={"service": "monitor"})).text
    assert "does not answer" not in of_one


@pytest.mark.extended
async def test_a_service_with_many_has_pages_of_its_own(record: Record, person: httpx.AsyncClient) -> None:
    await record(PAGE_SIZE + 1)
    first = (await person.get(LIST)).text
    assert first.count("monitor") > 0
    assert first.count("<code>") == SHORT_PAGE
    assert "All of monitor" in first
    pages = [(await person.get(LIST, params={"service": "monitor"})).text]
    following = pages[0].split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    pages.append((await person.get(LIST + following)).text)
    assert [page.count("<code>") for page in pages] == [PAGE_SIZE, 1]
    assert ('rel="next"' in pages[1], "First page" in pages[1]) == (False, True)


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(
    record: Record, signed_in_as: Any, console: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    await record()
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(LIST)).status_code == 403
        assert f'{LIST}"' not in (await eve.get("/")).text
        shown = (await otto.get(LIST)).text
        assert "you may see only some brands" in shown
        assert "dead_letter.resolved" not in shown
    async with signed_in_as("Ola", "operator") as ola:
        assert "dead_letter.resolved" in (await ola.get(LIST)).text


@pytest.mark.extended
async def test_a_person_watches_the_list_in_a_browser(
    record: Record, wait: Record, signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    page = signed_in
    await record(12)
    await wait()
    await look_at(page, LIST)
    await page.get_by_role("link", name="All of monitor").click()
    await page.get_by_role("link", name="Its chain").last.click()
    await expect(page.locator("dl.facts")).to_contain_text(CHAIN)
    await look_at(page, f"{LIST}?service=monitor")
    await record(type_name="dead_letters.erase")
    # The list follows by itself, without a reload.
    await expect(page.locator("main")).to_contain_text("dead_letters.erase", timeout=60_000)
