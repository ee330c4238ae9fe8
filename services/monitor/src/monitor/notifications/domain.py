"""Which notifications a route sends, and when. Pure: no I/O, no clock, no randomness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from chassis.quiet_hours import QuietHours
from chassis.time_zones import moment, zone_called

MOST_IN_FULL: Final = 20
"""Items that a message shows in full; it counts the others."""
MANY_MORE: Final = 10
"""A route reports a count again at once after growth by this factor."""
AGAIN_AFTER: Final = timedelta(days=1)
"""After this time a route reports a count again that has grown, even by one."""
TRIED_AGAIN_AFTER: Final = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))
FAILING_TRIED_AFTER: Final = timedelta(hours=1)
"""Pause between attempts on a failing route; each attempt sends all that waits."""
NEVER_SENT_FOR: Final = timedelta(days=1)
"""Age at which a message fails if the gateway was unreachable all the time."""
_DAY: Final = timedelta(days=1)


class NotificationKind(StrEnum):
    """The subject of a notification."""

    DEAD_LETTERS = "dead_letters"
    IN_DOUBT = "in_doubt"
    """Posts and publications that may or may not be out."""
    BUDGETS = "budgets"
    ACCOUNTS = "accounts"
    WAITING = "waiting"
    """Drafts and posts that wait for review."""
    AUDITS = "audits"
    ROUTES = "routes"
    """Notification routes that fail."""
    MISSING = "missing"
    """Sent messages without an outcome."""
    QUEUES = "queues"
    """Queues that operators paused more than an hour ago."""
    SERVICES = "services"
    """Services that do not answer, so that their conditions are unknown."""
    WEBHOOKS = "webhooks"
    """Webhooks that are off, since nothing arrives there."""


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    """Ignores quiet hours."""

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


class NotificationEvent(StrEnum):
    """Why a message mentions a notification."""

    NEW = "new"
    MORE = "more"
    """The count has grown much, or the severity has."""
    RESOLVED = "resolved"


class Weekday(StrEnum):
    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


@dataclass(frozen=True, slots=True)
class Condition:
    """A state or an event that a source reports. Its texts contain no secret and no payload of a message."""

    kind: NotificationKind
    key: str
    """Identifies the condition, together with kind and brand."""
    severity: Severity
    title: str
    detail: str = ""
    command: str = ""
    """A `brandctl` command that shows more."""
    link: str | None = None
    brand: str | None = None
    """None: it concerns operators only."""
    count: int | None = None
    is_event: bool = False
    """Whether it is an event, which is reported once; a state lasts until its source no longer reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationSnapshot(Condition):
    """A notification, with what one route has sent about it (`told_…`)."""

    notification_id: UUID
    noticed_at: datetime
    changed_at: datetime
    resolved_at: datetime | None
    acknowledged_at: datetime | None
    begun_at: datetime
    """When the notification was assigned to the route."""
    told_count: int | None
    told_severity: Severity | None
    told_at: datetime | None


@dataclass(frozen=True, slots=True)
class SummarySchedule:
    """When a route gets the weekly summary: a weekday and a local time."""

    weekday: Weekday
    at: time
    zone: ZoneInfo

    @classmethod
    def read(cls, weekday: str, at: str, time_zone: str) -> Self:
        """Parses the fields; raises chassis.time_zones.UntimelyError for an unknown zone."""
        return cls(Weekday(weekday), time.fromisoformat(at), zone_called(time_zone))

    def as_json(self) -> dict[str, str]:
        return {"weekday": self.weekday.value, "at": f"{self.at:%H:%M}", "time_zone": self.zone.key}

    def next_after(self, now: datetime) -> datetime:
        """The next due time. Where clocks change, an ambiguous time means the first, and a skipped time the moment of the change."""
        today = now.astimezone(self.zone).date()
        days = (today + number * _DAY for number in range(9))
        wanted = list(Weekday).index(self.weekday)
        return next(
            due for day in days if day.weekday() == wanted and (due := moment(day, self.at, self.zone)) > now
        )


@dataclass(frozen=True, slots=True)
class NotificationRoute:
    """Which notifications go out through which account, and when."""

    name: str
    account: str
    addresses: tuple[str, ...] = ()
    brand: str | None = None
    """None: an operators' route, which gets notifications of all brands."""
    kinds: tuple[str, ...] = ()
    """Empty: all kinds."""
    quiet_hours: QuietHours | None = None
    group_seconds: int = 60
    summary: SummarySchedule | None = None


