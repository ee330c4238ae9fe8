"""Limits of requests on the screens: the form, the keyword's page, and the calls of a chain."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from chassis.testing import eventually
from messaging import headers as header
from messaging.testing import Broker
from messaging.topology import DEAD_LETTERS

LIST = "/b/acme/keywords"
HOSTILE = "<img src=x onerror='window.hit = 1'>"


async def add_calls(url: str, chain: str, count: int, *, problem: str | None = None) -> None:
    """Has calls of the chain in the gateway's records, each of a tenth of a cent."""
    connection = await asyncpg.connect(url)
    try:
        for number in range(count):
            call = uuid4()
            await connection.execute(
                """
                insert into calls (id, fingerprint, brand, provider, subject, state, maximum, spent, day, lease_until, ended_at)
                values ($1, $2, 'acme', 'model', 'a-model', 'settled', 2000, 1000, current_date, now(), now() + interval '3 seconds')
                """,
                call,
                call.bytes,
            )
            await connection.execute(
                """
                insert into chain_calls (chain, brand, kind, target, subject, call_id, began_at, problem)
                values ($1, 'acme', 'model', $2, 'a-model', $3, now() + make_interval(secs => $4), $5)
                """,
                chain,
                HOSTILE if number == 0 else f"model-{number}",
                call,
                number / 1000,
                problem,
            )
    finally:
        await connection.close()


@pytest.mark.extended
async def test_a_person_gives_limits_in_a_browser_and_sees_why_a_keyword_ended(
    signed_in: Page, console: Any, look_at: Any
) -> None:
    page = signed_in
    await console.orchestrator.set_brand("acme", name="Acme")
    await console.orchestrator.pause_brand("acme")
    await look_at(page, f"{LIST}/add")
    await expect(page.get_by_label("Hours until")).to_be_hidden()
    await page.get_by_label("Keywords", exact=True).fill("cold brew")
    await page.get_by_text("Limits", exact=True).click()
    await page.get_by_label("Hours until").fill("soon")
    await page.get_by_label("Dollars that").fill("2,50")
    await page.get_by_role("button", name="Submit keywords").click()
    await expect(page.get_by_role("alert")).to_contain_text("must be a whole number")
    # What was typed is still there, and the limits stay open.
    await expect(page.get_by_label("Hours until")).to_have_value("soon")
    await expect(page.get_by_label("Dollars that")).to_have_value("2,50")
    await page.get_by_label("Hours until").fill("48")
    await page.get_by_role("button", name="Submit keywords").click()
    await page.get_by_role("link", name="cold brew").first.click()
    facts = page.get_by_role("region", name="Limits")
    await expect(facts).to_contain_text("Deadline")
    await expect(facts).to_contain_text("$2.50")

    soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    await console.orchestrator.submit_keywords("acme", b"moka pot", content_type="text/plain", deadline=soon)

    async def refused() -> bool:
        found = await console.orchestrator.search_for_keywords(brand="acme", keyword="moka pot")
        return bool(found["items"][0]["state"] == "refused")

    await eventually(refused)
    await look_at(page, LIST)
    await page.get_by_role("link", name="moka pot").first.click()
    await expect(page.get_by_role("heading", name="Why it was refused")).to_be_visible()
    await expect(page.locator(".notice")).to_contain_text("passed before its research was done")
    await expect(page.get_by_text("with more time or a higher cost")).to_be_visible()


