"""Keys that a former revision of the rules has stored: who brings them up to date, when, and what a new keyword finds before."""

import asyncio
from typing import Any

import asyncpg
import pytest

from messaging import Database
from orchestrator.article_workflow.approval import load_subject_histories
from orchestrator.cycles import BrandLimits
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.subjects import backfill, backfill_keys
from orchestrator.subjects.decisions import join_subjects
from orchestrator.subjects.keys import REVISION, key_of

Desk = Any
"""See conftest.py."""
BRAND = "daily-grind"
LIMITS = BrandLimits(research=4, articles=4)
FORMER_KEYS = {
    "d3.js charts": "2:d3.jschart",
    "haematology ward": "2:haematologyward",
    "best curries": "2:bestcurrie",
    "herb and garlic butter": "2:herb and garlicbutter",
    "Eagles": "2:eagle",
    "cold brew": "2:coldbrew",
}
"""By keyword, its key by revision 1, which the first release with keys of version 2 had."""
SAME = {
    "d3.js charts": "d3js chart",
    "haematology ward": "hematology ward",
    "best curries": "best curry",
    "herb and garlic butter": "garlic and herb butter",
    "Eagles": "Eagles",
    "cold brew": "cold brews",
}


async def store_former_keys(desk: Desk) -> None:
    """As the release before leaves the brand: its keys, and nothing about the rules that made them."""
    async with desk.database.connection() as connection:
        await connection.execute("delete from subject_rules")
        await store_keys_of_former_replica(connection)


async def store_keys_of_former_replica(connection: Any) -> None:
    for keyword, key in FORMER_KEYS.items():
        await connection.execute("update content set subject_key = $2 where keyword = $1", keyword, key)
        await connection.execute("update subjects set key = $2 where key = $1", key_of(keyword, "en"), key)
        await connection.execute(
            "update keywords set subject_key = $2 where keyword = $1 and subject_key is not null",
            keyword,
            key,
        )


async def article_keys(desk: Desk) -> dict[str, str]:
    async with desk.database.connection() as connection:
        rows = await connection.fetch("select keyword, subject_key from content")
    return {row["keyword"]: row["subject_key"] for row in rows}


@pytest.mark.extended
@pytest.mark.parametrize("migrates", [True, False])
async def test_articles_with_keys_of_the_former_revision_are_found(
    desk: Desk, orchestrator_url: str, *, migrates: bool
) -> None:
    first = await desk.hand_in(*FORMER_KEYS, limits=BrandLimits(research=9, articles=9))
    for keyword in FORMER_KEYS:
        await desk.publish(first, keyword)
    await store_former_keys(desk)

    if migrates:
        await backfill_keys(orchestrator_url, batch=2)
        assert await article_keys(desk) == {keyword: key_of(keyword, "en") for keyword in FORMER_KEYS}
    second = await desk.hand_in(*SAME.values())

    assert set(await desk.states(second)) == {"completed"}
    assert len(await desk.asked()) == len(FORMER_KEYS)
    assert await article_keys(desk) == {keyword: key_of(keyword, "en") for keyword in FORMER_KEYS}


@pytest.mark.parametrize("migrates", [True, False])
async def test_keywords_in_hand_and_waiting_under_former_keys_are_found(
    desk: Desk, orchestrator_url: str, *, migrates: bool
) -> None:
    first = await desk.hand_in("best curries", "d3.js charts")
    waiting = await desk.hand_in("Best Curries")
    await store_former_keys(desk)
    async with desk.database.connection() as connection:
        await connection.execute("update keywords set subject_key = '2:bestcurrie' where follows")

    if migrates:
        await backfill_keys(orchestrator_url, batch=1)
    second = await desk.hand_in("best curry", "d3js chart")

    assert await desk.states(second) == ["queued", "queued"]
    assert await desk.asked() == ["best curries", "d3.js charts"]
    await desk.publish(first, "best curries")
    assert await desk.states(waiting) == ["completed"]
    assert await desk.states(second) == ["completed", "queued"]


