"""Routes of subscriptions: make one, pull events, say which are handled, and look at its dead letters."""

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Final, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from chassis import Connection
from chassis.http.api import UNKNOWN, MayOperate, MayRead, View, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, MAX_PAGE, PageLimit
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug
from events import problem_codes as codes
from events.cloud_events import CloudEvent
from events.log import store as log_store
from events.places import STORABLE, check_types
from events.subscriptions import store
from events.subscriptions.store import Backlog, Delivery, Subscription
from messaging import Database

PULL: Final = "/v1/subscriptions/{name}/pull"
ACKNOWLEDGE: Final = "/v1/subscriptions/{name}/ack"
LONGEST_LEASE: Final = 12 * 3600
_MOST_LEASES: Final = 1_000

Name = Annotated[
    str,
    Path(description="Name of the subscription.", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63),
]


class StartPosition(StrEnum):
    """Where a new subscription begins."""

    NOW = "now"
    """With what is stored from now on."""
    OLDEST = "oldest"
    """With the oldest event that is kept."""


class SubscriptionForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    brands: Annotated[list[BrandSlug], Field(min_length=1, max_length=500)] | None = Field(
        default=None, description="Only events of these brands; null: of all that your key may see."
    )
    types: (
        Annotated[list[Annotated[str, StringConstraints(max_length=100)]], Field(min_length=1, max_length=50)]
        | None
    ) = Field(default=None, description="Only these types; null: all.", examples=[["content.published"]])
    begin: StartPosition = Field(
        default=StartPosition.NOW, description="Where it begins, if it is new: `now` or `oldest`."
    )
    max_deliveries: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10, description="After so many deliveries without `acks` an event is a dead letter."
    )


class SubscriptionView(View):
    """A reader that takes events one after the other. All times are UTC."""

    name: str
    brands: list[str] | None = Field(description="Null: all.")
    types: list[str] | None = Field(description="Null: all.")
    max_deliveries: int
    created_by: str
    created_at: datetime
    pulled_at: datetime | None = Field(description="When events were last asked for.")
    missed_until: datetime | None = Field(
        description="Events from before this time were forgotten before they were taken; null: none were."
    )

    @classmethod
    def of(cls, subscription: Subscription) -> Self:
        return cls.from_row(subscription)


class SubscriptionState(SubscriptionView):
    behind: int = Field(
        description="Events that match and were never delivered; at most 10,000 are counted, among the next 100,000 events of the log."
    )
    leased: int = Field(description="Events whose lease runs.")
    waiting: int = Field(description="Events that are to be delivered again.")
    dead: int = Field(description="Dead letters.")
    oldest: datetime | None = Field(description="When the oldest event that is not handled happened.")

    @classmethod
    def with_backlog(cls, subscription: Subscription, backlog: Backlog) -> Self:
        return cls.model_validate(
            SubscriptionView.of(subscription).model_dump()
            | {name: getattr(backlog, name) for name in Backlog.__slots__}
        )


class SubscriptionPage(View):
    items: list[SubscriptionView]
    next: str | None = Field(description="Send it as `after` to get the next page; null on the last one.")


class PullRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    batch_size: Annotated[int, Field(ge=1, le=MAX_PAGE)] = Field(default=100, description="Events at most.")
    visibility_timeout_seconds: Annotated[int, Field(ge=1, le=LONGEST_LEASE)] = Field(
        default=60,
        description="How long the events are yours: without `acks` or `retries` they are delivered again after that; up to 12 hours.",
    )


class PulledEvent(View):
    lease_id: UUID = Field(description="Names this delivery, for `acks` and `retries`.")
    delivery: int = Field(description="1: the first one.")
    leased_until: datetime
    event: CloudEvent

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        return cls(
            lease_id=delivery.lease_id,
            delivery=delivery.number,
            leased_until=delivery.leased_until,
            event=CloudEvent.of(delivery.event),
        )


