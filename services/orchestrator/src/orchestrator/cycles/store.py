"""SQL over cycles and keywords, beside the functions that run it.

Whoever decides about a brand's keywords holds the brand's row lock (`lock_brands_of`, `lock_stalled_brands`). The lock is
`for no key update`: it shuts out other deciders, but not the foreign keys of a new cycle or article.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.brands import BrandSlug
from orchestrator.cycles.domain import CycleId
from orchestrator.cycles.facts import Keyword, KeywordState, Post, Setback, Stage
from orchestrator.writing import ContentId

UNDER_WAY = "('queued', 'writing', 'publishing', 'promoting')"
"""As in the partial index keywords_under_way; a literal, so that the planner sees that the index applies."""

STALLED = f"""
    k.state in {UNDER_WAY} and k.moved_at < now() - $1::interval and not k.awaits_turn
    and not exists (
        select from writing_waits as w where w.content_id = k.content_id and w.until >= now() - $1::interval)
    and not exists (
        select from research_waits as r where k.state = 'queued' and (r.cycle_id, r.position) = (k.cycle_id, k.position)
            and r.until >= now() - $1::interval)
"""  # noqa: S608  (a constant of this module)
"""Of keywords k: those that have not moved for the time $1, and were not known to wait."""


@dataclass(frozen=True, slots=True)
class Cycle:
    cycle_id: CycleId
    correlation_id: str
    brand_slug: BrandSlug
    priority: str
    request_digest: bytes
    total: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewCycle:
    """A cycle to be begun; `request_digest` tells whether a repeated idempotency key asks for the same."""

    cycle_id: CycleId
    correlation_id: str
    brand_slug: BrandSlug
    priority: str
    keywords: tuple[str, ...]
    idempotency_key: str | None
    request_digest: bytes


@dataclass(frozen=True, slots=True)
class KeywordRow:
    """A keyword of a cycle, where it stands, and where it is stored."""

    cycle_id: CycleId
    position: int
    correlation_id: str
    keyword: str
    facts: Keyword
    waits: str | None = None
    """Why it is not being researched, or its article not written, right now, if that is so."""
    waits_until: datetime | None = None


async def begin_cycle(connection: Connection, cycle: NewCycle) -> bool:
    """Stores the cycle and its keywords. False, and nothing stored, if its idempotency key was used before.

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
        insert into keywords (cycle_id, position, keyword)
        select $1, position, keyword from unnest($2::text[]) with ordinality as asked (keyword, position)
        """,
        cycle.cycle_id,
        list(cycle.keywords),
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


async def find_cycle_by_idempotency_key(connection: Connection, slug: str, key: str) -> Cycle | None:
    return await _cycle(connection, "c.brand_slug = $1 and c.idempotency_key = $2", slug, key)


async def keywords_of(connection: Connection, cycle_id: UUID) -> list[KeywordRow]:
    """All keywords of a cycle, in the order they were asked for."""
    return await _keywords(connection, "k.cycle_id = $1 order by k.position", cycle_id)


async def lock_brands_of(
    connection: Connection, correlation_ids: Sequence[str], content_ids: Sequence[UUID]
) -> datetime | None:
    """Locks the brands that these belong to, in slug order, until the transaction ends.

    Returns:
        The database's time once all locks are held; None if no brand of ours is concerned.
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
    return await connection.fetchval("select clock_timestamp()") if rows else None


async def load_keywords(
    connection: Connection, names: Sequence[tuple[str, str]], content_ids: Sequence[UUID]
) -> list[KeywordRow]:
    """The keywords named by (correlation_id, keyword) or by their article; unknown ones are left out."""
    return await _keywords(
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
            held = n.held, rejected = n.rejected
        from unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::bool[], $8::text[],
                    $9::bool[], $10::bool[], $11::text[], $12::text[], $13::timestamptz[], $14::bool[], $15::bool[])
            as n (cycle_id, position, state, reason, research_id, content_id, generated, published_url,
                  promoted, awaits_turn, setbacks, posts, moved_at, held, rejected)
        where k.cycle_id = n.cycle_id and k.position = n.position
        """,
        *(list(column) for column in zip(*(_columns(row) for row in rows), strict=True)),
    )


async def in_hand(connection: Connection, slugs: Sequence[str]) -> dict[str, int]:
    """How many articles of each of these brands are being written or queued for it, those that wait for a turn included."""
    rows = await connection.fetch(
        """
        select brand_slug, count(*) as articles from keywords join cycles using (cycle_id)
        where state = 'writing' and brand_slug = any ($1::text[]) group by brand_slug
        """,
        list(slugs),
    )
    return {row["brand_slug"]: row["articles"] for row in rows}


async def next_turns(connection: Connection, slugs: Sequence[str], at_once: int) -> list[KeywordRow]:
    """Keywords of these brands that have waited for their turn and get it, the longest waiting first."""
    return await _keywords(
        connection,
        """
        (k.cycle_id, k.position) in (
            select cycle_id, position
            from (
                select cycle_id, position, awaits_turn,
                       count(*) filter (where not awaits_turn) over (partition by brand_slug) as in_hand,
                       row_number() over (partition by brand_slug, awaits_turn order by moved_at, position) as place
                from keywords join cycles using (cycle_id)
                where state = 'writing' and brand_slug = any ($1::text[])
            ) as standing
            where awaits_turn and in_hand + place <= $2
        )
        order by k.moved_at, k.position
        """,
        list(slugs),
        at_once,
    )


async def waiting(connection: Connection) -> dict[str, float]:
    """How many keywords are not being researched or written right now, by what they wait for."""
    rows = await connection.fetch(
        """
        select 'a turn' as what, count(*) as articles from keywords where state = 'writing' and awaits_turn
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


