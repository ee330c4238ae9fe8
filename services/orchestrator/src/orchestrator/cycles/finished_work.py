"""Reports to the monitor which pieces of work are done, so that it closes dead letters of other commands for them.

Only work that a dead letter was about, or that was asked for once more, is reported: the rest has no dead letter to close.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from chassis import Connection
from envelope import DomainMessage, Payload
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentRefused,
    DeadLetterRecorded,
    ResearchCompleted,
    ResearchFailed,
    SocialFailed,
    SocialPosted,
    WorkFinished,
)
from envelope.brand.work import announcing_id, publishing_id, researching_id, work_ids_of, writing_id
from messaging import Transaction
from orchestrator.cycles.domain import NORMAL_ENDS, RoutedEvent
from orchestrator.cycles.facts import Stage
from orchestrator.cycles.keyword_rows import KeywordRow

Event: TypeAlias = DomainMessage[RoutedEvent]

_TIMED_VERSION: Final = 7
"""The UUID version that contains a time."""


async def report_finished_work(tx: Transaction, events: Sequence[Event], rows: Iterable[KeywordRow]) -> None:
    """Reports the work that the events end, and the work that had ended before its dead letter came.

    The locks of the events' brands must be held, so that the dead letter of one command and the success of another are
    seen one after the other, whichever replica takes them.

    Args:
        tx: the events' transaction, before the addresses of articles are noted.
        events: of any kind.
        rows: the keywords that they are about, as they are now.
    """
    dead = {
        work_id: event
        for event in events
        if isinstance(event.payload, DeadLetterRecorded)
        for work_id in event.payload.work_ids
    }
    ends = {work_id: event for event in events if (work_id := _ended_by(event)) is not None}
    await _note_publications(tx.connection, events)
    awaited = await _awaited(tx.connection, ends) | (dead.keys() & ends.keys())
    if not dead and not awaited:
        return
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    reports = await _done_before(tx.connection, list(dead.values()), rows, now) if dead else {}
    for work_id in awaited:
        reports[work_id] = await _report(tx.connection, work_id, ends[work_id], now)
    for work_id in sorted(reports.keys() & (dead.keys() | awaited)):
        tx.send(reports[work_id], caused_by=ends.get(work_id) or dead[work_id])
    # A publication that was asked for later may still be on its way.
    over = {work_id for work_id, report in reports.items() if report.covers_until == now}
    await tx.connection.execute("delete from awaited_work where work_id = any ($1::uuid[])", sorted(over))
    await await_work(tx.connection, dead.keys() - over)


async def await_work(connection: Connection, work_ids: Iterable[UUID]) -> None:
    """Awaits these pieces of work, so that their end is reported."""
    wanted = sorted(work_ids)
    if wanted:
        await connection.execute(
            "insert into awaited_work (work_id) select unnest($1::uuid[]) on conflict do nothing", wanted
        )


async def await_repeated(connection: Connection, payload: Payload, correlation_id: str) -> None:
    """Awaits work that a new command repeats, as the former command may still become a dead letter."""
    await await_work(connection, work_ids_of(payload, correlation_id))


async def forget_awaited(connection: Connection, older_than: timedelta) -> None:
    """Deletes awaited work that is older than this."""
    await connection.execute("delete from awaited_work where awaited_at < now() - $1::interval", older_than)


def _ended_by(event: Event) -> UUID | None:
    """The piece of work that an event ends well; a refusal is an end, too, where it is no failure."""
    match event.payload:
        case ResearchFailed(reason=reason) if reason not in NORMAL_ENDS:
            return None
        case ContentGenerated() | ContentRefused() as payload:
            return writing_id(payload.brand_slug, payload.content_id)
        case (
            ResearchCompleted()
            | ResearchFailed()
            | ContentPublished()
            | SocialPosted()
            | SocialFailed() as payload
        ):
            return next(iter(work_ids_of(payload, event.correlation_id)), None)
        case _:
            return None


async def _report(connection: Connection, work_id: UUID, event: Event, now: datetime) -> WorkFinished:
    """Of work that an event ends. A publication covers what was sent before it; all, if the target shows the article as it is."""
    covers_until = now
    if isinstance(event.payload, ContentPublished) and not await _is_current(connection, event.payload):
        covers_until = _sent_at(event.causation_id) or datetime.min.replace(tzinfo=UTC)
    assert event.payload.brand_slug is not None
    return WorkFinished(
        brand_slug=event.payload.brand_slug,
        work_id=work_id,
        covers_until=covers_until,
        finished_at=event.timestamp,
        finished_by=event.causation_id,
    )


async def _is_current(connection: Connection, published: ContentPublished) -> bool:
    """Whether a target shows the article's last state; locks the article against changes until the transaction ends."""
    changed_at: datetime | None = await connection.fetchval(
        "select updated_at from content where content_id = $1 and taken_down_at is null for no key update",
        published.content_id,
    )
    return changed_at is not None and published.as_of is not None and published.as_of >= changed_at


