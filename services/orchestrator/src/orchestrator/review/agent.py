"""A brand's counters, and whether it waits for a person. Computed from the rows, so that they always agree."""

from collections.abc import Sequence
from typing import Final

from chassis import Connection
from orchestrator.article_workflow import WAITS
from orchestrator.brands import BrandAgentView, BrandCounters, BrandRow, KeywordWait
from orchestrator.cycles import BRAND_WAITS

MAX_WAITS: Final = 3


async def agent_of(connection: Connection, brand: BrandRow, *, with_counters: bool = True) -> BrandAgentView:
    row = await connection.fetchrow(
        f"""
        select {BRAND_WAITS} as waits,
               greatest(b.looked_at, (
                   select max(reviewed_at) from content where brand_slug = b.slug and reviewed_at is not null)) as looked_at
        from brands as b where b.slug = $1
        """,  # noqa: S608  (a constant)
        brand.slug,
    )
    assert row is not None
    return BrandAgentView(
        counters=await _counters(connection, brand.slug) if with_counters else None,
        waits=row["waits"],
        keyword_waits=await _keyword_waits(connection, brand.slug),
        looked_at=row["looked_at"],
    )


async def _counters(connection: Connection, slug: str) -> BrandCounters:
    """Counts all articles and keywords of the brand. What can be counted in an index alone is counted there."""
    row = await connection.fetchrow(
        f"""
        select of_cycles.pending_research::int, of_cycles.failed::int, of_cycles.posted::int,
               (select count(*) from content where brand_slug = $1)::int as generated,
               (select count(*) from content
                where brand_slug = $1 and published_url is not null and taken_down_at is null)::int as published,
               (select count(*) from content as d where brand_slug = $1 and {WAITS})::int as drafts_waiting
        from (
            select coalesce(sum(queued), 0) as pending_research, coalesce(sum(failed), 0) as failed, coalesce(sum(posted), 0) as posted
            from cycles where brand_slug = $1
        ) as of_cycles
        """,  # noqa: S608  (a constant)
        slug,
    )
    assert row is not None
    return BrandCounters(**{name: row[name] for name in BrandCounters.model_fields})


async def _keyword_waits(connection: Connection, slug: str) -> tuple[KeywordWait, ...]:
    rows = await connection.fetch(
        """
        select regexp_replace(min(waits.reason), '^waits for ', '') as reason, count(*)::int as keywords, min(waits.until) as until
        from cycles join keywords as k using (cycle_id), lateral (
            select reason, until from writing_waits as w where w.content_id = k.content_id and k.state = 'writing'
            union all
            select reason, until from research_waits as r
            where (r.cycle_id, r.position) = (k.cycle_id, k.position) and k.state = 'queued'
        ) as waits
        where brand_slug = $1 and ended_at is null
        -- The figures in a reason change from keyword to keyword.
        group by split_part(waits.reason, ':', 1) order by 2 desc, 1 limit $2
        """,
        slug,
        MAX_WAITS,
    )
    return tuple(KeywordWait(**row) for row in rows)


async def waits_of(connection: Connection, brands: Sequence[BrandRow]) -> list[str | None]:
    """Why each brand begins nothing more; None for brands that work normally."""
    rows = await connection.fetch(
        f"select b.slug, {BRAND_WAITS} as waits from brands as b where b.slug = any ($1::text[])",  # noqa: S608  (a constant)
        [brand.slug for brand in brands],
    )
    waits = {row["slug"]: row["waits"] for row in rows}
    return [waits.get(brand.slug) for brand in brands]
