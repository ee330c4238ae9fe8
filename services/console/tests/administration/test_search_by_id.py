"""The search finds what has an id: a dead letter, its message, its chain, a cycle and an article."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

LETTER, EVENT, CHAIN, LOST = (UUID(int=each) for each in (0xD1, 0xE1, 0xC1, 0xA1))


@pytest.fixture
async def known(monitor_database_url: str) -> None:
    """A dead letter, and a message that is missing."""
    connection = await asyncpg.connect(monitor_database_url)
    try:
        await connection.execute(
            """
            insert into ledger_messages
                (event_id, queue, sender, type, correlation_id, sent_at, state, place, known_at, missing_since)
            values ($1, 'research-commands', 'social', 'research.requested', $2, now(), 'missing', 'queue', now(), now())
            """,
            LOST,
            str(CHAIN),
        )
        await connection.execute(
            """
            insert into dead_messages
                (id, queue, service, event_id, type, correlation_id, reason, detail, attempts, failed_at, payload, headers, replayable, state)
            values ($1, 'publisher-commands', 'publisher', $2, 'content.publish', $3, 'rejected', 'no', 1, now(), '{}', '{}', true, 'open')
            """,
            LETTER,
            EVENT,
            str(CHAIN),
        )
    finally:
        await connection.close()


async def test_each_id_leads_to_its_page(
    console: Any, known: None, person: httpx.AsyncClient, signed_in_as: Callable[..., Any]
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    await console.orchestrator.pause_brand("acme")
    cycle = await console.orchestrator.submit_keywords("acme", b"moka pot", content_type="text/plain")

    async def find(wanted: object, who: httpx.AsyncClient = person, **more: str) -> str:
        return (await who.get("/search", params={"q": str(wanted), **more})).text

    assert f'href="/dead-letters/{LETTER}" data-result' in await find(LETTER)
    assert f'href="/dead-letters/{LETTER}" data-result' in await find(str(EVENT).upper())
    for each in (LOST, cycle["correlation_id"]):
        assert 'href="/chains/' in await find(each)
    assert f'href="/chains/{CHAIN}" data-result' in await find(LOST)
    assert f'href="/b/acme/keywords/{cycle["cycle_id"]}.1" data-result' in await find(cycle["cycle_id"])
    unknown = await find(uuid4())
    assert "data-result" not in unknown.split('id="search-results"')[1]
    await console.orchestrator.set_brand("other", name="Other")
    async with signed_in_as("Vic", "viewer", ["other"]) as vic:
        for each in (LETTER, LOST, cycle["cycle_id"], cycle["correlation_id"]):
            assert "data-result" not in (await find(each, vic)).split('id="search-results"')[1]


async def test_ctrl_k_leads_to_a_dead_letter_by_its_id(
    console: Any, known: None, signed_in: Page, page_checks: Any
) -> None:
    page = signed_in
    await page.keyboard.press("Control+k")
    await page.keyboard.type(str(LETTER))
    found = page.get_by_role("dialog").get_by_role("link", name="Dead letter: content.publish")
    await expect(found).to_be_visible()
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert await page_checks.accessibility(page) == []
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/dead-letters/{LETTER}")