@dataclass(frozen=True, slots=True)
class NotificationItem:
    """A notification in a message."""

    standing: NotificationSnapshot
    about: NotificationEvent

    @property
    def headline(self) -> str:
        count = self.standing.told_count if self.about is NotificationEvent.RESOLVED else self.standing.count
        return self.standing.title if count is None else f"{self.standing.title} ({count})"

    def as_json(self) -> dict[str, Any]:
        standing = self.standing
        return {
            "id": str(standing.notification_id),
            "about": self.about.value,
            "kind": standing.kind.value,
            "severity": standing.severity.value,
            "brand": standing.brand,
            "title": self.headline,
            "detail": "" if self.about is NotificationEvent.RESOLVED else standing.detail,
            "command": "" if self.about is NotificationEvent.RESOLVED else standing.command,
            "link": None if self.about is NotificationEvent.RESOLVED else standing.link,
            "count": standing.count,
        }


def due_event(standing: NotificationSnapshot, now: datetime) -> NotificationEvent | None:
    """Why a route mentions a notification now; None if it does not."""
    if standing.told_at is None:
        # A notification that ended before the route sent it needs no message.
        return None if standing.resolved_at or standing.acknowledged_at else NotificationEvent.NEW
    if standing.is_event:
        return None
    told = standing.told_severity or standing.severity
    if standing.resolved_at is not None:
        return None if told is Severity.INFO else NotificationEvent.RESOLVED
    if standing.acknowledged_at is not None:
        return None
    known, count = standing.told_count or 1, standing.count or 1
    grown = count > known and now - standing.told_at >= AGAIN_AFTER
    if standing.severity.rank > told.rank or count >= MANY_MORE * known or grown:
        return NotificationEvent.MORE
    return None


def due_items(
    route: NotificationRoute, items: Sequence[NotificationItem], now: datetime
) -> list[NotificationItem]:
    """The items that go out now, the most urgent first. Within `group_seconds` none do; in quiet hours only critical ones do."""
    quiet = route.quiet_hours is not None and route.quiet_hours.holds(now)
    ready = [item for item in items if not quiet or item.standing.severity is Severity.CRITICAL]
    if not ready or now < min(map(_since, ready)) + timedelta(seconds=route.group_seconds):
        return []
    return sorted(
        ready,
        key=lambda item: (
            list(NotificationEvent).index(item.about),
            -item.standing.severity.rank,
            _since(item),
        ),
    )


def _since(item: NotificationItem) -> datetime:
    standing = item.standing
    match item.about:
        case NotificationEvent.NEW:
            return max(standing.noticed_at, standing.begun_at)
        case NotificationEvent.MORE:
            return standing.changed_at
        case NotificationEvent.RESOLVED:
            return standing.resolved_at or standing.changed_at


def message_content(items: Sequence[NotificationItem]) -> dict[str, Any]:
    """The stored content of a message with these items."""
    return {
        "title": _title(items),
        "paragraphs": [],
        "items": [item.as_json() for item in items[:MOST_IN_FULL]],
        "more": max(0, len(items) - MOST_IN_FULL),
        "told": [
            {
                "id": str(item.standing.notification_id),
                "about": item.about.value,
                "count": item.standing.count,
                "severity": item.standing.severity.value,
            }
            for item in items
        ],
    }


def _title(items: Sequence[NotificationItem]) -> str:
    if len(items) == 1:
        return item_headline(items[0].as_json())
    open_ones = [item for item in items if item.about is not NotificationEvent.RESOLVED]
    resolved = len(items) - len(open_ones)
    if not open_ones:
        return f"{resolved} notifications resolved"
    critical = sum(item.standing.severity is Severity.CRITICAL for item in open_ones)
    parts = [f"{critical} of them critical"] * (critical > 0) + [f"{resolved} resolved"] * (resolved > 0)
    return ", ".join([f"{len(items)} notifications", *parts])


_BEFORE: Final = {
    NotificationEvent.NEW: "",
    NotificationEvent.MORE: "Still: ",
    NotificationEvent.RESOLVED: "Resolved: ",
}


def item_headline(item: Mapping[str, Any]) -> str:
    """The first line of a stored item."""
    critical = (
        "Critical: "
        if item["severity"] == Severity.CRITICAL and item["about"] != NotificationEvent.RESOLVED
        else ""
    )
    brand = f"{item['brand']}: " if item["brand"] else ""
    return f"{critical}{_BEFORE[NotificationEvent(item['about'])]}{brand}{item['title']}"


def retry_delay(attempts: int, *, is_failing: bool) -> timedelta | None:
    """The delay until the next attempt; None: the message fails. A failing route gets no quick retries."""
    if is_failing or attempts > len(TRIED_AGAIN_AFTER):
        return None
    return TRIED_AGAIN_AFTER[attempts - 1]
