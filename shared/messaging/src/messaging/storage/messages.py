"""The record of messages: those with an outcome in the inbox, and those in the outbox that wait or are to be sent.

The inbox is read in the order of its key, which has the time in which a message was made; foreign ids have the time of their outcome.
So the list needs no index by time, which every message would pay for.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from chassis.database.pool import Connection
from messaging import headers as header
from messaging.storage import attempts, inbox, partitions
from messaging.storage.attempts import RecordedAttempt
from messaging.topology import DEAD_LETTERS, RETURNS

State = Literal["handled", "dead_lettered", "waiting", "unsent"]
"""`waiting`: for another attempt. `unsent`: to be sent by this service, later or at once."""
MOST_READ: Final = 100_000
"""Rows of the inbox that one page may read to find those of a type or outcome; the next page goes on there."""
CHAINS_SINCE: Final = "messaging/0011_chains_of_the_inbox.sql"
"""The migration from which on the inbox has correlation ids."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_UUID: Final = 2**128 - 1


class ListPosition(NamedTuple):
    """The place of a message in the list, which is in descending order."""

    at: datetime
    event_id: UUID


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Which messages to list; None matches all."""

    type: str | None = None
    state: State | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    message_id: UUID | None = None
    correlation_id: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    place: ListPosition
    """Its time is when the message was made, or, of a foreign id, ended; for one in the outbox, since when it is there."""
    state: State
    type: str
    queue: str
    """The queue that it came from; of an unsent event, its type."""
    correlation_id: str | None
    ended_at: datetime | None = None
    """When it was handled or dead-lettered."""
    due_at: datetime | None = None
    """When it may leave the outbox."""
    headers: Mapping[str, Any] = field(default_factory=dict)
    """Of a message in the outbox."""
    publish_error: str | None = None
    caused_by: UUID | None = None
    """The message whose handling sent it; None: none did, or it ended before the service recorded causes."""
    attempts: tuple[RecordedAttempt, ...] = ()
    """The last attempts; empty: none, or one that took less than a second and succeeded."""


@dataclass(frozen=True, slots=True)
class MessagePage:
    items: tuple[RecordedMessage, ...]
    next: ListPosition | None
    reaches_back_to: datetime | None
    """When the oldest message of the record was made; None: the record is empty."""
    chains_since: datetime
    """Messages that ended earlier are not found by their correlation id."""
    now: datetime


async def page(
    connection: Connection, wanted: MessageFilter, *, after: ListPosition | None, limit: int
) -> MessagePage:
    """Returns the messages that match, the newest first; a page with fewer than `limit` may have a next one.

    Args:
        connection: to the service's database.
        wanted: the filter.
        after: the place of the last message of the page before.
        limit: the most messages.
    """
    known = await connection.fetchrow(
        "select clock_timestamp() as now, (select applied_at from schema_migrations where name = $1) as chains_since",
        CHAINS_SINCE,
    )
    assert known is not None
    now = known["now"]
    days = _DaysOfTheInbox.around(now)
    timed, floor = await _timed(connection, days, wanted, after, limit + 1)
    foreign = await _foreign(connection, days, wanted, after, limit + 1)
    outgoing = await _outgoing(connection, wanted, after, limit + 1)
    found = sorted((*timed, *foreign, *outgoing), key=lambda each: each.place, reverse=True)
    if floor is not None:
        found = [each for each in found if each.place >= floor]
    tried = await attempts.find(connection, [each.place.event_id for each in found[:limit]])
    shown = [replace(each, attempts=tuple(tried.get(each.place.event_id, ()))) for each in found[:limit]]
    following = shown[-1].place if len(found) > limit else floor
    return MessagePage(
        tuple(shown),
        following,
        await _oldest(connection, days),
        _chains_since(known["chains_since"], now),
        now,
    )


@dataclass(frozen=True, slots=True)
class _DaysOfTheInbox:
    """The ids whose time is of the days that have partitions; all others are in the default partition."""

    first: UUID
    end: UUID

    @staticmethod
    def around(now: datetime) -> "_DaysOfTheInbox":
        today = now.astimezone(UTC).date()
        kept = partitions.RETENTION + timedelta(days=1)
        return _DaysOfTheInbox(
            partitions.lower_bound(today - kept), partitions.lower_bound(today + timedelta(days=4))
        )


def _time_of(event_id: UUID) -> datetime:
    return _EPOCH + timedelta(milliseconds=event_id.int >> 80)


def _first_id_at(at: datetime) -> UUID:
    """The smallest id whose time is `at` or later."""
    milliseconds = -((_EPOCH - at) // timedelta(milliseconds=1))
    return UUID(int=max(0, min(milliseconds << 80, _LARGEST_UUID)))


def _end_of_page(after: ListPosition) -> UUID:
    """The ids below it have their place after `after`."""
    own = _time_of(after.event_id) if after.event_id.int >> 80 < 2**43 else None
    if own == after.at:
        return after.event_id
    # `after` is no id with a time, so the ids of its very millisecond are before or after it as their order says.
    first = _first_id_at(after.at)
    exactly = (after.at - _EPOCH) % timedelta(milliseconds=1) == timedelta()
    if exactly and first < after.event_id:
        return _first_id_at(after.at + timedelta(milliseconds=1))
    return first


class _Conditions:
    """Conditions of a statement with their arguments."""

    def __init__(self) -> None:
        self.arguments: list[object] = []
        self._conditions: list[str] = []

    def add(self, condition: str, *values: object) -> None:
        """Adds a condition with a `{}` for each value."""
        places = []
        for value in values:
            self.arguments.append(value)
            places.append(f"${len(self.arguments)}")
        self._conditions.append(condition.format(*places))

    def __str__(self) -> str:
        return " and ".join(self._conditions) or "true"


_OUTCOMES: Final[Mapping[str, State]] = {"handled": "handled", "dead": "dead_lettered"}
_COLUMNS: Final = "event_id, type, queue, outcome, processed_at, coalesce(correlation_id, chain::text) as correlation_id, caused_by"


def _is_of_outbox(wanted: MessageFilter) -> bool:
    return wanted.state in {"waiting", "unsent"}


def _add_outcome(conditions: _Conditions, wanted: MessageFilter) -> None:
    if wanted.type is not None:
        conditions.add("type = {}", wanted.type)
    if wanted.state is not None:
        conditions.add(
            "outcome = {}", next(name for name, state in _OUTCOMES.items() if state == wanted.state)
        )


def _add_chain(conditions: _Conditions, wanted: MessageFilter) -> None:
    if wanted.correlation_id is not None:
        chain = inbox.chain_of(wanted.correlation_id)
        conditions.add("chain = {} and correlation_id is not distinct from {}::text", *chain)


def _plain(event_id: UUID | None) -> UUID | None:
    """The driver's own class is no `uuid.UUID`."""
    return None if event_id is None else UUID(int=event_id.int)


