"""The page of the ledger and its line on the front page, beside a real monitor."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from console.home.views import ledger_line
from console.ledger.views import LedgerFilter, subject_of

LEDGER = "/ledger"
LOST = UUID(int=7)
FILL = """
    insert into ledger_counts (hour, sender, queue, accepted, done)
    values (date_trunc('hour', now(), 'UTC'), 'social', 'research-commands', 12403, 12401)
"""
INSERT = """
    insert into ledger_messages (event_id, queue, sender, type, correlation_id, sent_at, state, place, known_at, missing_since)
    values ($1, 'research-commands', 'social', 'research.requested', 'chain-1', now(), $2, $3, now(),
            case when $2 = 'missing' then now() end)
"""


@pytest.fixture
def fill(monitor_database_url: str) -> Callable[..., Awaitable[None]]:
    """Writes into the monitor's database."""

    async def execute(sql: str, *values: object) -> None:
        connection = await asyncpg.connect(monitor_database_url)
        try:
            await connection.execute(sql, *values)
        finally:
            await connection.close()

    return execute


def test_a_filter_takes_what_exists_and_keeps_its_address() -> None:
    wanted = LedgerFilter.of({"state": "nonsense", "queue": " q ", "after": "x" * 500})
    assert (wanted.state, wanted.queue, len(wanted.after)) == ("", "q", 100)
    assert LedgerFilter("missing", "q", "").query("a b") == "?state=missing&queue=q&after=a+b"


def test_there_is_no_line_before_anything_was_counted() -> None:
    assert ledger_line(None) is None
    assert ledger_line({"reaches_back_to": None}) is None


async def test_a_missing_message_is_on_the_page_and_on_the_front_page(
    fill: Callable[..., Awaitable[None]], person: httpx.AsyncClient
) -> None:
    nothing = (await person.get(LEDGER)).text
    await fill(FILL)
    await fill(INSERT, UUID(int=8), "under_way", "handler")
    await fill(INSERT, LOST, "missing", "queue")
    await fill("insert into ledger_services values ('social', now(), 'away', false)")
    shown = (await person.get(LEDGER)).text
    home = (await person.get("/")).text
    only = (await person.get(LEDGER, params={"state": "missing"})).text
    other = (await person.get(LEDGER, params={"queue": "social-commands"})).text
    broken = (await person.get(LEDGER, params={"after": "nonsense"})).text
    assert "Every message that was counted is done." in nothing
    for told in (
        "12,403",
        "One message is missing",
        str(LOST),
        "The broker confirmed it into the queue research-commands; research has given it no outcome.",
        "research handles it",
        "“social” does not answer",
        "“social” does not record",
        "/chains/chain-1",
    ):
        assert told in shown, told
    assert "12,403 accepted · 12,401 done · 1 under way · 1 missing" in home
    assert f'href="{LEDGER}"' in home
    assert str(UUID(int=8)) not in only
    assert "No such message." in other
    assert "The list cannot be shown:" in broken


