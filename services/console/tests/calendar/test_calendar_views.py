"""Contents of the calendar, from the services' answers alone."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from console.calendar import views
from console.calendar.views import CalendarQuery

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2027, 3, 27, 12, tzinfo=UTC)
TODAY = date(2027, 3, 27)


def post(at: str, **changes: Any) -> dict[str, Any]:
    return {
        "post_id": "p1",
        "channel": "mastodon",
        "account": "mastodon-eu",
        "state": "planned",
        "at": at,
        "title": "Tea",
        "reason": "",
        "detail": "",
        **changes,
    }


def test_an_address_that_no_link_has_shows_the_list_from_today() -> None:
    strange = {"view": "year", "day": "1.1.1", "kind": "<b>", "zone": "../etc"}
    assert CalendarQuery.of(strange, TODAY) == CalendarQuery("list", TODAY, "", "")
    assert CalendarQuery.of({"day": "9999-12-31"}, TODAY).day == TODAY


def test_a_month_has_whole_weeks_and_leads_to_its_neighbours() -> None:
    march = CalendarQuery.of({"view": "month", "day": "2027-03-31"}, TODAY)
    assert (march.days[0], march.days[-1]) == (date(2027, 3, 1), date(2027, 4, 4))
    assert (march.previous, march.next) == (date(2027, 2, 1), date(2027, 4, 1))
    assert CalendarQuery.of({"view": "week"}, TODAY).days[0] == date(2027, 3, 22)


def test_over_a_clock_change_an_entry_stands_on_its_day_with_its_clock_time() -> None:
    wanted = CalendarQuery.of({"view": "week", "day": "2027-03-28"}, TODAY)
    begin, end = views.span_of(wanted.days, BERLIN)
    assert end - begin == timedelta(days=7, hours=-1)
    found = views.post_entries(
        "acme", [post("2027-03-28T07:00:00Z"), post("2027-03-27T08:00:00Z")], (), BERLIN, NOW
    )
    days = views.calendar_days(wanted, found, TODAY)
    assert [(each.day.day, [entry.clock for entry in each.entries]) for each in days if each.entries] == [
        (27, ["09:00"]),
        (28, ["09:00"]),
    ]
    assert [each.state for each in found] == ["planned", "late"]
    # The hour that is skipped is no time; that of the day before is.
    assert views.told_moment("2027-03-28", "02:30", BERLIN) is None
    assert views.told_moment("2027-03-27", "02:30", BERLIN) == datetime(2027, 3, 27, 1, 30, tzinfo=UTC)
    assert views.told_moment("2027-03-27", "25:00", BERLIN) is None


@pytest.mark.parametrize(
    ("changes", "can_move"),
    [
        ({}, True),
        ({"channel": "feed", "account": None}, True),
        ({"account": None}, False),
        ({"state": "called_off", "reason": "called_off"}, True),
        ({"state": "called_off", "reason": "duplicate"}, False),
        ({"state": "posted"}, False),
        ({"state": "expected"}, False),
    ],
)
def test_only_what_is_planned_or_was_called_off_by_a_person_can_be_moved(
    changes: dict[str, Any], *, can_move: bool
) -> None:
    (entry,) = views.post_entries("acme", [post("2027-03-29T07:00:00Z", **changes)], (), BERLIN, NOW)
    assert entry.can_move is can_move


def test_a_schedule_that_fires_all_day_does_not_fill_the_day() -> None:
    firing = {"kind": "schedule", "content_id": None, "version": None, "title": "1 keyword"}
    many = [{**firing, "schedule": "hourly", "at": f"2027-03-29T{hour:02}:00:00+02:00"} for hour in range(24)]
    found = views.article_entries("acme", many, BERLIN, NOW)
    (day,) = (
        each
        for each in views.calendar_days(CalendarQuery.of({}, TODAY), found, TODAY)
        if each.day == date(2027, 3, 29)
    )
    assert [each.more for each in day.entries] == [0, 0, 21]
    assert len({each.key for each in found}) == 24
