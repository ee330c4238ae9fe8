"""`/v1/retries`, for the API of every service that consumes: the messages that wait, and what may be done with them.

Needs the extra `api`.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from chassis.http.api import Moment, View, needs, router
from chassis.http.callers import Caller, Scope
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, MAX_PAGE, PageLimit
from messaging import headers as header
from messaging.flow import retry_changes
from messaging.flow.retry_changes import RefusalReason, RetryChange
from messaging.flow.transactions import Database
from messaging.storage import retries
from messaging.storage.retries import Retry, RetrySelection

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CURSOR: Final = "^[0-9]{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""Microseconds since 1970, and the id of the row."""
_TEXT: Final = 500
_OPERATOR: Final = needs(Scope.OPERATE, of_all_brands=True)
"""A message need not name its brand."""
_WHY: Final = {
    RefusalReason.GONE: "no message waits under this id: its attempt has begun, another person was faster, or the id is not of `retries list`",
    RefusalReason.SENDING: "the service is handing it to the broker: look again in a moment",
    RefusalReason.ENDED: "a copy of the message has an outcome already, so this one will have no effect",
    RefusalReason.UNSUITABLE: "it is a dead letter that waits to be recorded: it can only be run now",
}


def _storable(value: str) -> str:
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not contain U+0000 or half of a surrogate pair")
    return value


_Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=_TEXT), AfterValidator(_storable)
]


class RetryView(View):
    """A message that waits for its next attempt."""

    id: UUID
    """Of this wait; the next wait of the same message has another one."""
    message_id: UUID
    """`event_id` of the message."""
    type: Annotated[str, Field(examples=["content.publish"])]
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    brand: str | None
    """Null: the message names no brand."""
    correlation_id: str | None
    attempt: int
    """The number of the next attempt, from 1. A wait for something that is away is not counted as an attempt."""
    since: datetime
    """Start of this wait."""
    due_at: datetime
    """When the next attempt may start. A time in the past: the message waits for the broker, see `publish_error`."""
    is_sending: bool
    """Whether the service is handing it to the broker now."""
    waits_for: Annotated[str | None, Field(examples=["gateway"])]
    """What is away; null after a failed attempt."""
    exception_type: str | None
    """Of the last failed attempt; null if none failed yet."""
    detail: str | None
    """The text of the error of that attempt."""
    first_failed_at: datetime | None
    publish_error: str | None
    """Why the last try to hand the message to the broker failed."""

    @classmethod
    def of(cls, retry: Retry) -> Self:
        return cls(
            id=retry.id,
            message_id=retry.event_id,
            type=retry.type,
            queue=retry.queue,
            brand=retry.brand,
            correlation_id=retry.correlation_id,
            attempt=retry.attempt,
            since=retry.created_at,
            due_at=retry.deliver_at,
            is_sending=retry.is_sending,
            waits_for=header.text(retry.headers, header.WAITS_FOR),
            exception_type=header.text(retry.headers, header.FAILURE_TYPE),
            detail=header.text(retry.headers, header.FAILURE_MESSAGE),
            first_failed_at=header.moment(retry.headers, header.FAILURE_FIRST_AT),
            publish_error=retry.publish_error,
        )


class RetryList(View):
    items: tuple[RetryView, ...]
    next: str | None
    """The start of the next page: send it as `after`; null on the last page."""
    matching: int
    """All that match, not only those of this page; at most 10,000 are counted."""
    now: datetime
    """Time of the answer, by the clock that `due_at` follows."""


class RetryRequest(BaseModel):
    """Which messages: those of `ids`, or all of a type or a chain."""

    model_config = ConfigDict(extra="forbid")

    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_PAGE)] | None = Field(
        default=None, description="`id` of each, of this wait; its next wait has another one."
    )
    type: _Text | None = Field(default=None, description="All messages of this type.")
    correlation_id: _Text | None = Field(default=None, description="All messages of this chain.")
    until: Moment | None = Field(
        default=None, description="Only messages that have waited since then, such as `now` of the list."
    )
    after: UUID | None = Field(
        default=None, description="`next` of the previous answer; the request continues there."
    )
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = DEFAULT_PAGE
    by: _Text | None = Field(
        default=None, description="Your name; it is not verified. The default is that of the key."
    )

    @model_validator(mode="after")
    def _check_selection(self) -> Self:
        of_group = self.type is not None or self.correlation_id is not None
        if (self.ids is not None) == of_group:
            raise ValueError("give either ids, or a type or a correlation_id, or both of these")
        return self

    @property
    def selection(self) -> RetrySelection:
        ids = None if self.ids is None else tuple(self.ids)
        return RetrySelection(ids, self.type, self.correlation_id, self.until, self.after)


