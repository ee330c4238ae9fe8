"""The page of throughput and times: real services, of which some are away, and what they counted."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from console.backbone.views import rate
from console.figures import views

FIGURES = "/backbone/figures"
_HOURS = """
insert into message_hours (hour, process, queue, type, handled, retried, set_aside, dead,
                           waited, waited_longest, worked, worked_longest)
select date_trunc('hour', now()) - hours * interval '1 hour', gen_random_uuid(), 'monitor-commands', $1, 1200 + hours, 3, 2, 1,
       array_append(array_fill(0, array[18]), 5), 4000, array_prepend(7, array_fill(0, array[18])), 0.0004
from unnest($2::integer[]) as hours
"""
_MINUTES = """
insert into message_minutes (minute, process, queue, handled, retried, set_aside, dead, ready)
select date_trunc('minute', now()) - minutes * interval '1 minute', gen_random_uuid(), 'monitor-commands', 60, 0, 0, 0, 60 - minutes
from generate_series(0, 9) as minutes
"""
DASH = "\u2013"
HOSTILE = "<script>window.hit = 1</script>"


@pytest.fixture
def counted(monitor_database_url: str) -> Callable[[], Awaitable[None]]:
    """The monitor has counted, also messages of a type with a hostile name."""

    async def insert() -> None:
        connection = await asyncpg.connect(monitor_database_url)
        try:
            await connection.execute(_HOURS, "work.finished", [0, 1, 30])
            await connection.execute(_HOURS, HOSTILE, [1])
            await connection.execute(_MINUTES)
        finally:
            await connection.close()

    return insert


def test_durations_and_rates_are_short() -> None:
    assert [views.duration(each, "en") for each in (None, 0.0025, 2.5, 60, 1800, 9000)] == [
        DASH, "2 ms", "2.5 s", "60 s", "30 min", "2.5 h",
    ]  # fmt: skip
    assert views.duration(2.5, "de") == "2,5 s"
    assert [rate(each, "en") for each in (None, 0.0, 0.4, 3.0, 1234.5)] == [DASH, "0", "0.4", "3", "1,234"]
    assert rate(1234.5, "de") == "1.234"


def test_services_are_added_up() -> None:
    at = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
    part = {
        "since": "2026-03-01T11:00:00Z",
        "until": "2026-03-01T13:00:00Z",
        "now": at.isoformat(),
        "kept_since": None,
        "minutes": [
            {
                "minute": (at - timedelta(minutes=1)).isoformat(),
                "queue": "q",
                "handled": 2,
                "retried": 1,
                "dead": 0,
            }
        ],
        "hours": [],
        "times": [],
    }
    chart = views.by_minute({"research": part, "social": part})
    assert (len(chart.bars), chart.total, chart.highest) == (60, 4, 4)
    assert chart.bars[-1].at == at
    assert (chart.bars[-2].count, chart.bars[-2].failed, chart.bars[-2].parts) == (4, 2, (("q", 4),))
    assert len(views.by_hour({"research": part}).bars) == 2


async def test_types_hours_and_times_are_shown_and_who_is_away_is_named(
    counted: Callable[[], Awaitable[None]], person: httpx.AsyncClient
) -> None:
    await counted()
    shown = (await person.get(FIGURES)).text
    for away in ("research", "publisher", "social"):
        assert f"The service “{away}” does not answer" in shown
    for told in (
        "work.finished",
        "monitor-commands",
        "2,401",
        "67 min · 67 min · 67 min",
        "&lt; 1 ms · &lt; 1 ms · &lt; 1 ms",
    ):
        assert told in shown, told
    assert HOSTILE not in shown
    week = (await person.get(FIGURES, params={"hours": "168"})).text
    assert "3,631" in week
    assert 'rel="prev"' in shown
    assert "There are no dead letters of these seven days." in shown
    backbone = (await person.get("/backbone")).text
    assert "61 in, 60 out" in backbone
    assert 'href="/backbone/figures"' in backbone
    for wrong in ({"hours": "25"}, {"until": "yesterday"}, {"until": "2026-03-01T12:00:00"}):
        assert (await person.get(FIGURES, params=wrong)).status_code == 422
    for far in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        assert (await person.get(FIGURES, params={"until": far})).status_code == 200


async def test_the_page_is_for_operators_of_all_brands(signed_in_as: Any, console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(FIGURES)).status_code == 403
        shown = (await otto.get(FIGURES)).text
        assert "you may see only some brands" in shown
        assert "monitor-commands" not in shown


@pytest.mark.extended
async def test_a_person_looks_at_the_page_in_a_browser(
    counted: Callable[[], Awaitable[None]],
    signed_in: Page,
    console: Any,
    look_at: Callable[[Page, str], Awaitable[None]],
) -> None:
    await counted()
    await look_at(signed_in, FIGURES)
    await expect(signed_in.get_by_role("img", name="Handled messages in each hour")).to_be_visible()
    hours = signed_in.locator("section", has=signed_in.get_by_role("heading", name="By hour"))
    await hours.get_by_text("As a table").click()
    await expect(hours.get_by_role("table")).to_contain_text("work.finished 1,200")
    await signed_in.get_by_role("link", name="Last 168 hours").click()
    await expect(signed_in.get_by_role("link", name="Last 168 hours")).to_have_attribute(
        "aria-current", "true"
    )
    await signed_in.emulate_media(color_scheme="dark")
    await look_at(signed_in, f"{FIGURES}?hours=72")