async def test_the_checked_missing_messages_are_closed_with_a_reason(
    fill: Callable[..., Awaitable[None]], signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    await fill(FILL)
    for number in (1, 2):
        await fill(INSERT, UUID(int=number), "missing", "queue")
    await look_at(signed_in, f"{LEDGER}?state=missing")
    close = signed_in.get_by_role("button", name="Close the checked messages")
    await signed_in.fill("[name=reason]", "a purge by mistake")
    await close.click()
    await expect(signed_in.locator(".told")).to_contain_text("Nothing was closed")
    await signed_in.check(f"[value='{UUID(int=1)}']")
    await signed_in.fill("[name=reason]", "a purge by mistake")
    await close.click()
    await expect(signed_in.locator(".told")).to_contain_text("One missing message is closed.")
    main = signed_in.locator("main")
    await expect(main).not_to_contain_text(str(UUID(int=1)))
    await expect(main).to_contain_text(str(UUID(int=2)))
    await look_at(signed_in, f"{LEDGER}?state=closed")
    await expect(main).to_contain_text("a purge by mistake")
    await expect(close).to_have_count(0)


async def test_a_chain_and_the_search_for_it_know_a_missing_message(
    fill: Callable[..., Awaitable[None]], person: httpx.AsyncClient
) -> None:
    whole = (await person.get("/chains/chain-1")).text
    await fill(FILL)
    await fill(INSERT, LOST, "missing", "queue")
    shown = (await person.get("/chains/chain-1")).text
    other = (await person.get("/chains/chain-2")).text
    found = (await person.get("/chains", params={"q": str(LOST)})).text
    assert "No message of this chain has failed, is missing" in whole
    assert "No message of this chain has failed" not in shown
    assert "Missing messages" in shown
    assert "into the queue research-commands" in shown
    assert "Missing messages" not in other
    assert "/chains/chain-1" in found
    assert "asked for again by itself" in (await person.get(LEDGER)).text


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(
    fill: Callable[..., Awaitable[None]], signed_in_as: Any, console: Any
) -> None:
    await fill(FILL)
    await console.orchestrator.set_brand("acme", name="Acme")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(LEDGER)).status_code == 403
        assert LEDGER not in (await eve.get("/")).text
        shown = (await otto.get(LEDGER)).text
        assert "you may see only some brands" in shown
        assert "12,403" not in shown + (await otto.get("/")).text


@pytest.mark.extended
async def test_a_person_watches_the_page_in_a_browser(
    fill: Callable[..., Awaitable[None]],
    signed_in: Page,
    look_at: Callable[[Page, str], Awaitable[None]],
) -> None:
    await fill(FILL)
    await look_at(signed_in, LEDGER)
    await fill(INSERT, LOST, "missing", "queue")
    # The page follows by itself, without a reload.
    await expect(signed_in.locator("main")).to_contain_text("One message is missing", timeout=60_000)


KEYWORD = {
    "brand_slug": "acme",
    "keyword": "moka",
    "cycle_id": "c",
    "position": 1,
    "state": "publishing",
    "content_id": "a",
}


def test_a_message_leads_to_what_it_is_about_as_far_as_its_chain_tells() -> None:
    message = {"state": "missing", "type": "content.publish"}
    other = {**KEYWORD, "state": "queued", "position": 2}
    found = subject_of(message, [KEYWORD, other])
    assert found
    assert (found.keyword, found.path, found.article) == (
        "moka",
        "/b/acme/keywords/c.1",
        "/b/acme/articles/a",
    )
    several = subject_of({**message, "type": "research.requested"}, [other, other])
    assert several
    assert (several.keyword, several.path) == ("", "/b/acme/keywords?state=queued")
    assert subject_of(message, []) is None
    assert subject_of({**message, "state": "closed"}, [KEYWORD]) is None


async def test_missing_messages_and_those_under_way_lead_to_their_keyword(
    fill: Callable[..., Awaitable[None]],
    console: Any,
    signed_in: Page,
    look_at: Callable[[Page, str], Awaitable[None]],
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme & Co")
    await console.orchestrator.pause_brand("acme")
    accepted = await console.orchestrator.submit_keywords("acme", b"moka pot", content_type="text/plain")
    await fill(FILL)
    for number, state in enumerate(("missing", "under_way"), 1):
        await fill(INSERT.replace("chain-1", accepted["correlation_id"]), UUID(int=number), state, "queue")
    await fill(INSERT, UUID(int=3), "missing", "queue")
    await look_at(signed_in, LEDGER)
    rows = signed_in.locator("main tr", has_text="About “moka pot”")
    await expect(rows).to_have_count(2)
    await rows.first.get_by_role("link", name="“moka pot”").click()
    await signed_in.wait_for_url(f"**/b/acme/keywords/{accepted['cycle_id']}.1")