def _ended(row: Any, at: datetime) -> RecordedMessage:
    return RecordedMessage(
        place=ListPosition(at, UUID(int=row["event_id"].int)),
        state=_OUTCOMES[row["outcome"]],
        type=row["type"],
        queue=row["queue"],
        correlation_id=row["correlation_id"],
        ended_at=row["processed_at"],
        caused_by=_plain(row["caused_by"]),
    )


async def _timed(
    connection: Connection,
    days: _DaysOfTheInbox,
    wanted: MessageFilter,
    after: ListPosition | None,
    limit: int,
) -> tuple[Sequence[RecordedMessage], ListPosition | None]:
    """Returns messages whose ids have a time of the days that are kept; and where reading ended, if it is not at the end."""
    if _is_of_outbox(wanted):
        return (), None
    lower, upper = days.first, days.end
    if wanted.since is not None:
        lower = max(lower, _first_id_at(wanted.since))
    if wanted.until is not None:
        upper = min(upper, _first_id_at(wanted.until))
    if after is not None:
        upper = min(upper, _end_of_page(after))
    read = _Conditions()
    read.add("event_id >= {} and event_id < {}", lower, upper)
    if wanted.message_id is not None:
        read.add("event_id = {}", wanted.message_id)
    _add_chain(read, wanted)
    reading = f"select {_COLUMNS} from processed_events where {read} order by event_id desc"  # noqa: S608  (columns only)
    arguments = list(read.arguments)
    chosen = _Conditions()
    chosen.arguments = read.arguments
    _add_outcome(chosen, wanted)
    rows = await connection.fetch(
        f"select * from ({reading} limit {MOST_READ}) as row where {chosen} order by event_id desc limit {int(limit)}",  # noqa: S608
        *chosen.arguments,
    )
    found = [_ended(row, _time_of(row["event_id"])) for row in rows]
    if len(found) >= limit or len(chosen.arguments) == len(arguments):
        # Without a condition on them, as many rows were read as were returned.
        return found, None
    last = await connection.fetchval(
        f"select event_id from ({reading} offset {MOST_READ - 1} limit 1) as row",  # noqa: S608
        *arguments,
    )
    return found, None if last is None else ListPosition(_time_of(last), UUID(int=last.int))


