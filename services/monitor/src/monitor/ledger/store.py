"""SQL over the ledger: how far it has read, its counts, and the messages that are not done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from chassis import Connection
from monitor.ledger.domain import Finding, LedgerMessage, LedgerPlace, LedgerState

KEPT: Final = timedelta(days=7)
"""How long counts and missing messages are kept; consumers know outcomes for no longer."""
_COLUMNS: Final = "event_id, queue, sender, type, correlation_id, sent_at, known_at, state, place, place_at, absent_since, missing_since, closed_at, closed_by, closed_why"


class CountKey(NamedTuple):
    hour: datetime
    sender: str
    queue: str


@dataclass(slots=True)
class Count:
    accepted: int = 0
    done: int = 0


@dataclass(frozen=True, slots=True)
class SourceProgress:
    place: str | None
    done_until: datetime | None


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message with what was found out about it."""

    message: LedgerMessage
    finding: Finding


@dataclass(frozen=True, slots=True)
class MissingChanges:
    """Messages that became missing, and missing ones that turned up."""

    missing: tuple[LedgerMessage, ...] = ()
    found_again: tuple[LedgerMessage, ...] = ()


# -- rounds --------------------------------------------------------------------------------------------------------------


async def claim_round(connection: Connection, every: timedelta) -> bool:
    """Claims the next round; False if it is not due, or another replica has it."""
    claimed = await connection.fetchval(
        """
        insert into ledger_rounds as r (due_at) values (clock_timestamp() + $1::interval)
        on conflict (only_row) do update set due_at = excluded.due_at where r.due_at <= clock_timestamp() returning true
        """,
        every,
    )
    return bool(claimed)


async def time_now(connection: Connection) -> datetime:
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now


async def progress(connection: Connection) -> dict[tuple[str, str], SourceProgress]:
    """(sender, queue) → how far its record has been read."""
    rows = await connection.fetch("select sender, queue, place, done_until from ledger_sources")
    return {(row["sender"], row["queue"]): SourceProgress(row["place"], row["done_until"]) for row in rows}


async def advance(
    connection: Connection,
    sender: str,
    queue: str,
    before: str | None,
    after: str,
    *,
    read_until: datetime,
    done_until: datetime | None,
) -> bool:
    """Moves the place of a source; returns False if it is not `before` any more, as another replica has read that page."""
    moved = await connection.fetchval(
        """
        insert into ledger_sources as s (sender, queue, place, read_until, done_until)
        select $1, $2, $4, $5, $6 where $3::text is null or exists (select from ledger_sources where sender = $1 and queue = $2)
        on conflict (sender, queue) do update
        set place = excluded.place, read_until = excluded.read_until,
            done_until = greatest(s.done_until, excluded.done_until)
        where s.place is not distinct from $3 returning true
        """,
        sender,
        queue,
        before,
        after,
        read_until,
        done_until,
    )
    return bool(moved)


async def note_services(connection: Connection, problems: Mapping[str, str | None]) -> None:
    """Notes which services answered: name → the problem, None without one. Writes only what has changed."""
    await connection.execute(
        """
        insert into ledger_services as s (name, away_since, problem)
        select name, case when problem is not null then clock_timestamp() end, problem
        from unnest($1::text[], $2::text[]) as t (name, problem)
        on conflict (name) do update
        set away_since = case when excluded.problem is not null then coalesce(s.away_since, excluded.away_since) end,
            problem = excluded.problem
        where s.problem is distinct from excluded.problem
        """,
        list(problems),
        list(problems.values()),
    )


async def note_recording(connection: Connection, name: str, *, is_recorded: bool) -> None:
    await connection.execute(
        """
        insert into ledger_services as s (name, is_recorded) values ($1, $2)
        on conflict (name) do update set is_recorded = excluded.is_recorded where s.is_recorded <> excluded.is_recorded
        """,
        name,
        is_recorded,
    )


# -- messages ------------------------------------------------------------------------------------------------------------


