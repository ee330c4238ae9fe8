"""Stored keywords, beside the SQL that reads and writes them.

Deciding about keywords needs the lock of their brand (`store.py`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg
from pydantic_core import from_json

from chassis import Connection
from chassis.observing.traces import TraceHeaders
from envelope import NO_LIMITS, ChainLimits
from envelope.brand.payloads import Picture, Priority
from orchestrator.article_workflow import ContentId
from orchestrator.cycles.domain import CycleId
from orchestrator.cycles.facts import Keyword, KeywordState, PostResult, Stage, StageCommand, StageFailure
from orchestrator.cycles.keyword_times import KeywordTimes, read_times
from orchestrator.cycles.store import BRAND_WAITS, CYCLE_IS_PAUSED, RANKS
from orchestrator.ended_keywords import EndedKeyword
from orchestrator.placements import PLACEMENTS, Placement, read_placements

PAGE = 200
"""Default page size of keywords."""
_FACTS: Final = tuple(each.name for each in fields(Keyword))


@dataclass(frozen=True, slots=True)
class KeywordRow:
    """A keyword's facts, with its cycle, position and brand."""

    cycle_id: CycleId
    position: int
    correlation_id: str
    keyword: str
    facts: Keyword
    priority: Priority
    waits: str | None = None
    """Why its research or writing waits right now; None if it does not."""
    waits_until: datetime | None = None
    held_up: str | None = None
    """Why its brand or cycle begins nothing now; None if nothing holds it up."""
    in_cancelled_cycle: bool = False
    command: StageCommand | None = None
    taken_down: str | None = None
    """Who took its page down or deleted its article, and why; None if neither happened."""
    is_deleted: bool = False
    language: str = "en"
    """Its brand's language."""
    refresh: bool = False
    """Whether an existing article on its subject is rewritten."""
    standing_url: str | None = None
    """URL of the existing article with which it ended, if any."""
    placements: tuple[Placement, ...] = ()
    """The states of its article at further targets."""
    trace: TraceHeaders = field(default_factory=dict)
    """The trace that its next step continues; empty: unknown."""
    trace_of_cycle: TraceHeaders = field(default_factory=dict)
    """The trace in which its cycle began."""
    is_distinct: bool = False
    """Whether it is a subject of its own, even if others fold with it."""
    accepted_at: datetime | None = None
    """When its cycle was accepted; None if the row was not read from the database."""
    submitted_by: str | None = None
    """Who submitted its cycle; None: unknown, from an older version."""
    times: KeywordTimes = field(default_factory=KeywordTimes)
    limits: ChainLimits = NO_LIMITS
    """Those of its request."""

    @property
    def as_ended(self) -> EndedKeyword:
        """The record for the log line of its end."""
        facts = self.facts
        return EndedKeyword(
            facts.brand_slug,
            self.keyword,
            self.cycle_id,
            self.correlation_id,
            facts.standing_id if facts.has_standing_article else facts.content_id,
            facts.state,
            facts.reason,
            self.standing_url if facts.has_standing_article else facts.published_url,
        )


async def keywords_of(
    connection: Connection,
    cycle_id: UUID,
    *,
    after: int = 0,
    limit: int = PAGE,
    state: KeywordState | None = None,
) -> list[KeywordRow]:
    """A page of a cycle's keywords after a position, in submission order; all, or in one state."""
    return await load_rows(
        connection,
        """
        k.cycle_id = $1 and k.position > $2 and ($3::text is null or k.state = $3)
        order by k.position limit $4
        """,
        cycle_id,
        after,
        state,
        limit,
    )


async def find_keyword(connection: Connection, cycle_id: UUID, position: int) -> KeywordRow | None:
    rows = await load_rows(connection, "k.cycle_id = $1 and k.position = $2", cycle_id, position)
    return rows[0] if rows else None


