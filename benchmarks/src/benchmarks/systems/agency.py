"""The stock of an agency: many brands with their articles and posts, copied in the databases from what the services made for one.

Each copy has ids, addresses and times of its own. Rows that share an id across databases share one in the copies, too.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.errors import MeasurementError
from benchmarks.servers.nodes import Nodes
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import KEYWORDS, Stack

LARGEST: Final = "brand-0000"
"""The brand that the services worked for; it has a tenth of all articles."""
STOCKED: Final = KEYWORDS[::2]
"""What all brands have articles about already. Of the other keywords, a brand gets new articles."""
CHANNELS: Final = ("feed", "mastodon", "bluesky", "linkedin", "x")
"""So many posts has each article."""
_LARGEST_SHARE: Final = 10
_PATIENCE_SECONDS: Final = 180.0
_SCATTER: Final = 7_919
"""A prime number: neighbouring copies lie far apart in time."""

_NEW_ID: Final = """
    create function pg_temp.copied(id uuid, n int, ms bigint) returns uuid language sql immutable strict as $$
        select (lpad(to_hex(greatest(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint - ms, 0)), 12, '0')
                || '7' || substr(noise, 1, 3) || '8' || substr(noise, 4, 15))::uuid
        from md5(id::text || n) as noise
    $$
"""
_PART: Final = """
    create function pg_temp.part(id uuid, n int) returns int language sql immutable as $$
        select coalesce(('x' || substr(md5(n || id::text), 1, 6))::bit(24)::int % 100, 99)
    $$
"""
"""Chooses what became of a copy: a number below 100, the same for an article in every database."""
_COPIES: Final = """
    create temporary table copies as
    select n, case when n % $3 = 0 then $4 else 'brand-' || lpad((1 + n % ($2 - 1))::text, 4, '0') end as brand,
           (n * $5::bigint % $1) * (365 * 86400000::bigint / $1) + 60000 as ms
    from generate_series(1, $1::int) as n
"""
_COLUMNS: Final = """
    select column_name as name, data_type as type from information_schema.columns
    where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position
