"""How brands fare, in one answer: what waits, what the last audit found, what came of keywords of late."""

import json
from typing import Any

import asyncpg
import httpx

from envelope import new_event_id
from messaging import Database
from orchestrator.activity import activity as read_activity
from tests.fixtures.databases import Roles
from tests.fixtures.explained import ExplainedConnection

YEAR_2000 = {"since": "2000-01-01T00:00:00Z"}


async def brand_with_keywords(api: httpx.AsyncClient, slug: str, keywords: list[str]) -> None:
    (await api.put(f"/v1/brands/{slug}", json={"name": slug.title()})).raise_for_status()
    (await api.post(f"/v1/brands/{slug}/research", json={"keywords": keywords})).raise_for_status()


async def activity(api: httpx.AsyncClient, **asked: Any) -> dict[str, Any]:
    answer = await api.get("/v1/activity", params=asked)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


async def test_what_came_of_keywords_is_counted_by_brand(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    await brand_with_keywords(api, "acme", ["tea", "coffee", "cocoa", "milk"])
    await brand_with_keywords(api, "rival", ["tea"])
    posts = [
        {"platform": "feed", "url": "https://feed.example/1"},
        {"platform": "x", "url": "https://x.example/1"},
        {"platform": "mastodon", "url": None, "reason": "needs_review: read it"},
    ]
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute(
            "update keywords set state = 'completed', published_url = 'https://acme.example/tea', posts = $1::text::jsonb"
            " where keyword = 'tea' and cycle_id in (select cycle_id from cycles where brand_slug = 'acme')",
            json.dumps(posts),
        )
        await tx.connection.execute("update keywords set state = 'failed' where keyword = 'coffee'")
        await tx.connection.execute(
            "update keywords set state = 'failed', moved_at = now() - interval '9 days' where keyword = 'cocoa'"
        )
        await tx.connection.execute("update keywords set state = 'refused' where keyword = 'milk'")

    week = {"since": (await api.get("/v1/brands/acme")).json()["created_at"]}
    acme, rival = (await activity(api, **week))["items"]

    assert acme["recently"] == {"published": 1, "posts": 2, "refused": 1, "failed": 1}
    assert (acme["brand_slug"], acme["name"], acme["posts_waiting"]) == ("acme", "Acme", 1)
    assert acme["waiting_since"] is not None
    assert rival["recently"] == {"published": 0, "posts": 0, "refused": 0, "failed": 0}
    assert (await activity(api, **YEAR_2000))["items"][0]["recently"]["failed"] == 2
    assert [each["recently"] for each in (await activity(api))["items"]] == [None, None]


async def test_what_waits_and_what_was_found_is_told(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    await brand_with_keywords(api, "acme", ["tea"])
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute(
            "insert into content (content_id, brand_slug, keyword, research_id, slug, title, meta_description, body_markdown,"
            " word_count, key_points, sources, held_for) values ($1, 'acme', 'tea', $1, 'tea', 'Tea', '', '', 1, '{}', '[]', '{approval}')",
            new_event_id(),
        )
    audit = (await api.post("/v1/brands/acme/audits")).json()

    (acme,) = (await activity(api))["items"]

    assert (acme["drafts_waiting"], acme["posts_waiting"], acme["held_up"]) == (1, 0, False)
    assert acme["audit"]["audit_id"] == audit["audit_id"]
    assert acme["audit"]["counts"] == audit["counts"]


async def test_brands_come_in_pages(api: httpx.AsyncClient) -> None:
    for slug in ("acme", "bolt", "cup"):
        (await api.put(f"/v1/brands/{slug}", json={"name": slug})).raise_for_status()

    first = await activity(api, limit=2)
    second = await activity(api, limit=2, after=first["next"])

    assert [each["brand_slug"] for each in first["items"] + second["items"]] == ["acme", "bolt", "cup"]
    assert second["next"] is None
    assert [each["audit"] for each in second["items"]] == [None]


async def test_posts_that_wait_are_counted_without_a_look_at_other_keywords(
    orchestrator_database: Database, orchestrator_url: str, database_roles: Roles, api: httpx.AsyncClient
) -> None:
    for slug in ("acme", "rival"):
        await brand_with_keywords(api, slug, [f"tea {number}" for number in range(200)])
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update keywords set posts = $1::text::jsonb, moved_at = now() - position * interval '1 minute' where position <= 10",
            json.dumps([{"platform": "x", "url": None, "reason": "needs_review: read it"}]),
        )
        oldest = await connection.fetchval("select min(moved_at) from keywords where posts <> '[]'")
        owner = await asyncpg.connect(database_roles.owner(orchestrator_url))
        for table in ("keywords", "cycles", "brands"):
            await owner.execute(f"vacuum analyze {table}")
        await owner.close()
        await connection.execute("set enable_seqscan = off")
        explained: Any = ExplainedConnection(connection)
        found = await read_activity(explained, slugs=None, after="", limit=10, since=None)
    assert [(each["brand_slug"], each["posts_waiting"]) for each in found] == [("acme", 10), ("rival", 10)]
    assert {each["waiting_since"] for each in found} == {oldest}
    assert ("Index Only Scan", "keywords_with_waiting_posts_since") in explained.scans
    assert explained.rows_read < 20, explained.scans


async def test_results_of_a_week_are_counted_without_a_look_at_cycles_that_ended_before(
    orchestrator_database: Database, orchestrator_url: str, database_roles: Roles, api: httpx.AsyncClient
) -> None:
    await brand_with_keywords(api, "acme", ["tea", "coffee"])
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            """
            insert into cycles select (jsonb_populate_record(c, jsonb_build_object(
                'cycle_id', gen_random_uuid(), 'correlation_id', 'former ' || n, 'idempotency_key', 'former ' || n, 'queued', 0,
                'awaiting_research', 0))).* from cycles as c, generate_series(1, 500) as n
            """
        )
        await connection.execute(
            """
            insert into keywords (cycle_id, position, keyword, state, moved_at)
            select cycle_id, n, 'milk ' || n, 'failed', now() - interval '30 days'
            from cycles, generate_series(1, 3) as n where correlation_id like 'former %'
            """
        )
        # Many other brands with a short cycle each, in which much has happened since.
        await connection.execute(
            """
            with others as (
                insert into brands select (jsonb_populate_record(b, jsonb_build_object('slug', 'other-' || n))).*
                from brands as b, generate_series(1, 300) as n returning slug
            )
            insert into cycles select (jsonb_populate_record(c, jsonb_build_object(
                'cycle_id', gen_random_uuid(), 'brand_slug', slug, 'correlation_id', slug, 'idempotency_key', slug, 'queued', 0,
                'awaiting_research', 0))).* from cycles as c, others where c.correlation_id not like 'former %'
            """
        )
        await connection.execute(
            """
            insert into keywords (cycle_id, position, keyword, state)
            select cycle_id, n, 'milk ' || n, 'failed' from cycles, generate_series(1, 10) as n where brand_slug like 'other-%'
            """
        )
        await connection.execute(
            "update cycles set ended_at = now() - interval '30 days' where correlation_id like 'former %'"
        )
        await connection.execute("update keywords set state = 'failed' where keyword = 'tea'")
        owner = await asyncpg.connect(database_roles.owner(orchestrator_url))
        for table in ("keywords", "cycles", "brands"):
            await owner.execute(f"vacuum analyze {table}")
        await owner.close()
        await connection.execute("set enable_seqscan = off")
        # The plan for any time, which PostgreSQL keeps for a statement that is sent often.
        await connection.execute("set plan_cache_mode = force_generic_plan")
        explained: Any = ExplainedConnection(connection)
        since = await connection.fetchval("select now() - interval '7 days'")
        (acme,) = await read_activity(explained, slugs={"acme"}, after="", limit=10, since=since)
    assert acme["recently"] == {"published": 0, "posts": 0, "refused": 0, "failed": 1}
    # Each cycle, and the keywords of one.
    assert explained.rows_read + explained.entries_read < 501 + 50, explained.scans
