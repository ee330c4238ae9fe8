"""SQL over drafts and decisions, beside the functions that run it.

A decision needs the row locks of the article and its brand, in the order of `lock_draft`.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.article_workflow import WORDS, WRITER, brands_query, lock_storing, words_query
from orchestrator.moving import check_not_moving
from orchestrator.review.domain import DraftAuthor, DraftFilter, ReviewedDraft
from review.decisions import RecordedDecision
from review.items import ScheduledPublication
from review.rules import DraftState

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

_OPEN_STATES: Final = frozenset({DraftState.WAITING, DraftState.RETURNED, DraftState.CORRECTION})
"""States in which drafts are always open; it is said in the SQL too, as the planner does not conclude it."""

_MADE_BY: Final = {
    DraftAuthor.DIGEST: f"n.made_by = '{WRITER}' and not coalesce(n.measures @> '[{{\"name\": \"dropped\"}}]', false)",
    DraftAuthor.MODEL: f"n.made_by = '{WRITER}' and n.measures @> '[{{\"name\": \"dropped\"}}]'",
    DraftAuthor.PERSON: f"n.made_by <> '{WRITER}'",
}
MOST_COUNTED: Final = 10_000
"""Drafts of a filter that are counted."""

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

_NEWEST: Final = """
    join lateral (
        select version, title, word_count, made_by, made_at, measures from content_versions as v
        where v.content_id = c.content_id order by version desc limit 1
    ) as n on true
"""
_DRAFTS: Final = f"""
    select c.content_id, c.brand_slug, c.keyword, c.research_id, c.slug as address, n.title, n.word_count, c.version as stands, n.version,
           n.made_by, n.made_at, c.held_for, c.decision as standing, c.offered_version as offered,
           coalesce(c.waits_since, c.created_at) as since, c.published_url,
           d.last, case when p.content_id is not null then (p.version, p.publish_at, p.made_by) end as planned
    from content as c {_NEWEST}
        left join lateral (
            select (decision, version, comment, made_by, made_at) as last from ({_DECIDED.format(content_id="c.content_id")}) as all_of_it
            where decision <> 'edited' order by made_at desc limit 1
        ) as d on true
        left join appointments as p on p.content_id = c.content_id and p.ended_at is null
    where