class PulledEvents(View):
    messages: list[PulledEvent] = Field(description="In their order; empty if there are none now.")


class Retry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    lease_id: UUID
    delay_seconds: Annotated[int, Field(ge=0, le=LONGEST_LEASE)] = Field(
        default=0, description="How long to wait before it is delivered again."
    )


class AckRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    acks: Annotated[list[UUID], Field(max_length=_MOST_LEASES)] = Field(
        default=[], description="Leases of events that are handled."
    )
    retries: Annotated[list[Retry], Field(max_length=_MOST_LEASES)] = Field(
        default=[], description="Leases of events to be delivered again."
    )


class AckAnswer(View):
    acked: int
    retried: int
    unknown: list[UUID] = Field(
        description="Leases that had ended: the event was delivered again, or is handled already."
    )


class DeadEvent(View):
    place: int = Field(description="Names it for `revive`, and as `after`.")
    deliveries: int
    died_at: datetime
    event: CloudEvent


class DeadEventPage(View):
    items: list[DeadEvent]
    next: int | None = Field(description="Send it as `after` to get the next page; null on the last one.")


class ReviveRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    places: (
        Annotated[
            list[Annotated[int, Field(ge=0, le=2**63 - 1)]], Field(min_length=1, max_length=_MOST_LEASES)
        ]
        | None
    ) = Field(default=None, description="Which; null: all.")


class RevivedEvents(View):
    revived: int


def subscription_routes(database: Database) -> list[APIRouter]:
    return [_managing(database), _taking(database)]


