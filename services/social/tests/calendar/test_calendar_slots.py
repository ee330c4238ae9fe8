"""When an account posts: slots by the clocks of a zone, kept apart, and caught up in their order."""

from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chassis.quiet_hours import QuietHours
from social.calendar.slots import LATE, AccountSlots, NoSlotError, PostingRules, spaced_times

NINE, HALF_PAST_TWO, EVENING = time(9), time(2, 30), time(18)
WORKDAYS = ((NINE, EVENING),) * 5 + ((),) * 2
MINUTES = timedelta(minutes=1)


def rules(
    week: tuple[tuple[time, ...], ...] = WORKDAYS,
    zone: str = "Europe/Berlin",
    spacing: timedelta = 10 * MINUTES,
    quiet: QuietHours | None = None,
) -> PostingRules:
    return PostingRules(ZoneInfo(zone), week, spacing, quiet)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def shown(found: list[datetime], zone: str = "Europe/Berlin") -> list[str]:
    return [f"{each.astimezone(ZoneInfo(zone)):%m-%d %H:%M%z}" for each in found]


def test_slots_are_those_of_the_week_by_the_clocks_of_the_zone() -> None:
    found = list(islice(rules().slots(at("2026-10-23T09:00+02:00")), 4))  # a Friday, and the clocks go back

    assert shown(found) == ["10-23 18:00+0200", "10-26 09:00+0100", "10-26 18:00+0100", "10-27 09:00+0100"]


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        ("2026-03-28T12:00+01:00", ["03-29 03:00+0200", "03-30 02:30+0200"]),  # there is no half past two
        ("2026-10-24T12:00+02:00", ["10-25 02:30+0200", "10-26 02:30+0100"]),  # there are two
        ("2026-10-25T02:30+02:00", ["10-26 02:30+0100"]),  # between the two
    ],
)
def test_a_time_that_does_not_exist_or_exists_twice_is_one_slot(begin: str, expected: list[str]) -> None:
    found = islice(rules(((HALF_PAST_TWO,),) * 7).slots(at(begin)), len(expected))

    assert shown(list(found)) == expected


def test_two_times_that_the_clocks_make_one_are_one_slot() -> None:
    week = ((HALF_PAST_TWO, time(3)),) * 7

    found = list(islice(rules(week).slots(at("2026-03-28T12:00+01:00")), 2))

    assert shown(found) == ["03-29 03:00+0200", "03-30 02:30+0200"]


def test_a_slot_within_quiet_hours_does_not_exist() -> None:
    quiet = QuietHours.read("17:00", "08:00", "Europe/Berlin")

    assert shown(list(islice(rules(quiet=quiet).slots(at("2026-11-23T00:00+01:00")), 2))) == [
        "11-23 09:00+0100",
        "11-24 09:00+0100",
    ]
    never = rules(((EVENING,),) * 7, quiet=quiet)
    assert not never.has_any(at("2026-11-23T00:00+01:00"))
    assert rules(quiet=quiet).has_any(at("2026-11-23T00:00+01:00"))


def test_each_takes_the_next_free_slot_that_is_far_enough_from_others() -> None:
    account = AccountSlots(rules(), [at("2026-11-23T18:00+01:00"), at("2026-11-24T09:05+01:00")])

    found = [account.take(at("2026-11-23T08:00+01:00")) for _ in range(3)]

    assert shown(found) == ["11-23 09:00+0100", "11-24 18:00+0100", "11-25 09:00+0100"]


def test_without_slots_a_post_goes_out_at_once_unless_that_is_too_close_or_quiet() -> None:
    quiet = QuietHours.read("22:00", "07:00", "Europe/Berlin")
    account = AccountSlots(rules(((),) * 7, quiet=quiet), [at("2026-11-23T21:45+01:00")])

    found = [account.take(at("2026-11-23T21:40+01:00")) for _ in range(3)]

    assert shown(found) == ["11-23 21:55+0100", "11-24 07:00+0100", "11-24 07:10+0100"]
    assert AccountSlots(rules(((),) * 7), []).take(at("2026-11-23T21:40+01:00")) == at(
        "2026-11-23T21:40+01:00"
    )


def test_an_account_that_has_no_slot_left_says_so() -> None:
    quiet = QuietHours.read("08:00", "19:00", "Europe/Berlin")

    with pytest.raises(NoSlotError):
        AccountSlots(rules(quiet=quiet), []).take(at("2026-11-23T08:00+01:00"))


def test_what_was_missed_goes_out_in_its_order_and_not_at_once() -> None:
    due = [at(f"2026-11-23T{hour}:00+01:00") for hour in ("08", "09", "10", "12")]

    late = spaced_times(rules(spacing=30 * MINUTES), None, due, at("2026-11-23T11:00+01:00"))
    assert shown(late) == ["11-23 11:00+0100", "11-23 11:30+0100", "11-23 12:00+0100", "11-23 12:30+0100"]

    after_another = spaced_times(
        rules(spacing=30 * MINUTES), at("2026-11-23T10:50+01:00"), due[:1], at("2026-11-23T11:00+01:00")
    )
    assert shown(after_another) == ["11-23 11:20+0100"]

    quiet = QuietHours.read("11:15", "15:00", "Europe/Berlin")
    rest = spaced_times(rules(spacing=30 * MINUTES, quiet=quiet), None, due, at("2026-11-23T11:00+01:00"))
    assert shown(rest) == ["11-23 11:00+0100", "11-23 15:00+0100", "11-23 15:30+0100", "11-23 16:00+0100"]


