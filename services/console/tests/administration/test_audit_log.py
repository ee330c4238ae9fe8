"""The audit logs of all services as one, beside real services and one that is away, and in a real browser."""

import csv
import io
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from client import Address
from client.services.gateway import AsyncGateway
from console.audit_log import views
from console.audit_log.views import LogFilter

KEY = "test-service-key-0123456789"
LOG = "/audit-log"
START = datetime(2026, 11, 28, 12, tzinfo=UTC)


def answer(count: int, *, first: int = 1, minutes: int = 0, more: bool = False) -> dict[str, Any]:
    """A page of a service's log, newest first."""
    items = [
        {"id": number, "at": (START + timedelta(minutes=number + minutes)).isoformat()}
        for number in range(first + count - 1, first - 1, -1)
    ]
    return {"items": items, "next": first if more else None}


def test_pages_of_several_logs_are_one_and_each_entry_is_on_one_page() -> None:
    logs = {"social": answer(5), "gateway": answer(3, minutes=1)}
    places: dict[str, int] = {}
    seen = []
    for _ in range(5):
        asked = {
            name: {
                "items": [each for each in log["items"] if each["id"] < places.get(name, 99)],
                "next": None,
            }
            for name, log in logs.items()
            if not views.is_over(places, name)
        }
        merged = views.merge(asked, places, 3)
        seen += [(line.service, line.entry["id"]) for line in merged.lines]
        if merged.next is None:
            break
        places = LogFilter.of({"after": merged.next}).places
    newest = [
        "social 5",
        "social 4",
        "gateway 3",
        "social 3",
        "gateway 2",
        "social 2",
        "gateway 1",
        "social 1",
    ]
    assert [f"{service} {number}" for service, number in seen] == newest


def test_a_service_that_is_away_is_asked_from_the_same_place_for_the_next_page() -> None:
    merged = views.merge({"social": answer(2, more=True)}, {"gateway": 7}, 50)
    assert merged.next == "gateway.7-social.1"


@pytest.mark.parametrize(
    ("given", "place"),
    [("social.12", {"social": 12}), ("none.1-social.x-gateway.0", {"gateway": 0}), (f"social.{10**30}", {})],
)
def test_a_place_that_no_link_of_ours_has_is_left_out(given: str, place: dict[str, int]) -> None:
    assert LogFilter.of({"after": given}).places == place


def test_days_are_those_of_the_reader_and_the_last_is_within() -> None:
    wanted = LogFilter.of({"since": "2026-11-28", "until": "2026-11-28", "person": "Ada Löwe"})
    arguments = wanted.arguments("Europe/Berlin")
    assert arguments["since"] == datetime(2026, 11, 27, 23, tzinfo=UTC)
    assert arguments["until"] == datetime(2026, 11, 28, 23, tzinfo=UTC)
    assert arguments["caller"] == "ada-loewe"
    assert not LogFilter.of({"since": "soon", "until": "9999-12-31", "service": "other"}).is_set


def test_a_setting_that_an_answer_has_twice_is_told_once() -> None:
    before = {"words": 300, "policy": {"words": 300, "approval": None}, "updated_at": "1"}
    after = {"words": 800, "policy": {"words": 800, "approval": "first"}, "updated_at": "2"}
    changed = views.LogLine("orchestrator", {"before": before, "after": after}).changed
    assert [(each.name, each.before, each.after) for each in changed] == [
        ("policy.approval", None, "first"),
        ("words", "300", "800"),
    ]


def test_lists_of_names_are_told_as_people_write_them() -> None:
    entry = {"before": {"targets": ["site"]}, "after": {"targets": ["site", "blog"], "forbidden_words": []}}
    changed = views.LogLine("orchestrator", entry).changed
    assert [(each.name, each.before, each.after) for each in changed] == [
        ("forbidden_words", None, None),
        ("targets", "site", "site, blog"),
    ]


