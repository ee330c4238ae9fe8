"""Queues, outboxes and state of real services side by side, of which some are away."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from client.message_services import MESSAGE_SERVICES
from console.backbone.attention import troubles_of
from console.backbone.views import is_late
from console.service_clients import Away

BACKBONE = "/backbone"
HOSTILE = "<script>window.hit = 1</script>"
WAITING = """
    insert into outbox (id, exchange, routing_key, event_id, type, body, headers, deliver_at, due_at)
    select gen_random_uuid(), 'returns', 'monitor-commands', gen_random_uuid(), 'work.finished', '', '{}', at, at
    from (select now() + interval '1 hour' as at from generate_series(1, $1)) as rows
"""


def test_only_an_old_message_is_late() -> None:
    now = "2026-03-01T12:02:00+00:00"
    for oldest, late in ((None, False), ("2026-03-01T12:01:30+00:00", False), ("2026-03-01T12:00:00Z", True)):
        assert is_late({"now": now, "outbox": {"oldest_due_at": oldest}}) is late


PART = {
    "is_ready": True,
    "problems": [],
    "breakers": [],
    "queues": [],
    "outbox": {"due": 0, "oldest_due_at": None},
    "now": "2026-03-01T12:02:00Z",
}
WELL: dict[str, Any] = {
    "gateway": {"items": []},
    "letters": {"groups": []},
    "ledger": {"missing": 0},
    "alerts": {"alerts": []},
    "findings": {},
}


def test_what_needs_an_operator_is_listed_worst_first() -> None:
    troubled = {
        **PART,
        "breakers": [{"name": "gateway", "trouble": "it is away"}],
        "queues": [
            {"queue": "q", "pause": {"by": "Ada", "reason": "a test", "since": "2026-03-01T12:00:00Z"}}
        ],
        "outbox": {"due": 4, "oldest_due_at": "2026-03-01T12:00:00Z"},
    }
    group = {
        "group": "g",
        "count": 3,
        "queue": "q",
        "types": ["a.b"],
        "newest_detail": "no",
        "first_failed_at": "2026-03-01T12:00:00Z",
    }
    alert = {"name": "Slow", "summary": "it is slow", "state": "firing", "began_at": "2026-03-01T12:00:00Z"}
    found = troubles_of(
        {
            "social": troubled,
            "monitor": {**PART, "is_ready": False, "problems": [{"part": "broker", "problem": "away"}]},
            "research": Away("research", datetime(2026, 3, 1, tzinfo=UTC)),
        },
        gateway={"items": []},
        letters={"groups": [group] * 7},
        ledger={"missing": 2},
        alerts={
            "alerts": [
                {**alert, "severity": "warning"},
                {**alert, "severity": "critical"},
                {**alert, "severity": "critical", "state": "silenced"},
            ]
        },
        findings={
            "social": {"findings": [{"probe": "queues", "status": "failed", "found": "x", "advice": "y"}]}
        },
    )
    assert [each.key for each in found] == [
        "away",
        "not_ready",
        "doctor",
        "alert_critical",
        "missing",
        "breaker",
        "outbox",
        *["letters"] * 5,
        "more_letters",
        "paused",
        "alert",
    ]
    assert found[0].service == "research"
    assert found[-3].fields == {"n": 6, "groups": 2}


def test_nothing_is_wrong_only_if_all_could_be_read() -> None:
    assert troubles_of({"social": PART}, **WELL) == []
    unknown = {
        **WELL,
        "ledger": Away("monitor", datetime(2026, 3, 1, tzinfo=UTC)),
        "findings": {"social": None},
    }
    assert [each.path for each in troubles_of({"social": PART}, **unknown)] == ["/ledger", "/doctor"]


@pytest.fixture
def wait(monitor_database_url: str) -> Callable[[int], Awaitable[None]]:
    """Has messages wait in the outbox of the monitor."""

    async def insert(count: int) -> None:
        connection = await asyncpg.connect(monitor_database_url)
        try:
            await connection.execute(WAITING, count)
        finally:
            await connection.close()

    return insert


async def test_services_are_side_by_side_and_who_is_away_is_told(
    wait: Callable[[int], Awaitable[None]], person: httpx.AsyncClient
) -> None:
    await wait(3)
    shown = (await person.get(BACKBONE)).text
    for away in ("research", "publisher", "social"):
        assert f"The service “{away}” does not answer" in shown
    assert shown.count("badge-good") == 2
    now, _, _ = shown.partition('id="of-')
    assert "What is wrong now" in now
    assert "docker compose up -d publisher" in now
    assert "What is wrong now" in (await person.get("/")).text
    for told in ("monitor-commands", "orchestrator-events-dlq", "3 messages in the outbox."):
        assert told in shown, told
    assert "not consumed" not in shown
    assert "unknown" not in shown


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(signed_in_as: Any, console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(BACKBONE)).status_code == 403
        assert BACKBONE not in (await eve.get("/")).text
        shown = (await otto.get(BACKBONE)).text
        assert "you may see only some brands" in shown
        assert not any(f"of-{service}" in shown for service in MESSAGE_SERVICES)


@pytest.mark.extended
async def test_a_person_watches_the_page_in_a_browser(
    wait: Callable[[int], Awaitable[None]],
    signed_in: Page,
    look_at: Callable[[Page, str], Awaitable[None]],
) -> None:
    await look_at(signed_in, BACKBONE)
    await wait(7)
    # The page follows by itself, without a reload.
    await expect(signed_in.locator("main")).to_contain_text("7 messages in the outbox.", timeout=60_000)


@pytest.mark.extended
async def test_a_queue_is_paused_with_a_reason_and_resumed_in_a_browser(
    signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    await look_at(signed_in, BACKBONE)
    main = signed_in.locator("main")
    await main.get_by_text("Pause monitor-commands", exact=True).click()
    form = main.locator("details[open] form")
    await form.get_by_label("Why its messages must wait").fill("the database moves")
    await form.get_by_role("button", name="Pause").click()
    await expect(main).to_contain_text("“monitor-commands” is paused")
    await expect(main).to_contain_text("the database moves")
    await look_at(signed_in, BACKBONE)
    await main.get_by_role("button", name="Resume monitor-commands").click()
    await expect(main).to_contain_text("“monitor-commands” is resumed")
    await expect(main.get_by_text("Pause monitor-commands", exact=True)).to_be_visible()


async def _pause_by(person: httpx.AsyncClient, queue: str, reason: str) -> None:
    body = {"service": "monitor", "queue": queue, "do": "pause", "reason": reason, "once": queue}
    assert (await person.post(BACKBONE, data=body)).status_code == 303


async def test_every_page_tells_operators_of_a_paused_queue(
    person: httpx.AsyncClient, signed_in_as: Any, console: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    assert "paused-queues" in (await person.get("/")).text
    assert "<aside" not in (await person.get("/")).text
    await _pause_by(person, "monitor-commands", HOSTILE)
    # Three of the services are away meanwhile.
    for path in ("/", "/b/acme/drafts", "/me", BACKBONE):
        shown = (await person.get(path)).text
        assert "The queue “monitor-commands” is paused, since" in shown, path
        assert "by Ada:" in shown
        assert "<script>window.hit" not in shown
        assert 'href="/backbone"' in shown
    line = await person.get(BACKBONE, headers={"HX-Request": "true", "HX-Target": "div#paused-queues"})
    assert "monitor-commands" in line.text
    assert "<h1>" not in line.text
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        for each in (eve, otto):
            assert "monitor-commands" not in (await each.get("/")).text
    async with signed_in_as("Olga", "operator") as olga:
        assert "monitor-commands" in (await olga.get("/")).text
        resumed = {"service": "monitor", "queue": "monitor-commands", "do": "resume", "once": "r"}
        assert (await olga.post(BACKBONE, data=resumed)).status_code == 303
        assert "<aside" not in (await olga.get("/")).text
    assert "<aside" not in (await person.get("/")).text


@pytest.mark.extended
async def test_the_line_of_paused_queues_fits_a_phone_and_leads_to_the_page(
    signed_in: Page, console: Any, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    await look_at(signed_in, BACKBONE)
    main = signed_in.locator("main")
    await main.get_by_text("Pause monitor-commands", exact=True).click()
    await main.locator("details[open] form").get_by_label("Why its messages must wait").fill("w" * 500)
    await main.locator("details[open] form").get_by_role("button", name="Pause").click()
    await look_at(signed_in, "/")
    line = signed_in.get_by_role("complementary", name="Paused queues")
    await expect(line).to_contain_text("monitor-commands")
    await line.get_by_role("link", name="To the queues").click()
    await signed_in.wait_for_url(f"{console.url}{BACKBONE}")


@pytest.mark.extended
async def test_only_operators_pause_queues(signed_in_as: Any) -> None:
    body = {"service": "monitor", "queue": "monitor-commands", "do": "pause", "reason": "x", "once": "1"}
    async with signed_in_as("Eve", "editor") as eve:
        assert (await eve.post(BACKBONE, data=body)).status_code == 403