def test_what_is_on_time_stays_where_it_is() -> None:
    due = [at("2026-11-23T09:00+01:00"), at("2026-11-23T09:30+01:00")]

    assert (
        spaced_times(rules(spacing=30 * MINUTES), due[0] - 30 * MINUTES, due, due[0] + 0.5 * MINUTES) == due
    )


CLOCKS = st.times().map(lambda found: found.replace(second=0, microsecond=0))
WEEKS = st.lists(
    st.lists(CLOCKS, max_size=3, unique=True).map(sorted).map(tuple), min_size=7, max_size=7
).map(tuple)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia"])
MOMENTS = st.integers(1_300_000_000, 1_900_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
QUIET = st.tuples(CLOCKS, CLOCKS, ZONES).map(
    lambda each: QuietHours(each[0], each[1], ZoneInfo(each[2])) if each[0] != each[1] else None
)


@pytest.mark.extended
@settings(max_examples=40)
@given(WEEKS, ZONES, st.integers(1, 500), QUIET, MOMENTS, st.lists(st.integers(-3000, 30_000), max_size=8))
def test_no_two_are_ever_closer_than_they_may_be_nor_within_quiet_hours(
    week: tuple[tuple[time, ...], ...],
    zone: str,
    spacing: int,
    quiet: QuietHours | None,
    now: datetime,
    others: list[int],
) -> None:
    kept = PostingRules(ZoneInfo(zone), week, spacing * MINUTES, quiet)
    taken = [now + each * MINUTES for each in others]
    account = AccountSlots(kept, taken)
    found = []
    if not kept.has_slots or kept.has_any(now):
        found = [account.take(now) for _ in range(5)]

    assert found == sorted(found)
    assert all(later - earlier >= kept.spacing for earlier, later in pairwise(found))
    assert all(abs(each - other) >= kept.spacing for each in found for other in taken)
    assert not any(kept.is_quiet(each) for each in found)
    # The same asked again is the same: nothing but its arguments decides.
    again = AccountSlots(kept, taken)
    assert [again.take(now) for _ in found] == found
    if found and kept.has_slots:
        # No slot before the first was free.
        passed = [each for each in kept.slots(now, found[0] - now) if each < found[0]]
        assert all(any(abs(each - other) < kept.spacing for other in taken) for each in passed)


@given(
    st.lists(MOMENTS, min_size=1, max_size=6).map(sorted), MOMENTS, st.none() | MOMENTS, st.integers(1, 9000)
)
def test_caught_up_means_later_apart_and_in_order(
    due: list[datetime], now: datetime, last: datetime | None, spacing: int
) -> None:
    kept = rules(spacing=spacing * MINUTES, quiet=QuietHours.read("22:00", "07:00", "UTC"))

    times = spaced_times(kept, last, due, now)

    assert all(found >= max(wanted, now - LATE) for found, wanted in zip(times, due, strict=True))
    assert all(later - earlier >= kept.spacing for earlier, later in pairwise(times))
    assert last is None or times[0] - last >= kept.spacing
    assert not any(kept.is_quiet(found) for found, wanted in zip(times, due, strict=True) if found != wanted)


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("15", ["01-15", "02-15", "03-15", "04-15"]),
        ("31", ["01-31", "03-31", "05-31", "07-31"]),
        ("29", ["01-29", "03-29", "04-29", "05-29"]),
        ("last", ["01-31", "02-28", "03-31", "04-30"]),
        ("first-mon", ["01-05", "02-02", "03-02", "04-06"]),
        ("fifth-sun", ["03-29", "05-31", "08-30", "11-29"]),
        ("last-fri", ["01-30", "02-27", "03-27", "04-24"]),
    ],
)
def test_a_month_that_has_no_such_day_is_passed_over(day: str, expected: list[str]) -> None:
    monthly = PostingRules(ZoneInfo("Europe/Berlin"), ((),) * 7, MINUTES, month=((day, (HALF_PAST_TWO,)),))

    found = list(islice(monthly.slots(at("2026-01-01T00:00+01:00")), 4))

    assert [each.split()[0] for each in shown(found)] == expected
    # In the night of 29 March the clocks skip half past two, as they do for slots of the week.
    assert {each.split()[1] for each in shown(found)} <= {"02:30+0100", "02:30+0200", "03:00+0200"}


def test_days_of_the_week_and_of_the_month_are_one_time_where_they_meet() -> None:
    mondays = ((NINE,), *((),) * 6)
    both = PostingRules(
        ZoneInfo("Europe/Berlin"), mondays, MINUTES, month=(("2", (NINE, EVENING)), ("first-mon", (NINE,)))
    )

    found = list(islice(both.slots(at("2026-10-27T12:00+01:00")), 4))

    assert shown(found) == ["11-02 09:00+0100", "11-02 18:00+0100", "11-09 09:00+0100", "11-16 09:00+0100"]
