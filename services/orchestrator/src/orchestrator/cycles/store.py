"""SQL over cycles and keywords, beside the functions that run it.

Whoever decides about a brand's keywords holds the brand's row lock (`lock_brands_of`, `lock_brand`, or those of `turns.py` and `overdue.py`). The lock is
`for no key update`: it shuts out other deciders, but not the foreign keys of a new cycle or article.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import asyncpg

from chassis import Connection
from envelope.brand.payloads import Priority
from orchestrator.brands import BrandSlug
from orchestrator.cycles.domain import CycleId
from orchestrator.cycles.facts import (
    Command,
    CycleState,
    Keyword,
    KeywordState,
    Post,
    Progress,
    Setback,
    Stage,
    cycle_state,
)
from orchestrator.outside import ENDED_AS
from orchestrator.placements import PLACEMENTS, Placement, read_placements
from orchestrator.writing import IS_UNSEEN, ContentId

RANKS = tuple(Priority)
"""Priorities by the rank that they are stored as: what comes first, goes first."""

PAGE = 200
"""Keywords that are shown at once, unless somebody asks for more or less."""

UNSEEN = "waits for a person: five drafts of its brand wait that nobody has looked at"
BRAND_WAITS = f"""
    case when b.paused_at is not null then 'its brand is paused'
         when b.quiet_from <= now()
         then 'its brand keeps quiet hours until ' || to_char(b.quiet_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
         when {IS_UNSEEN} then '{UNSEEN}' end
"""
"""Of brands b: why no step may be taken for it without a person for now, null if it may."""
HELD_UP = f"coalesce({BRAND_WAITS}, case when c.paused_at is not null then 'its cycle is paused' end)"
"""Of cycles c of brands b: why no step may be taken without a person for now, null if it may. Asked wherever one is taken."""
MAY_STEP = f"(({HELD_UP}) is null and c.cancelled_at is null)"

CYCLE_STATE = f"""
    case when ended_at is null then case when paused_at is null then 'running' else 'paused' end else {ENDED_AS} end
"""
"""Of cycles: `Cycle.state` in SQL."""


@dataclass(frozen=True, slots=True)
class Cycle:
    cycle_id: CycleId
    correlation_id: str
    brand_slug: BrandSlug
    priority: str
    request_digest: bytes
    created_at: datetime
    paused_at: datetime | None
    cancelled_at: datetime | None
    ended_at: datetime | None
    """When the last of its keywords ended; None while one is under way."""
    progress: Progress

    @property
    def state(self) -> CycleState:
        return cycle_state(self.progress, paused=self.paused_at is not None)


@dataclass(frozen=True, slots=True)
class NewCycle:
    """A cycle to be begun; `request_digest` tells whether a repeated idempotency key asks for the same."""

    cycle_id: CycleId
    correlation_id: str
    brand_slug: BrandSlug
    priority: Priority
    keywords: tuple[str, ...]
    idempotency_key: str | None
    request_digest: bytes
    priorities: Mapping[str, Priority] = field(default_factory=dict)
    """Of keywords that have another one than the cycle."""
    refresh: bool = False
    """Whether articles that stand on the keywords are written anew."""


@dataclass(frozen=True, slots=True)
class KeywordRow:
    """A keyword of a cycle, where it stands, and where it is stored."""

    cycle_id: CycleId
    position: int
    correlation_id: str
    keyword: str
    facts: Keyword
    priority: Priority
    waits: str | None = None
    """Why it is not being researched, or its article not written, right now, if that is so."""
    waits_until: datetime | None = None
    held_up: str | None = None
    """Why nothing of it may be begun for now, if that is so."""
    in_cancelled_cycle: bool = False
    command: Command | None = None
    taken_down: str | None = None
    """Who took its page down or deleted its article, and why."""
    is_deleted: bool = False
    language: str = "en"
    """Its brand's."""
    refresh: bool = False
    """Whether an article that stands on its subject is written anew."""
    standing_url: str | None = None
    """Where the article can be seen that it ended with, if that is not its own."""
    placements: tuple[Placement, ...] = ()
    """How its article fares at further targets."""


async def begin_cycle(connection: Connection, cycle: NewCycle) -> bool:
    """Stores the cycle and its keywords, which wait for their turn. False, and nothing stored, if its idempotency key was used.

    The brand has to exist; its channels and target are copied into the cycle.
    """
    begun = await connection.fetchval(
        """
        insert into cycles
            (cycle_id, correlation_id, brand_slug, priority, target, channels, idempotency_key, request_digest)
        select $1, $2, slug, $4, target, channels, $5, $6 from brands where slug = $3
        on conflict (brand_slug, idempotency_key) do nothing
        returning true
        """,
        cycle.cycle_id,
        cycle.correlation_id,
        cycle.brand_slug,
        cycle.priority,
        cycle.idempotency_key,
        cycle.request_digest,
    )
    if not begun:
        return False
    await connection.execute(
        """
        insert into keywords (cycle_id, position, keyword, rank, refresh, awaits_turn)
        select $1, position, keyword, rank, $4, true
        from unnest($2::text[], $3::smallint[]) with ordinality as asked (keyword, rank, position)
        """,
        cycle.cycle_id,
        list(cycle.keywords),
        [RANKS.index(cycle.priorities.get(keyword, cycle.priority)) for keyword in cycle.keywords],
        cycle.refresh,
    )
    return True


async def find_cycle(
    connection: Connection, cycle_id: UUID, brands: Collection[str] | None = None
) -> Cycle | None:
    """The cycle; where `brands` are named, it must be one of theirs."""
    own = None if brands is None else list(brands)
    return await _cycle(
        connection, "c.cycle_id = $1 and ($2::text[] is null or c.brand_slug = any ($2))", cycle_id, own
    )


async def release_key(connection: Connection, cycle: NewCycle, kept: timedelta) -> None:
    """Takes the idempotency key from a cycle that had it so long ago that it may name another one."""
    if cycle.idempotency_key is not None:
        await connection.execute(
            """
            update cycles set idempotency_key = null
            where brand_slug = $1 and idempotency_key = $2 and created_at <= now() - $3::interval
            """,
            cycle.brand_slug,
            cycle.idempotency_key,
            kept,
        )


async def find_cycle_by_idempotency_key(connection: Connection, slug: str, key: str) -> Cycle | None:
    return await _cycle(connection, "c.brand_slug = $1 and c.idempotency_key = $2", slug, key)


async def cycles_page(
    connection: Connection,
    *,
    brands: Collection[str] | None,
    state: CycleState | None,
    after: UUID | None,
    limit: int,
) -> list[Cycle]:
    """So many cycles, the latest first, behind the one with the id `after`; all, or those of some brands, or in a state."""
    rows = await connection.fetch(
        f"""
        select * from cycles
        where ($1::text[] is null or brand_slug = any ($1)) and ($2::uuid is null or cycle_id < $2)
          and ($3::text is null or {CYCLE_STATE} = $3)
        order by cycle_id desc limit $4
        """,  # noqa: S608  (a constant of this module)
        None if brands is None else list(brands),
        after,
        state,
        limit,
    )
    return [_cycle_of(row) for row in rows]


async def keywords_of(
    connection: Connection,
    cycle_id: UUID,
    *,
    after: int = 0,
    limit: int = PAGE,
    state: KeywordState | None = None,
) -> list[KeywordRow]:
    """So many keywords of a cycle behind a position, in the order they were asked for; all, or those in a state."""
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


async def lock_brands_of(
    connection: Connection, correlation_ids: Sequence[str], content_ids: Sequence[UUID]
) -> tuple[list[str], datetime] | None:
    """Locks the brands that these belong to, in slug order, until the transaction ends.

    Returns:
        The slugs of these brands, and the database's time once all locks are held; None if no brand of ours is concerned.
    """
    rows = await connection.fetch(
        """
        select slug from brands
        where slug in (
            select brand_slug from cycles where correlation_id = any ($1::text[])
            union
            select brand_slug from keywords join cycles using (cycle_id) where content_id = any ($2::uuid[])
        )
        order by slug for no key update
        """,
        list(correlation_ids),
        list(content_ids),
    )
    if not rows:
        return None
    return [row["slug"] for row in rows], await connection.fetchval("select clock_timestamp()")


async def lock_brand(connection: Connection, slug: str) -> datetime:
    """Locks a brand until the transaction ends; returns the database's time then."""
    await connection.execute("select from brands where slug = $1 for no key update", slug)
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now


async def load_keywords(
    connection: Connection, names: Sequence[tuple[str, str]], content_ids: Sequence[UUID]
) -> list[KeywordRow]:
    """The keywords named by (correlation_id, keyword) or by their article; unknown ones are left out."""
    return await load_rows(
        connection,
        """
        (k.cycle_id, k.position) in (
            select cycle_id, position
            from unnest($1::text[], $2::text[]) as named (correlation_id, keyword)
            join cycles using (correlation_id) join keywords using (cycle_id, keyword)
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
            command_id = n.command_id, command_stage = n.command_stage, asked_again = n.asked_again
        from unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::bool[], $8::text[],
                    $9::bool[], $10::bool[], $11::text[], $12::text[], $13::timestamptz[], $14::bool[], $15::bool[],
                    $16::bool[], $17::uuid[], $18::text[], $19::bool[], $20::bool[], $21::uuid[], $22::text[])
            as n (cycle_id, position, state, reason, research_id, content_id, generated, published_url,
                  promoted, awaits_turn, setbacks, posts, moved_at, held, rejected, cancelled,
                  command_id, command_stage, asked_again, follows, standing_id, standing_why)
        where k.cycle_id = n.cycle_id and k.position = n.position
        """,
        *(list(column) for column in zip(*(_columns(row) for row in rows), strict=True)),
    )


async def waiting(connection: Connection) -> dict[str, float]:
    """How many keywords are not being researched or written right now, by what they wait for."""
    rows = await connection.fetch(
        """
        select 'a turn' as what, coalesce(sum(awaiting_research + awaiting_writing), 0) as articles
        from cycles where ended_at is null
        union all
        select 'another keyword on the subject', sum(following) from cycles where ended_at is null and following > 0 having count(*) > 0
        union all
        select replace(split_part(reason, ':', 1), 'waits for ', ''), count(*)
        from (
            select reason from writing_waits
            union all
            select r.reason from research_waits as r join keywords using (cycle_id, position) where state = 'queued'
        ) as waits
        group by 1
        """
    )
    return {row["what"]: float(row["articles"]) for row in rows}


_KEYWORD_COLUMNS = f"""
    select k.cycle_id, k.position, k.keyword, k.research_id, k.content_id, k.generated, k.promoted,
           case when k.published_url is not null then coalesce(
               (select a.published_url from content as a where a.content_id = k.content_id), k.published_url) end as published_url,
           k.held, k.rejected, k.cancelled, k.awaits_turn, k.rank, k.setbacks::text as setbacks, k.posts::text as posts,
           k.moved_at, k.command_id, k.command_stage, k.asked_again, {HELD_UP} as held_up, c.cancelled_at is not null as in_cancelled_cycle,
           k.follows, k.standing_id, k.standing_why, k.refresh, k.renews,
           (select held_for[1] from content as a
            where a.content_id = coalesce(k.standing_id, k.content_id) and a.taken_down_at is not null) as taken_down,
           (select 'its article was deleted by ' || d.deleted_by || ': ' || d.reason
            from deleted_articles as d where d.content_id = coalesce(k.standing_id, k.content_id)) as deleted,
           (select published_url from content as a where a.content_id = k.standing_id) as standing_url,
           c.correlation_id, c.brand_slug, c.target, c.channels, b.name as brand_name, b.language, b.posts_approval,
           {PLACEMENTS.format(content_id="k.content_id")} as placements,
           case when k.follows then (
                    select format('waits for “%s” on the same subject (/v1/cycles/%s)', h.keyword, s.cycle_id)
                    from subjects as s join keywords as h using (cycle_id, position)
                    where (s.brand_slug, s.key) = (c.brand_slug, k.subject))
                when k.state = 'queued' then r.reason else w.reason end as waits,
           case when k.state = 'queued' then r.until else w.until end as until
    from keywords as k join cycles as c using (cycle_id) join brands as b on b.slug = c.brand_slug
        left join writing_waits as w on w.content_id = k.content_id
        left join research_waits as r on (r.cycle_id, r.position) = (k.cycle_id, k.position)
    where
"""  # noqa: S608  (constants of these modules)


async def load_rows(connection: Connection, condition: str, *arguments: object) -> list[KeywordRow]:
    """Rows of keywords k, their cycles c and brands b that meet a condition in SQL, which may say in what order."""
    return [_keyword(row) for row in await connection.fetch(_KEYWORD_COLUMNS + condition, *arguments)]


async def _cycle(connection: Connection, condition: str, *arguments: object) -> Cycle | None:
    row = await connection.fetchrow(f"select * from cycles as c where {condition}", *arguments)  # noqa: S608  (literals of this module)
    return _cycle_of(row) if row else None


def _cycle_of(row: asyncpg.Record) -> Cycle:
    return Cycle(
        cycle_id=row["cycle_id"],
        correlation_id=row["correlation_id"],
        brand_slug=row["brand_slug"],
        priority=row["priority"],
        request_digest=row["request_digest"],
        created_at=row["created_at"],
        paused_at=row["paused_at"],
        cancelled_at=row["cancelled_at"],
        ended_at=row["ended_at"],
        progress=Progress(**{each.name: row[each.name] for each in fields(Progress)}),
    )


def _keyword(row: asyncpg.Record) -> KeywordRow:
    setbacks = json.loads(row["setbacks"])
    facts = Keyword(
        brand_slug=row["brand_slug"],
        target=row["target"],
        channels=tuple(row["channels"]),
        moved_at=row["moved_at"],
        research_id=row["research_id"],
        content_id=row["content_id"],
        generated=row["generated"],
        held=row["held"],
        rejected=row["rejected"],
        cancelled=row["cancelled"],
        published_url=row["published_url"],
        brand_name=row["brand_name"],
        posts_approval=row["posts_approval"],
        language=row["language"],
        promoted=row["promoted"],
        awaits_turn=row["awaits_turn"],
        follows=row["follows"],
        standing_id=row["standing_id"],
        standing_why=row["standing_why"],
        renews=row["renews"],
        setbacks={Stage(stage): Setback(**setback) for stage, setback in setbacks.items()},
        posts=tuple(Post(**post) for post in json.loads(row["posts"])),
    )
    return KeywordRow(
        row["cycle_id"],
        row["position"],
        row["correlation_id"],
        row["keyword"],
        facts,
        RANKS[row["rank"]],
        row["waits"],
        row["until"],
        row["held_up"],
        row["in_cancelled_cycle"],
        Command(Stage(row["command_stage"]), row["command_id"], row["asked_again"])
        if row["command_id"] is not None
        else None,
        row["deleted"] or row["taken_down"],
        row["deleted"] is not None,
        row["language"],
        row["refresh"],
        row["standing_url"],
        read_placements(row["placements"]),
    )


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
    )
