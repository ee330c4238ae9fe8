"""Research results and their sources, behind `GET /v1/research/{id}` and the 7-day cache; and commands that wait."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NewType
from uuid import UUID

from chassis import Connection
from research.domain import CACHE_PERIOD, Source, normalise_keyword

ResearchId = NewType("ResearchId", UUID)

WORTH_A_WORD: Final = timedelta(seconds=30)
"""A shorter wait is over before anybody asks; one of many short ones is told when they have lasted for so long."""
TOLD_AGAIN: Final = timedelta(minutes=10)
"""A wait that goes on, or many short ones: somebody has to know that it is not forgotten, though not each time."""
UNENDED_KEPT: Final = timedelta(days=90)
"""Without a word of its command, which has become a dead letter then."""


@dataclass(frozen=True, slots=True)
class StoredResearch:
    research_id: ResearchId
    brand_slug: str
    keyword: str
    priority: str
    provider: str
    created_at: datetime
    expires_at: datetime
    left_out: str
    """Where was not looked, and why; empty if everywhere was."""
    sources: tuple[dict[str, Any], ...]
    """As the API shows them: n, title, url, path, licence, published_on, author, passages [{heading, text, score, flags}]."""


async def fresh_research(
    connection: Connection,
    brand_slug: str,
    keyword: str,
    provider: str,
    looked_in: str,
    *,
    not_before: datetime | None = None,
) -> ResearchId | None:
    """The brand's unexpired research on the keyword, spelled in any way, by the database's clock.

    `looked_in` is the fingerprint of the sources that it has to be from; what was made before `not_before` is left out.
    """
    found: UUID | None = await connection.fetchval(
        "select research_id from research where brand_slug = $1 and cache_key = $2 and provider = $3"
        " and looked_in = $4 and expires_at > now() and ($5::timestamptz is null or created_at >= $5)"
        " order by created_at desc limit 1",
        brand_slug,
        normalise_keyword(keyword),
        provider,
        looked_in,
        not_before,
    )
    return None if found is None else ResearchId(found)


async def save_research(
    connection: Connection,
    *,
    brand_slug: str,
    keyword: str,
    priority: str,
    provider: str,
    looked_in: str,
    sources: Sequence[Source],
    cached: timedelta = CACHE_PERIOD,
    left_out: str = "",
    not_before: datetime | None = None,
) -> ResearchId:
    """Store the result, or give the one that a concurrent request has just stored. Run it in a transaction."""
    # Two requests for one keyword may have searched at the same time; the second must see the first one's row.
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended($1, 0))", f"{brand_slug}/{normalise_keyword(keyword)}"
    )
    existing = await fresh_research(
        connection, brand_slug, keyword, provider, looked_in, not_before=not_before
    )
    if existing is not None:
        return existing
    research_id: UUID = await connection.fetchval(
        """
        with new as (
            insert into research (brand_slug, keyword, cache_key, priority, provider, expires_at, looked_in, left_out)
            values ($1, $2, $3, $4, $5, now() + $6, $14, $16) returning research_id
        ), new_sources as (
            insert into sources (research_id, n, title, url, path, licence, published_on, author, passages, quotable)
            select research_id, n, title, url, path, licence, published_on, author, passages::jsonb, quotable
            from new, unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::date[], $12::text[], $13::text[],
                             $15::boolean[])
                      with ordinality as found (title, url, path, licence, published_on, author, passages, quotable, n)
        )
        select research_id from new
        """,
        brand_slug,
        keyword,
        normalise_keyword(keyword),
        priority,
        provider,
        cached,
        [source.title for source in sources],
        [source.url for source in sources],
        [source.path for source in sources],
        [source.licence for source in sources],
        [source.published_on for source in sources],
        [source.author for source in sources],
        [json.dumps([asdict(passage) for passage in source.passages]) for source in sources],
        looked_in,
        [source.quotable for source in sources],
        left_out,
    )
    return ResearchId(research_id)


async def get_research(
    connection: Connection, research_id: UUID, brands: Collection[str] | None = None
) -> StoredResearch | None:
    return next(iter(await get_researches(connection, [research_id], brands)), None)


async def get_researches(
    connection: Connection, research_ids: Sequence[UUID], brands: Collection[str] | None = None
) -> list[StoredResearch]:
    """Those of them that exist, and are of these brands, in no particular order."""
    rows = await connection.fetch(
        """
        select *, (select json_agg(json_build_object('n', n, 'title', title, 'url', url, 'path', path,
                                                     'licence', licence, 'published_on', published_on,
                                                     'author', author, 'quotable', quotable,
                                                     'passages', passages) order by n)
                   from sources where sources.research_id = research.research_id)::text as sources
        from research where research_id = any ($1::uuid[]) and ($2::text[] is null or brand_slug = any ($2))
        """,
        list(research_ids),
        None if brands is None else list(brands),
    )
    return [
        StoredResearch(
            research_id=ResearchId(row["research_id"]),
            brand_slug=row["brand_slug"],
            keyword=row["keyword"],
            priority=row["priority"],
            provider=row["provider"],
            created_at=row["created_at"],
            expires_at=row["expires_at"],
            left_out=row["left_out"],
            sources=tuple(json.loads(row["sources"] or "[]")),
        )
        for row in rows
    ]


async def note_wait(
    connection: Connection, event_id: UUID, waits_for: str, after: timedelta | None
) -> datetime | None:
    """Notes that a command waits, `after` from now if that is known. Run it in a transaction.

    Returns:
        Until when it waits, by the database's clock, if that is to be told now; None if it was told, or is not worth it.
    """
    until: datetime | None = await connection.fetchval(
        """
        insert into waits as known (event_id, waits_for, told_at)
        values ($1, $2, case when $3::interval >= $4::interval then now() end)
        on conflict (event_id) do update set
            noted_at = now(),
            (waits_for, told_at) = (
                select case when tell then excluded.waits_for else known.waits_for end,
                       case when tell then now() else known.told_at end
                from (
                    select case
                        when known.told_at is null then $3 >= $4 or known.since <= now() - $4
                        else known.told_at <= now() - $5::interval or ($3 >= $4 and known.waits_for <> excluded.waits_for)
                    end as tell
                ) as decided
            )
        returning case when told_at = now() then now() + greatest($3, $4) end
        """,
        event_id,
        waits_for,
        after or timedelta(),
        WORTH_A_WORD,
        TOLD_AGAIN,
    )
    return until


async def forget_command(connection: Connection, event_id: UUID) -> None:
    """Forgets what was kept for the time until the command has ended."""
    await connection.execute(
        "delete from waits where event_id = $1 or noted_at < now() - $2::interval", event_id, UNENDED_KEPT
    )
    await connection.execute(
        "delete from proposals where event_id = $1 or proposed_at < now() - $2::interval",
        event_id,
        UNENDED_KEPT,
    )


async def proposals(connection: Connection, event_id: UUID) -> tuple[str, ...] | None:
    """What was proposed to search for, for this command; None if nobody was asked yet."""
    found: list[str] | None = await connection.fetchval(
        "select queries from proposals where event_id = $1", event_id
    )
    return None if found is None else tuple(found)


async def keep_proposals(connection: Connection, event_id: UUID, queries: Sequence[str]) -> tuple[str, ...]:
    """Keeps them until the command has ended; returns those that were kept first."""
    kept: list[str] = await connection.fetchval(
        """
        insert into proposals as known (event_id, queries) values ($1, $2)
        on conflict (event_id) do update set queries = known.queries returning queries
        """,
        event_id,
        list(queries),
    )
    return tuple(kept)
