"""`GET /v1/ledger` and `GET /v1/ledger/messages`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from chassis.http.api import View, needs, router
from chassis.http.callers import Scope
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, MAX_PAGE, PageLimit
from envelope import Catalogue
from messaging import Database
from monitor.dead_letters import Reason, StoredText
from monitor.ledger import store
from monitor.ledger.domain import LedgerMessage, LedgerPlace, LedgerState, last_hop
from monitor.ledger.message_routes import consumers_of
from monitor.ledger.store import LedgerSummary

PERIOD: Final = timedelta(hours=24)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CURSOR: Final = "^[0-9]{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""Microseconds since 1970, and the id of the message."""


class LedgerCounts(View):
    """Messages sent in a period. Each accepted one is in exactly one of the other counts."""

    accepted: int
    """The broker confirmed them."""
    done: int
    """Their consumer handled them, or a replay of them."""
    under_way: int
    dead_letters: int
    """Their dead letter is open."""
    discarded: int
    """An operator discarded their dead letter, or it was removed with its brand."""
    closed: int
    """An operator closed them, as nothing has become of them."""
    missing: int


class LedgerQueueView(LedgerCounts):
    """The counts of one queue."""

    queue: Annotated[str, Field(examples=["publisher-commands"])]


class LedgerServiceView(View):
    name: Annotated[str, Field(examples=["publisher"])]
    away_since: datetime | None
    """Since when it does not answer; messages that it sent or should handle meanwhile are not counted yet. Null: it answers."""
    problem: str | None
    is_recorded: bool
    """Whether it records what it sends: its setting `MESSAGE_LEDGER`."""


class LedgerView(View):
    last_24_hours: LedgerCounts
    queues: tuple[LedgerQueueView, ...]
    """The same, by the queue that they were sent to."""
    since: datetime
    """Start of that period, on the hour."""
    missing: int
    """All missing messages, older ones too, without closed ones; they are kept for seven days."""
    services: tuple[LedgerServiceView, ...]
    """The services that were asked."""
    reaches_back_to: datetime | None
    """The oldest hour with counts; null: nothing was counted yet."""
    counted_until: datetime | None
    """All messages sent before are counted, except those of services that are away."""
    now: datetime


class LedgerMessageView(View):
    """A message that was sent and is not done."""

    message_id: UUID
    type: Annotated[str, Field(examples=["content.publish"])]
    sender: Annotated[str, Field(examples=["orchestrator"])]
    consumer: Annotated[str, Field(examples=["publisher"])]
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    correlation_id: str | None
    state: LedgerState
    place: LedgerPlace
    """Where it is; if it is missing, where it was last."""
    place_at: datetime | None
    """When its next attempt may start (`retry`), its handler began (`handler`), or the broker confirmed it (`queue`)."""
    last_hop: str | None
    """If it is missing: where it was last, in words."""
    sent_at: datetime
    missing_since: datetime | None
    """When the ledger first missed it."""
    closed_at: datetime | None
    """When an operator closed it."""
    closed_by: str | None
    closed_why: str | None

    @classmethod
    def of(cls, message: LedgerMessage, consumers: Mapping[str, str]) -> Self:
        consumer = consumers.get(message.queue, "")
        is_missing = message.state is LedgerState.MISSING
        return cls(
            message_id=message.event_id,
            type=message.type,
            sender=message.sender,
            consumer=consumer,
            queue=message.queue,
            correlation_id=message.correlation_id,
            state=message.shown_state,
            place=message.place,
            place_at=message.place_at,
            last_hop=last_hop(message.queue, consumer, message.place, message.known_at)
            if is_missing
            else None,
            sent_at=message.sent_at,
            missing_since=message.missing_since,
            closed_at=message.closed_at,
            closed_by=message.closed_by,
            closed_why=message.closed_why,
        )


class LedgerMessagePage(View):
    items: tuple[LedgerMessageView, ...]
    next: str | None
    """The start of the next page: send it as `after`; null on the last page."""
    now: datetime


