"""When schedules are due: cron expressions by the clocks of time zones, and what follows a firing or a failure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.time_zones import UntimelyError, zone_called
from orchestrator.schedule.domain import (
    MOST_MISSED,
    RETRIES,
    SchedulePlan,
    ScheduleProgress,
    ScheduleState,
    Timetable,
    local,
)

BERLIN = ZoneInfo("Europe/Berlin")
SUNDAYS = Timetable.read("0 6 * * SUN", "Europe/Berlin")
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def shown(timetable: Timetable, after: str, count: int) -> list[str]:
    zone = timetable.zone
    moment = datetime.fromisoformat(after)
    return [time.strftime("%m-%d %H:%M%z") for time in local(timetable.following(moment, count), zone)]


def test_times_are_those_of_the_zones_clocks() -> None:
    assert shown(SUNDAYS, "2026-10-18T00:00+02:00", 3) == [
        "10-18 06:00+0200",
        "10-25 06:00+0100",
        "11-01 06:00+0100",
    ]


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # Put forward: what does not exist fires once, when the clock has passed it.
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T00:00+01:00", ["03-29 03:00+0200", "03-30 02:30+0200"]),
        ("*/15 2 * * *", "Europe/Berlin", "2026-03-29T00:00+01:00", ["03-29 03:00+0200", "03-30 02:00+0200"]),
        ("0 0 * * *", "America/Havana", "2026-03-07T01:00-05:00", ["03-08 01:00-0400", "03-09 00:00-0400"]),
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-04T00:00+10:30",
            ["10-04 02:30+1100", "10-05 02:15+1100"],
        ),
        # Put back: what exists twice fires the first time.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00+02:00", ["10-25 02:30+0200", "10-26 02:30+0100"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T02:30+02:00", ["10-26 02:30+0100", "10-27 02:30+0100"]),
        # Asked late, within the second pass: the first one is over and does not come again.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T02:10+01:00", ["10-26 02:30+0100", "10-27 02:30+0100"]),
        ("*/30 2 * * *", "Europe/Berlin", "2026-10-25T02:10+02:00", ["10-25 02:30+0200", "10-26 02:00+0100"]),
        # Every hour is every hour that passes.
        ("0 * * * *", "Europe/Berlin", "2026-10-25T01:30+02:00", ["10-25 02:00+0200", "10-25 02:00+0100"]),
        # A day that a country has skipped.
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-07T00:00-10:00", ["12-31 00:00+1400", "12-30 09:00+1400"]),
    ],
)
def test_wall_clock_times_fire_once(cron: str, zone: str, after: str, expected: list[str]) -> None:
    timetable = Timetable.read(cron, zone)

    assert shown(timetable, after, len(expected)) == expected


@given(
    st.integers(1_700_000_000, 1_900_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    st.sampled_from(
        ["30 2 * * *", "*/20 1-3 * * *", "0 * * * *", "5 0 1 * *", "0 6 * * SUN", "59 23 29 2 *"]
    ),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]),
)
def test_times_follow_each_other_whenever_they_are_asked_for(moment: datetime, cron: str, zone: str) -> None:
    timetable = Timetable.read(cron, zone)

    times = timetable.following(moment, 12)

    assert all(earlier < later for earlier, later in zip((moment, *times), times, strict=False))
    # Asked one by one, from each to the next, they are the same: what a scheduler does.
    one_by_one = [moment]
    while len(one_by_one) <= len(times):
        following = timetable.after(one_by_one[-1])
        assert following is not None
        one_by_one.append(following)
    assert tuple(one_by_one[1:]) == times


@pytest.mark.parametrize(
    ("cron", "zone", "complaint"),
    [
        ("@daily", "UTC", "has 5 fields"),
        ("* * * * * *", "UTC", "has 5 fields"),
        ("61 * * * *", "UTC", "no cron expression: bad minute"),
        ("0 0 30 2 *", "UTC", "no cron expression: bad day-of-month"),
        ("0 6 * * *", "Europe/Atlantis", "no time zone 'Europe/Atlantis'"),
        ("0 6 * * *", "../../etc/passwd", "no time zone"),
        ("0 6 * * *", "", "no time zone"),
    ],
)
def test_what_is_no_time_is_refused_with_a_reason(cron: str, zone: str, complaint: str) -> None:
    with pytest.raises(UntimelyError, match=complaint):
        Timetable.read(cron, zone)


def plan(*, take: int | None = None, timetable: Timetable | None = SUNDAYS) -> SchedulePlan:
    return SchedulePlan(("one", "two", "three", "four", "five"), take, timetable)


def test_what_was_missed_is_caught_up_by_one_firing() -> None:
    weekly = plan()
    due = datetime(2026, 10, 4, 4, tzinfo=UTC)

    after = weekly.fired(weekly.begun(due), NOW)

    assert weekly.missed(due, NOW) == 7
    assert after.due_at == after.try_at == datetime(2026, 11, 29, 5, tzinfo=UTC)
    assert after.state is ScheduleState.ACTIVE


def test_counting_what_was_missed_is_bounded() -> None:
    every_minute = Timetable.read("* * * * *", "UTC")

    assert every_minute.missed(NOW - timedelta(days=3000), NOW) == MOST_MISSED


def test_a_list_is_used_up_a_few_at_a_time() -> None:
    twice = plan(take=2)
    standing = twice.begun(NOW)
    handed_in: list[tuple[str, ...]] = []
    announced = len(twice.next_times(standing, 10))

    while standing.state is ScheduleState.ACTIVE:
        handed_in.append(twice.next_keywords(standing.position))
        standing = twice.fired(standing, standing.due_at)

    assert handed_in == [("one", "two"), ("three", "four"), ("five",)]
    assert announced == len(handed_in)
    assert (standing.state, standing.position) == (ScheduleState.ENDED, 5)
    assert twice.next_times(standing, 3) == ()


def test_what_happens_once_ends_with_its_firing() -> None:
    once = plan(timetable=None)

    assert once.fired(once.begun(NOW), NOW).state is ScheduleState.ENDED


def failures(of: SchedulePlan, times: int) -> list[ScheduleProgress]:
    standing, now = of.begun(NOW), NOW
    seen = []
    for _ in range(times):
        standing = of.failed(standing, "it broke", now)
        seen.append(standing)
        now = standing.try_at
    return seen


def test_a_firing_that_fails_is_tried_again_and_then_parked() -> None:
    first, second, third, last = failures(plan(timetable=None), 4)

    assert [first.try_at - NOW, second.try_at - first.try_at, third.try_at - second.try_at] == list(RETRIES)
    assert {each.due_at for each in (first, second, third)} == {NOW}
    assert (last.state, last.reason) == (ScheduleState.PARKED, "it broke")


def test_what_recurs_goes_on_with_its_next_time_after_a_firing_was_given_up() -> None:
    last = failures(plan(), 4)[-1]

    assert (last.state, last.failures, last.reason) == (ScheduleState.ACTIVE, 0, "it broke")
    assert last.due_at == datetime(2026, 11, 29, 5, tzinfo=UTC)


def test_resuming_goes_on_with_the_next_time_or_does_at_once_what_was_due_once() -> None:
    parked = failures(plan(timetable=None), 4)[-1]
    paused = replace(plan().begun(NOW), state=ScheduleState.PAUSED)
    later = NOW + timedelta(days=30)

    assert plan(timetable=None).resumed(parked, later) == ScheduleProgress(ScheduleState.ACTIVE, NOW, later)
    assert plan().resumed(paused, later).due_at == datetime(2026, 12, 27, 5, tzinfo=UTC)


def test_zones_have_names() -> None:
    assert zone_called("Europe/Berlin") is BERLIN