async def count(connection: Connection, counts: Mapping[CountKey, Count]) -> None:
    # In order, so that two replicas cannot deadlock.
    ordered = sorted(counts.items())
    await connection.execute(
        """
        insert into ledger_counts as c (hour, sender, queue, accepted, done)
        select * from unnest($1::timestamptz[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
        on conflict (hour, sender, queue) do update
        set accepted = c.accepted + excluded.accepted, done = c.done + excluded.done
        """,
        [key.hour for key, _ in ordered],
        [key.sender for key, _ in ordered],
        [key.queue for key, _ in ordered],
        [each.accepted for _, each in ordered],
        [each.done for _, each in ordered],
    )


async def insert(connection: Connection, found: Sequence[FoundMessage]) -> None:
    """Inserts messages that are not done; one that was sent twice has one row."""
    sends = Counter((each.message.event_id, each.message.queue) for each in found)
    first = {(each.message.event_id, each.message.queue): each for each in found}
    ordered = [first[key] for key in sorted(first)]
    await connection.execute(
        """
        insert into ledger_messages as m (event_id, queue, sender, type, correlation_id, sent_at, sends, state, place, place_at,
                                          known_at, absent_since, missing_since)
        select *, case when state = 'missing' then clock_timestamp() end
        from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::int[], $8::text[],
                    $9::text[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[])
             as t (event_id, queue, sender, type, correlation_id, sent_at, sends, state, place, place_at, known_at, absent_since)
        on conflict (event_id, queue) do update set sends = m.sends + excluded.sends
        """,
        [each.message.event_id for each in ordered],
        [each.message.queue for each in ordered],
        [each.message.sender for each in ordered],
        [each.message.type for each in ordered],
        [each.message.correlation_id for each in ordered],
        [each.message.sent_at for each in ordered],
        [sends[each.message.event_id, each.message.queue] for each in ordered],
        *_columns_of_findings(ordered),
    )


def _columns_of_findings(found: Sequence[FoundMessage]) -> tuple[list[Any], ...]:
    return (
        [each.finding.state for each in found],
        [each.finding.place for each in found],
        [each.finding.place_at for each in found],
        [each.finding.known_at or each.message.known_at for each in found],
        [each.finding.absent_since for each in found],
    )


async def to_check(connection: Connection, queue: str, limit: int) -> list[LedgerMessage]:
    """Messages under way and missing ones, those first that were not asked about for longest."""
    rows = await connection.fetch(
        f"select {_COLUMNS} from ledger_messages where queue = $1 and state in ('under_way', 'missing')"  # noqa: S608
        " order by checked_at limit $2",
        queue,
        limit,
    )
    return list(map(_message, rows))


async def dead_ones(connection: Connection, limit: int) -> list[LedgerMessage]:
    """Messages with a dead letter, open or discarded; an operator may replay or restore it."""
    rows = await connection.fetch(
        f"select {_COLUMNS} from ledger_messages where state in ('dead_letter', 'discarded') order by checked_at limit $1",  # noqa: S608
        limit,
    )
    return list(map(_message, rows))