async def _foreign(
    connection: Connection,
    days: _DaysOfTheInbox,
    wanted: MessageFilter,
    after: ListPosition | None,
    limit: int,
) -> Sequence[RecordedMessage]:
    """Returns messages whose ids have no time, or one of other days: they are in the default partition, which has an index by time."""
    if _is_of_outbox(wanted):
        return ()
    chosen = _Conditions()
    chosen.add("(event_id < {} or event_id >= {})", days.first, days.end)
    if wanted.message_id is not None:
        chosen.add("event_id = {}", wanted.message_id)
    _add_chain(chosen, wanted)
    if wanted.since is not None:
        chosen.add("processed_at >= {}", wanted.since)
    if wanted.until is not None:
        chosen.add("processed_at < {}", wanted.until)
    if after is not None:
        chosen.add("(processed_at, event_id) < ({}, {})", *after)
    _add_outcome(chosen, wanted)
    rows = await connection.fetch(
        f"select {_COLUMNS} from processed_events where {chosen} order by processed_at desc, event_id desc limit {int(limit)}",  # noqa: S608
        *chosen.arguments,
    )
    return [_ended(row, row["processed_at"]) for row in rows]


_CAUSE: Final = """'"causation_id": ?"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"'"""
"""SQL: finds the cause in the bytes of an envelope, which may be a stranger's and no UTF-8."""
_IS_RETRY: Final = "(exchange = {} and headers ->> {} is not null)"


async def _outgoing(
    connection: Connection, wanted: MessageFilter, after: ListPosition | None, limit: int
) -> Sequence[RecordedMessage]:
    """Returns messages in the outbox, but those with an outcome, which are on their way to the dead letters."""
    if wanted.state in _OUTCOMES.values():
        return ()
    chosen = _Conditions()
    chosen.add("exchange <> {}", DEAD_LETTERS)
    if wanted.state is not None:
        chosen.add(f"{'' if wanted.state == 'waiting' else 'not '}{_IS_RETRY}", RETURNS, header.ATTEMPT)
    if wanted.type is not None:
        chosen.add("type = {}", wanted.type)
    if wanted.message_id is not None:
        chosen.add("event_id = {}", wanted.message_id)
    if wanted.correlation_id is not None:
        chosen.add("correlation_id = {}", wanted.correlation_id)
    if wanted.since is not None:
        chosen.add("created_at >= {}", wanted.since)
    if wanted.until is not None:
        chosen.add("created_at < {}", wanted.until)
    if after is not None:
        chosen.add("(created_at, event_id) < ({}, {})", *after)
    # There is no index for this: each one would cost every message, and the rows that wait are few beside those.
    rows = await connection.fetch(
        f"""
        select event_id, type, exchange, routing_key, correlation_id, headers, created_at, deliver_at, last_error,
               substring(encode(body, 'escape') from {_CAUSE})::uuid as caused_by
        from outbox where {chosen} order by created_at desc, event_id desc limit {int(limit)}
        """,  # noqa: S608
        *chosen.arguments,
    )
    return [_waiting(row) for row in rows]


def _waiting(row: Any) -> RecordedMessage:
    headers = json.loads(row["headers"])
    is_retry = row["exchange"] == RETURNS and header.ATTEMPT in headers
    return RecordedMessage(
        place=ListPosition(row["created_at"], UUID(int=row["event_id"].int)),
        state="waiting" if is_retry else "unsent",
        type=row["type"],
        queue=row["routing_key"],
        correlation_id=row["correlation_id"],
        due_at=row["deliver_at"],
        headers=headers,
        publish_error=row["last_error"],
        caused_by=_plain(row["caused_by"]),
    )


async def _oldest(connection: Connection, days: _DaysOfTheInbox) -> datetime | None:
    first = await connection.fetchval(
        "select event_id from processed_events where event_id >= $1 and event_id < $2 order by event_id limit 1",
        days.first,
        days.end,
    )
    return None if first is None else _time_of(first)


def _chains_since(found: datetime | None, now: datetime) -> datetime:
    kept: datetime = now - partitions.RETENTION
    return kept if found is None else max(found, kept)