def test_no_cell_of_a_table_is_a_formula() -> None:
    entry = dict.fromkeys(views.COLUMNS) | {"caller": "=1+1", "after": {"name": "Ü"}}
    _, row = csv.reader(io.StringIO(views.as_csv([entry])))
    assert row[views.COLUMNS.index("caller")] == "'=1+1"
    assert row[views.COLUMNS.index("after")] == '{"name": "Ü"}'


@pytest.fixture
async def changes(console: Any, service_urls: dict[str, str]) -> None:
    """A change at the orchestrator and at the gateway, each with the service key."""
    await console.orchestrator.set_brand("acme", name="Acme")
    await console.orchestrator.set_brand("acme", name="Acme", tone="<img src=x onerror='window.hit = 1'>")
    async with AsyncGateway(Address(service_urls["gateway_url"], KEY)) as gateway:
        await gateway.set_spend_cap("acme", day=1)


@pytest.mark.extended
async def test_all_services_are_one_list_with_filters_and_who_is_away_is_told(
    console: Any, changes: None, person: httpx.AsyncClient
) -> None:
    await person.post("/b/acme/settings/pause", data={"once": "p1"})
    shown = (await person.get(LOG)).text
    for told in (
        "Paused the brand",
        "Set how much may be spent",
        "Invited a person",
        "&lt;img src=x",
        "The service “social” does not answer",
    ):
        assert told in shown, told
    assert "window.hit = 1'>" not in shown

    by_ada = (await person.get(LOG, params={"person": "Ada"})).text
    assert "Paused the brand" in by_ada
    assert "Set how much may be spent" not in by_ada
    of_gateway = (await person.get(LOG, params={"service": "gateway", "brand": "acme"})).text
    assert "does not answer" not in of_gateway
    assert "Paused the brand" not in of_gateway
    for days in ({"until": "2020-01-01"}, {"since": "2999-01-01"}, {"person": "nobody"}):
        assert "No change matches." in (await person.get(LOG, params=days)).text, days


@pytest.mark.extended
async def test_files_have_the_same_filter_and_none_lacks_a_service_without_a_word(
    changes: None, person: httpx.AsyncClient
) -> None:
    away = await person.get(f"{LOG}.json")
    assert away.status_code == 503
    assert "the file would miss its entries" in away.text
    wanted = {"service": "orchestrator", "brand": "acme"}
    found = (await person.get(f"{LOG}.json", params=wanted)).json()["items"]
    assert [each["operation"] for each in found] == ["PUT /v1/brands/{slug}"] * 2
    table = await person.get(f"{LOG}.csv", params=wanted)
    assert 'filename="audit-log.csv"' in table.headers["content-disposition"]
    first, *_ = csv.DictReader(io.StringIO(table.text))
    assert (first["service"], first["path"], first["caller"]) == (
        "orchestrator",
        "/v1/brands/acme",
        "service",
    )


@pytest.mark.extended
async def test_the_log_is_for_who_operates_and_of_the_brands_they_see(
    console: Any, changes: None, signed_in_as: Any
) -> None:
    await console.orchestrator.set_brand("rival", name="Rival")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        for path in (LOG, f"{LOG}.csv", f"{LOG}.json"):
            assert (await eve.get(path)).status_code == 403, path
        shown = (await otto.get(LOG)).text
        assert "/v1/brands/acme" in shown
        assert "rival" not in shown
        assert "Invited a person" not in shown


@pytest.mark.extended
async def test_a_person_reads_the_log_in_a_browser(
    console: Any, changes: None, signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    page = signed_in
    for number in range(views.PAGE_SIZE):
        await console.orchestrator.set_brand("acme", name="Acme", words=300 + number)
    await look_at(page, LOG)
    await page.get_by_role("link", name="Next page").click()
    await page.get_by_role("link", name="First page").wait_for()
    assert "Invited a person" in await page.inner_text("main")
    await page.select_option("[name=service]", "orchestrator")
    await page.fill("[name=person]", "service")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Show").click()
    await page.locator("summary", has_text="1 field").first.click()
    assert "words" in await page.inner_text("tbody tr >> nth=0")
    await look_at(page, f"{LOG}?service=orchestrator&since=2020-01-01")
