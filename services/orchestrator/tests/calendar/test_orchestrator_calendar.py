"""The calendar: articles approved for a time and firings of schedules, in one order, page by page, and for other programs."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import httpx
import icalendar
import pytest

from envelope import new_event_id
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.schedule.domain import SchedulePlan, ScheduleProgress, ScheduleState, Timetable
from writing import Article

MONDAY = datetime(2107, 1, 3, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
async def acme(api: httpx.AsyncClient) -> httpx.AsyncClient:
    (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
    return api


async def planned(api: httpx.AsyncClient, database: Database, title: str, at: datetime) -> str:
    """An article of acme's that is approved for a time."""
    content_id = new_event_id()
    async with database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug="acme",
            keyword=title,
            research_id=new_event_id(),
            article=Article(
                slug=title.lower(),
                title=title,
                meta_description=f"About {title}.",
                body_markdown=f"## {title}\n\nIt is steeped.\n",
                word_count=5,
                key_points=("It is steeped.",),
                cited=(),
                label="digest",
            ),
            sources=(),
            measures=(),
            held_for=("231 words",),
        )
    body = {"version": 1, "publish_at": at.isoformat()}
    (await api.post(f"/v1/drafts/{content_id}/approve", json=body)).raise_for_status()
    return str(content_id)


@pytest.mark.extended
async def test_articles_and_firings_stand_in_one_order_page_by_page(
    acme: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    tea = await planned(acme, orchestrator_database, "Tea", MONDAY + timedelta(hours=9))
    coffee = await planned(acme, orchestrator_database, "Coffee", MONDAY + 3 * DAY)
    daily = {"keywords": ["one", "two", "three"], "take": 1, "cron": "0 9 * * *", "time_zone": "UTC"}
    (await acme.put("/v1/brands/acme/schedules/daily", json=daily)).raise_for_status()
    once = {"keywords": ["four"], "at": (MONDAY + timedelta(hours=9)).isoformat()}
    (await acme.put("/v1/brands/acme/schedules/once", json=once)).raise_for_status()
    weekly = {"keywords": ["five", "six"], "cron": "30 6 * * TUE", "time_zone": "Europe/Berlin"}
    (await acme.put("/v1/brands/acme/schedules/weekly", json=weekly)).raise_for_status()
    wanted = {
        "brand": "acme",
        "from": MONDAY.isoformat(),
        "to": (MONDAY + 9 * DAY).isoformat(),
        "zone": "Asia/Tokyo",
    }

    pages, after = [], None
    while True:
        query = {**wanted, "limit": "2"} | ({} if after is None else {"after": after})
        page = (await acme.get("/v1/calendar", params=query)).raise_for_status().json()
        pages.append(page["items"])
        if (after := page["next"]) is None:
            break

    found = [each for page in pages for each in page]
    # The three keywords of the daily one are used up long before.
    assert [(each["kind"], each["content_id"] or each["schedule"], each["title"]) for each in found] == [
        ("article", tea, "Tea"),
        ("schedule", "once", "1 keyword"),
        ("schedule", "weekly", "2 keywords"),
        ("article", coffee, "Coffee"),
        ("schedule", "weekly", "2 keywords"),
    ]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [each["at"] for each in found[:3]] == [
        "2107-01-03T18:00:00+09:00",
        "2107-01-03T18:00:00+09:00",
        "2107-01-04T14:30:00+09:00",
    ]
    soon = (await acme.get("/v1/calendar", params={"brand": "acme"})).json()["items"]
    assert [(each["schedule"], each["title"]) for each in soon if each["schedule"] == "daily"] == [
        ("daily", "1 of 3 keywords")
    ] * 3


@pytest.mark.extended
async def test_other_programs_follow_an_article_that_is_moved(
    acme: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    tea = await planned(acme, orchestrator_database, "Tea; milk, sugar", MONDAY)
    wanted = {"brand": "acme", "from": MONDAY.isoformat(), "to": (MONDAY + 9 * DAY).isoformat()}

    async def event() -> Any:
        file = (await acme.get("/v1/calendar.ics", params=wanted)).raise_for_status()
        assert file.headers["Content-Type"] == "text/calendar; charset=utf-8"
        (found,) = icalendar.Calendar.from_ical(file.text).walk("VEVENT")
        again = await acme.get(
            "/v1/calendar.ics", params=wanted, headers={"If-None-Match": file.headers["ETag"]}
        )
        assert again.status_code == 304
        return found

    before = await event()
    assert (str(before["UID"]), str(before["SUMMARY"])) == (
        f"{tea}@orchestrator.brand-engine",
        "site: Tea; milk, sugar",
    )
    body = {"version": 1, "publish_at": (MONDAY + DAY).isoformat()}
    (await acme.post(f"/v1/drafts/{tea}/approve", json=body)).raise_for_status()
    after = await event()
    assert (after["UID"], after.decoded("DTSTART")) == (before["UID"], MONDAY + DAY)
    assert after["SEQUENCE"] > before["SEQUENCE"]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("query", "status", "complaint"),
    [
        ({}, 422, "brand"),
        ({"brand": "noone"}, 404, "noone"),
        ({"brand": "acme", "zone": "Mars/Base"}, 422, "there is no time zone 'Mars/Base'"),
        (
            {"brand": "acme", "from": "2107-01-02T00:00:00Z", "to": "2107-01-01T00:00:00Z"},
            422,
            "by a year at most",
        ),
        (
            {"brand": "acme", "from": "2027-01-02T00:00:00Z", "to": "2107-01-01T00:00:00Z"},
            422,
            "by a year at most",
        ),
        ({"brand": "acme", "to": "0001-01-01T00:00:00Z"}, 422, "beyond the years"),
        ({"brand": "acme", "after": "yesterday"}, 422, "is not the `next` of a page"),
    ],
)
async def test_what_cannot_be_shown_is_refused(
    acme: httpx.AsyncClient, query: dict[str, str], status: int, complaint: str
) -> None:
    answer = await acme.get("/v1/calendar", params=query)

    assert (answer.status_code, complaint in answer.json()["detail"]) == (status, True)


def test_firings_from_a_time_on_are_those_that_come() -> None:
    hourly = Timetable.read("0 * * * *", "UTC")
    due = MONDAY + timedelta(hours=5)
    standing = ScheduleProgress(ScheduleState.ACTIVE, due, due)

    def hours(plan: SchedulePlan, begin: datetime) -> list[int]:
        return [each.hour for each in islice(plan.firings_from(standing, begin), 3)]

    every = SchedulePlan(("one", "two"), None, hourly)
    assert hours(every, MONDAY) == [5, 6, 7]
    assert hours(every, MONDAY + timedelta(hours=9)) == [9, 10, 11]
    assert hours(SchedulePlan(("one", "two"), 1, hourly), MONDAY) == [5, 6]
    assert hours(SchedulePlan(("one", "two"), 1, hourly), MONDAY + timedelta(hours=6)) == [6]
    assert hours(SchedulePlan(("one",), None, None), MONDAY) == [5]
    assert hours(SchedulePlan(("one",), None, None), MONDAY + timedelta(hours=6)) == []
