"""Which period of quiet hours a moment is in, or which one comes next: by the clocks of a zone, daylight saving included."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.quiet_hours import QuietHours
from chassis.time_zones import UntimelyError

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours.read("22:00", "07:00", "Europe/Berlin")


def shown(hours: QuietHours, moment: str) -> str:
    period = hours.period(datetime.fromisoformat(moment))
    return " to ".join(
        f"{each.astimezone(hours.zone):%m-%d %H:%M%z}" for each in (period.begins, period.ends)
    )


@pytest.mark.parametrize(
    ("moment", "period"),
    [
        ("2026-11-22T12:00+01:00", "11-22 22:00+0100 to 11-23 07:00+0100"),
        ("2026-11-22T22:00+01:00", "11-22 22:00+0100 to 11-23 07:00+0100"),
        ("2026-11-23T03:00+01:00", "11-22 22:00+0100 to 11-23 07:00+0100"),
        ("2026-11-23T07:00+01:00", "11-23 22:00+0100 to 11-24 07:00+0100"),  # it is over
        ("2026-03-28T23:00+01:00", "03-28 22:00+0100 to 03-29 07:00+0200"),  # a short night
        ("2026-10-24T23:00+02:00", "10-24 22:00+0200 to 10-25 07:00+0100"),  # a long one
    ],
)
def test_over_midnight_it_is_one_period(moment: str, period: str) -> None:
    assert shown(NIGHT, moment) == period


@pytest.mark.parametrize(
    ("begin", "end", "moment", "period"),
    [
        # The clocks go from 2:00 to 3:00 on 29 March, and from 3:00 back to 2:00 on 25 October.
        ("02:30", "05:00", "2026-03-29T00:00+01:00", "03-29 01:30+0100 to 03-29 05:00+0200"),
        ("00:00", "02:30", "2026-03-29T00:00+01:00", "03-29 00:00+0100 to 03-29 03:30+0200"),
        ("02:30", "05:00", "2026-10-25T00:00+02:00", "10-25 02:30+0200 to 10-25 05:00+0100"),
        ("00:00", "02:30", "2026-10-25T00:00+02:00", "10-25 00:00+0200 to 10-25 02:30+0100"),
        ("02:15", "02:45", "2026-10-25T02:50+02:00", "10-25 02:15+0200 to 10-25 02:45+0100"),  # one, not two
    ],
)
def test_a_time_that_does_not_exist_or_exists_twice_makes_it_no_shorter(
    begin: str, end: str, moment: str, period: str
) -> None:
    assert shown(QuietHours.read(begin, end, "Europe/Berlin"), moment) == period


@given(
    st.integers(1_577_836_800, 1_893_456_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia", "UTC"]),
    st.times().map(lambda found: found.replace(second=0, microsecond=0)),
    st.times().map(lambda found: found.replace(second=0, microsecond=0)),
)
def test_whatever_the_clocks_show_within_the_hours_is_in_the_period(
    moment: datetime, zone: str, begin: time, end: time
) -> None:
    if begin == end:
        return
    hours = QuietHours(begin, end, ZoneInfo(zone))
    period = hours.period(moment)
    clock = moment.astimezone(hours.zone).time()
    within = begin <= clock < end if begin < end else clock >= begin or clock < end

    assert period.ends > moment
    assert period.begins <= moment or not within
    assert hours.holds(moment) == (period.begins <= moment < period.ends)
    assert timedelta() < period.ends - period.begins <= timedelta(days=1, hours=1)
    # The one that follows is another one.
    assert hours.period(period.ends).ends > period.ends


@pytest.mark.parametrize(
    ("hours", "complaint"),
    [
        (("22:00", "22:00", "UTC"), "pause the brand instead"),
        (("22:00", "07:00", "Mars/Base"), "no time zone"),
    ],
)
def test_what_cannot_be_kept_is_refused(hours: tuple[str, str, str], complaint: str) -> None:
    with pytest.raises(UntimelyError, match=complaint):
        QuietHours.read(*hours)


def test_they_are_read_as_they_are_told() -> None:
    assert QuietHours.read(**NIGHT.told()) == NIGHT