async def test_a_claim_that_moves_makes_room_for_another_one(desk: Desk, orchestrator_url: str) -> None:
    """Eagles are no eagle by these rules: each of the two has its own subject in hand afterwards."""
    await desk.hand_in("Eagles", "eagle")
    async with desk.database.connection() as connection:
        await connection.execute("delete from subject_rules")
        await connection.execute("update subjects set key = '2:aquila' where key = '2:eagle'")
        await connection.execute("update subjects set key = '2:eagle' where key = '2:Eagles'")

    await backfill_keys(orchestrator_url, batch=1)

    async with desk.database.connection() as connection:
        rows = await connection.fetch(
            "select key, keyword from subjects join keywords using (cycle_id, position) where key like '2:%' order by key"
        )
    assert {row["key"]: row["keyword"] for row in rows} == {"2:Eagles": "Eagles", "2:eagle": "eagle"}
    await desk.hand_in("eagles", "Eagles")
    assert await desk.asked() == ["Eagles", "eagle"]


async def test_who_waits_by_former_keys_for_another_subject_has_a_turn(desk: Desk) -> None:
    await desk.hand_in("Eagles")
    second = await desk.hand_in("eagle", limits=BrandLimits(research=1, articles=1))
    async with desk.database.connection() as connection:
        await connection.execute("delete from subject_rules")
        await connection.execute("update subjects set key = '2:eagle' where key = '2:Eagles'")
        await connection.execute(
            "update keywords set follows = true, awaits_turn = false, subject_key = '2:eagle' where cycle_id = $1",
            second.cycle_id,
        )

    await dispatch_overlooked(desk.database, LIMITS)

    assert await desk.asked() == ["Eagles", "eagle"]


