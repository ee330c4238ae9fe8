"""SQL over the brands' activity."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from chassis import Connection
from orchestrator.article_workflow import HELD_UP_SINCE, WAITS
from orchestrator.integration_events import POSTS_WAIT


async def activity(
    connection: Connection,
    *,
    slugs: Collection[str] | None,
    after: str,
    limit: int,
    since: datetime | None,
) -> list[dict[str, Any]]:
    """A page of brands by slug with their waiting drafts and posts; with `since`, also the results of their keywords since then.

    Args:
        connection: to the service's database.
        slugs: only these brands; None: all.
        after: slugs that come after this one.
        limit: brands at most.
        since: None: results of keywords are not counted; counting is slow for many keywords.
    """
    rows = await connection.fetch(
        f"""
        with page as (
            select b.* from brands as b
            where b.slug > $1 and ($2::text[] is null or b.slug = any ($2)) order by b.slug limit $3
        ), promoted as (
            select c.brand_slug, count(*) as posts, min(k.moved_at) as since
            from keywords as k join cycles as c using (cycle_id)
            where {POSTS_WAIT} and c.brand_slug in (select slug from page) group by c.brand_slug
        ), recent as (
            select c.brand_slug, count(*) filter (where k.published_url is not null) as published,
                   coalesce(sum((select count(*) from jsonb_array_elements(k.posts) as post where post ->> 'url' is not null)), 0) as posts,
                   count(*) filter (where k.state = 'refused') as refused, count(*) filter (where k.state = 'failed') as failed
            from keywords as k join cycles as c using (cycle_id)
            where $4::timestamptz is not null and k.moved_at >= $4 and c.brand_slug in (select slug from page)
            group by c.brand_slug
        )
        select b.slug as brand_slug, b.name, waiting.drafts as drafts_waiting, coalesce(p.posts, 0) as posts_waiting,
               least(waiting.since, p.since) as waiting_since, {HELD_UP_SINCE} is not null as held_up,
               newest.audit, case when $4::timestamptz is not null then jsonb_build_object(
                   'published', coalesce(r.published, 0), 'posts', coalesce(r.posts, 0),
                   'refused', coalesce(r.refused, 0), 'failed', coalesce(r.failed, 0)) end as recently
        from page as b
            cross join lateral (
                select count(*) as drafts, min(coalesce(d.waits_since, d.created_at)) as since
                from content as d where d.brand_slug = b.slug and {WAITS}
            ) as waiting
            left join promoted as p on p.brand_slug = b.slug
            left join recent as r on r.brand_slug = b.slug
            left join lateral (
                select jsonb_build_object('audit_id', a.audit_id, 'made_at', a.made_at, 'counts', a.counts || case when f.findings is null
                    then '{{}}' else jsonb_build_object('account_expiring', jsonb_array_length(f.findings)) end) as audit
                from audits as a left join audit_findings_of_accounts as f using (audit_id) where a.brand_slug = b.slug order by a.audit_id desc limit 1
            ) as newest on true
        order by b.slug
        """,  # noqa: S608  (constants of the orchestrator)
        after,
        None if slugs is None else list(slugs),
        limit,
        since,
    )
    return [{**row, "audit": _read(row["audit"]), "recently": _read(row["recently"])} for row in rows]


def _read(document: str | None) -> Any:
    return None if document is None else json.loads(document)