def _managing(database: Database) -> APIRouter:
    routes = router("/subscriptions", tags=["subscriptions"])

    @routes.get("", summary="Subscriptions")
    async def list_subscriptions(
        caller: MayRead,
        after: Annotated[str | None, Query(description=AFTER, max_length=63, pattern=STORABLE)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> SubscriptionPage:
        async with database.connection() as connection:
            found = await store.page(connection, caller.visible_brands(), after=after, limit=limit + 1)
        items = [SubscriptionView.of(each) for each in found[:limit]]
        return SubscriptionPage(items=items, next=items[-1].name if len(found) > limit else None)

    @routes.get("/{name}", summary="A subscription and what is before it", responses=UNKNOWN)
    async def get_subscription(caller: MayRead, name: Name) -> SubscriptionState:
        async with database.connection() as connection:
            found = await _find(connection, name, caller)
            return SubscriptionState.with_backlog(found, await store.read_backlog(connection, found))

    @routes.put(
        "/{name}",
        summary="Make a subscription",
        responses=refusal(HTTPStatus.CONFLICT, "There is one of this name for other events."),
    )
    async def set_subscription(caller: MayOperate, name: Name, form: SubscriptionForm) -> SubscriptionView:
        """Makes it, or sets `max_deliveries` of one that is there. What it selects never changes: make another for other events."""
        check_types(form.types or [])
        brands = _brands(form.brands, caller)
        types = None if form.types is None else sorted(set(form.types))
        async with database.transaction() as tx:
            head = await log_store.read_head(tx.connection)
            is_new = await store.insert(
                tx.connection,
                name,
                brands=brands,
                types=types,
                max_deliveries=form.max_deliveries,
                position=head.position if form.begin is StartPosition.NOW else head.forgotten,
                by=caller.name,
            )
            found = await store.find(tx.connection, name)
            assert found is not None
            if not is_new:
                wanted = (None if brands is None else tuple(brands), None if types is None else tuple(types))
                if not found.is_visible(caller.brands) or (found.brands, found.types) != wanted:
                    raise RefusalError(
                        codes.SUBSCRIPTION_TAKEN,
                        f"there is a subscription '{name}' for other events; take another name, or delete that one first",
                    )
                await store.set_max_deliveries(tx.connection, name, form.max_deliveries)
                found = await store.find(tx.connection, name)
                assert found is not None
        return SubscriptionView.of(found)

    @routes.delete("/{name}", status_code=204, summary="Remove a subscription", responses=UNKNOWN)
    async def delete_subscription(caller: MayOperate, name: Name) -> None:
        """Removes it with its dead letters; the events stay in the log."""
        async with database.transaction() as tx:
            await _find(tx.connection, name, caller)
            await store.remove(tx.connection, name)

    @routes.get("/{name}/dead-letters", summary="Events that its reader did not handle", responses=UNKNOWN)
    async def list_dead_events(
        caller: MayRead,
        name: Name,
        after: Annotated[int, Query(description=AFTER, ge=0, le=2**63 - 1)] = 0,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> DeadEventPage:
        async with database.connection() as connection:
            await _find(connection, name, caller)
            found = await store.dead_page(connection, name, after=after, limit=limit + 1)
        items = [
            DeadEvent(
                place=each.event.position,
                deliveries=each.number,
                died_at=each.died_at,
                event=CloudEvent.of(each.event),
            )
            for each in found[:limit]
        ]
        return DeadEventPage(items=items, next=items[-1].place if len(found) > limit else None)

    @routes.post("/{name}/dead-letters/revive", summary="Deliver dead letters anew", responses=UNKNOWN)
    async def revive_dead_events(
        caller: MayOperate, name: Name, request: ReviveRequest | None = None
    ) -> RevivedEvents:
        """Their deliveries are counted anew."""
        async with database.transaction() as tx:
            await _find(tx.connection, name, caller, lock=True)
            number = await store.revive(tx.connection, name, request.places if request else None)
        return RevivedEvents(revived=number)

    return routes


def _taking(database: Database) -> APIRouter:
    routes = router("/subscriptions", tags=["subscriptions"])

    @routes.post("/{name}/pull", summary="Take events", responses=UNKNOWN)
    async def pull_events(caller: MayRead, name: Name, request: PullRequest | None = None) -> PulledEvents:
        """Returns events that nobody else has meanwhile: each with a lease.

        Say in time which are handled, with `ack`; an event whose lease ends is delivered again. Several readers may pull at once.
        """
        asked = request or PullRequest()
        async with database.transaction() as tx:
            found = await _find(tx.connection, name, caller, lock=True)
            pulled = await store.pull(
                tx.connection,
                found,
                limit=asked.batch_size,
                lease=timedelta(seconds=asked.visibility_timeout_seconds),
            )
        return PulledEvents(messages=[PulledEvent.of(each) for each in pulled])

    @routes.post("/{name}/ack", summary="Say which events are handled", responses=UNKNOWN)
    async def acknowledge_events(caller: MayRead, name: Name, request: AckRequest) -> AckAnswer:
        """Ends the deliveries in `acks`, and has those in `retries` delivered again. Sent twice, it does nothing more."""
        delays = {each.lease_id: timedelta(seconds=each.delay_seconds) for each in request.retries}
        async with database.transaction() as tx:
            await _find(tx.connection, name, caller)
            acked = await store.acknowledge(tx.connection, name, set(request.acks))
            retried = await store.give_back(tx.connection, name, delays) if delays else set()
        unknown = (set(request.acks) - acked) | (delays.keys() - retried - acked)
        return AckAnswer(acked=len(acked), retried=len(retried), unknown=sorted(unknown))

    return routes


async def _find(connection: Connection, name: str, caller: Caller, *, lock: bool = False) -> Subscription:
    found = await store.find(connection, name, lock=lock)
    if found is None or not found.is_visible(caller.brands):
        raise RefusalError(
            codes.UNKNOWN_SUBSCRIPTION,
            f"there is no subscription '{name}' that your key may see; create it first",
        )
    return found


def _brands(wanted: Collection[str] | None, caller: Caller) -> list[str] | None:
    """The brands of a new subscription; a caller who is bound to brands gets these."""
    if wanted is None:
        return caller.visible_brands()
    for brand in wanted:
        caller.check_visible(brand)
    return sorted(set(wanted))
