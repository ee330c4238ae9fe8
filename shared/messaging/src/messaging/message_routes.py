"""`GET /v1/messages`, for the API of every service that consumes; needs the extra `api`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from chassis.http.api import Moment, View, needs, router
from chassis.http.callers import Scope
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from messaging import headers as header
from messaging.edit_routes import add_edit_routes
from messaging.flow.transactions import Database
from messaging.ledger_routes import add_ledger_routes
from messaging.storage import messages, running
from messaging.storage.attempts import AttemptOutcome
from messaging.storage.messages import ListPosition, MessageFilter, RecordedMessage, State
from messaging.storage.running import RunningMessage

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CURSOR: Final = "^[0-9]{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""Microseconds since 1970, and the id of the message."""
_TEXT: Final = 500


class AttemptView(View):
    """An attempt at a message that failed, followed on a failure, or ran for a second or more."""

    attempt: int
    """From 1."""
    began_at: datetime | None
    """When its handler began; null: the handler works on many messages at once, or did not run."""
    ended_at: datetime
    outcome: AttemptOutcome
    """`waiting`: for something that is away; the attempt does not count. `retried`: it failed, and another one followed."""
    reason: Annotated[str | None, Field(examples=["OSError"])]
    """The type of the exception, or what the message waited for."""
    next_at: datetime | None
    """When the message could be tried again."""
    waits: int
    """How often it waited for something that was away, as this attempt."""


class RecordedMessageView(View):
    """A message that this service has handled, or that is in its outbox."""

    message_id: UUID
    """`event_id` of the message."""
    type: Annotated[str, Field(examples=["content.publish"])]
    state: State
    """`handled` and `dead_lettered` are final. `waiting`: for another attempt. `unsent`: not sent yet by this service."""
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    """Where it came from; of an unsent event, its type."""
    correlation_id: str | None
    """Null: the message names no chain, or ended before the service recorded chains."""
    at: datetime
    """When the message was made; of one whose id has no time, when it ended; in the outbox, since when it is there."""
    ended_at: datetime | None
    """When it was handled or dead-lettered."""
    due_at: datetime | None
    """When its next attempt may start, or when it may be sent. A time in the past: it waits for the broker, see `publish_error`."""
    attempt: int | None
    """The number of the next attempt of one that waits."""
    waits_for: Annotated[str | None, Field(examples=["gateway"])]
    """What is away; null after a failed attempt."""
    exception_type: str | None
    """Of the last failed attempt of one that waits."""
    detail: str | None
    """The text of the error of that attempt."""
    publish_error: str | None
    """Why the last try to hand it to the broker failed."""
    caused_by: UUID | None
    """The message whose handling sent it. Null: none did, or it ended before the service recorded causes."""
    attempts: tuple[AttemptView, ...]
    """The last 20, the first one first. Empty: none has ended, or one did that succeeded in less than a second."""
    place: str
    """Sent as `after`, the page begins behind this message: so lists of several services are read as one."""

    @classmethod
    def of(cls, message: RecordedMessage) -> Self:
        is_waiting = message.state == "waiting"
        return cls(
            message_id=message.place.event_id,
            type=message.type,
            state=message.state,
            queue=message.queue,
            correlation_id=message.correlation_id,
            at=message.place.at,
            ended_at=message.ended_at,
            due_at=message.due_at,
            attempt=header.integer(message.headers, header.ATTEMPT, default=1) if is_waiting else None,
            waits_for=header.text(message.headers, header.WAITS_FOR),
            exception_type=header.text(message.headers, header.FAILURE_TYPE),
            detail=header.text(message.headers, header.FAILURE_MESSAGE),
            publish_error=message.publish_error,
            caused_by=message.caused_by,
            attempts=tuple(
                AttemptView(
                    attempt=each.attempt,
                    began_at=each.began_at,
                    ended_at=each.ended_at,
                    outcome=each.outcome,
                    reason=each.reason,
                    next_at=each.next_at,
                    waits=each.waits,
                )
                for each in message.attempts
            ),
            place=_cursor(message.place),
        )


class RecordedMessageList(View):
    items: tuple[RecordedMessageView, ...]
    next: str | None
    """The start of the next page: send it as `after`; null on the last page. A page that is not full may have a next one."""
    reaches_back_to: datetime | None
    """When the oldest message of the record was made; null: it is empty. What is older than seven days leaves it."""
    chains_since: datetime
    """Messages that ended before are not found by their `correlation_id`."""
    now: datetime
    """Time of the answer, by the clock that `due_at` follows."""
    running: "tuple[RunningMessageView, ...] | None"
    """What `/v1/messages/running` lists, of the chain if one was asked for; null if it was not asked for."""


