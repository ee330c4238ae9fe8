"""Audits on a real database: findings; one audit for repeated requests; weekly audits on several replicas."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from envelope import new_event_id
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.schedule import Scheduler, store
from writing import Article

KEEP = timedelta(days=90)
PATH = "/v1/brands/acme/audits"
WEEKLY = "/v1/brands/acme/schedules/weekly-audit"


@pytest.fixture
async def acme(orchestrator_database: Database, api: httpx.AsyncClient) -> Database:
    for slug in ("acme", "rival"):
        (await api.put(f"/v1/brands/{slug}", json={"name": slug})).raise_for_status()
    return orchestrator_database


async def put_article(
    database: Database, title: str, *, brand: str = "acme", held: bool = False, runs: range = range(0)
) -> UUID:
    content_id = new_event_id()
    async with database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug=brand,
            keyword=title,
            research_id=new_event_id(),
            article=Article(
                slug=title,
                title=title,
                meta_description="",
                body_markdown="## A\n\nIt is steeped.\n",
                word_count=3,
                key_points=("It is steeped.",),
                cited=(),
            ),
            sources=(),
            held_for=("231 words",) if held else (),
            fingerprint=frozenset(runs),
        )
        if not held:
            await tx.connection.execute(
                "update content set published_url = 'https://acme.example/' || slug where content_id = $1",
                content_id,
            )
    return content_id


async def run_sql(database: Database, statement: str, *arguments: Any) -> None:
    async with database.connection() as connection:
        await connection.execute(statement, *arguments)


async def value(database: Database, query: str) -> Any:
    async with database.connection() as connection:
        return await connection.fetchval(query)


async def sent(database: Database) -> list[Any]:
    """The messages that are to be published."""
    async with database.connection() as connection:
        rows = await connection.fetch("select body from outbox order by event_id")
    return [json.loads(row["body"]) for row in rows]


async def audited(api: httpx.AsyncClient, path: str = PATH) -> dict[str, Any]:
    answer = await api.post(path)
    assert answer.status_code in {200, 201}, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def hand_in(api: httpx.AsyncClient, *keywords: str, brand: str = "acme") -> None:
    (await api.post(f"/v1/brands/{brand}/research", json={"keywords": keywords})).raise_for_status()


async def end(database: Database, keyword: str, state: str, reason: str | None, days: int = 1) -> None:
    await run_sql(
        database,
        """
        update keywords set state = $2, reason = $3, moved_at = now() - make_interval(days => $4),
            published_url = case when $2 = 'completed' then 'https://acme.example/x' end
        where (cycle_id, position) = (
            select cycle_id, position from keywords join cycles using (cycle_id)
            where keyword = $1 order by cycles.created_at desc limit 1)
        """,
        keyword,
        state,
        reason,
        days,
    )


async def test_a_brand_that_is_in_order_has_no_findings(acme: Database, api: httpx.AsyncClient) -> None:
    await put_article(acme, "new", runs=range(100))
    await put_article(acme, "another", runs=range(200, 300))
    await put_article(acme, "fresh-draft", held=True)
    await hand_in(api, "under way")

    audit = await audited(api)

    assert (audit["findings"], set(audit["counts"].values()), audit["cut"]) == ([], {0}, [])


async def test_all_that_wants_somebodys_eye_is_found(acme: Database, api: httpx.AsyncClient) -> None:
    old = await put_article(acme, "old", runs=range(100))
    await run_sql(acme, "update content set created_at = now() - interval '181 days'")
    copy = await put_article(acme, "copy", runs=range(100))
    draft = await put_article(acme, "draft", held=True)
    await run_sql(acme, "update content set created_at = now() - interval '8 days' where slug like 'draft%'")
    await hand_in(api, "broken", "thin", "lost", "long ago")
    await end(acme, "broken", "failed", "stalled: nobody answered")
    await end(acme, "thin", "refused", "no_sources: there is nothing on it", days=29)
    await end(acme, "lost", "failed", "dead letter on research-commands: attempts exhausted", days=60)
    await end(acme, "long ago", "failed", "stalled: nobody answered", days=31)
    at = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    await api.put("/v1/brands/acme/schedules/launch", json={"keywords": ["x"], "at": at})
    await run_sql(acme, "update schedules set state = 'parked', reason = 'ValueError: no'")
    stuck = await put_article(acme, "stuck", runs=range(400, 500))
    just_now = await put_article(acme, "just now", runs=range(600, 700))
    await run_sql(
        acme, "update content set published_url = null where content_id in ($1, $2)", stuck, just_now
    )
    await run_sql(
        acme, "update content set updated_at = now() - interval '61 minutes' where content_id = $1", stuck
    )

    audit = await audited(api)

    found = {(each["kind"], each["subject"]): each for each in audit["findings"]}
    assert list(found) == [
        ("stale_article", "old"),
        ("near_duplicate", "copy"),
        ("keyword_without_article", "broken"),
        ("keyword_without_article", "thin"),
        ("draft_waiting", "draft"),
        ("dead_letter", "lost"),
        ("schedule_parked", "launch"),
        ("article_stuck", "stuck"),
    ]
    assert sum(audit["counts"].values()) == 8
    assert (await api.get(PATH)).json()["items"][0]["counts"] == audit["counts"]
    stale = found["stale_article", "old"]
    assert (stale["id"], stale["address"]) == (str(old), "https://acme.example/old")
    assert datetime.now(UTC) - datetime.fromisoformat(stale["since"]) > timedelta(days=180)
    assert found["near_duplicate", "copy"]["id"] == str(copy)
    assert "'old' (https://acme.example/old)" in found["near_duplicate", "copy"]["advice"]
    assert found["draft_waiting", "draft"]["address"] == f"/v1/drafts/{draft}"
    assert "more sources" in found["keyword_without_article", "thin"]["advice"]
    assert "(stalled: nobody answered)" in found["keyword_without_article", "broken"]["advice"]
    assert "replayed" in found["dead_letter", "lost"]["advice"]
    for each in audit["findings"]:
        if not each["address"].startswith("https:"):
            assert (await api.get(each["address"])).status_code == 200, each


@pytest.mark.extended
async def test_what_was_mended_since_decided_or_is_of_another_brand_is_not_told(
    acme: Database, api: httpx.AsyncClient
) -> None:
    await hand_in(api, "Tea", "rum", "oat milk")
    await end(acme, "Tea", "failed", "dead letter on research-commands: x")
    await end(acme, "rum", "cancelled", None)
    await end(acme, "oat milk", "completed", None)
    await hand_in(api, "tea", "oat milk")  # handed in again: one is under way, the other has an article
    await end(acme, "oat milk", "failed", "stalled: nobody answered")
    gone = await put_article(acme, "gone", runs=range(100))
    await put_article(acme, "stays", runs=range(100))
    await run_sql(
        acme,
        "update content set created_at = now() - interval '400 days', taken_down_at = now(), decision = 'taken_down',"
        " held_for = '{taken down}' where content_id = $1",
        gone,
    )
    sent_back = await put_article(acme, "sent-back", held=True)
    await run_sql(
        acme,
        "update content set created_at = now() - interval '9 days', decision = 'returned' where content_id = $1",
        sent_back,
    )
    theirs = await put_article(acme, "theirs", brand="rival", runs=range(100))
    await run_sql(
        acme, "update content set created_at = now() - interval '400 days' where content_id = $1", theirs
    )

    assert (await audited(api))["findings"] == []
    assert [each["subject"] for each in (await audited(api, "/v1/brands/rival/audits"))["findings"]] == [
        "theirs"
    ]


async def test_a_brand_says_what_is_old(acme: Database, api: httpx.AsyncClient) -> None:
    await put_article(acme, "ten-days")
    await run_sql(acme, "update content set created_at = now() - interval '10 days'")
    brand = await api.put("/v1/brands/acme", json={"name": "acme", "stale_after_days": 9})

    assert brand.json()["stale_after_days"] == 9
    assert [each["subject"] for each in (await audited(api))["findings"]] == ["ten-days"]


async def test_asked_for_often_within_a_minute_one_is_made(acme: Database, api: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(api.post(PATH) for _ in range(10)))

    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201]
    assert len({answer.json()["audit_id"] for answer in answers}) == 1
    assert await value(acme, "select count(*) from audits") == 1
    (told,) = await sent(acme)
    assert (told["type"], told["payload"]["audit_id"]) == ("audit.completed", answers[0].json()["audit_id"])
    assert told["payload"]["findings"] == answers[0].json()["counts"]

    await run_sql(acme, "update audits set made_at = made_at - interval '1 minute'")
    assert (await api.post(PATH)).status_code == 201


async def test_audits_are_listed_in_pages_and_read_by_their_brand_alone(
    acme: Database, api: httpx.AsyncClient
) -> None:
    made = []
    for _ in range(3):
        made.append((await audited(api))["audit_id"])
        await run_sql(acme, "update audits set made_at = made_at - interval '1 hour'")

    first = (await api.get(PATH, params={"limit": 2})).json()
    second = (await api.get(PATH, params={"limit": 2, "after": first["next"]})).json()

    assert [each["audit_id"] for each in (*first["items"], *second["items"])] == made[::-1]
    assert second["next"] is None
    read = await api.get(f"{PATH}/{made[0]}")
    assert (read.status_code, read.json()["made_by"]) == (200, "service")
    assert (await api.get(f"/v1/brands/rival/audits/{made[0]}")).status_code == 404
    assert (await api.post("/v1/brands/nobody/audits")).status_code == 404


async def test_of_very_many_audits_the_newest_are_kept(acme: Database, api: httpx.AsyncClient) -> None:
    await run_sql(
        acme,
        """
        insert into audits (audit_id, brand_slug, made_by, made_at, findings, counts, cut)
        select lpad(n::text, 32, '0')::uuid, 'acme', 'x', now() - interval '1 day', '[]', '{}', '{}'
        from generate_series(1, 105) as n
        """,
    )
    newest = await audited(api)

    assert await value(acme, "select count(*) from audits") == 100
    assert (await api.get(PATH)).json()["items"][0]["audit_id"] == newest["audit_id"]


async def make_weekly(database: Database) -> int:
    async with database.transaction() as tx:
        return await store.make_audits(tx.connection)


async def test_every_brand_is_looked_over_once_per_due_time_on_two_replicas(
    acme: Database, api: httpx.AsyncClient
) -> None:
    made = await asyncio.gather(*(make_weekly(acme) for _ in range(4)))
    assert (sum(made), await make_weekly(acme)) == (2, 0)
    shown = (await api.get(WEEKLY)).json()
    assert (shown["kind"], shown["state"], shown["cron"], shown["time_zone"]) == (
        "audit",
        "active",
        "0 6 * * SUN",
        "UTC",
    )
    await run_sql(acme, "update schedules set due_at = due_at - interval '21 days', try_at = now()")

    await asyncio.gather(*(Scheduler(acme, keep_firings=KEEP).tick() for _ in range(2)))
    await Scheduler(acme, keep_firings=KEEP).tick()

    assert await value(acme, "select array_agg(brand_slug order by brand_slug) from audits") == [
        "acme",
        "rival",
    ]
    assert await value(acme, "select count(*) from cycles") == 0
    audit = (await api.get(PATH)).json()["items"][0]
    (firing,) = (await api.get(f"{WEEKLY}/firings")).json()["items"]
    assert (firing["audit_id"], firing["cycle_id"], firing["missed"]) == (audit["audit_id"], None, 2)
    assert audit["made_by"] == "schedule"
    assert (await api.get(WEEKLY)).json()["next"] == shown["next"]


async def test_the_weekly_audit_can_be_moved_and_paused_but_not_removed(
    acme: Database, api: httpx.AsyncClient
) -> None:
    await make_weekly(acme)
    moved = await api.put(WEEKLY, json={"cron": "30 7 * * MON", "time_zone": "Europe/Berlin"})
    paused = await api.post(f"{WEEKLY}/pause")
    await run_sql(acme, "update schedules set due_at = now(), try_at = now() where brand_slug = 'acme'")

    assert datetime.fromisoformat(moved.json()["next"][0]).strftime("%a %H:%M") == "Mon 07:30"
    assert (moved.status_code, paused.json()["state"]) == (200, "paused")
    assert await Scheduler(acme, keep_firings=KEEP).tick() == 0
    assert await make_weekly(acme) == 0
    removed = await api.delete(WEEKLY)
    assert (removed.status_code, "pause it" in removed.json()["detail"]) == (409, True)


async def test_keywords_and_audits_do_not_share_a_schedule(acme: Database, api: httpx.AsyncClient) -> None:
    mixed = await api.put(WEEKLY, json={"cron": "0 6 * * SUN", "keywords": ["tea"]})
    empty = await api.put("/v1/brands/acme/schedules/basics", json={"cron": "0 6 * * SUN"})

    assert (mixed.status_code, "no keywords" in mixed.json()["detail"]) == (422, True)
    assert (empty.status_code, "at least one" in empty.json()["detail"]) == (422, True)


async def test_the_version_before_cannot_fire_an_audit_as_a_cycle_of_nothing(
    acme: Database, api: httpx.AsyncClient
) -> None:
    await make_weekly(acme)
    with pytest.raises(asyncpg.CheckViolationError):
        await run_sql(
            acme,
            "insert into firings (schedule_id, due_at, cycle_id, keywords)"
            " select schedule_id, due_at, gen_random_uuid(), 0 from schedules",
        )


async def test_as_many_stale_articles_are_written_anew_in_a_week_as_the_brand_allows(
    acme: Database, api: httpx.AsyncClient
) -> None:
    for at, slug in enumerate(("oldest", "older", "old")):
        await put_article(acme, slug, runs=range(at * 200, at * 200 + 100))
    await run_sql(acme, "update content set created_at = now() - interval '181 days' where slug = 'old'")
    await run_sql(acme, "update content set created_at = now() - interval '182 days' where slug = 'older'")
    await run_sql(acme, "update content set created_at = now() - interval '183 days' where slug = 'oldest'")
    put = await api.put("/v1/brands/acme", json={"name": "acme", "refresh_stale": 2})
    assert put.json()["refresh_stale"] == put.json()["policy"]["refresh_stale"] == 2

    advice = {each["subject"]: each["advice"] for each in (await audited(api))["findings"]}

    cycle_id = await value(acme, "select cycle_id from cycles")
    assert advice["oldest"] == advice["older"] == f"it is being rewritten: brandctl watch {cycle_id}"
    assert "brandctl submit acme 'old' --refresh" in advice["old"]
    keywords = (await api.get(f"/v1/cycles/{cycle_id}/keywords")).json()["items"]
    assert [each["keyword"] for each in keywords] == ["oldest", "older"]
    assert await value(acme, "select bool_and(refresh and renews is not null) from keywords")

    # Neither the next audit of the week has more of them written anew, nor the one after that the same ones.
    await run_sql(acme, "update audits set made_at = made_at - interval '1 hour'")
    assert (
        "--refresh" in {each["subject"]: each["advice"] for each in (await audited(api))["findings"]}["old"]
    )
    await run_sql(acme, "update audits set made_at = made_at - interval '1 hour'")
    await run_sql(acme, "update content set refreshed_at = refreshed_at - interval '8 days'")
    advice = {each["subject"]: each["advice"] for each in (await audited(api))["findings"]}
    assert "being rewritten" in advice["old"]
    assert "--refresh" in advice["oldest"]
    assert await value(acme, "select count(*) from cycles") == 2


async def test_an_article_that_was_written_anew_is_not_stale(acme: Database, api: httpx.AsyncClient) -> None:
    await put_article(acme, "old")
    await run_sql(acme, "update content set created_at = now() - interval '181 days', version = 2")
    await run_sql(
        acme,
        "insert into content_versions select content_id, 2, slug, title, meta_description, body_markdown, word_count, key_points,"
        " label, sources, measures, 'writer', 'written anew', now() from content_versions",
    )

    assert (await audited(api))["counts"]["stale_article"] == 0
