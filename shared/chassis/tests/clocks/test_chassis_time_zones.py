"""At which moment a time of the day is, daylight saving included."""

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.time_zones import moment


@pytest.mark.parametrize(
    ("zone", "day", "clock", "expected"),
    [
        ("Europe/Berlin", "2026-11-22", "09:00", "2026-11-22T09:00+01:00"),
        ("Europe/Berlin", "2026-07-01", "09:00", "2026-07-01T09:00+02:00"),
        # From 2:00 to 3:00 on 29 March: what was skipped is when the clocks are put forward.
        ("Europe/Berlin", "2026-03-29", "02:30", "2026-03-29T03:00+02:00"),
        ("Europe/Berlin", "2026-03-29", "02:00", "2026-03-29T03:00+02:00"),
        ("Europe/Berlin", "2026-03-29", "03:00", "2026-03-29T03:00+02:00"),
        # From 3:00 back to 2:00 on 25 October: the first time of two.
        ("Europe/Berlin", "2026-10-25", "02:30", "2026-10-25T02:30+02:00"),
        ("Europe/Berlin", "2026-10-25", "03:00", "2026-10-25T03:00+01:00"),
        # By half an hour.
        ("Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-04T02:30+11:00"),
        # A day that a country has skipped.
        ("Pacific/Apia", "2011-12-30", "09:00", "2011-12-31T00:00+14:00"),
    ],
)
def test_a_time_of_the_day_is_at_one_moment(zone: str, day: str, clock: str, expected: str) -> None:
    found = moment(date.fromisoformat(day), time.fromisoformat(clock), ZoneInfo(zone))

    assert (found, found.tzinfo) == (datetime.fromisoformat(expected), UTC)


@given(
    st.dates(date(2010, 1, 1), date(2030, 1, 1)),
    st.times().map(lambda found: found.replace(second=0, microsecond=0)),
    st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia", "UTC"]),
)
def test_later_times_of_a_day_are_never_earlier_moments(day: date, clock: time, zone: str) -> None:
    midnight, found = (moment(day, each, ZoneInfo(zone)) for each in (time(), clock))

    assert midnight <= found
    shown = found.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    # As the clocks show it, or, where they skip it, right after.
    assert shown >= datetime.combine(day, clock)
