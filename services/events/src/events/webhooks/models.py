"""What the API of webhooks takes and returns."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from chassis.http.api import View
from events.cloud_events import CloudEvent
from events.log.domain import LoggedEvent
from events.subscriptions.routes import StartPosition
from events.subscriptions.store import Backlog
from events.webhooks.domain import ReceiverAnswer, TryOutcome, Webhook, WebhookState, WebhookTry

AccountName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=63)]
TypeNames = Annotated[
    list[Annotated[str, StringConstraints(max_length=100)]], Field(min_length=1, max_length=50)
]
_MOST_PLACES = 200


class WebhookOrder(StrEnum):
    STRICT = "strict"
    """An event waits until the one before it was delivered, or given up after a day."""
    NONE = "none"
    """An event that fails delays no other one."""


class WebhookForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    account: AccountName = Field(
        description="Account of the kind `webhook` at the gateway: it has the address and the secret."
    )
    types: TypeNames | None = Field(
        default=None, description="Only events of these types; null: all.", examples=[["content.published"]]
    )
    order: WebhookOrder = Field(
        default=WebhookOrder.NONE,
        description="`strict`: an event waits for the one before it. `none`: an event that fails delays no other one.",
    )
    begin: StartPosition = Field(
        default=StartPosition.NOW, description="Where it begins, if it is new: `now` or `oldest`."
    )


class WebhookView(View):
    """A receiver of a brand's events. All times are UTC."""

    brand: str
    name: str
    account: str
    types: list[str] | None = Field(description="Null: all.")
    order: WebhookOrder
    state: WebhookState = Field(
        description="`off`: a person turned it off. `failed`: it was turned off, since nothing arrives; `problem` says why."
    )
    problem: str | None = Field(description="Why the last events did not arrive; null if they did.")
    failures: int = Field(description="Failures in a row.")
    failing_since: datetime | None = Field(description="The first failure since the last delivery.")
    delivered_at: datetime | None = Field(description="The last delivery.")
    resending: bool = Field(description="Whether past events are being sent again.")
    missed_until: datetime | None = Field(
        description="Events from before this time were forgotten before they were sent; null: none were."
    )
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, webhook: Webhook) -> Self:
        return cls.model_validate(_fields(webhook))


class WebhookDetails(WebhookView):
    behind: int = Field(
        description="Events that match and were never sent; at most 10,000 are counted, among the next 100,000 events of the log."
    )
    waiting: int = Field(description="Events that are sent again later, or now.")
    dead: int = Field(description="Events that were given up; `resend` sends them again.")
    oldest: datetime | None = Field(description="When the oldest event that is to be sent happened.")

    @classmethod
    def with_backlog(cls, webhook: Webhook, backlog: Backlog) -> Self:
        return cls.model_validate(
            _fields(webhook)
            | {
                "behind": backlog.behind,
                "waiting": backlog.waiting + backlog.leased,
                "dead": backlog.dead,
                "oldest": backlog.oldest,
            }
        )


def _fields(webhook: Webhook) -> dict[str, Any]:
    named = {
        name: getattr(webhook, name)
        for name in WebhookView.model_fields
        if name not in {"order", "types", "resending"}
    }
    return named | {
        "types": None if webhook.types is None else list(webhook.types),
        "order": WebhookOrder.STRICT if webhook.strict else WebhookOrder.NONE,
        "resending": webhook.is_resending,
    }


class WebhookList(View):
    items: list[WebhookView]


class WebhookPage(View):
    items: list[WebhookView]
    next: str | None = Field(description="Send it as `after` to get the next page; null on the last one.")


class EnableWebhook(BaseModel):
    model_config = ConfigDict(extra="forbid")

    skip_missed: bool = Field(
        default=False, description="Whether to send only what happens from now on, and nothing that waits."
    )


class WebhookDelivery(View):
    """One try to deliver an event."""

    id: UUID
    place: int = Field(description="Of the event in the log; `resend` takes it.")
    event_id: UUID = Field(description="The `webhook-id` of all its tries.")
    type: str
    number: int = Field(description="1: the first try.")
    outcome: TryOutcome
    status: int | None = Field(description="Status of the receiver's answer; null if there was none.")
    answer: str | None = Field(description="The start of the answer, up to 2,000 characters.")
    problem: str | None
    duration_ms: int
    tried_at: datetime

    @classmethod
    def of(cls, tried: WebhookTry) -> Self:
        return cls.model_validate(_of_try(tried))


class WebhookDeliveryDetails(WebhookDelivery):
    event: CloudEvent | None = Field(description="What was sent; null once the event is forgotten.")

    @classmethod
    def with_event(cls, tried: WebhookTry, event: LoggedEvent | None) -> Self:
        told = None if event is None else CloudEvent.of(event)
        return cls.model_validate(_of_try(tried) | {"event": told})


def _of_try(tried: WebhookTry) -> dict[str, Any]:
    names = (
        "event_id",
        "type",
        "number",
        "outcome",
        "status",
        "answer",
        "problem",
        "duration_ms",
        "tried_at",
    )
    return {"id": tried.try_id, "place": tried.position} | {name: getattr(tried, name) for name in names}


class WebhookDeliveryPage(View):
    items: list[WebhookDelivery] = Field(description="The newest first.")
    next: UUID | None = Field(description="Send it as `after` to get the next page; null on the last one.")


class ResendRequest(BaseModel):
    """Which events to send again: one of the three."""

    model_config = ConfigDict(extra="forbid")

    places: (
        Annotated[
            list[Annotated[int, Field(ge=0, le=2**63 - 1)]], Field(min_length=1, max_length=_MOST_PLACES)
        ]
        | None
    ) = Field(default=None, description="`place` of deliveries.")
    since: AwareDatetime | None = Field(
        default=None, description="All that were stored at this time or later."
    )
    dead: bool = Field(default=False, description="All that were given up.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.places is not None) + (self.since is not None) + self.dead != 1:
            raise ValueError("give one of places, since and dead")
        return self


class ResendAnswer(View):
    resent: int = Field(
        description="Events that are sent again now. With `since`, 0: they are counted as they are sent."
    )
    resending: bool = Field(description="Whether past events are being sent again in the background.")


class WebhookTest(View):
    """What the receiver answered to a test."""

    delivered: bool
    status: int | None
    answer: str
    problem: str | None
    duration_ms: int
    event: dict[str, Any] = Field(description="The CloudEvent that was sent.")

    @classmethod
    def with_answer(cls, answer: ReceiverAnswer, duration_ms: int, event: dict[str, Any]) -> Self:
        return cls(
            delivered=answer.problem is None,
            status=answer.status,
            answer=answer.text,
            problem=answer.problem,
            duration_ms=duration_ms,
            event=event,
        )