async def test_a_keywords_page_shows_its_limits_and_what_was_spent_in_both_languages(
    person: httpx.AsyncClient, console: Any, gateway_database_url: str
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme", max_cost=2.5)
    await console.orchestrator.pause_brand("acme")
    begun = await console.orchestrator.submit_keywords("acme", b"cold brew", content_type="text/plain")
    await add_calls(gateway_database_url, begun["correlation_id"], 3)
    address = f"{LIST}/{begun['cycle_id']}.1"

    shown = (await person.get(address)).text
    assert "May cost" in shown
    assert "$2.50" in shown
    assert "Cost so far" in shown
    assert "$0.003" in shown
    assert "Deadline</dt>" not in shown
    form = (await person.get(f"{LIST}/add")).text
    assert "<summary>Limits</summary>" in form


async def test_a_chain_shows_its_calls_in_pages_and_as_a_file_and_nothing_that_a_name_may_do(
    person: httpx.AsyncClient, gateway_database_url: str
) -> None:
    chain = "chain-with-calls"
    await add_calls(gateway_database_url, chain, 60, problem="provider.no_answer")

    first = (await person.get(f"/chains/{chain}")).text
    assert "The gateway has made 60 calls" in first
    assert "They cost $0.06." in first
    assert "no answer" in first
    assert HOSTILE not in first
    calls = first.split('id="calls"')[1]
    following = calls.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].split("#")[0]
    second = (await person.get(f"/chains/{chain}{following}")).text
    assert "model-59" in second
    assert "model-1<" not in second
    assert "First calls" in second

    csv = await person.get(f"/chains/{chain}/calls.csv")
    assert (csv.status_code, csv.text.count("provider.no_answer")) == (200, 60)
    assert "Seconds that it took" in csv.text.splitlines()[0]
    nothing = (await person.get("/chains/nothing")).text
    assert "The gateway has made no call for this chain" in nothing


async def test_a_message_that_was_late_is_replayed_with_more_hours(
    person: httpx.AsyncClient, rabbitmq_url: str, console: Any
) -> None:
    event = uuid4()
    message = {
        "event_id": str(event),
        "type": "content.generate",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "correlation_id": "chain-late",
        "deadline": "2026-01-02T04:00:00Z",
        "payload": {},
    }
    facts = {
        header.FAILURE_REASON: "deadline_passed",
        header.FAILURE_MESSAGE: "the deadline of 2 January 2026, 04:00 UTC has passed",
        header.FAILURE_ATTEMPTS: 1,
    }
    async with Broker.connected(rabbitmq_url) as broker:
        await broker.publish(DEAD_LETTERS, "social-commands", json.dumps(message).encode(), headers=facts)

    async def recorded() -> str | None:
        found = re.search(r'href="(/dead-letters/[0-9a-f-]{36})"', (await person.get("/dead-letters")).text)
        return None if found is None else found[1]

    address = await eventually(recorded)
    shown = (await person.get(address)).text
    assert "The deadline of its request has passed." in shown
    assert "Hours from now that its request gets" in shown
    for wrong in ({}, {"hours": "soon"}, {"hours": "0"}):
        refused = await person.post(
            f"{address}/decide", data={"once": str(wrong), "do": "replay", **wrong}, follow_redirects=True
        )
        assert refused.status_code == 422, wrong
        assert 'role="alert"' in refused.text
    done = await person.post(
        f"{address}/decide", data={"once": "now", "do": "replay", "hours": "24"}, follow_redirects=True
    )
    assert "The message is sent again." in done.text


class TestWithoutTheGateway:
    """What a person sees while the gateway is away."""

    @pytest.fixture
    def service_urls(self, service_urls: dict[str, str]) -> dict[str, str]:
        return {**service_urls, "gateway_url": "http://127.0.0.1:9"}

    async def test_the_pages_say_so_and_the_rest_works(self, person: httpx.AsyncClient, console: Any) -> None:
        await console.orchestrator.set_brand("acme", name="Acme")
        await console.orchestrator.pause_brand("acme")
        begun = await console.orchestrator.submit_keywords(
            "acme", b"cold brew", content_type="text/plain", max_cost=2.5
        )
        chain = (await person.get(f"/chains/{begun['correlation_id']}")).text
        assert "The service “gateway” does not answer" in chain
        assert "What comes next" in chain
        keyword = await person.get(f"{LIST}/{begun['cycle_id']}.1")
        assert (keyword.status_code, "May cost" in keyword.text, "Cost so far" in keyword.text) == (
            200,
            True,
            False,
        )
        file = await person.get(f"/chains/{begun['correlation_id']}/calls.csv")
        assert file.status_code == 503
