"""Requests and answers of the HTTP API for notifications."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from chassis.http.api import View
from chassis.quiet_hours import QuietHours
from envelope.brand.payloads import BrandSlug
from monitor.dead_letters import StoredText
from monitor.notifications.channels import CHANNELS
from monitor.notifications.domain import (
    NotificationKind,
    NotificationRoute,
    Severity,
    SummarySchedule,
    Weekday,
)

CLOCK_PATTERN: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"

RouteName = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=63)]
Clock = Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["08:00"])]
Zone = Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])]
Address = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,254}$")]


_CHANNELS: Final = sorted(CHANNELS)
_KINDS: Final = f"{', '.join(_CHANNELS[:-1])} or {_CHANNELS[-1]}"


class _NotificationBody(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class QuietHoursModel(_NotificationBody):
    """A daily period, over midnight if `end` is not later than `begin`."""

    begin: Clock
    end: Clock
    time_zone: Zone = "UTC"

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.hours()
        return self

    def hours(self) -> QuietHours:
        return QuietHours.read(self.begin, self.end, self.time_zone)


class SummaryModel(_NotificationBody):
    """When the weekly summary is sent."""

    weekday: Weekday = Weekday.MONDAY
    at: Clock = "08:00"
    time_zone: Zone = "UTC"

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.summary()
        return self

    def summary(self) -> SummarySchedule:
        return SummarySchedule.read(self.weekday, self.at, self.time_zone)


class RouteRequest(_NotificationBody):
    """Which notifications go out through which account. Omitted fields take their defaults, also on an existing route."""

    account: Annotated[RouteName, Field(description=f"An account of the gateway: {_KINDS}.")]
    to: Annotated[tuple[Address, ...], Field(max_length=20, examples=[["ops@example.org"]])] = ()
    """Addresses (smtp), or a chat of the account if not its first (telegram); other kinds take none."""
    brand: BrandSlug | None = None
    """Only notifications of this brand; omitted: an operators' route, which gets all."""
    kinds: Annotated[
        tuple[NotificationKind, ...],
        Field(max_length=len(NotificationKind), examples=[["dead_letters", "in_doubt"]]),
    ] = ()
    """Empty: all kinds. An operators' route always gets notifications about failing routes."""
    quiet_hours: QuietHoursModel | None = None
    """Notifications in this period wait for its end and share a message; critical ones go out at once."""
    group_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60
    """Notifications within so many seconds share a message."""
    summary: SummaryModel | None = None
    """Omitted: no weekly summary."""

    def route(self, name: str) -> NotificationRoute:
        return NotificationRoute(
            name=name,
            account=self.account,
            addresses=self.to,
            brand=self.brand,
            kinds=tuple(dict.fromkeys(kind.value for kind in self.kinds)),
            quiet_hours=None if self.quiet_hours is None else self.quiet_hours.hours(),
            group_seconds=self.group_seconds,
            summary=None if self.summary is None else self.summary.summary(),
        )


class RouteView(View):
    """A notification route and its state."""

    name: str
    account: str
    to: tuple[str, ...]
    brand: str | None
    kinds: tuple[NotificationKind, ...]
    quiet_hours: QuietHoursModel | None
    group_seconds: int
    summary: SummaryModel | None
    summary_due_at: datetime | None
    state: Literal["working", "failing"]
    problem: str | None
    """Why the route fails."""
    failing_since: datetime | None
    last_sent_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        route: NotificationRoute = row["set"]
        return cls.model_validate(
            {
                **row,
                "to": route.addresses,
                "brand": route.brand,
                "quiet_hours": route.quiet_hours and route.quiet_hours.told(),
                "summary": route.summary and route.summary.as_json(),
                "state": "working" if row["failing_since"] is None else "failing",
            }
        )


class RouteList(View):
    items: list[RouteView]
    """In the order of their names."""


class DeliveryView(View):
    route: str
    told_at: datetime | None
    """Null: the route has not sent it."""


class NotificationView(View):
    """A notification. All times are UTC."""

    id: UUID
    kind: NotificationKind
    brand: str | None
    key: str
    """Identifies the notification, together with kind and brand."""
    severity: Severity
    title: str
    detail: str
    command: str
    link: str | None
    count: int | None
    """Number of things it covers."""
    state: Literal["open", "acknowledged", "resolved"]
    noticed_at: datetime
    changed_at: datetime
    resolved_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    told: list[DeliveryView]

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        resolved, acknowledged = row["resolved_at"], row["acknowledged_at"]
        state = "resolved" if resolved else "acknowledged" if acknowledged else "open"
        return cls.model_validate({**row, "brand": row["brand_slug"], "state": state})


class NotificationPage(View):
    items: list[NotificationView]
    next: UUID | None
    """Send it as `after` to get the next page; null on the last one."""


class MessageView(View):
    """A message of a route."""

    id: UUID
    """Also part of `webhook-id` and `Message-ID`; the same in every attempt."""
    route: str
    brand: str | None
    purpose: Literal["news", "summary", "test"]
    title: str
    """Empty for a summary that is not composed yet."""
    state: Literal["waiting", "sending", "sent", "failed"]
    attempts: int
    due_at: datetime
    """Time of the next attempt, while it waits."""
    problem: str | None
    """Why the last attempt failed; after a partial success, the refused addresses."""
    made_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        return cls.model_validate({**row, "brand": row["brand_slug"]})


class MessagePage(View):
    items: list[MessageView]
    next: UUID | None
    """Send it as `after` to get the next page; null on the last one."""


class AcknowledgeRequest(_NotificationBody):
    by: StoredText | None = None
    """Name of the person in charge; stored and not verified."""