async def lock_brands_with_turns(connection: Connection) -> tuple[list[str], datetime]:
    """Locks the brands of which keywords wait for a turn, leaving out those that someone else is deciding about.

    Returns:
        Their slugs, and the database's time.
    """
    rows = await connection.fetch(
        """
        select slug from brands
        where slug in (
            select brand_slug from keywords join cycles using (cycle_id) where state = 'writing' and awaits_turn
        )
        order by slug for no key update skip locked
        """
    )
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return [row["slug"] for row in rows], now


async def lock_stalled_brands(connection: Connection, stall_after: timedelta) -> tuple[list[str], datetime]:
    """Locks the brands with keywords unmoved for so long, leaving out those that someone else is deciding about.

    Returns:
        Their slugs, and the database's time.
    """
    rows = await connection.fetch(
        f"""
        select slug from brands
        where slug in (
            select brand_slug from keywords as k join cycles using (cycle_id)
            where {STALLED}
        )
        order by slug for no key update skip locked
        """,  # noqa: S608  (a constant of this module)
        stall_after,
    )
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return [row["slug"] for row in rows], now


async def load_stalled(
    connection: Connection, slugs: Sequence[str], stall_after: timedelta, limit: int
) -> list[KeywordRow]:
    return await _keywords(
        connection,
        f"""
        {STALLED} and c.brand_slug = any ($2::text[])
        order by k.moved_at limit $3
        """,
        stall_after,
        list(slugs),
        limit,
    )


async def next_stall(connection: Connection, stall_after: timedelta) -> timedelta | None:
    """How long until the next keyword may count as stalled (negative: overdue); None while none is under way."""
    due: timedelta | None = await connection.fetchval(
        f"""
        select min(greatest(k.moved_at, w.until, case when k.state = 'queued' then r.until end)) + $1::interval - now()
        from keywords as k left join writing_waits as w using (content_id)
            left join research_waits as r using (cycle_id, position)
        where k.state in {UNDER_WAY} and not k.awaits_turn
        """,  # noqa: S608
        stall_after,
    )
    return due


async def delete_old_cycles(connection: Connection, older_than: timedelta, limit: int) -> int:
    """Deletes ended cycles with their keywords; articles stay. Returns how many cycles went."""
    status = await connection.execute(
        f"""
        delete from cycles where cycle_id in (
            select cycle_id from cycles as c
            where created_at < now() - $1::interval
              and not exists (
                  select from keywords as k where k.cycle_id = c.cycle_id and k.state in {UNDER_WAY})
            order by created_at limit $2 for update skip locked
        )
        """,  # noqa: S608  (a constant of this module)
        older_than,
        limit,
    )
    return int(status.split()[-1])


_KEYWORD_COLUMNS = """
    select k.cycle_id, k.position, k.keyword, k.research_id, k.content_id, k.generated, k.published_url, k.promoted,
           k.held, k.rejected, k.awaits_turn, k.setbacks::text as setbacks, k.posts::text as posts, k.moved_at,
           c.correlation_id, c.brand_slug, c.target, c.channels, b.name as brand_name,
           case when k.state = 'queued' then r.reason else w.reason end as waits,
           case when k.state = 'queued' then r.until else w.until end as until
    from keywords as k join cycles as c using (cycle_id) join brands as b on b.slug = c.brand_slug
        left join writing_waits as w on w.content_id = k.content_id
        left join research_waits as r on (r.cycle_id, r.position) = (k.cycle_id, k.position)
    where
"""


async def _keywords(connection: Connection, condition: str, *arguments: object) -> list[KeywordRow]:
    return [_keyword(row) for row in await connection.fetch(_KEYWORD_COLUMNS + condition, *arguments)]


async def _cycle(connection: Connection, condition: str, *arguments: object) -> Cycle | None:
    row = await connection.fetchrow(
        f"""
        select c.cycle_id, c.correlation_id, c.brand_slug, c.priority, c.request_digest, c.created_at,
               (select count(*) from keywords as k where k.cycle_id = c.cycle_id) as total
        from cycles as c where {condition}
        """,  # noqa: S608  (the conditions are literals of this module)
        *arguments,
    )
    return Cycle(**row) if row else None


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
        published_url=row["published_url"],
        brand_name=row["brand_name"],
        promoted=row["promoted"],
        awaits_turn=row["awaits_turn"],
        setbacks={Stage(stage): Setback(**setback) for stage, setback in setbacks.items()},
        posts=tuple(Post(**post) for post in json.loads(row["posts"])),
    )
    return KeywordRow(
        row["cycle_id"],
        row["position"],
        row["correlation_id"],
        row["keyword"],
        facts,
        row["waits"],
        row["until"],
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
    )