"""

_WAITS: Final = "p.part < 3"
_POSTED: Final = "(select coalesce(jsonb_agg(each - 'reason' || '{\"url\": \"https://social.example/post\"}'), '[]') from jsonb_array_elements(t.posts) as each)"
_CONTENT: Final = {
    "held_for": f"case when {_WAITS} then array['its brand wants to see every article before it is published'] else t.held_for end",
    "published_url": f"case when {_WAITS} then null else t.published_url || '-' || c.n end",
    "published_as_of": f"case when {_WAITS} then null else t.published_as_of - c.ms * interval '1 ms' end",
    "decision": "case when p.part = 3 then 'rejected' end",
    "taken_down_at": "case when p.part = 4 then now() end",
    "subject_key": "t.subject_key || c.n",
}
_KEYWORDS: Final = {
    "state": f"case when {_WAITS} then 'needs_review' else t.state end",
    "held": _WAITS,
    "generated": f"t.generated and not {_WAITS}",
    "promoted": f"t.promoted and not {_WAITS}",
    "reason": f"case when {_WAITS} then 'needs_review: its brand wants to see every article before it is published'"
    " when t.state = 'completed' then null else t.reason end",
    "published_url": f"case when {_WAITS} then null else t.published_url || '-' || c.n end",
    "posts": f"case when {_WAITS} then '[]' when p.part < 8 then t.posts else {_POSTED} end",
}
_CHANNEL_POSTS: Final = {
    "number": "nextval('pending_posts_number_seq')",
    "channel": "t.entry",
    "account": "t.entry || '-of-' || c.brand",
    "text": "(t.material ->> 'title') || ' ' || c.n || ': ' || coalesce(t.material ->> 'summary', t.material #>> '{points,0}', '')",
    "material": "t.material || jsonb_build_object('title', (t.material ->> 'title') || ' ' || c.n)",
    "state": "case when p.part < 88 then 'posted' when p.part < 91 then 'failed' when p.part < 94 then 'waiting'"
    " when p.part < 98 then 'planned' when p.part < 99 then 'in_doubt' else 'rejected' end",
    "posted_at": "case when p.part < 88 then t.since - c.ms * interval '1 ms' end",
    "post_url": "case when p.part < 88 then 'https://social.example/' || c.n || t.entry end",
    "due_at": "case when p.part >= 94 and p.part < 98 then now() + (24 + c.n % 696) * interval '1 hour' end",
    "reason": "case when p.part between 88 and 90 then t.reason else '' end",
    "detail": "case when p.part between 88 and 90 then t.detail else '' end",
}
_FEED: Final = (
    "insert into posts (post_id, brand_slug, content_id, channel, title, text, tags, link, drafts, posted_at, story)"
    " select post_id, brand_slug, content_id, channel, title, text, tags, link, drafts, since, story from pending_posts"
    " where pg_temp.part(post_id, 0) >= 3"
)
_FORGET_POSTED: Final = "delete from pending_posts where pg_temp.part(post_id, 0) >= 3"
_BRANDS: Final = (
    "select 'brand-' || lpad(n::text, 4, '0') as slug, n from generate_series(1, $1::int - 1) as n",
    {"slug": "c.slug", "brand_slug": "c.slug", "schedule_id": "gen_random_uuid()"},
)
_LATER: Final = "now() + (1 + c.n % 6) * interval '1 day'"


@dataclass(frozen=True, slots=True)
class AgencySize:
    brands: int
    articles: int

    @property
    def posts(self) -> int:
        return self.articles * len(CHANNELS)


def furnish(services: Stack, nodes: Nodes, size: AgencySize) -> AgencySize:
    """Lets the services work for one brand, and copies the results; returns what there is then.

    Raises:
        MeasurementError: the services did not finish in time.
    """
    _work_for_one(services)
    # The administrator's connections: the services' own role may not switch triggers off.
    with (
        Sql(nodes.administrator_url(services.database_url("orchestrator"))) as orchestrator,
        Sql(nodes.administrator_url(services.database_url("social"))) as social,
        Sql(nodes.administrator_url(services.database_url("publisher"))) as publisher,
    ):
        made = orchestrator.value("select count(*) from content")
        copies = max(size.articles // made - 1, 1)
        for sql in (orchestrator, social, publisher):
            _prepare(sql, size.brands, copies)
        _copy_brands(orchestrator, size.brands, "brands", {"name": "'Brand ' || c.n"})
        _copy_brands(orchestrator, size.brands, "schedules", {"due_at": _LATER, "try_at": _LATER})
        _copy_brands(orchestrator, size.brands, "subject_rules", {})
        _copy_brands(publisher, size.brands, "sites", {"name": "'Brand ' || c.n"})
        _copy(orchestrator, "content", _CONTENT, fate_of="content_id")
        _copy(orchestrator, "content_versions", {})
        _copy(orchestrator, "cycles", {"correlation_id": "t.correlation_id || c.n"})
        _copy(orchestrator, "keywords", _KEYWORDS, fate_of="content_id")
        _copy(orchestrator, "keyword_spellings", {"spelling": "t.spelling || ' ' || c.n"})
        _copy(orchestrator, "subjects", {"key": "t.key || c.n"})
        _copy(orchestrator, "writings", {})
        _copy(orchestrator, "done_publications", {})
        _copy(social, "channel_posts", _CHANNEL_POSTS, fate_of="post_id")
        _copy(social, "pending_posts", {"number": "nextval('pending_posts_number_seq')"})
        social.execute(_FEED)
        social.execute(_FORGET_POSTED)
        _copy(publisher, "pages", {}, fate_of="content_id", where=f"not {_WAITS}")
        for sql in (orchestrator, social, publisher):
            sql.execute("vacuum analyze")
            sql.execute("checkpoint")
        return AgencySize(
            orchestrator.value("select count(*) from brands"),
            orchestrator.value("select count(*) from content"),
        )


def _work_for_one(services: Stack) -> None:
    with services.client("orchestrator") as api, Sql(services.database_url("orchestrator")) as sql:
        settings = {"name": "Brand 0", "channels": CHANNELS, "posts_approval": "everything"}
        api.put(f"/v1/brands/{LARGEST}", json=settings).raise_for_status()
        api.post(f"/v1/brands/{LARGEST}/research", json={"keywords": STOCKED}).raise_for_status()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not sql.value("select count(*) from cycles where ended_at is not null and told_at is not null"):
            if time.monotonic() > deadline:
                raise MeasurementError("the services do not finish the keywords of the first brand")
            time.sleep(0.1)


def _prepare(sql: Sql, brands: int, copies: int) -> None:
    # Copies are complete as they are: no trigger has to count or note anything, and no reference to be looked up.
    sql.execute("set session_replication_role = replica")
    sql.execute("set synchronous_commit = off")
    sql.execute("set default_toast_compression = lz4")
    sql.execute(_NEW_ID)
    sql.execute(_PART)
    sql.execute(_COPIES, copies, brands, _LARGEST_SHARE, LARGEST, _SCATTER)


def _copy(
    sql: Sql, table: str, chosen: Mapping[str, str], *, fate_of: str | None = None, where: str = "true"
) -> None:
    # `offset 0` keeps PostgreSQL from computing it for each column again.
    fate = f", lateral (select pg_temp.part(t.{fate_of}, c.n) as part offset 0) as p" if fate_of else ""
    _insert(sql, table, chosen, f"copies as c{fate} where {where}")


def _copy_brands(sql: Sql, brands: int, table: str, chosen: Mapping[str, str]) -> None:
    numbered, named = _BRANDS
    _insert(
        sql, table, {**named, **chosen}, f"({numbered.replace('$1', str(brands))}) as c", with_times=False
    )


def _insert(sql: Sql, table: str, chosen: Mapping[str, str], copies: str, *, with_times: bool = True) -> None:
    columns = {
        row["name"]: chosen.get(row["name"])
        or (_value(row["name"], row["type"]) if with_times else f't."{row["name"]}"')
        for row in sql.rows(_COLUMNS, table)
    }
    names = ", ".join(f'"{name}"' for name in columns)
    # Names are those of the table's columns, and expressions are constants of this module.
    sql.execute(
        f"insert into {table} ({names}) overriding system value select {', '.join(columns.values())} from {table} as t, {copies}"  # noqa: S608
    )


def _value(name: str, kind: str) -> str:
    """The value of a copy's column, unless something else is chosen."""
    column = f't."{name}"'
    if kind == "uuid":
        return f"pg_temp.copied({column}, c.n, c.ms)"
    if kind == "timestamp with time zone":
        return f"{column} - c.ms * interval '1 ms'"
    if name == "brand_slug":
        return "c.brand"
    if name in {"title", "keyword"}:
        return f"{column} || ' ' || c.n"
    return f"{column} || '-' || c.n" if name == "slug" else column