class CancelRequest(RetryRequest):
    reason: _Text = Field(description="Why its work is not needed now; stored with the dead letter.")


class RefusedRetry(View):
    id: UUID
    code: Annotated[RefusalReason, Field(examples=["sending"])]
    detail: str


class RetriesChanged(View):
    ids: list[UUID]
    """Those that changed."""
    refused: list[RefusedRetry]
    """Those that stay as they are, and why."""
    next: UUID | None
    """Send it as `after` to go on; null if there are no more."""

    @classmethod
    def of(cls, change: RetryChange) -> Self:
        refused = [
            RefusedRetry(id=each, code=reason, detail=_WHY[reason]) for each, reason in change.refused.items()
        ]
        return cls(ids=change.ids, refused=refused, next=change.last)


def retry_routes(database: Database) -> APIRouter:
    """The routes of the messages that wait in this service's outbox for a later attempt."""
    routes = router("/retries", tags=["retries"])

    @routes.get(
        "",
        summary="Messages that wait for another attempt",
        dependencies=[_OPERATOR],
    )
    async def list_retries(
        type: Annotated[str | None, Query(description="Message type.", max_length=_TEXT)] = None,  # noqa: A002 - the wire name
        correlation_id: Annotated[
            str | None, Query(description="Only messages of this chain.", max_length=_TEXT)
        ] = None,
        after: Annotated[str | None, Query(description=AFTER, pattern=_CURSOR)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> RetryList:
        """Returns the messages whose last attempt failed, or that wait for something that is away; the next to be due first.

        A message leaves the list when its attempt starts, so a page may have fewer than the one before.
        """
        if any("\0" in (text or "") for text in (type, correlation_id)):
            # PostgreSQL stores no NUL.
            return RetryList(items=(), next=None, matching=0, now=datetime.now(UTC))
        async with database.connection() as connection:
            found = await retries.page(
                connection,
                type_name=type,
                correlation_id=correlation_id,
                after=None if after is None else _place(after),
                limit=limit + 1,
            )
        shown = found.items[:limit]
        return RetryList(
            items=tuple(map(RetryView.of, shown)),
            next=_cursor(shown[-1]) if len(found.items) > limit else None,
            matching=found.matching,
            now=found.now,
        )

    @routes.post("/run", summary="Make messages due now that wait for another attempt")
    async def run_retries(caller: Annotated[Caller, _OPERATOR], request: RetryRequest) -> RetriesChanged:
        """Makes their next attempts due at once, as the same attempts. One that waits for something that is away may wait again."""
        by = request.by or caller.name
        change = await retry_changes.run_now(database, request.selection, request.limit, by=by)
        return RetriesChanged.of(change)

    @routes.post("/cancel", summary="Cancel the next attempts of messages")
    async def cancel_retries(caller: Annotated[Caller, _OPERATOR], request: CancelRequest) -> RetriesChanged:
        """Turns the messages into dead letters with the reason `cancelled`, so that they are recorded and can be replayed."""
        by = request.by or caller.name
        change = await retry_changes.cancel(
            database, request.selection, request.limit, by=by, reason=request.reason
        )
        return RetriesChanged.of(change)

    return routes


def _cursor(retry: Retry) -> str:
    return f"{(retry.deliver_at - _EPOCH) // _MICROSECOND}-{retry.id}"


def _place(cursor: str) -> tuple[datetime, UUID]:
    microseconds, _, row_id = cursor.partition("-")
    return _EPOCH + int(microseconds) * _MICROSECOND, UUID(row_id)