async def update(connection: Connection, found: Sequence[FoundMessage]) -> MissingChanges:
    """Stores what was found out: done messages are only counted from now on."""
    done = [each.message for each in found if each.finding.state is None]
    others = [each for each in found if each.finding.state is not None]
    deleted = await connection.fetch(
        """
        delete from ledger_messages as m using unnest($1::uuid[], $2::text[]) as t (event_id, queue)
        where m.event_id = t.event_id and m.queue = t.queue returning m.event_id, m.queue, m.sends
        """,
        [each.event_id for each in done],
        [each.queue for each in done],
    )
    updated = await connection.fetch(
        """
        update ledger_messages as m
        set state = t.state, place = t.place, place_at = t.place_at, known_at = t.known_at, absent_since = t.absent_since,
            checked_at = clock_timestamp(),
            missing_since = case when t.state = 'missing' then coalesce(m.missing_since, clock_timestamp()) end,
            closed_at = case when t.state = 'missing' then m.closed_at end
        from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[])
             as t (event_id, queue, state, place, place_at, known_at, absent_since)
        where m.event_id = t.event_id and m.queue = t.queue returning m.event_id, m.queue
        """,
        [each.message.event_id for each in others],
        [each.message.queue for each in others],
        *_columns_of_findings(others),
    )
    # Rows that are gone were counted by another replica.
    sends = {(row["event_id"], row["queue"]): row["sends"] for row in deleted}
    counts: dict[CountKey, Count] = {}
    for message in done:
        if (message.event_id, message.queue) in sends:
            counts.setdefault(count_key(message), Count()).done += sends[message.event_id, message.queue]
    if counts:
        await count(connection, counts)
    written = sends.keys() | {(row["event_id"], row["queue"]) for row in updated}
    changed = [each for each in found if (each.message.event_id, each.message.queue) in written]
    return MissingChanges(
        missing=tuple(
            replace(each.message, place=each.finding.place)
            for each in changed
            if each.finding.state is LedgerState.MISSING and each.message.state is not LedgerState.MISSING
        ),
        found_again=tuple(
            each.message
            for each in changed
            if each.message.state is LedgerState.MISSING and each.finding.state is not LedgerState.MISSING
        ),
    )


def count_key(message: LedgerMessage) -> CountKey:
    return CountKey(message.sent_at.replace(minute=0, second=0, microsecond=0), message.sender, message.queue)


async def close_missing(
    connection: Connection, ids: Sequence[UUID], *, by: str | None, why: str
) -> list[UUID]:
    """Closes those of the messages that are missing; returns them. One that is closed already keeps its reason."""
    rows = await connection.fetch(
        """
        update ledger_messages set closed_at = clock_timestamp(), closed_by = $2, closed_why = $3
        where event_id = any ($1::uuid[]) and state = 'missing' and closed_at is null returning event_id
        """,
        ids,
        by,
        why,
    )
    return list(dict.fromkeys(UUID(int=row["event_id"].int) for row in rows))


async def forget_old(connection: Connection) -> None:
    """Deletes counts older than `KEPT`, and messages that nobody knows anything new of since."""
    await connection.execute("delete from ledger_counts where hour < now() - $1::interval", KEPT)
    await connection.execute(
        "delete from ledger_messages where sent_at < now() - $1::interval and state in ('discarded', 'missing')",
        KEPT,
    )


# -- reading -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LedgerSummary:
    queues: list[dict[str, Any]]
    """Counts of each queue with messages in the period."""
    since: datetime
    all_missing: int
    """Older ones too."""
    reaches_back_to: datetime | None
    read_until: datetime | None
    now: datetime


async def summary(connection: Connection, period: timedelta, consumers: Mapping[str, str]) -> LedgerSummary:
    """Counts of the last hours by queue, and how many messages are missing altogether.

    Args:
        connection: to the monitor's database.
        period: how far the counts reach back.
        consumers: queue → its consumer. What a service that is away sends or handles does not hold `read_until` back.
    """
    row = await connection.fetchrow(
        """
        select date_trunc('hour', now() - $1::interval, 'UTC') as since, clock_timestamp() as now,
               (select min(hour) from ledger_counts) as reaches_back_to,
               (select min(s.read_until) from ledger_sources as s
                left join unnest($2::text[], $3::text[]) as c (queue, service) using (queue)
                where not exists (select from ledger_services as away
                                  where away.name in (s.sender, c.service) and away.away_since is not null)) as read_until,
               (select count(*) from ledger_messages where state = 'missing' and closed_at is null) as all_missing
        """,
        period,
        list(consumers),
        list(consumers.values()),
    )
    assert row is not None
    queues = await connection.fetch(
        """
        with counted as (
            select queue, sum(accepted)::bigint as accepted, sum(done)::bigint as done from ledger_counts
            where hour >= $1 group by queue
        ),
        not_done as (
            select queue,
                   coalesce(sum(sends) filter (where state = 'under_way'), 0) as under_way,
                   coalesce(sum(sends) filter (where state = 'dead_letter'), 0) as dead_letters,
                   coalesce(sum(sends) filter (where state = 'discarded'), 0) as discarded,
                   coalesce(sum(sends) filter (where state = 'missing' and closed_at is null), 0) as missing,
                   coalesce(sum(sends) filter (where closed_at is not null), 0) as closed
            from ledger_messages where sent_at >= $1 group by queue
        )
        select queue, accepted, done, coalesce(under_way, 0) as under_way, coalesce(dead_letters, 0) as dead_letters,
               coalesce(discarded, 0) as discarded, coalesce(closed, 0) as closed, coalesce(missing, 0) as missing
        from counted left join not_done using (queue) order by queue
        """,
        row["since"],
    )
    return LedgerSummary(
        [dict(each) for each in queues],
        row["since"],
        row["all_missing"],
        row["reaches_back_to"],
        row["read_until"],
        row["now"],
    )


