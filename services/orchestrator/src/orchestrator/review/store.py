"""SQL over drafts and decisions, beside the functions that run it.

A decision needs the row locks of the article and its brand, in the order of `lock_draft`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.article_workflow import lock_storing
from orchestrator.review.domain import (
    DraftDecisionKind,
    DraftState,
    LatestDraftDecision,
    ReviewedDraft,
    ScheduledPublication,
)

_SCHEDULED: Final = (
    "exists (select from appointments as p where p.content_id = c.content_id and p.ended_at is null)"
)
STATES: Final = {
    DraftState.WAITING: f"c.held_for <> '{{}}' and c.decision is null and not {_SCHEDULED}",
    DraftState.SCHEDULED: f"(c.held_for = '{{}}' or c.decision is null or c.decision = 'returned') and {_SCHEDULED}",
    DraftState.RETURNED: f"c.held_for <> '{{}}' and c.decision = 'returned' and not {_SCHEDULED}",
    DraftState.REJECTED: "c.decision = 'rejected'",
    DraftState.CORRECTION: f"c.held_for = '{{}}' and c.offered_version is not null and not {_SCHEDULED}",
    DraftState.APPROVED: f"c.decision = 'approved' and c.offered_version is null and not {_SCHEDULED}",
    DraftState.TAKEN_DOWN: "c.decision = 'taken_down'",
}
OPEN: Final = (
    "((c.held_for <> '{}' and c.decision is distinct from 'rejected' or c.offered_version is not null)"
    " and c.decision is distinct from 'taken_down')"
)
"""SQL, as in the partial index content_waiting: drafts that wait, are being rewritten, or offer a correction."""

_COUNTED: Final = (DraftState.WAITING, DraftState.SCHEDULED, DraftState.RETURNED, DraftState.CORRECTION)

_DECIDED: Final = """
    select decision, version, comment, made_by, made_at from decisions where content_id = {content_id}
    union all
    select 'scheduled', version, to_char(publish_at at time zone 'UTC', '"to be published on "YYYY-MM-DD HH24:MI" UTC"'), made_by, made_at
    from appointments where content_id = {content_id}
    union all
    select 'called_off', version, '', ended_by, ended_at from appointments where content_id = {content_id} and ended_as = 'called_off'
"""
"""SQL: all decisions about an article. An older version reads only the kinds that it knows."""

_DRAFTS: Final = f"""
    select c.content_id, c.brand_slug, c.keyword, c.research_id, c.slug as address, n.title, n.word_count, c.version as stands, n.version as newest,
           n.made_by as newest_by, n.made_at as newest_at, c.held_for, c.decision, c.offered_version as offered,
           coalesce(c.waits_since, c.created_at) as since, c.published_url,
           d.decision as last_kind, d.version as last_version, d.comment, d.made_by, d.made_at,
           p.version as planned_version, p.publish_at, p.made_by as planned_by, p.made_at as planned_at
    from content as c
        join lateral (
            select version, title, word_count, made_by, made_at from content_versions as v
            where v.content_id = c.content_id order by version desc limit 1
        ) as n on true
        left join lateral (
            select * from ({_DECIDED.format(content_id="c.content_id")}) as all_of_it
            where decision <> 'edited' order by made_at desc limit 1
        ) as d on true
        left join appointments as p on p.content_id = c.content_id and p.ended_at is null
    where
"""  # noqa: S608  (constants of this module)


async def lock_draft(connection: Connection, content_id: UUID) -> ReviewedDraft | None:
    """Locks an article and its brand until the transaction ends; None if there is none.

    The lock on storing comes first, as `storing` takes it before any article's row.
    """
    await lock_storing(connection)
    await connection.execute(
        "select from brands where slug = (select brand_slug from content where content_id = $1) for no key update",
        content_id,
    )
    await connection.execute("select from content where content_id = $1 for update", content_id)
    return await find_draft(connection, content_id)


async def find_draft(connection: Connection, content_id: UUID) -> ReviewedDraft | None:
    row = await connection.fetchrow(f"{_DRAFTS} c.content_id = $1", content_id)
    return None if row is None else _draft(row)


async def drafts(
    connection: Connection,
    *,
    brands: Sequence[str] | None,
    state: DraftState | None,
    after: UUID | None,
    limit: int,
) -> list[ReviewedDraft]:
    """A page of drafts of these brands or of all, oldest first; in one state, or in any open state."""
    condition = OPEN if state is None else f"({STATES[state]})"
    rows = await connection.fetch(
        f"""{_DRAFTS} {condition} and ($1::text[] is null or c.brand_slug = any ($1)) and ($2::uuid is null or c.content_id > $2)
        order by c.content_id limit $3""",
        None if brands is None else list(brands),
        after,
        limit,
    )
    return [_draft(row) for row in rows]


async def articles(
    connection: Connection, brand: str, *, after: UUID | None, limit: int
) -> list[ReviewedDraft]:
    """A page of a brand's articles in any state, oldest first."""
    rows = await connection.fetch(
        f"""{_DRAFTS} c.brand_slug = $1 and ($2::uuid is null or c.content_id > $2) order by c.content_id limit $3""",
        brand,
        after,
        limit,
    )
    return [_draft(row) for row in rows]