class RunningMessageView(View):
    """A message in a handler of a process of this service."""

    message_id: UUID
    """`event_id` of the message."""
    type: Annotated[str, Field(examples=["content.publish"])]
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    correlation_id: str | None
    attempt: int
    """From 1."""
    since: datetime
    """When its handler began."""
    host: Annotated[str, Field(examples=["publisher-7d4b9"])]
    pid: int
    process_started_at: datetime
    """When the process first noted a message."""
    seen_at: datetime
    """When the process last said that it handles the message."""
    is_orphaned: bool
    """Whether the process has been silent for 15 seconds: it died, or cannot reach its database. The broker gives the message to another."""

    @classmethod
    def of(cls, message: RunningMessage) -> Self:
        return cls(
            message_id=message.event_id,
            type=message.type,
            queue=message.queue,
            correlation_id=message.correlation_id,
            attempt=message.attempt,
            since=message.since,
            host=message.host,
            pid=message.pid,
            process_started_at=message.process_started_at,
            seen_at=message.seen_at,
            is_orphaned=message.is_orphaned,
        )


class RunningMessageList(View):
    items: tuple[RunningMessageView, ...]
    """The longest running first; at most 500."""
    now: datetime
    """Time of the answer, by the clock of `since`."""


def message_routes(database: Database) -> APIRouter:
    """The routes of the messages that this service handled, handles, or is to handle or send."""
    routes = router("/messages", tags=["messages"])
    # The record has no brands.
    of_operators = [needs(Scope.OPERATE, of_all_brands=True)]

    @routes.get("", summary="Messages, also handled ones", dependencies=of_operators)
    async def list_messages(
        type: Annotated[str | None, Query(description="Message type.", max_length=_TEXT)] = None,  # noqa: A002 - the wire name
        state: Annotated[State | None, Query(description="What became of the message.")] = None,
        since: Annotated[
            Moment | None, Query(description="Only messages from this time on, by `at`.")
        ] = None,
        until: Annotated[Moment | None, Query(description="Only messages before this time.")] = None,
        message_id: Annotated[UUID | None, Query(description="Only this message.")] = None,
        correlation_id: Annotated[
            str | None, Query(description="Only messages of this chain.", max_length=_TEXT)
        ] = None,
        after: Annotated[str | None, Query(description=AFTER, pattern=_CURSOR)] = None,
        with_running: Annotated[
            bool, Query(alias="running", description="With the messages that are in handlers now.")
        ] = False,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> RecordedMessageList:
        """Returns the messages that this service handled or dead-lettered, that wait in it, or that it is to send; the newest first.

        A message that was sent is in the list of the service that handles it. One that waits at the broker is in no list.
        """
        if any("\0" in (text or "") for text in (type, correlation_id)):
            # PostgreSQL stores no NUL, so that no message has one; neither has any the empty type or chain.
            type, correlation_id = "", ""  # noqa: A001
        async with database.connection() as connection:
            found = await messages.page(
                connection,
                MessageFilter(type, state, since, until, message_id, correlation_id),
                after=None if after is None else _place(after),
                limit=limit,
            )
            in_handlers = await running.find(connection, correlation_id) if with_running else None
        return RecordedMessageList(
            items=tuple(map(RecordedMessageView.of, found.items)),
            next=None if found.next is None else _cursor(found.next),
            reaches_back_to=found.reaches_back_to,
            chains_since=found.chains_since,
            now=found.now,
            running=None if in_handlers is None else tuple(map(RunningMessageView.of, in_handlers.items)),
        )

    @routes.get("/running", summary="Messages in handlers now", dependencies=of_operators)
    async def list_running_messages() -> RunningMessageList:
        """Returns the messages that have been in a handler for a second or more, of all processes of this service.

        Each process writes down its own every three seconds.
        """
        async with database.connection() as connection:
            found = await running.find(connection)
        return RunningMessageList(items=tuple(map(RunningMessageView.of, found.items)), now=found.now)

    add_ledger_routes(routes, database)
    add_edit_routes(routes, database)
    return routes


def _cursor(place: ListPosition) -> str:
    return f"{(place.at - _EPOCH) // _MICROSECOND}-{place.event_id}"


def _place(cursor: str) -> ListPosition:
    microseconds, _, event_id = cursor.partition("-")
    return ListPosition(_EPOCH + int(microseconds) * _MICROSECOND, UUID(event_id))
