"""The state of all brands in one answer: waiting reviews, the last audit, recent results."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field

from chassis import Connection
from chassis.http.api import READ, IfNoneMatch, MayRead, Moment, View, conditional, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN
from messaging import Database
from orchestrator.article_workflow import HELD_UP_SINCE, WAITS
from orchestrator.integration_events import POSTS_WAIT


class LastAuditView(View):
    """The brand's newest audit."""

    audit_id: UUID
    made_at: datetime
    counts: dict[str, int]
    """Findings by kind."""


class RecentActivity(View):
    """Results of keywords that moved since the requested time. Cycles that the clean-up deleted do not count."""

    published: int
    """Published articles."""
    posts: int
    """Published posts, on all channels."""
    refused: int
    """Keywords that ended without an article and without an error."""
    failed: int


class BrandActivity(View):
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    name: Annotated[str, Field(examples=["The Daily Grind"])]
    drafts_waiting: int
    """Drafts that wait for a decision."""
    posts_waiting: int
    """Articles with a post that waits for a decision."""
    waiting_since: datetime | None
    """When the oldest of these drafts or posts began to wait."""
    held_up: bool
    """Whether unreviewed drafts pause the brand."""
    audit: LastAuditView | None
    recently: RecentActivity | None
    """Only where `since` is given."""


class ActivityList(View):
    items: tuple[BrandActivity, ...]
    """By slug."""
    next: str | None
    """`after` of the next page; none if this is the last."""


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
    # Both are for a plan that PostgreSQL keeps, which took four times as long: it guesses that few brands are named, and, of a time
    # without an end, that a third of all keywords is later.
    named = "$2::text[] is null" if slugs is None else "b.slug = any ($2::text[])"
    rows = await connection.fetch(
        f"""
        with page as (
            select b.* from brands as b where b.slug > $1 and {named} order by b.slug limit $3
        ), of_page as materialized (
            select c.cycle_id, c.brand_slug, c.ended_at from cycles as c where c.brand_slug in (select slug from page)
        ), promoted as (
            select c.brand_slug, count(*) as posts, min(k.moved_at) as since
            from keywords as k join of_page as c using (cycle_id) where {POSTS_WAIT} group by c.brand_slug
        ), recent as (
            select c.brand_slug, count(*) filter (where k.published_url is not null) as published,
                   coalesce(sum((select count(*) from jsonb_array_elements(k.posts) as post where post ->> 'url' is not null)), 0) as posts,
                   count(*) filter (where k.state = 'refused') as refused, count(*) filter (where k.state = 'failed') as failed
            from keywords as k join of_page as c using (cycle_id)
            where $4::timestamptz is not null and k.moved_at >= $4 and k.moved_at <= 'infinity'
              -- A result that changes a state or adds a post sets the end of its cycle anew (migration 0104).
              and (c.ended_at is null or c.ended_at >= $4)
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
                    then '{{}}' else jsonb_build_object('account_expiring', jsonb_array_length(f.findings)) end || case when p.findings is null
                    then '{{}}' else jsonb_build_object('article_stuck', jsonb_array_length(p.findings)) end) as audit
                from audits as a left join audit_findings_of_accounts as f using (audit_id)
                    left join audit_findings_of_publications as p using (audit_id)
                where a.brand_slug = b.slug order by a.audit_id desc limit 1
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


def activity_routes(database: Database) -> APIRouter:
    routes = router(tags=["brands"])

    @routes.get("/activity", summary="How brands fare", response_model=ActivityList, responses=READ)
    async def list_activity(
        caller: MayRead,
        since: Annotated[
            Moment | None, Query(description="Count also results of keywords from this time on.")
        ] = None,
        after: Annotated[
            str,
            Query(pattern=SLUG_PATTERN, max_length=MAX_BRAND_SLUG, description="`next` of the page before."),
        ] = "",
        limit: PageLimit = DEFAULT_PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Waiting drafts and posts, the last audit and, with `since`, results of keywords; brands by slug."""
        async with database.connection() as connection:
            found = await activity(connection, slugs=caller.brands, after=after, limit=limit + 1, since=since)
        page = found[:limit]
        answer = ActivityList(
            items=tuple(BrandActivity.model_validate(each) for each in page),
            next=page[-1]["brand_slug"] if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    return routes
