"""Closes the dead letter of a command after another command did its work; the two may arrive in any order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import structlog

from chassis import Connection
from envelope import DomainMessage, EnvelopeHead
from envelope.brand.payloads import WorkFinished
from envelope.brand.work import reporter_of, work_ids_in
from messaging import Transaction
from monitor.dead_letters.decision_store import WorkOfDeadLetter
from monitor.dead_letters.domain import finished_resolution
from monitor.dead_letters.store import lock_exclusive

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """A report that a piece of work is done."""

    covers_until: datetime
    finished_at: datetime
    finished_by: UUID | None


def stored_work_ids(head: EnvelopeHead) -> list[UUID]:
    """Ids of a message's pieces of work as the table stores them: each combined with the service that may report it."""
    reporter = reporter_of(head.type)
    return [uuid5(work_id, reporter) for work_id in work_ids_in(head.type, head.payload, head.correlation_id)]


async def close_finished(messages: Sequence[DomainMessage[WorkFinished]], tx: Transaction) -> None:
    """Stores the reports, and closes open dead letters once all of their work is done.

    Dead letters in replay and discarded ones keep their state.
    """
    await lock_exclusive(tx.connection)
    reports: dict[UUID, FinishedWork] = {}
    for message in messages:
        payload = message.payload
        # The stored id includes the reporter, so that a service closes only dead letters of its own work.
        stored_id = uuid5(payload.work_id, message.source)
        known = reports.get(stored_id)
        if known is None or known.covers_until <= payload.covers_until:
            reports[stored_id] = FinishedWork(payload.covers_until, payload.finished_at, payload.finished_by)
    await _store_reports(tx.connection, reports)
    closed = await _close(tx.connection, list(reports))
    if closed:
        log.info("dead_letters_closed_as_done", count=len(closed), dead_letter_ids=closed[:5])


async def load_finished(connection: Connection, work_ids: Collection[UUID]) -> dict[UUID, FinishedWork]:
    """The reports about these stored ids; ids without a report are left out."""
    if not work_ids:
        return {}
    rows = await connection.fetch(
        "select work_id, covers_until, finished_at, finished_by from finished_work where work_id = any ($1::uuid[])",
        list(work_ids),
    )
    return {row["work_id"]: _finished(row) for row in rows}


def resolution_of(
    work_ids: Sequence[UUID], asked_at: datetime, finished: Mapping[UUID, FinishedWork]
) -> str | None:
    """Why a message about these pieces of work, sent at `asked_at`, needs no replay; None unless all of them are done."""
    done = [finished[work_id] for work_id in work_ids if work_id in finished]
    if not done or len(done) < len(work_ids) or any(each.covers_until < asked_at for each in done):
        return None
    last = max(done, key=lambda each: each.finished_at)
    return finished_resolution(last.finished_by, last.finished_at)


async def finished_resolutions(
    connection: Connection, letters: Sequence[WorkOfDeadLetter]
) -> dict[UUID, str]:
    """Dead letter → why it needs no replay; those that have unfinished work are left out."""
    finished = await load_finished(connection, {work_id for each in letters for work_id in each.work_ids})
    found: dict[UUID, str] = {}
    for each in letters:
        if each.asked_at is None:
            continue
        resolution = resolution_of(each.work_ids, each.asked_at, finished)
        if resolution is not None:
            found[each.id] = resolution
    return found


async def delete_finished(connection: Connection, older_than: timedelta) -> None:
    await connection.execute("delete from finished_work where noted_at < now() - $1::interval", older_than)


async def _store_reports(connection: Connection, reports: Mapping[UUID, FinishedWork]) -> None:
    """Stores the reports; an earlier report that covers a longer time stays."""
    await connection.execute(
        """
        insert into finished_work as f (work_id, covers_until, finished_at, finished_by)
        select * from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::uuid[])
        on conflict (work_id) do update
            set covers_until = excluded.covers_until, finished_at = excluded.finished_at, finished_by = excluded.finished_by,
                noted_at = clock_timestamp()
            where f.covers_until < excluded.covers_until
        """,
        list(reports),
        [each.covers_until for each in reports.values()],
        [each.finished_at for each in reports.values()],
        [each.finished_by for each in reports.values()],
    )


async def _close(connection: Connection, work_ids: Sequence[UUID]) -> list[str]:
    """Closes open dead letters about these pieces of work if all of their work is done; returns their ids."""
    rows = await connection.fetch(
        "select id, work_ids, asked_at from dead_messages where state = 'open' and work_ids && $1::uuid[] order by id",
        list(work_ids),
    )
    finished = await load_finished(connection, {work_id for row in rows for work_id in row["work_ids"]})
    resolutions = {
        row["id"]: resolution
        for row in rows
        if (resolution := resolution_of(row["work_ids"], row["asked_at"], finished)) is not None
    }
    if not resolutions:
        return []
    # An operator may decide about one at the same time: the second statement waits, and sees the first one's result.
    closed = await connection.fetch(
        "update dead_messages d set state = 'resolved', resolution = f.resolution, resolved_at = clock_timestamp()"
        " from unnest($1::uuid[], $2::text[]) as f (id, resolution) where d.id = f.id and d.state = 'open' returning d.id",
        list(resolutions),
        list(resolutions.values()),
    )
    return [str(row["id"]) for row in closed]


def _finished(row: Any) -> FinishedWork:
    return FinishedWork(row["covers_until"], row["finished_at"], row["finished_by"])
