"""A brand's counters, and whether it waits for a person. Computed from the rows, so that they always agree."""

from collections.abc import Sequence
from typing import Final

from chassis import Connection
from orchestrator.article_workflow import WAITS
from orchestrator.brands import BrandAgentView, BrandCounters, BrandRow, KeywordWait
from orchestrator.cycles import BRAND_WAITS

MAX_WAITS: Final = 3


async def agent_of(connection: Connection, brand: BrandRow) -> BrandAgentView:
    row = await connection.fetchrow(
        f"""
        select coalesce(of_cycles.pending_research, 0)::int as pending_research, of_content.drafts_waiting::int,
               of_content.generated::int, of_content.published::int, of_keywords.posted::int,
               coalesce(of_cycles.failed, 0)::int as failed, {BRAND_WAITS} as waits,
               greatest(b.looked_at, of_content.reviewed_at) as looked_at
        from brands as b,
            lateral (
                select sum(queued) as pending_research, sum(failed) as failed from cycles where brand_slug = b.slug
            ) as of_cycles,
            lateral (
                select count(*) as generated, count(*) filter (where published_url is not null and taken_down_at is null) as published,
                       count(*) filter (where {WAITS}) as drafts_waiting, max(reviewed_at) as reviewed_at
                from content as d where brand_slug = b.slug
            ) as of_content,
            lateral (
                select coalesce(sum((
                    select count(*) from jsonb_array_elements(k.posts) as post where post ->> 'url' is not null)), 0) as posted
                from keywords as k join cycles using (cycle_id) where brand_slug = b.slug and k.posts <> '[]'
            ) as of_keywords
        where b.slug = $1
        """,  # noqa: S608  (a constant)
        brand.slug,
    )
    assert row is not None
    counters = {name: row[name] for name in BrandCounters.model_fields}
    return BrandAgentView(
        counters=BrandCounters(**counters),
        waits=row["waits"],
        keyword_waits=await _keyword_waits(connection, brand.slug),
        looked_at=row["looked_at"],
    )


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