async def test_an_interrupted_migration_goes_on_and_only_rows_with_another_key_are_written(
    desk: Desk, orchestrator_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await desk.hand_in(*FORMER_KEYS, limits=BrandLimits(research=9, articles=9))
    for keyword in FORMER_KEYS:
        await desk.publish(first, keyword)
    await store_former_keys(desk)

    async def versions() -> dict[str, int]:
        async with desk.database.connection() as connection:
            rows = await connection.fetch("select keyword, xmin::text::bigint as version from content")
        return {row["keyword"]: row["version"] for row in rows}

    async def interrupt(*_: Any, **__: Any) -> None:
        raise asyncpg.ConnectionDoesNotExistError("the server has gone away")

    before = await versions()
    with monkeypatch.context() as patch:
        patch.setattr(backfill, "find_moved_claims", interrupt)
        with pytest.raises(ConnectionError, match="run migrate again"):
            await backfill_keys(orchestrator_url, batch=2)
    interrupted = await versions()
    assert await article_keys(desk) == {keyword: key_of(keyword, "en") for keyword in FORMER_KEYS}
    assert interrupted["cold brew"] == before["cold brew"]
    assert {keyword for keyword in before if interrupted[keyword] != before[keyword]} == {
        keyword for keyword, key in FORMER_KEYS.items() if key != key_of(keyword, "en")
    }

    await backfill_keys(orchestrator_url, batch=2)
    async with desk.database.connection() as connection:
        noted = await connection.fetchrow(
            "select revision, language, xmin::text as version from subject_rules"
        )
    assert (noted["revision"], noted["language"]) == (REVISION, "en")
    await backfill_keys(orchestrator_url, batch=2)

    assert await versions() == interrupted
    async with desk.database.connection() as connection:
        assert await connection.fetchval("select xmin::text from subject_rules") == noted["version"]


async def test_two_replicas_and_a_migration_at_once_write_a_subject_once(
    desk: Desk, orchestrator_url: str
) -> None:
    first = await desk.hand_in("best curries", "d3.js charts")
    await desk.publish(first, "best curries")
    await store_former_keys(desk)

    one, other, _, _ = await asyncio.gather(
        desk.hand_in("best curry", "d3js chart"),
        desk.hand_in("Best Curry", "D3JS charts"),
        backfill_keys(orchestrator_url, batch=1),
        backfill_keys(orchestrator_url, batch=1),
    )

    assert await desk.states(one) == await desk.states(other) == ["completed", "queued"]
    assert await desk.asked() == ["best curries", "d3.js charts"]


async def test_what_a_replica_of_the_former_release_stores_after_the_migration_is_found(
    desk: Desk, orchestrator_url: str
) -> None:
    await backfill_keys(orchestrator_url)
    first = await desk.hand_in("best curries", "d3.js charts")
    await desk.publish(first, "best curries")
    async with desk.database.connection() as connection:
        await store_keys_of_former_replica(connection)

    second = await desk.hand_in("best curry", "d3js chart")

    assert await desk.states(second) == ["completed", "queued"]
    assert await desk.asked() == ["best curries", "d3.js charts"]


async def test_long_after_the_keys_were_made_anew_nothing_is_read_again(
    desk: Desk, orchestrator_url: str
) -> None:
    first = await desk.hand_in("best curries")
    await desk.publish(first, "best curries")
    await backfill_keys(orchestrator_url)
    async with desk.database.connection() as connection:
        await connection.execute("update subject_rules set applied_at = now() - interval '2 hours'")
        await store_keys_of_former_replica(connection)

    await desk.hand_in("cold brew")

    assert await article_keys(desk) == {"best curries": "2:bestcurrie"}


@pytest.mark.parametrize("revision", [REVISION - 1, REVISION + 1])
async def test_keys_that_a_release_before_or_after_has_made_are_made_anew(desk: Desk, revision: int) -> None:
    """So a release that is rolled back, and one that comes again, find what the other has stored."""
    first = await desk.hand_in("best curries")
    await desk.publish(first, "best curries")
    await store_former_keys(desk)
    async with desk.database.connection() as connection:
        await connection.execute(
            "insert into subject_rules values ($1, $2, 'en', now() - interval '1 day')", BRAND, revision
        )

    second = await desk.hand_in("best curry")

    assert await desk.states(second) == ["completed"]


async def test_a_brand_that_changes_its_language_keeps_its_subjects(
    desk: Desk, orchestrator_url: str
) -> None:
    first = await desk.hand_in("canciones de cuna")
    await desk.publish(first, "canciones de cuna")
    async with desk.database.connection() as connection:
        await connection.execute("update brands set language = 'es'")

    second = await desk.hand_in("canción de cuna")
    assert await desk.states(second) == ["completed"]

    async with desk.database.connection() as connection:
        await connection.execute("update brands set language = 'en'")
    await backfill_keys(orchestrator_url)
    assert await article_keys(desk) == {"canciones de cuna": key_of("canciones de cuna", "en")}


async def test_a_person_joins_what_has_a_former_key(desk: Desk) -> None:
    first = await desk.hand_in("best curries")
    await desk.publish(first, "best curries")
    await store_former_keys(desk)

    async with desk.database.transaction() as tx:
        assert await join_subjects(tx.connection, BRAND, "curry of the year", "best curry", by="somebody")

    second = await desk.hand_in("curry of the year")
    assert await desk.states(second) == ["completed"]


async def test_what_a_person_did_not_want_counts_under_former_keys(desk: Desk) -> None:
    first = await desk.hand_in("best curries")
    content_id = await desk.write(first, "best curries", held_for="to be seen")
    await desk.decide(content_id, "rejected")
    await store_former_keys(desk)
    database: Database = desk.database

    named = BRAND, key_of("best curry", "en")
    async with database.transaction() as tx:
        stance = (await load_subject_histories(tx.connection, [named]))[named]

    assert stance.unwanted_id == content_id