async def _done_before(
    connection: Connection, dead: Sequence[Event], rows: Iterable[KeywordRow], now: datetime
) -> dict[UUID, WorkFinished]:
    """What had ended of the keywords and articles that dead letters are about."""
    found = {
        work_id: WorkFinished(
            brand_slug=row.facts.brand_slug, work_id=work_id, covers_until=now, finished_at=now
        )
        for row in rows
        for work_id in _ended_of(row)
    }
    content_ids = {
        event.payload.content_id for event in dead if isinstance(event.payload, DeadLetterRecorded)
    } - {None}
    publications = await connection.fetch(
        "select content_id, brand_slug, target, command_id, answered_at"
        " from done_publications join content using (content_id) where content_id = any ($1::uuid[])",
        sorted(content_ids, key=str),
    )
    for each in publications:
        work_id = publishing_id(each["brand_slug"], each["content_id"], each["target"])
        sent_at = _sent_at(each["command_id"])
        assert sent_at is not None
        found[work_id] = WorkFinished(
            brand_slug=each["brand_slug"],
            work_id=work_id,
            covers_until=sent_at,
            finished_at=each["answered_at"],
            finished_by=each["command_id"],
        )
    return found


def _ended_of(row: KeywordRow) -> list[UUID]:
    """The work of a keyword that has ended well, without publications."""
    facts = row.facts
    brand, content_id = facts.brand_slug, facts.content_id
    refused = (
        set()
        if facts.cancelled
        else {stage for stage, each in facts.setbacks.items() if each.refused and not each.is_over_limit}
    )
    ended = []
    if facts.research_id is not None or Stage.RESEARCH in refused:
        ended.append(researching_id(brand, row.correlation_id, row.keyword))
    if content_id is not None:
        if facts.generated or facts.standing_id is not None or Stage.WRITING in refused:
            ended.append(writing_id(brand, content_id))
        ended += [announcing_id(brand, content_id, post.platform) for post in facts.posts]
    return ended


async def _awaited(connection: Connection, work_ids: Collection[UUID]) -> set[UUID]:
    if not work_ids:
        return set()
    rows = await connection.fetch(
        "select work_id from awaited_work where work_id = any ($1::uuid[])", list(work_ids)
    )
    return {row["work_id"] for row in rows}


async def _note_publications(connection: Connection, events: Sequence[Event]) -> None:
    """Stores the last command that each target has carried out, if its id contains a time."""
    last: dict[tuple[UUID, str], Event] = {}
    for event in events:
        match event.payload:
            case ContentPublished(content_id=content_id, target=str() as target) if _sent_at(
                event.causation_id
            ):
                known = last.get((content_id, target))
                if known is None or str(known.causation_id) < str(event.causation_id):
                    last[content_id, target] = event
            case _:
                pass
    if not last:
        return
    await connection.execute(
        """
        insert into done_publications as d (content_id, target, command_id, answered_at)
        select content_id, target, command_id, answered_at
        from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::timestamptz[])
            as told (content_id, target, brand_slug, command_id, answered_at) join content using (content_id, brand_slug)
        order by content_id, target
        on conflict (content_id, target) do update set command_id = excluded.command_id, answered_at = excluded.answered_at
            where d.command_id < excluded.command_id
        """,
        [content_id for content_id, _ in last],
        [target for _, target in last],
        [event.payload.brand_slug for event in last.values()],
        [event.causation_id for event in last.values()],
        [event.timestamp for event in last.values()],
    )


def _sent_at(event_id: UUID | None) -> datetime | None:
    """When a message was made, rounded down to the millisecond; None if its id has no time."""
    if event_id is None or event_id.version != _TIMED_VERSION:
        return None
    return datetime.fromtimestamp((event_id.int >> 80) / 1000, UTC)