async def count_drafts(connection: Connection) -> dict[str, float]:
    """Counts open drafts by state."""
    counted = ", ".join(f"count(*) filter (where {STATES[state]}) as {state}" for state in _COUNTED)
    row = await connection.fetchrow(f"select {counted} from content as c where {OPEN}")  # noqa: S608  (constants)
    assert row is not None
    return {state.value: float(row[state.value]) for state in _COUNTED}


async def decisions_of(connection: Connection, content_id: UUID, limit: int) -> list[LatestDraftDecision]:
    """The latest decisions, edits included; latest first."""
    rows = await connection.fetch(
        f"{_DECIDED.format(content_id='$1')} order by made_at desc limit $2",
        content_id,
        limit,
    )
    return [LatestDraftDecision(DraftDecisionKind(row[0]), *row[1:]) for row in map(tuple, rows)]


async def note_decision(
    connection: Connection,
    draft: ReviewedDraft,
    kind: DraftDecisionKind,
    version: int,
    *,
    comment: str,
    by: str,
) -> None:
    await connection.execute(
        "insert into decisions (content_id, version, decision, comment, made_by) values ($1, $2, $3, $4, $5)",
        draft.content_id,
        version,
        kind.value,
        comment,
        by,
    )


async def mark_reviewed(connection: Connection, content_id: UUID) -> None:
    """Marks this article as reviewed in its current state; others of its brand stay as they are."""
    await connection.execute(
        "update content set reviewed_at = clock_timestamp() where content_id = $1", content_id
    )


async def look(connection: Connection, brand_slug: str) -> datetime | None:
    """Marks all waiting drafts of a brand as reviewed; returns the time, or None if there is no such brand."""
    moment: datetime | None = await connection.fetchval(
        "update brands set looked_at = clock_timestamp() where slug = $1 returning looked_at", brand_slug
    )
    return moment


async def set_approved(connection: Connection, content_id: UUID) -> None:
    await connection.execute(
        """
        update content set held_for = '{}', decision = 'approved', offered_version = null, taken_down_at = null,
            updated_at = clock_timestamp()
        where content_id = $1
        """,
        content_id,
    )


async def set_taken_down(connection: Connection, content_id: UUID, why: str) -> None:
    """Marks the article as taken down for the publisher; an older version sees a draft."""
    await connection.execute(
        """
        update content set held_for = $2, decision = 'taken_down', offered_version = null,
            taken_down_at = clock_timestamp(), updated_at = clock_timestamp()
        where content_id = $1
        """,
        content_id,
        [why],
    )


async def set_decision(connection: Connection, content_id: UUID, kind: DraftDecisionKind) -> None:
    await connection.execute("update content set decision = $2 where content_id = $1", content_id, kind.value)


async def expect_nothing(connection: Connection, content_id: UUID) -> None:
    """Cancels the rewrite of a returned draft: a late result is dropped."""
    await connection.execute(
        "update content set decision = null where content_id = $1 and decision = 'returned'", content_id
    )


async def offer(connection: Connection, content_id: UUID, version: int | None) -> None:
    """Sets the newer version of an approved article that waits for approval, or removes it (None)."""
    await connection.execute(
        "update content set offered_version = $2 where content_id = $1", content_id, version
    )


def _draft(row: asyncpg.Record) -> ReviewedDraft:
    last = None
    if row["last_kind"] is not None:
        last = LatestDraftDecision(
            DraftDecisionKind(row["last_kind"]),
            row["last_version"],
            row["comment"],
            row["made_by"],
            row["made_at"],
        )
    return ReviewedDraft(
        content_id=row["content_id"],
        brand_slug=row["brand_slug"],
        keyword=row["keyword"],
        research_id=row["research_id"],
        address=row["address"],
        title=row["title"],
        word_count=row["word_count"],
        stands=row["stands"],
        newest=row["newest"],
        newest_by=row["newest_by"],
        newest_at=row["newest_at"],
        held_for=tuple(row["held_for"]),
        decision=None if row["decision"] is None else DraftDecisionKind(row["decision"]),
        offered=row["offered"],
        since=row["since"],
        published_url=row["published_url"],
        last=last,
        appointment=None
        if row["publish_at"] is None
        else ScheduledPublication(
            row["planned_version"], row["publish_at"], row["planned_by"], row["planned_at"]
        ),
    )
