"""`GET /v1/messages/sent` and `GET /v1/messages/outcomes`, which the ledger compares; part of `message_routes`."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field

from chassis.http.api import View, needs, refusal
from chassis.http.callers import Scope
from messaging.flow.transactions import Database
from messaging.storage import outcomes, sent
from messaging.storage.outcomes import MessageState, UnhandledMessage
from messaging.storage.sent import SentBatch, SentPlace

READ_BY_RECORDER: Final = frozenset(
    {"GET /v1/messages/sent", "GET /v1/messages/outcomes", "GET /v1/backbone/pauses"}
)
"""Routes that the key of the service with the ledger, which also tells of paused queues, must open."""
MOST_ASKED: Final = 1500
"""Messages in one question; their ids make an address of 32 kB."""
GRACE_SECONDS: Final = 60
"""Longer than a statement may take."""
TOO_LONG: Final = refusal(HTTPStatus.BAD_REQUEST, "The address is longer than 64 kB.")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CURSOR: Final = "^[0-9]{1,17}-[0-9]{1,18}$"
"""Microseconds since 1970, and the number of the batch."""
_ID_BYTES: Final = 16
_NAME: Final = 255


class SentBatchView(View):
    """Messages of a type that the broker confirmed together, with the same route."""

    sent_at: datetime
    type: Annotated[str, Field(examples=["content.publish"])]
    ids: Annotated[str, Field(examples=["AZzP0kQocACAAAAAAAAAAQ=="])]
    """The `event_id` of each, 16 bytes, one after the other, in base64 (URL-safe)."""
    correlation_ids: tuple[str | None, ...]
    """Of each message, in the same order."""

    @classmethod
    def of(cls, batch: SentBatch) -> Self:
        return cls(
            sent_at=batch.place.sent_at,
            type=batch.type,
            ids=packed(batch.event_ids),
            correlation_ids=batch.correlation_ids,
        )


class SentBatchList(View):
    items: tuple[SentBatchView, ...]
    """The oldest first."""
    next: str
    """The start of the next page: send it as `after`, now or later."""
    is_last: bool
    """Whether there are no more batches now."""
    is_recorded: bool
    """Whether the service records what it sends: its setting `MESSAGE_LEDGER`."""
    now: datetime


class UnhandledMessageView(View):
    """A message that the service has not handled."""

    message_id: UUID
    state: MessageState
    """`dead_lettered` is final. `waiting`: for another attempt. `held`: a process has it, and its handler has not begun. `unknown`: it may
    be in the queue."""
    since: datetime | None
    """When its handler began."""
    due_at: datetime | None
    """When its next attempt may start."""
    is_unsent: bool
    """Whether the service has still to hand it to the broker, as a dead letter or as an attempt that is due."""

    @classmethod
    def of(cls, message: UnhandledMessage) -> Self:
        return cls(
            message_id=UUID(int=message.event_id.int),
            state=message.state,
            since=message.since,
            due_at=message.due_at,
            is_unsent=message.is_unsent,
        )


class OutcomeList(View):
    unhandled: tuple[UnhandledMessageView, ...]
    """All others were handled."""
    ready: int | None
    """Messages that wait in the queue; null: all were handled, or the broker does not answer."""
    now: datetime


def packed(event_ids: Sequence[UUID]) -> str:
    """The ids as one text; `unpacked` reads it."""
    return urlsafe_b64encode(b"".join(each.bytes for each in event_ids)).decode()


def unpacked(text: str) -> list[UUID]:
    """Reads `packed` ids.

    Raises:
        ValueError: it is no base64 of ids.
    """
    raw = urlsafe_b64decode(text)
    if len(raw) % _ID_BYTES:
        raise ValueError(f"{len(raw)} bytes are no ids of {_ID_BYTES} bytes each")
    return [UUID(bytes=raw[at : at + _ID_BYTES]) for at in range(0, len(raw), _ID_BYTES)]


def _checked_ids(text: str) -> str:
    unpacked(text)
    return text


def add_ledger_routes(routes: APIRouter, database: Database) -> None:
    """Adds both routes to those of the messages."""
    of_operators = [needs(Scope.OPERATE, of_all_brands=True)]

    @routes.get("/sent", summary="Messages that the broker has confirmed", dependencies=of_operators)
    async def list_sent_messages(
        exchange: Annotated[str, Query(description="Only messages to this exchange.", max_length=_NAME)],
        routing_key: Annotated[
            str | None, Query(description="Only messages with this routing key.", max_length=_NAME)
        ] = None,
        after: Annotated[str | None, Query(description="`next` of the page before.", pattern=_CURSOR)] = None,
        older_than: Annotated[
            int, Query(description="Seconds that a message must have been sent before.", ge=0, le=3600)
        ] = GRACE_SECONDS,
    ) -> SentBatchList:
        """Returns which messages this service has sent, in batches, without retries, replays and dead letters.

        A page has a thousand messages or some more. The record reaches two days back.
        """
        if "\0" in exchange + (routing_key or ""):
            # PostgreSQL stores no NUL, so that no exchange has one.
            exchange, routing_key = "", None
        async with database.connection() as connection:
            found = await sent.page(
                connection,
                exchange,
                routing_key,
                None if after is None else _place(after),
                older_than=timedelta(seconds=older_than),
            )
        return SentBatchList(
            items=tuple(map(SentBatchView.of, found.batches)),
            next=_cursor(found.next),
            is_last=found.is_last,
            is_recorded=database.records_sent,
            now=found.now,
        )

    @routes.get(
        "/outcomes",
        summary="Which of these messages were not handled",
        responses=TOO_LONG,
        dependencies=of_operators,
    )
    async def list_outcomes(
        queue: Annotated[str, Query(description="The queue that they came to.", max_length=_NAME)],
        ids: Annotated[
            str,
            AfterValidator(_checked_ids),
            Query(
                description=f"Their ids as `GET /v1/messages/sent` has them; at most {MOST_ASKED:,}.",
                max_length=MOST_ASKED * _ID_BYTES * 4 // 3 + 4,
                pattern="^[A-Za-z0-9_=-]*$",
            ),
        ],
    ) -> OutcomeList:
        """Returns those of the messages that this service has not handled, with what is known of them.

        It knows outcomes for seven days.
        """
        asked = unpacked(ids)
        queue = queue.replace("\0", "")
        async with database.connection() as connection:
            unhandled = await outcomes.unhandled(connection, asked, queue)
            now = await connection.fetchval("select clock_timestamp()")
        return OutcomeList(
            unhandled=tuple(map(UnhandledMessageView.of, unhandled)),
            ready=await _ready(database, queue, unhandled),
            now=now,
        )


async def _ready(database: Database, queue: str, unhandled: Sequence[UnhandledMessage]) -> int | None:
    """Messages in the queue, or in its dead-letter queue for the recorder; None if nobody needs to know, or if it is unknown."""
    process = database.process
    if (
        process is None
        or queue not in process.consumed
        or not any(each.state == "unknown" for each in unhandled)
    ):
        return None
    depths = await process.read_depths([queue])
    return depths[queue].ready if queue in depths else None


def _cursor(place: SentPlace) -> str:
    return f"{(place.sent_at - _EPOCH) // _MICROSECOND}-{place.id}"


def _place(cursor: str) -> SentPlace:
    microseconds, _, number = cursor.partition("-")
    return SentPlace(_EPOCH + int(microseconds) * _MICROSECOND, int(number))
