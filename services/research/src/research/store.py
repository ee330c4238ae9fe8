"""Tables of research: results with their sources (also the 7-day cache), waiting commands, and proposed queries."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NewType
from uuid import UUID, uuid4

from pydantic import TypeAdapter

from chassis import Connection
from documents.json_form import encode_section
from reading.ranking.sources import ResearchSource, normalise_keyword
from research.domain import CACHE_PERIOD

ResearchId = NewType("ResearchId", UUID)

MIN_ANNOUNCED_WAIT: Final = timedelta(seconds=30)
"""Shorter waits are announced only once they add up to this."""
REANNOUNCE_AFTER: Final = timedelta(minutes=10)
"""A wait that continues is announced again after this time."""
KEEP_UNENDED: Final = timedelta(days=90)
"""How long rows of a command stay that never ended; it is a dead letter by then."""


@dataclass(frozen=True, slots=True)
class ResearchFacts:
    research_id: ResearchId
    brand_slug: str
    keyword: str
    priority: str
    provider: str
    created_at: datetime
    expires_at: datetime
    left_out: str
    """The searches that were skipped, and why; empty if none was."""


@dataclass(frozen=True, slots=True)
class StoredResearch:
    """A stored result. Its sources are JSON in the shape of the API, which this module does not parse."""

    facts: ResearchFacts
    sources: str

    def as_json(self) -> bytes:
        """Return the answer of the API."""
        found = f',"sources":{self.sources}}}'
        return _FACTS.dump_json(self.facts)[:-1] + found.encode()


_FACTS: Final = TypeAdapter(ResearchFacts)


@dataclass(frozen=True, slots=True)
class ResearchCacheKey:
    """Identifies reusable research: the brand, the keyword, the provider and the sources that were searched."""

    brand_slug: str
    keyword: str
    """In any spelling; `cache_key` is its normal form."""
    provider: str
    looked_in: str
    """`SourceSettings.fingerprint`."""
    not_before: datetime | None = None
    """Older research does not count."""

    @property
    def cache_key(self) -> str:
        return normalise_keyword(self.keyword)


@dataclass(frozen=True, slots=True)
class NewResearch:
    """A result to store; the cache offers it for the time `cached`."""

    key: ResearchCacheKey
    priority: str
    sources: Sequence[ResearchSource]
    cached: timedelta = CACHE_PERIOD
    left_out: str = ""


async def fresh_researches(
    connection: Connection, keys: Sequence[ResearchCacheKey]
) -> list[ResearchId | None]:
    """Return the latest unexpired research for each key, else None, by the database's clock."""
    rows = await connection.fetch(
        """
        select n, research_id
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
                 with ordinality as asked (brand_slug, cache_key, provider, looked_in, not_before, n),
             lateral (
                 select research_id from research
                 where research.brand_slug = asked.brand_slug and research.cache_key = asked.cache_key
                   and research.provider = asked.provider and research.looked_in = asked.looked_in
                   and expires_at > now() and (not_before is null or created_at >= not_before)
                 order by created_at desc limit 1
             ) as latest
        """,
        [each.brand_slug for each in keys],
        [each.cache_key for each in keys],
        [each.provider for each in keys],
        [each.looked_in for each in keys],
        [each.not_before for each in keys],
    )
    found = {row["n"]: ResearchId(row["research_id"]) for row in rows}
    return [found.get(n) for n in range(1, len(keys) + 1)]


async def save_researches(connection: Connection, researches: Sequence[NewResearch]) -> list[ResearchId]:
    """Store results and return their ids, or the ids that concurrent requests have just stored. Run it in a transaction."""
    if not researches:
        return []
    keys = [each.key for each in researches]
    # Two requests for one keyword may have searched at the same time; the second must see the first one's row. Sorted, so
    # that two transactions cannot deadlock.
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest($1::text[]) as name",
        sorted({f"{each.brand_slug}/{each.cache_key}" for each in keys}),
    )
    ids = dict(enumerate(await fresh_researches(connection, keys)))
    first: dict[tuple[str, str, str, str], int] = {}
    again: list[int] = []
    for at, each in enumerate(keys):
        if ids[at] is None:
            name = (each.brand_slug, each.cache_key, each.provider, each.looked_in)
            if first.setdefault(name, at) != at:
                again.append(at)
    new = {at: ResearchId(uuid4()) for at in first.values()}
    await _insert(connection, [(new_id, researches[at]) for at, new_id in new.items()])
    # Within one batch, too, the second of two equal keys gets the first one's row.
    later = await save_researches(connection, [researches[at] for at in again])
    known = {
        **{at: found for at, found in ids.items() if found},
        **new,
        **dict(zip(again, later, strict=True)),
    }
    return [known[at] for at in range(len(researches))]


async def has_research(connection: Connection, research_id: UUID) -> bool:
    found: bool = await connection.fetchval(
        "select exists (select from research where research_id = $1)", research_id
    )
    return found