async def load_keywords(
    connection: Connection, names: Sequence[tuple[str, str]], content_ids: Sequence[UUID]
) -> list[KeywordRow]:
    """The keywords named by (correlation_id, keyword) or by their article; unknown ones are left out."""
    return await load_rows(
        connection,
        """
        (k.cycle_id, k.position) in (
            select found.cycle_id, found.position
            from unnest($1::text[], $2::text[]) as named (correlation_id, keyword) join cycles using (correlation_id), lateral (
                -- `offset 0` keeps the planner from reading the cycle, which is long where most are short.
                select k.cycle_id, k.position from keywords as k
                where (k.cycle_id, k.keyword) = (cycles.cycle_id, named.keyword) offset 0
            ) as found
            union
            select cycle_id, position from keywords where content_id = any ($3::uuid[])
        )
        """,
        [correlation_id for correlation_id, _ in names],
        [keyword for _, keyword in names],
        list(content_ids),
    )


async def save_keywords(connection: Connection, rows: Sequence[KeywordRow]) -> None:
    if not rows:
        return
    await connection.execute(
        """
        update keywords as k
        set state = n.state, reason = n.reason, research_id = n.research_id, content_id = n.content_id,
            generated = n.generated, published_url = n.published_url, promoted = n.promoted,
            awaits_turn = n.awaits_turn, setbacks = n.setbacks::jsonb, posts = n.posts::jsonb, moved_at = n.moved_at,
            held = n.held, rejected = n.rejected, cancelled = n.cancelled, follows = n.follows,
            standing_id = n.standing_id, standing_why = n.standing_why,
            command_id = n.command_id, command_stage = n.command_stage, asked_again = n.asked_again, trace = n.trace,
            short_link = n.short_link, picture = n.picture::jsonb, tags = n.tags::jsonb
        from unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::bool[], $8::text[],
                    $9::bool[], $10::bool[], $11::text[], $12::text[], $13::timestamptz[], $14::bool[], $15::bool[],
                    $16::bool[], $17::uuid[], $18::text[], $19::bool[], $20::bool[], $21::uuid[], $22::text[],
                    $23::text[], $24::text[], $25::text[], $26::text[])
            as n (cycle_id, position, state, reason, research_id, content_id, generated, published_url,
                  promoted, awaits_turn, setbacks, posts, moved_at, held, rejected, cancelled,
                  command_id, command_stage, asked_again, follows, standing_id, standing_why, trace,
                  short_link, picture, tags)
        where k.cycle_id = n.cycle_id and k.position = n.position
        """,
        *(list(column) for column in zip(*(_columns(row) for row in rows), strict=True)),
    )


_KEYWORD_COLUMNS = f"""
    select k.cycle_id, k.position, k.keyword, k.research_id, k.content_id, k.generated, k.promoted, k.may_be_promoted_since,
           case when k.published_url is not null then coalesce(
               (select a.published_url from content as a where a.content_id = k.content_id), k.published_url) end as published_url,
           k.held, k.rejected, k.cancelled, k.awaits_turn, k.rank, k.setbacks::text as setbacks, k.posts::text as posts,
           k.moved_at, k.command_id, k.command_stage, k.asked_again, c.paused_at is not null as is_cycle_paused, c.cancelled_at is not null as in_cancelled_cycle,
           k.short_link, k.picture::text as picture, k.tags::text as tags, k.follows, k.standing_id, k.standing_why, k.refresh, k.renews, k.is_distinct, k.trace, c.trace as trace_of_cycle,
           (select held_for[1] from content as a
            where a.content_id = coalesce(k.standing_id, k.content_id) and a.taken_down_at is not null) as taken_down,
           (select 'its article was deleted by ' || d.deleted_by || ': ' || d.reason
            from deleted_articles as d where d.content_id = coalesce(k.standing_id, k.content_id)) as deleted,
           (select published_url from content as a where a.content_id = k.standing_id) as standing_url,
           c.correlation_id, c.created_at as accepted_at, c.submitted_by, c.deadline, c.max_cost, k.times::text as times, c.brand_slug, c.target, c.channels, b.name as brand_name, b.language, b.posts_approval, b.short_links,
           {PLACEMENTS.format(content_id="k.content_id")} as placements,
           case when k.follows then (
                    select format('waits for “%s” on the same subject (/v1/cycles/%s)', h.keyword, s.cycle_id)
                    from subjects as s join keywords as h using (cycle_id, position)
                    where (s.brand_slug, s.key) = (c.brand_slug, coalesce(k.subject_key, k.subject)))
                when k.state = 'queued' then r.reason else w.reason end as waits,
           case when k.state = 'queued' then r.until else w.until end as until
    from keywords as k join cycles as c using (cycle_id) join brands as b on b.slug = c.brand_slug
        left join writing_waits as w on w.content_id = k.content_id
        left join research_waits as r on (r.cycle_id, r.position) = (k.cycle_id, k.position)
    where
"""  # noqa: S608  (constants of these modules)


