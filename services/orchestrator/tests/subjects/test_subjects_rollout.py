"""Keys of two versions beside each other: a replica of the version before, and the rows that it leaves behind."""

from typing import Any

import pytest

from messaging import Database
from orchestrator.cycles import BrandLimits, control
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.subjects import backfill_keys
from orchestrator.subjects.former_keys import former_key_of
from orchestrator.subjects.keys import key_of

Desk = Any
"""See conftest.py."""
BRAND = "daily-grind"
LIMITS = BrandLimits(research=4, articles=4)


class FormerReplica:
    """As the version before decides about the keywords that wait for a turn: by the keys that it knows."""

    def __init__(self, desk: Desk) -> None:
        self._database: Database = desk.database

    async def dispatch_waiting(self) -> list[str]:
        """The keywords that it sends to research."""
        async with self._database.transaction() as tx:
            connection = tx.connection
            await connection.execute("select from brands for no key update")
            await self._key_articles(connection)
            rows = await connection.fetch(
                "select cycle_id, position, keyword from keywords where awaits_turn and state = 'queued' order by cycle_id, position"
            )
            return [row["keyword"] for row in rows if await self._take(connection, row)]

    async def _key_articles(self, connection: Any) -> None:
        for row in await connection.fetch("select content_id, keyword from content where subject is null"):
            await connection.execute(
                "update content set subject = $2 where content_id = $1",
                row["content_id"],
                former_key_of(row["keyword"], "en"),
            )

    async def _take(self, connection: Any, row: Any) -> bool:
        key = former_key_of(row["keyword"], "en")
        place = (row["cycle_id"], row["position"])
        standing = await connection.fetchval(
            "select content_id from content where subject = $1 and published_url is not null", key
        )
        if standing is not None:
            await connection.execute(
                "update keywords set state = 'completed', standing_id = $3, awaits_turn = false where (cycle_id, position) = ($1, $2)",
                *place,
                standing,
            )
            return False
        held = await connection.fetchval(
            "select true from subjects as s join keywords as h using (cycle_id, position) where s.key = $1"
            " and h.state in ('queued', 'writing', 'publishing', 'promoting') and (s.cycle_id, s.position) <> ($2, $3)",
            key,
            *place,
        )
        if held:
            await connection.execute(
                "update keywords set follows = true, awaits_turn = false, subject = $3 where (cycle_id, position) = ($1, $2)",
                *place,
                key,
            )
            return False
        await connection.execute(
            "insert into subjects as s (brand_slug, key, cycle_id, position) values ($1, $2, $3, $4)"
            " on conflict (brand_slug, key) do update set cycle_id = excluded.cycle_id, position = excluded.position,"
            " claimed_at = clock_timestamp()",
            BRAND,
            key,
            *place,
        )
        await connection.execute(
            "update keywords set awaits_turn = false where (cycle_id, position) = ($1, $2)", *place
        )
        return True

    async def settled(self) -> list[str]:
        """The keywords that wait for another one which it takes for ended or let go."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                """
                select k.keyword from keywords as k
                    left join subjects as s on (s.brand_slug, s.key) = ($1, k.subject)
                    left join keywords as h on (h.cycle_id, h.position) = (s.cycle_id, s.position)
                where k.follows and (h.state is null or h.state not in ('queued', 'writing', 'publishing', 'promoting'))
                """,
                BRAND,
            )
        return [row["keyword"] for row in rows]


@pytest.fixture
def former(desk: Desk) -> FormerReplica:
    return FormerReplica(desk)


async def hand_in_for_former(desk: Desk, *keywords: str) -> Any:
    """A cycle that no replica of this version dispatches."""
    await control.pause_brand(desk.database, BRAND)
    cycle = await desk.hand_in(*keywords)
    async with desk.database.connection() as connection:
        await connection.execute("update brands set paused_at = null")
    return cycle


@pytest.mark.parametrize("later", ["cold brew", "Cold-Brews", "coldbrew"])
async def test_what_this_version_has_in_hand_a_replica_of_the_former_waits_for(
    desk: Desk, former: FormerReplica, later: str
) -> None:
    first = await desk.hand_in("cold brew")
    second = await hand_in_for_former(desk, later)

    assert await former.dispatch_waiting() == []
    assert await desk.states(second) == ["queued"]

    await desk.publish(first, "cold brew")
    assert await desk.states(second) == ["completed"]
    assert await desk.asked() == ["cold brew"]


@pytest.mark.parametrize("later", ["cafe culture", "Café Culture", "cafés culture"])
async def test_what_a_replica_of_the_former_has_in_hand_this_version_waits_for(
    desk: Desk, former: FormerReplica, later: str
) -> None:
    first = await hand_in_for_former(desk, "café culture")
    assert await former.dispatch_waiting() == ["café culture"]

    second = await desk.hand_in(later)

    assert await desk.asked() == []
    (waiting,) = await desk.seen(second)
    assert waiting.waits == f"waits for “café culture” on the same subject (/v1/cycles/{first.cycle_id})"
    await desk.publish(first, "café culture")
    assert await desk.states(second) == ["completed"]


async def test_articles_of_this_version_stand_for_replicas_of_the_former(
    desk: Desk, former: FormerReplica
) -> None:
    first = await desk.hand_in("cold brew")
    await desk.publish(first, "cold brew")
    second = await hand_in_for_former(desk, "cold brews")

    assert await former.dispatch_waiting() == []
    assert await desk.states(second) == ["completed"]


async def test_who_waits_for_a_keyword_that_only_these_rules_fold_with_it_is_not_let_go_by_the_former(
    desk: Desk, former: FormerReplica
) -> None:
    first = await desk.hand_in("café culture")
    second = await desk.hand_in("cafe culture")

    assert await former.settled() == []

    await desk.publish(first, "café culture")
    assert await desk.states(second) == ["completed"]
    assert await desk.asked() == ["café culture"]


async def test_who_waits_by_the_former_rules_for_another_subject_has_a_turn_by_these(
    desk: Desk, former: FormerReplica
) -> None:
    await desk.hand_in("blue guitar")
    second = await hand_in_for_former(desk, "blues guitar")
    assert await former.dispatch_waiting() == []

    await dispatch_overlooked(desk.database, LIMITS)

    assert await desk.asked() == ["blue guitar", "blues guitar"]
    assert await desk.states(second) == ["queued"]


async def test_stored_subjects_get_their_keys_in_batches_and_again_after_an_interruption(
    desk: Desk, orchestrator_url: str
) -> None:
    cycle = await desk.hand_in("café one", "café two", "café three", "café four")
    for keyword in ("café one", "café two", "café three"):
        await desk.publish(cycle, keyword)
    async with desk.database.connection() as connection:
        # As the version before leaves it behind.
        await connection.execute("update content set subject_key = null")
        await connection.execute("delete from subjects")
        await connection.execute(
            "insert into subjects (brand_slug, key, cycle_id, position)"
            " select $1, $2, cycle_id, position from keywords where keyword = 'café four'",
            BRAND,
            former_key_of("café four", "en"),
        )
        await connection.execute(
            "update content set subject_key = $1 where keyword = 'café one'", key_of("café one", "en")
        )

    await backfill_keys(orchestrator_url, batch=1)
    await backfill_keys(orchestrator_url, batch=1)

    async with desk.database.connection() as connection:
        rows = await connection.fetch("select keyword, subject_key from content")
        claimed = await connection.fetchval(
            "select cycle_id from subjects where key = $1", key_of("cafe four", "en")
        )
    assert {row["keyword"]: row["subject_key"] for row in rows} == {
        keyword: key_of(keyword, "en") for keyword in ("café one", "café two", "café three")
    }
    assert claimed == cycle.cycle_id
    again = await desk.hand_in("cafe one", "cafe two", "cafe three", "cafe four")
    assert await desk.states(again) == ["completed", "completed", "completed", "queued"]


def test_former_keys_are_what_they_were() -> None:
    assert former_key_of("Blues Guitars", "en") == "blueguitar"
    assert former_key_of("café", "en") == "café"
    assert former_key_of("Tea & Coffees", "en-GB") == "coffee and tea"
