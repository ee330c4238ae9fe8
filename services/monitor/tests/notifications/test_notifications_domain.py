"""Decisions about notifications: contents, receivers and times."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from chassis.quiet_hours import QuietHours
from monitor.notifications.domain import (
    NotificationEvent,
    NotificationItem,
    NotificationKind,
    NotificationRoute,
    NotificationSnapshot,
    Severity,
    SummarySchedule,
    Weekday,
    due_event,
    due_items,
    message_content,
    retry_delay,
)

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
NEW = NotificationSnapshot(
    NotificationKind.DEAD_LETTERS, "g", Severity.WARNING, "Dead letters on x: E", "why", "do", None, "acme", 12,
    notification_id=UUID(int=1), noticed_at=NOON, changed_at=NOON, resolved_at=None, acknowledged_at=None,
    begun_at=NOON, told_count=None, told_severity=None, told_at=None,
)  # fmt: skip
TOLD = replace(NEW, told_count=12, told_severity=Severity.WARNING, told_at=NOON + MINUTE)
NIGHTS = QuietHours.read("22:00", "07:00", "UTC")


@pytest.mark.parametrize(
    ("standing", "after", "said"),
    [
        (NEW, MINUTE, NotificationEvent.NEW),
        (replace(NEW, resolved_at=NOON + SECOND), MINUTE, None),
        (replace(NEW, acknowledged_at=NOON + SECOND), MINUTE, None),
        (TOLD, HOUR, None),
        (replace(TOLD, count=119), HOUR, None),
        (replace(TOLD, count=120), HOUR, NotificationEvent.MORE),
        (replace(TOLD, count=13), 23 * HOUR, None),
        (replace(TOLD, count=13), 25 * HOUR, NotificationEvent.MORE),
        (replace(TOLD, count=11), 48 * HOUR, None),
        (replace(TOLD, severity=Severity.CRITICAL), HOUR, NotificationEvent.MORE),
        (replace(TOLD, severity=Severity.CRITICAL, acknowledged_at=NOON), HOUR, None),
        (replace(TOLD, resolved_at=NOON + HOUR), HOUR, NotificationEvent.RESOLVED),
        (replace(TOLD, resolved_at=NOON + HOUR, acknowledged_at=NOON), HOUR, NotificationEvent.RESOLVED),
        (replace(TOLD, told_severity=Severity.INFO, resolved_at=NOON + HOUR), HOUR, None),
        (replace(TOLD, is_event=True, resolved_at=NOON + HOUR), HOUR, None),
        (replace(TOLD, is_event=True, count=999), HOUR, None),
    ],
)
def test_what_is_said_of_a_notification(
    standing: NotificationSnapshot, after: timedelta, said: NotificationEvent | None
) -> None:
    assert due_event(standing, NOON + after) is said


def test_what_is_noticed_within_the_window_goes_out_together() -> None:
    route = NotificationRoute("ops", "ops", group_seconds=60)
    later = replace(NEW, notification_id=UUID(int=2), noticed_at=NOON + 50 * SECOND)
    items = [NotificationItem(NEW, NotificationEvent.NEW), NotificationItem(later, NotificationEvent.NEW)]
    assert due_items(route, items, NOON + 59 * SECOND) == []
    assert due_items(route, items, NOON + 60 * SECOND) == items


def test_quiet_hours_hold_back_what_is_not_critical() -> None:
    route = NotificationRoute("ops", "ops", quiet_hours=NIGHTS, group_seconds=0)
    midnight = datetime(2026, 3, 4, 0, 30, tzinfo=UTC)
    plain, urgent = (
        NotificationItem(NEW, NotificationEvent.NEW),
        NotificationItem(replace(NEW, severity=Severity.CRITICAL), NotificationEvent.NEW),
    )
    early = [
        replace(each, standing=replace(each.standing, noticed_at=midnight, begun_at=midnight))
        for each in (plain, urgent)
    ]
    assert due_items(route, early, midnight) == early[1:]
    assert due_items(route, early, midnight.replace(hour=7)) == [early[1], early[0]]


def test_a_message_tells_the_most_urgent_and_counts_the_rest() -> None:
    items = [
        NotificationItem(replace(NEW, notification_id=UUID(int=number)), NotificationEvent.NEW)
        for number in range(33)
    ]
    content = message_content(items)
    assert (content["title"], len(content["items"]), content["more"]) == ("33 notifications", 20, 13)
    assert len(content["told"]) == 33
    resolved = message_content([NotificationItem(replace(TOLD, count=0), NotificationEvent.RESOLVED)])
    assert resolved["title"] == "Resolved: acme: Dead letters on x: E (12)"
    assert resolved["items"][0]["command"] == ""


def test_attempts_end() -> None:
    waits = [retry_delay(attempts, is_failing=False) for attempts in (1, 2, 3, 4)]
    assert waits == [MINUTE, 5 * MINUTE, 30 * MINUTE, None]
    assert retry_delay(1, is_failing=True) is None


@pytest.mark.parametrize(
    ("at", "due"),
    [
        # The clocks of Berlin skip 02:30 on 2026-03-29, and show it twice on 2026-10-25.
        (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
        (datetime(2026, 10, 24, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 11, 1, 1, 30, tzinfo=UTC)),
    ],
)
def test_a_summary_is_due_once_a_week_whatever_the_clocks_do(at: datetime, due: datetime) -> None:
    summary = SummarySchedule(Weekday.SUNDAY, time(2, 30), ZoneInfo("Europe/Berlin"))
    assert summary.next_after(at) == due
    assert summary.next_after(due) > due