async def load_rows(connection: Connection, condition: str, *arguments: object) -> list[KeywordRow]:
    """Loads keywords k with their cycles c and brands b that meet a condition in SQL, which may also order them."""
    rows = await connection.fetch(_KEYWORD_COLUMNS + condition, *arguments)
    # Once for each brand: it counts the brand's drafts.
    waits = {
        row["slug"]: row["waits"]
        for row in await connection.fetch(
            f"select b.slug, {BRAND_WAITS} as waits from brands as b where b.slug = any ($1::text[])",  # noqa: S608  (a constant)
            sorted({row["brand_slug"] for row in rows}),
        )
    }
    return [
        _keyword(row, waits.get(row["brand_slug"]) or (CYCLE_IS_PAUSED if row["is_cycle_paused"] else None))
        for row in rows
    ]


def _keyword(row: asyncpg.Record, held_up: str | None) -> KeywordRow:
    stored = {name: row[name] for name in _FACTS}
    stored["channels"] = tuple(row["channels"])
    stored["tags"] = tuple(from_json(row["tags"]))
    stored["picture"] = None if row["picture"] is None else Picture.model_validate_json(row["picture"])
    stored["setbacks"] = {
        Stage(stage): StageFailure(**setback) for stage, setback in from_json(row["setbacks"]).items()
    }
    stored["posts"] = tuple(PostResult(**post) for post in from_json(row["posts"]))
    return KeywordRow(
        row["cycle_id"],
        row["position"],
        row["correlation_id"],
        row["keyword"],
        Keyword(**stored),
        RANKS[row["rank"]],
        row["waits"],
        row["until"],
        held_up,
        row["in_cancelled_cycle"],
        StageCommand(Stage(row["command_stage"]), row["command_id"], row["asked_again"])
        if row["command_id"] is not None
        else None,
        row["deleted"] or row["taken_down"],
        row["deleted"] is not None,
        row["language"],
        row["refresh"],
        row["standing_url"],
        read_placements(row["placements"]),
        _read_trace(row["trace"]),
        _read_trace(row["trace_of_cycle"]),
        row["is_distinct"],
        row["accepted_at"],
        row["submitted_by"],
        read_times(row["times"]),
        ChainLimits(row["deadline"], row["max_cost"]),
    )


def stored_trace(trace: TraceHeaders) -> str | None:
    """The value of the trace column."""
    return json.dumps(trace) if trace else None


def _read_trace(stored: str | None) -> TraceHeaders:
    return {} if stored is None else json.loads(stored)


_KeywordColumns: TypeAlias = tuple[
    CycleId,
    int,
    KeywordState,
    str | None,
    UUID | None,
    ContentId | None,
    bool,
    str | None,
    bool,
    bool,
    str,
    str,
    datetime,
    bool,
    bool,
    bool,
    UUID | None,
    Stage | None,
    bool,
    bool,
    UUID | None,
    str | None,
    str | None,
    str | None,
    str | None,
    str,
]


def _columns(row: KeywordRow) -> _KeywordColumns:
    facts = row.facts
    setbacks = {
        stage: {"reason": setback.reason, "refused": setback.refused}
        for stage, setback in facts.setbacks.items()
    }
    posts = [{"platform": post.platform, "url": post.url, "reason": post.reason} for post in facts.posts]
    return (
        row.cycle_id,
        row.position,
        facts.state,
        facts.reason,
        facts.research_id,
        facts.content_id,
        facts.generated,
        facts.published_url,
        facts.promoted,
        facts.awaits_turn,
        json.dumps(setbacks),
        json.dumps(posts),
        facts.moved_at,
        facts.held,
        facts.rejected,
        facts.cancelled,
        row.command.event_id if row.command else None,
        row.command.stage if row.command else None,
        row.command is not None and row.command.again,
        facts.follows,
        facts.standing_id,
        facts.standing_why,
        stored_trace(row.trace),
        facts.short_link,
        None if facts.picture is None else facts.picture.model_dump_json(),
        json.dumps(facts.tags),
    )