async def services(connection: Connection) -> list[dict[str, Any]]:
    rows = await connection.fetch("select * from ledger_services order by name")
    return [dict(row) for row in rows]


async def page(
    connection: Connection,
    *,
    state: LedgerState | None,
    queue: str | None,
    correlation_id: str | None,
    message_id: UUID | None,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[LedgerMessage]:
    """Messages that are not done, the oldest first."""
    rows = await connection.fetch(
        f"""
        select {_COLUMNS} from ledger_messages
        where ($1::text is null or case when closed_at is null then state else 'closed' end = $1) and ($2::text is null or queue = $2)
          and ($3::text is null or correlation_id = $3) and ($4::uuid is null or event_id = $4)
          and ($5::timestamptz is null or (sent_at, event_id) > ($5, $6::uuid))
        order by sent_at, event_id limit $7
        """,  # noqa: S608 - constants
        state,
        queue,
        correlation_id,
        message_id,
        None if after is None else after[0],
        None if after is None else after[1],
        limit,
    )
    return list(map(_message, rows))


@dataclass(frozen=True, slots=True)
class MissingGroup:
    """Missing messages with the same last place."""

    queue: str
    """The queue that they were sent to."""
    last_queue: str
    """The queue where they were last."""
    count: int
    oldest: datetime
    types: tuple[str, ...]
    """Five at most."""


async def missing_groups(connection: Connection) -> list[MissingGroup]:
    """The missing messages, by the place where they were last."""
    rows = await connection.fetch(
        """
        select queue, queue || case when place = 'dead_letter_queue' then '-dlq' else '' end as last_queue,
               count(*) as count, min(sent_at) as oldest, array_agg(distinct type) as types
        from ledger_messages where state = 'missing' and closed_at is null group by 1, 2 order by 1, 2
        """
    )
    return [
        MissingGroup(
            row["queue"],
            row["last_queue"],
            row["count"],
            row["oldest"].astimezone(UTC),
            tuple(row["types"][:5]),
        )
        for row in rows
    ]


async def missing_by_queue(connection: Connection, queues: Sequence[str]) -> dict[str, float]:
    """Number of missing messages by the queue where they were last, zeros included."""
    found = await missing_groups(connection)
    return dict.fromkeys(queues, 0.0) | {each.last_queue: float(each.count) for each in found}


def _message(row: Any) -> LedgerMessage:
    return LedgerMessage(
        event_id=UUID(int=row["event_id"].int),
        queue=row["queue"],
        sender=row["sender"],
        type=row["type"],
        correlation_id=row["correlation_id"],
        sent_at=row["sent_at"],
        known_at=row["known_at"],
        state=LedgerState(row["state"]),
        place=LedgerPlace(row["place"]),
        place_at=row["place_at"],
        absent_since=row["absent_since"],
        missing_since=row["missing_since"],
        closed_at=row["closed_at"],
        closed_by=row["closed_by"],
        closed_why=row["closed_why"],
    )