async def save_answers(connection: Connection, answers_id: UUID, answers: NewResearch) -> None:
    """Store the answers to an article's questions, unless they are. Run it in a transaction."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", str(answers_id))
    if not await has_research(connection, answers_id):
        await _insert(connection, [(ResearchId(answers_id), answers)])


async def _insert(connection: Connection, researches: Sequence[tuple[ResearchId, NewResearch]]) -> None:
    if not researches:
        return
    keys = [each.key for _, each in researches]
    sources = [
        (research_id, n, source)
        for research_id, each in researches
        for n, source in enumerate(each.sources, start=1)
    ]
    await connection.execute(
        """
        with new as (
            insert into research
                (research_id, brand_slug, keyword, cache_key, provider, looked_in, priority, expires_at, left_out)
            select research_id, brand_slug, keyword, cache_key, provider, looked_in, priority, now() + cached, left_out
            from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                        $8::interval[], $9::text[])
                     as found (research_id, brand_slug, keyword, cache_key, provider, looked_in, priority, cached, left_out)
        )
        insert into sources
            (research_id, n, title, url, path, licence, published_on, author, passages, quotable, work, section, about,
             titles_above)
        select research_id, n, title, url, path, licence, published_on, author, passages::jsonb, quotable, work, section,
               about, titles_above
        from unnest($10::uuid[], $11::integer[], $12::text[], $13::text[], $14::text[], $15::text[], $16::date[],
                    $17::text[], $18::text[], $19::boolean[], $20::text[], $21::json[], $22::real[], $23::json[])
                 as found (research_id, n, title, url, path, licence, published_on, author, passages, quotable, work,
                           section, about, titles_above)
        """,
        [research_id for research_id, _ in researches],
        [each.brand_slug for each in keys],
        [each.keyword for each in keys],
        [each.cache_key for each in keys],
        [each.provider for each in keys],
        [each.looked_in for each in keys],
        [each.priority for _, each in researches],
        [each.cached for _, each in researches],
        [each.left_out for _, each in researches],
        [research_id for research_id, _, _ in sources],
        [n for _, n, _ in sources],
        [source.title for *_, source in sources],
        [source.url for *_, source in sources],
        [source.path for *_, source in sources],
        [source.licence for *_, source in sources],
        [source.published_on for *_, source in sources],
        [source.author for *_, source in sources],
        [_passages(source) for *_, source in sources],
        [source.quotable for *_, source in sources],
        [source.work for *_, source in sources],
        [_section(source) for *_, source in sources],
        [source.about for *_, source in sources],
        [json.dumps(source.titles_above) for *_, source in sources],
    )


def _passages(source: ResearchSource) -> str:
    # Not dataclasses.asdict, which copies every value.
    return json.dumps(
        [
            {"heading": each.heading, "text": each.text, "score": each.score, "flags": each.flags}
            for each in source.passages
        ]
    )


def _section(source: ResearchSource) -> str | None:
    return None if source.section is None else json.dumps(encode_section(source.section), ensure_ascii=False)


async def get_research(
    connection: Connection, research_id: UUID, brands: Collection[str] | None = None
) -> StoredResearch | None:
    return next(iter(await get_researches(connection, [research_id], brands)), None)


async def get_researches(
    connection: Connection, research_ids: Sequence[UUID], brands: Collection[str] | None = None
) -> list[StoredResearch]:
    """Load the existing ones, unordered; `brands` limits them to these brands, None to all."""
    rows = await connection.fetch(
        """
        select *,
               (select json_agg(json_build_object(
                    'n', n, 'title', title, 'url', url, 'path', path, 'licence', licence, 'published_on', published_on,
                    'author', author, 'quotable', quotable, 'work', work, 'about', about, 'titles_above', titles_above,
                    'section', section, 'passages', passages) order by n)
                from sources where sources.research_id = research.research_id)::text as sources
        from research where research_id = any ($1::uuid[]) and ($2::text[] is null or brand_slug = any ($2))
        """,
        list(research_ids),
        None if brands is None else list(brands),
    )
    return [
        StoredResearch(
            ResearchFacts(
                research_id=ResearchId(row["research_id"]),
                brand_slug=row["brand_slug"],
                keyword=row["keyword"],
                priority=row["priority"],
                provider=row["provider"],
                created_at=row["created_at"],
                expires_at=row["expires_at"],
                left_out=row["left_out"],
            ),
            sources=row["sources"] or "[]",
        )
        for row in rows
    ]


async def expire_researches(connection: Connection) -> None:
    """Expire all cached research: its statements about rights may be outdated."""
    await connection.execute("update research set expires_at = now() where expires_at > now()")


async def record_wait(
    connection: Connection, event_id: UUID, waits_for: str, after: timedelta | None
) -> datetime | None:
    """Record that a command waits, for `after` if known. Run it in a transaction.

    Returns:
        The end of the wait, by the database's clock, if it has to be announced now; else None.
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
        MIN_ANNOUNCED_WAIT,
        REANNOUNCE_AFTER,
    )
    return until


async def forget_commands(connection: Connection, event_ids: Sequence[UUID]) -> None:
    """Delete the waits and proposals of commands that have ended, and those too old to matter."""
    await connection.execute(
        """
        with ended as (delete from waits where event_id = any ($1::uuid[]) or noted_at < now() - $2::interval)
        delete from proposals where event_id = any ($1::uuid[]) or proposed_at < now() - $2::interval
        """,
        event_ids,
        KEEP_UNENDED,
    )


async def get_proposals(connection: Connection, event_id: UUID) -> tuple[str, ...] | None:
    """Return the queries that a model proposed for this command; None before the first answer."""
    found: list[str] | None = await connection.fetchval(
        "select queries from proposals where event_id = $1", event_id
    )
    return None if found is None else tuple(found)


async def save_proposals(connection: Connection, event_id: UUID, queries: Sequence[str]) -> tuple[str, ...]:
    """Store the proposed queries until the command ends; return those stored first."""
    kept: list[str] = await connection.fetchval(
        """
        insert into proposals as known (event_id, queries) values ($1, $2)
        on conflict (event_id) do update set queries = known.queries returning queries
        """,
        event_id,
        list(queries),
    )
    return tuple(kept)