class CloseRequest(BaseModel):
    """Messages that are missing, and for which nothing more is to be done."""

    model_config = ConfigDict(extra="forbid")

    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_PAGE)] = Field(
        description="`message_id` of missing messages; others of them stay as they are."
    )
    reason: Reason = Field(description="What was found out; shown with the message.")
    by: StoredText | None = Field(default=None, description="Your name; it is not verified.")


class ClosedMessages(View):
    closed: tuple[UUID, ...]
    """Without those that are not missing, or that were closed before."""


def ledger_routes(database: Database, catalogue: Catalogue) -> APIRouter:
    """The routes of the ledger."""
    routes = router("/ledger", tags=["ledger"])
    # Messages need not name their brand.
    of_operators = [needs(Scope.OPERATE, of_all_brands=True)]
    consumers = consumers_of(catalogue)

    @routes.get("", summary="What became of all sent messages", dependencies=of_operators)
    async def get_ledger() -> LedgerView:
        """Returns how many messages were sent in the last 24 hours, and how many of them are done, under way, dead or missing.

        Messages are counted a minute after they were sent.
        """
        async with database.connection() as connection:
            found = await store.summary(connection, PERIOD, consumers)
            services = await store.services(connection)
        return _view(found, services)

    @routes.get("/messages", summary="Sent messages that are not done", dependencies=of_operators)
    async def list_ledger_messages(
        state: Annotated[LedgerState | None, Query(description="Only messages in this state.")] = None,
        queue: Annotated[
            str | None, Query(description="Only messages for this queue.", max_length=255)
        ] = None,
        correlation_id: Annotated[
            StoredText | None, Query(description="Only messages of this chain.")
        ] = None,
        message_id: Annotated[UUID | None, Query(description="Only this message.")] = None,
        after: Annotated[str | None, Query(description=AFTER, pattern=_CURSOR)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> LedgerMessagePage:
        """Returns the messages that were sent and are not done, the oldest first, with the place of each."""
        if queue is not None and "\0" in queue:
            # PostgreSQL stores no NUL, and no queue is called "".
            queue = ""
        async with database.connection() as connection:
            found = await store.page(
                connection,
                state=state,
                queue=queue,
                correlation_id=correlation_id,
                message_id=message_id,
                after=None if after is None else _place(after),
                limit=limit + 1,
            )
            now = await store.time_now(connection)
        shown = found[:limit]
        return LedgerMessagePage(
            items=tuple(LedgerMessageView.of(each, consumers) for each in shown),
            next=_cursor(shown[-1]) if len(found) > limit else None,
            now=now,
        )

    @routes.post("/messages/close", summary="Close missing messages", dependencies=of_operators)
    async def close_missing_messages(request: CloseRequest) -> ClosedMessages:
        """Closes missing messages with a reason: the ledger counts them apart, and raises no alert for them.

        A closed message that turns up after all leaves the list, as any missing one.
        """
        async with database.transaction() as tx:
            closed = await store.close_missing(tx.connection, request.ids, by=request.by, why=request.reason)
        return ClosedMessages(closed=tuple(closed))

    return routes


def _view(found: LedgerSummary, services: Sequence[Mapping[str, Any]]) -> LedgerView:
    queues = tuple(LedgerQueueView(**each) for each in found.queues)
    return LedgerView(
        last_24_hours=LedgerCounts(
            **{name: sum(getattr(each, name) for each in queues) for name in LedgerCounts.model_fields}
        ),
        queues=queues,
        since=found.since,
        missing=found.all_missing,
        services=tuple(LedgerServiceView(**each) for each in services),
        reaches_back_to=found.reaches_back_to,
        counted_until=found.read_until,
        now=found.now,
    )


def _cursor(message: LedgerMessage) -> str:
    return f"{(message.sent_at - _EPOCH) // _MICROSECOND}-{message.event_id}"


def _place(cursor: str) -> tuple[datetime, UUID]:
    microseconds, _, event_id = cursor.partition("-")
    return _EPOCH + int(microseconds) * _MICROSECOND, UUID(event_id)
