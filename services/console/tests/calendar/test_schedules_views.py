"""What schedules say in words, and what their form asks for."""

from typing import Any

import pytest

from console.pages import Form
from console.schedules import views
from console.schedules.views import Rhythm


@pytest.mark.parametrize(
    ("cron", "rhythm", "key"),
    [
        ("0 9 * * *", Rhythm("daily", "09:00", cron="0 9 * * *"), "daily"),
        ("5 18 * * MON", Rhythm("weekly", "18:05", ("mon",), cron="5 18 * * MON"), "weekly"),
        ("0 9 * * 1-5", Rhythm("weekly", "09:00", views.WEEKDAYS[:5], cron="0 9 * * 1-5"), "working_days"),
        ("0 9 * * 0,SAT", Rhythm("weekly", "09:00", ("sat", "sun"), cron="0 9 * * 0,SAT"), "weekly"),
        ("0 9 15 * *", Rhythm("monthly", "09:00", day=15, cron="0 9 15 * *"), "monthly"),
        ("*/5 * * * *", Rhythm("cron", cron="*/5 * * * *"), "cron"),
        ("0 9 * * MON#2", Rhythm("cron", cron="0 9 * * MON#2"), "cron"),
        ("0 9 L * *", Rhythm("cron", cron="0 9 L * *"), "cron"),
        ("0 9 1 * MON", Rhythm("cron", cron="0 9 1 * MON"), "cron"),
    ],
)
def test_a_cron_expression_has_words_where_it_is_plain(cron: str, rhythm: Rhythm, key: str) -> None:
    found = views.rhythm_of({"cron": cron, "next": []})
    assert (found, found.key) == (rhythm, key)


def test_one_that_fires_once_says_when() -> None:
    at = ["2027-03-01T09:00:00+01:00"]
    assert views.rhythm_of({"cron": None, "next": at}) == Rhythm("once", "09:00", date="2027-03-01")
    assert views.rhythm_of({"cron": None, "next": []}) == Rhythm("once")


def test_the_form_of_a_schedule_asks_for_the_same_again() -> None:
    former: dict[str, Any] = {
        "name": "news",
        "kind": "research",
        "keyword_list": ["tea", "moka"],
        "priorities": {"moka": "high"},
        "distinct_keywords": ["tea"],
        "cron": "0 9 * * MON,FRI",
        "next": [],
        "time_zone": "Europe/Berlin",
        "take": 1,
        "priority": "normal",
        "refresh": True,
        "deadline_hours": 48,
        "max_cost": 2.5,
    }
    assert views.request_of(views.form_of(former), former) == {
        "keywords": ["tea", "moka"],
        "priority": "normal",
        "refresh": True,
        "time_zone": "Europe/Berlin",
        "take": 1,
        "deadline_hours": 48,
        "max_cost": "2.5",
        "cron": "0 9 * * MON,FRI",
        "priorities": [None, "high"],
        "each_distinct": [True, False],
    }


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"keywords": " \n"}, "keywords"),
        ({"rhythm": "daily", "clock": "25:00"}, "clock"),
        ({"rhythm": "weekly", "clock": "09:00"}, "days"),
        ({"rhythm": "monthly", "clock": "09:00", "month_day": "32"}, "month_day"),
        ({"rhythm": "cron"}, "cron"),
        ({"rhythm": "once", "clock": "09:00"}, "date"),
        ({"rhythm": "once", "clock": "09:00", "date": "2027-03-01", "zone": "Mars"}, "zone"),
    ],
)
def test_what_cannot_be_meant_says_what_is_missing(fields: dict[str, str], key: str) -> None:
    typed = views.typed_form(Form([*{"keywords": "tea", "zone": "UTC", **fields}.items()]))
    with pytest.raises(views.ScheduleFormError) as raised:
        views.request_of(typed)
    assert raised.value.key == key
