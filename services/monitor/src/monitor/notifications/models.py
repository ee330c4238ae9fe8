"""The shapes of requests and answers about notifications."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from chassis.http.api import View
from chassis.quiet_hours import QuietHours
from envelope.brand.payloads import BrandSlug
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


def _storable(value: str) -> str:
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not contain U+0000 or half of a surrogate pair")
    return value


By = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_storable)]


class _NotificationBody(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class QuietHoursModel(_NotificationBody):
    """From one time of the day to another one, over midnight if `end` is not later."""

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
    """When the summary of the week comes."""

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
    """Who is told of what, and through which account. Fields left out take their defaults, also when the route exists."""

    account: RouteName
    """Of the gateway: of kind telegram, slack, discord, smtp or webhook."""
    to: Annotated[tuple[Address, ...], Field(max_length=20, examples=[["ops@example.org"]])] = ()
    """The addresses (smtp), or another chat of the account than its first (telegram); the other kinds know where they go."""
    brand: BrandSlug | None = None
    """What is about this brand alone; left out: the operators' route, told of everything."""
    kinds: Annotated[
        tuple[NotificationKind, ...],
        Field(max_length=len(NotificationKind), examples=[["dead_letters", "in_doubt"]]),
    ] = ()
    """Empty: all. A route of the operators is told of failing routes in any case."""
    quiet_hours: QuietHoursModel | None = None
    """What is noticed meanwhile comes afterwards, in one message; what is critical comes at once."""
    group_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60
    """What is noticed within so many seconds comes in one message."""
    summary: SummaryModel | None = None
    """Left out: there is no weekly summary."""

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
    """A route, and how it fares."""

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
    """Why nothing arrives."""
    failing_since: datetime | None
    last_sent_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        route: NotificationRoute = row["set"]
        return cls(
            name=route.name,
            account=route.account,
            to=route.addresses,
            brand=route.brand,
            kinds=tuple(map(NotificationKind, route.kinds)),
            quiet_hours=None if route.quiet_hours is None else QuietHoursModel(**route.quiet_hours.told()),
            group_seconds=route.group_seconds,
            summary=None if route.summary is None else SummaryModel.model_validate(route.summary.as_json()),
            summary_due_at=row["summary_due_at"],
            state="working" if row["failing_since"] is None else "failing",
            problem=row["problem"],
            failing_since=row["failing_since"],
            last_sent_at=row["last_sent_at"],
            created_at=row["created_at"],
            updated_at=row["updated_at"],
        )


class RouteList(View):
    items: list[RouteView]
    """By name."""


class DeliveryView(View):
    route: str
    told_at: datetime | None
    """Null: it is still to be told there."""


class NotificationView(View):
    """What was noticed. All times are UTC."""

    id: UUID
    kind: NotificationKind
    brand: str | None
    key: str
    """With kind and brand, what makes two of them the same."""
    severity: Severity
    title: str
    detail: str
    command: str
    link: str | None
    count: int | None
    """How many things it stands for."""
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
    """What was sent, or was not."""

    id: UUID
    """Also in the `webhook-id` and the `Message-ID`: the same in every attempt."""
    route: str
    brand: str | None
    purpose: Literal["news", "summary", "test"]
    title: str
    """Empty: a summary that has not been put together."""
    state: Literal["waiting", "sending", "sent", "failed"]
    attempts: int
    due_at: datetime
    """Of one that waits: when it is tried again."""
    problem: str | None
    """Why it did not arrive the last time; of one that was sent, which addresses refused it."""
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
    by: By | None = None
    """Who takes care of it; kept with it, and taken on trust."""
