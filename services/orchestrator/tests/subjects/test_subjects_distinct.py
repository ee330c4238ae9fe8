"""Keywords that are handed in as subjects of their own, and subjects that a person joins or splits."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from messaging import Database
from orchestrator.cycles import BrandLimits
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.subjects.backfill import backfill_keys
from orchestrator.subjects.decisions import find_subjects, join_subjects, split_subject
from orchestrator.subjects.naming import SubjectJoin, SubjectNames, SubjectSplit

Desk = Any
"""See conftest.py."""
BRAND = "daily-grind"
LIMITS = BrandLimits(research=4, articles=4)


async def join(database: Database, keyword: str, other: str) -> bool:
    async with database.transaction() as tx:
        return await join_subjects(tx.connection, BRAND, keyword, other, by="newsroom")


async def split(database: Database, keyword: str) -> bool:
    async with database.transaction() as tx:
        return await split_subject(tx.connection, BRAND, keyword, by="newsroom")


async def test_a_distinct_keyword_is_written_though_it_folds_with_one_that_stands_and_with_one_in_hand(
    desk: Desk,
) -> None:
    first = await desk.hand_in("cold brew")
    await desk.publish(first, "cold brew")
    await desk.hand_in("moka pot")

    second = await desk.hand_in("Cold Brews", "moka pots", distinct=True)

    assert await desk.asked() == ["cold brew", "moka pot", "Cold Brews", "moka pots"]
    content_id, url = await desk.publish(second, "Cold Brews")
    (seen, _) = await desk.seen(second)
    assert (seen.state, seen.content_id, seen.published_url) == ("completed", content_id, url)


async def test_the_same_distinct_keyword_again_is_the_same_subject_under_way_or_published(desk: Desk) -> None:
    await desk.hand_in("cold brew")
    first = await desk.hand_in("Cold Brews", distinct=True)
    second = await desk.hand_in("cold  brews", distinct=True)
    assert await desk.asked() == ["cold brew", "Cold Brews"]

    content_id, _ = await desk.publish(first, "Cold Brews")
    third = await desk.hand_in("COLD BREWS", distinct=True)

    for cycle in (second, third):
        (seen,) = await desk.seen(cycle)
        assert (seen.state, seen.content_id) == ("completed", content_id)
    assert await desk.asked() == ["cold brew", "Cold Brews"]


async def test_a_distinct_article_is_not_the_one_of_keywords_that_only_fold_with_it(
    desk: Desk, orchestrator_url: str
) -> None:
    first = await desk.hand_in("cold brews", distinct=True)
    await desk.publish(first, "cold brews")
    async with desk.database.connection() as connection:
        assert await connection.fetchval("select subject_key from content") is None
    await backfill_keys(orchestrator_url)

    await desk.hand_in("cold brew")

    assert await desk.asked() == ["cold brews", "cold brew"]


async def test_joined_subjects_have_one_article_and_a_split_takes_the_join_back(desk: Desk) -> None:
    first = await desk.hand_in("moka pot")
    content_id, _ = await desk.publish(first, "moka pot")
    assert await join(desk.database, "stovetop espresso", "moka pots")
    assert not await join(desk.database, "stovetop espressos", "moka pot")

    second = await desk.hand_in("Stovetop Espressos")
    (seen,) = await desk.seen(second)
    assert (seen.state, seen.content_id) == ("completed", content_id)

    assert await split(desk.database, "stovetop espresso")
    await desk.hand_in("stovetop espresso")
    assert await desk.asked() == ["moka pot", "stovetop espresso"]


async def test_a_split_off_spelling_has_its_own_article_and_takes_with_it_what_was_written_for_it(
    desk: Desk,
) -> None:
    first = await desk.hand_in("cold brews")
    content_id, _ = await desk.publish(first, "cold brews")
    assert await split(desk.database, "Cold Brews")
    assert not await split(desk.database, "cold brews")

    await desk.hand_in("cold brew")
    again = await desk.hand_in("cold brews")

    assert await desk.asked() == ["cold brews", "cold brew"]
    (seen,) = await desk.seen(again)
    assert (seen.state, seen.content_id) == ("completed", content_id)


async def test_who_waits_for_another_keyword_has_a_turn_once_it_is_split_off(desk: Desk) -> None:
    await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    assert await desk.asked() == ["cold brew"]

    await split(desk.database, "cold brews")
    await dispatch_overlooked(desk.database, LIMITS)

    assert await desk.asked() == ["cold brew", "cold brews"]
    assert await desk.states(second) == ["queued"]


async def test_joining_what_was_split_takes_the_split_back(desk: Desk) -> None:
    await split(desk.database, "cold brews")
    assert await join(desk.database, "cold brews", "cold brew")

    first = await desk.hand_in("cold brew")
    content_id, _ = await desk.publish(first, "cold brew")
    second = await desk.hand_in("cold brews")

    (seen,) = await desk.seen(second)
    assert seen.content_id == content_id
    async with desk.database.connection() as connection:
        assert await connection.fetchval("select count(*) from subject_decisions") == 0


async def test_a_join_of_what_is_in_hand_on_both_sides_lets_both_go_on_and_the_next_ends_with_one(
    desk: Desk,
) -> None:
    cycle = await desk.hand_in("moka pot", "stovetop espresso")
    await join(desk.database, "stovetop espresso", "moka pot")
    waiting = await desk.hand_in("moka pots")

    await desk.publish(cycle, "moka pot")
    await desk.publish(cycle, "stovetop espresso")

    assert await desk.states(cycle) == ["completed", "completed"]
    assert await desk.states(waiting) == ["completed"]


async def test_joins_and_splits_hold_when_keys_are_made_anew(desk: Desk, orchestrator_url: str) -> None:
    first = await desk.hand_in("moka pot", "cold brews")
    await desk.publish(first, "moka pot")
    await desk.publish(first, "cold brews")
    await join(desk.database, "stovetop espresso", "moka pot")
    await split(desk.database, "cold brews")
    async with desk.database.connection() as connection:
        # As a migration to other rules leaves it.
        await connection.execute("update content set subject_key = null")

    await backfill_keys(orchestrator_url)

    second = await desk.hand_in("stovetop espresso", "cold brew")
    assert await desk.states(second) == ["completed", "queued"]


async def test_subjects_are_listed_with_their_keywords(desk: Desk) -> None:
    first = await desk.hand_in("cold brew", "moka pot")
    await desk.publish(first, "cold brew")
    async with desk.database.connection() as connection:
        await backfill(connection)
        found = await find_subjects(connection, BRAND, keyword=None, after="", limit=10)
        named = await find_subjects(connection, BRAND, keyword="Cold-Brews", after="", limit=10)
        behind = await find_subjects(connection, BRAND, keyword=None, after="2:coldbrew", limit=10)

    assert [(each.keywords, each.articles, each.in_hand) for each in found] == [
        (("cold brew",), 1, False),
        (("moka pot",), 0, True),
    ]
    assert [each.key for each in named] == ["2:coldbrew"]
    assert [each.key for each in behind] == ["2:mokapot"]


async def backfill(connection: Any) -> None:
    from orchestrator.subjects.stored_keys import fill_missing_keys, load_names  # noqa: PLC0415

    await fill_missing_keys(connection, await load_names(connection, [BRAND]))


def test_circles_of_joins_that_other_rules_make_have_one_key() -> None:
    joins = [SubjectJoin("moka pot", "cold brew"), SubjectJoin("cold brews", "moka pots")]

    names = SubjectNames.of("en", [], joins)

    assert names.key("moka pot") == names.key("cold brew") == names.key("Cold Brews")


def test_a_split_counts_before_a_join() -> None:
    names = SubjectNames.of("en", [SubjectSplit("cold brews")], [SubjectJoin("cold brew", "moka pot")])

    assert names.key("cold brew") == names.key("moka pot") != names.key("cold brews")


@pytest.mark.extended
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"kind": "join", "keyword": "a"}, "a join needs `other`"),
        ({"kind": "split", "keyword": "a", "other": "b"}, "a split has no `other`"),
        ({"kind": "split", "keyword": " "}, "is blank"),
        ({"kind": "merge", "keyword": "a"}, "'join' or 'split'"),
    ],
)
async def test_a_decision_that_says_nothing_is_refused(
    desk: Desk, api: httpx.AsyncClient, body: dict[str, str], problem: str
) -> None:
    answer = await api.post(f"/v1/brands/{BRAND}/subject-decisions", json=body)

    assert answer.status_code == 422
    assert problem in answer.text
    assert desk.database is not None


async def test_a_decision_over_the_api_is_told_in_the_audit_log_and_needs_the_scope_to_operate(
    desk: Desk, api: httpx.AsyncClient
) -> None:
    first = await desk.hand_in("moka pot")
    await desk.publish(first, "moka pot")
    wanted = {"kind": "join", "keyword": "stovetop espresso", "other": "moka pot"}

    answer = await api.post(f"/v1/brands/{BRAND}/subject-decisions", json=wanted)
    again = await api.post(f"/v1/brands/{BRAND}/subject-decisions", json=wanted)

    assert answer.json() == {**wanted, "changed": True}
    assert again.json()["changed"] is False
    listed = (await api.get(f"/v1/brands/{BRAND}/subject-decisions")).json()
    assert [(each["kind"], each["keyword"], each["other"]) for each in listed["items"]] == [
        ("join", "stovetop espresso", "moka pot")
    ]
    subjects = (await api.get(f"/v1/brands/{BRAND}/subjects", params={"keyword": "stovetop espresso"})).json()
    assert subjects["items"][0]["keywords"] == ["moka pot"]
    entry = (await api.get("/v1/audit-log", params={"brand": BRAND})).json()["items"][0]
    assert entry["operation"] == "POST /v1/brands/{slug}/subject-decisions"
    assert entry["after"]["keyword"] == "stovetop espresso"
    made = await api.post("/v1/keys", json={"name": "reader", "scopes": ["read"], "brands": [BRAND]})
    reader = {"Authorization": f"Bearer {made.json()['key']}", "X-Service-Key": ""}
    refused = await api.post(f"/v1/brands/{BRAND}/subject-decisions", json=wanted, headers=reader)
    assert refused.status_code in {401, 403}
    assert (await api.get("/v1/brands/nobody/subjects")).status_code == 404


async def test_keywords_are_handed_in_as_distinct_as_json_as_a_table_and_as_a_list(
    desk: Desk, api: httpx.AsyncClient
) -> None:
    path = f"/v1/brands/{BRAND}/research"
    table, text = {"Content-Type": "text/csv"}, {"Content-Type": "text/plain"}
    cycles = [
        (await api.post(path, json={"keywords": ["aaa", "bbb"], "each_distinct": [True, None]})).json(),
        (await api.post(path, content="keyword,distinct\nccc,yes\nddd,no\neee,\n", headers=table)).json(),
        (await api.post(path, content="fff\n", params={"distinct": "true"}, headers=text)).json(),
    ]
    wrong = await api.post(path, content="keyword,distinct\nggg,maybe\n", headers=table)
    uneven = await api.post(path, json={"keywords": ["hhh"], "each_distinct": [True, True]})

    async with desk.database.connection() as connection:
        rows = await connection.fetch(
            "select keyword from keywords where is_distinct and cycle_id = any ($1::uuid[]) order by keyword",
            [UUID(each["cycle_id"]) for each in cycles],
        )
    assert [row["keyword"] for row in rows] == ["aaa", "ccc", "fff"]
    assert wrong.status_code == uneven.status_code == 422
    assert "line 2" in wrong.text
    assert "each_distinct" in uneven.text


async def test_the_same_idempotency_key_for_the_same_keywords_as_distinct_is_another_request(
    desk: Desk, api: httpx.AsyncClient
) -> None:
    path, headers = f"/v1/brands/{BRAND}/research", {"Idempotency-Key": "once"}
    first = await api.post(path, json={"keywords": ["aaa"], "distinct": True}, headers=headers)
    again = await api.post(path, json={"keywords": ["aaa"], "distinct": True}, headers=headers)
    other = await api.post(path, json={"keywords": ["aaa"]}, headers=headers)

    assert first.json()["cycle_id"] == again.json()["cycle_id"]
    assert other.status_code == 422
    assert await desk.asked() == ["aaa"]