"""  # noqa: S608  (constants of this module)


async def lock_draft(connection: Connection, content_id: UUID) -> ReviewedDraft | None:
    """Locks an article and its brand until the transaction ends; None if there is no such article.

    The lock on storing comes first, as `storing` takes it before any article's row.

    Raises:
        BrandMovesError: its brand moves to another installation, or has moved.
    """
    await lock_storing(connection)
    slug = await connection.fetchval(
        "select slug from brands where slug = (select brand_slug from content where content_id = $1) for no key update",
        content_id,
    )
    if slug is not None:
        await check_not_moving(connection, slug)
    await connection.execute("select from content where content_id = $1 for update", content_id)
    return await find_draft(connection, content_id)


async def find_draft(connection: Connection, content_id: UUID) -> ReviewedDraft | None:
    row = await connection.fetchrow(f"{_DRAFTS} c.content_id = $1", content_id)
    return None if row is None else _draft(row)


async def drafts(
    connection: Connection, wanted: DraftFilter, *, after: UUID | None, limit: int
) -> list[ReviewedDraft]:
    """A page of the drafts that a filter lets through, oldest first."""
    condition, values = _condition(wanted)
    if after is not None:
        values.append(after)
        condition += f" and c.content_id > ${len(values)}::uuid"
    values.append(limit)
    # The page is chosen first, so that its drafts alone are joined with versions and decisions.
    rows = await connection.fetch(
        f"""
        {_DRAFTS} c.content_id in (
            select c.content_id from {_searched(wanted)} where {condition} order by c.content_id limit ${len(values)}
        )
        order by c.content_id
        """,  # noqa: S608  (conditions of this module)
        *values,
    )
    return [_draft(row) for row in rows]


async def find_neighbours(
    connection: Connection, brand: str, content_id: UUID
) -> tuple[UUID | None, UUID | None]:
    """The open drafts of a brand before and after an article, in the order of `drafts`."""
    row = await connection.fetchrow(
        f"""
        select (select c.content_id from content as c where {OPEN} and c.brand_slug = $1 and c.content_id < $2
                order by c.content_id desc limit 1),
               (select c.content_id from content as c where {OPEN} and c.brand_slug = $1 and c.content_id > $2
                order by c.content_id limit 1)
        """,  # noqa: S608  (a constant)
        brand,
        content_id,
    )
    assert row is not None
    return row[0], row[1]


async def count_matches(connection: Connection, wanted: DraftFilter) -> int:
    """Counts the drafts that a filter lets through, up to `MOST_COUNTED`."""
    condition, values = _condition(wanted)
    values.append(MOST_COUNTED)
    counted: int = await connection.fetchval(
        f"""
        select count(*) from (
            select 1 from {_searched(wanted)} where {condition} limit ${len(values)}
        ) as found
        """,  # noqa: S608  (constants)
        *values,
    )
    return counted


def _searched(wanted: DraftFilter) -> str:
    """Returns what a filter is about, as SQL: newest versions only if it names an author."""
    return "content as c" if wanted.author is None else f"content as c {_NEWEST}"


def _condition(wanted: DraftFilter) -> tuple[str, list[object]]:
    """Returns a filter as SQL over `_searched`, with the values of its parameters."""
    is_open = wanted.state is None or wanted.state in _OPEN_STATES
    conditions = [*((OPEN,) if is_open else ()), *((f"({STATES[wanted.state]})",) if wanted.state else ())]
    values: list[object] = []

    def value(given: object) -> str:
        values.append(given)
        return f"${len(values)}"

    if wanted.brands is not None and len(wanted.brands) == 1:
        # A brand's drafts are read in their order: open ones by the index content_waiting, others by content_of_brands.
        slug = "c.brand_slug" if is_open else "c.brand_slug || ''"
        conditions.append(f"{slug} = {value(next(iter(wanted.brands)))}::text")
    elif wanted.brands is not None:
        conditions.append(f"c.brand_slug = any ({value(list(wanted.brands))}::text[])")
    if wanted.author is not None:
        conditions.append(_MADE_BY[wanted.author])
    if wanted.since_before is not None:
        conditions.append(f"coalesce(c.waits_since, c.created_at) < {value(wanted.since_before)}")
    if wanted.text is not None:
        words = query = f"to_tsquery('simple', {value(words_query(wanted.text))}::text)"
        if wanted.brands is not None:
            query = f"({words} && {value(brands_query(wanted.brands))}::text::tsquery)"
        # A text without a word finds nothing.
        conditions += [
            f"numnode({words}) > 0",
            f"c.content_id in (select content_id from content where {WORDS} @@ {query})",  # noqa: S608  (constants)
        ]
    return " and ".join(conditions), values


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


async def decisions_of(connection: Connection, content_id: UUID, limit: int) -> list[RecordedDecision]:
    """The latest decisions, edits included; latest first."""
    rows = await connection.fetch(
        f"{_DECIDED.format(content_id='$1')} order by made_at desc limit $2",
        content_id,
        limit,
    )
    return [RecordedDecision(*row) for row in rows]


async def note_decision(connection: Connection, content_id: UUID, made: RecordedDecision) -> None:
    await connection.execute(
        "insert into decisions (content_id, version, decision, comment, made_by) values ($1, $2, $3, $4, $5)",
        content_id,
        made.version,
        made.decision,
        made.comment,
        made.by,
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


async def set_decision(connection: Connection, content_id: UUID, decision: str | None) -> None:
    """Sets the state that a decision gave it; None: a late rewrite is dropped."""
    await connection.execute("update content set decision = $2 where content_id = $1", content_id, decision)


async def offer(connection: Connection, content_id: UUID, version: int | None) -> None:
    """Sets the newer version of an approved article that waits for approval, or removes it (None)."""
    await connection.execute(
        "update content set offered_version = $2 where content_id = $1", content_id, version
    )


def _draft(row: asyncpg.Record) -> ReviewedDraft:
    fields = dict(row)
    last, planned = fields.pop("last"), fields.pop("planned")
    return ReviewedDraft(
        **fields | {"held_for": tuple(row["held_for"])},
        decision=None if last is None else RecordedDecision(*last),
        scheduled=None if planned is None else ScheduledPublication(*planned),
    )
