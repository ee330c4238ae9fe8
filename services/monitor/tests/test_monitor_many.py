"""Lists and groups of many dead letters: their contents, made without reading every dead letter."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from messaging import Database
from monitor.dead_letters import decision_store, filtering, groups, queries
from monitor.dead_letters.domain import DeadLetterState
from monitor.dead_letters.filtering import DeadLetterFilter, Table
from tests.fixtures.explained import ExplainedConnection

MANY = 20_000

# Several are recorded by each transaction, and thus at the same time.
FILL = """
insert into dead_messages (id, event_id, queue, type, correlation_id, payload, headers, reason, exception_type, detail, stack,
    service, code, version, masking, frame, attempts, failed_at, recorded_at, replayable, state, replayed_at, replay_event_id, resolution, resolved_at, brand_slug)
select gen_random_uuid(), gen_random_uuid(), (array['social-commands', 'publisher-commands'])[1 + n % 2],
    (array['social.create', 'content.publish', null])[1 + n % 3], 'chain-' || n, convert_to(repeat('x', 400), 'UTF8'), '{}',
    (array['exhausted', 'permanent'])[1 + n / 4 % 2], (array['Gone', null])[1 + n / 8 % 2], 'detail ' || n, repeat('stack ', 60),
    'publisher', (array['0123456789abcdef', 'fedcba9876543210', null])[1 + n / 100 % 3], '0.1.0', 1,
    (array['a.py:1 in x', 'b.py:2 in y', null])[1 + n / 16 % 3], 5, now() - n * interval '1 second',
    now() - n / 20 * interval '1 minute', true, s.state, case when s.state = 'replaying' then now() end,
    case when s.state = 'replaying' then gen_random_uuid() end, case when s.state = 'resolved' then 'handled' end,
    case when s.state = 'resolved' then now() end, (array['acme', 'daily-grind', null])[1 + n / 2 % 3]
from generate_series(1, $1::int) n,
    lateral (select case when n % 10 < 7 then 'open' when n % 10 < 8 then 'replaying' else 'resolved' end as state) s
"""


@pytest.fixture
async def many(database: Database, postgres_url: str) -> Database:
    async with database.connection() as connection:
        name = await connection.fetchval("select current_database()")
    owner = await asyncpg.connect(postgres_url, database=name)
    # Rows that may still be lost with the server are not yet noted as visible to everybody.
    await owner.execute("set synchronous_commit = on")
    await owner.execute(FILL, MANY)
    # As autovacuum does after a while. 300 rows a target are looked at: all that there are, and no sample that differs by chance.
    await owner.execute("set default_statistics_target = 100")
    await owner.execute("vacuum analyze dead_messages, dead_letter_facts")
    await owner.close()
    return database


@asynccontextmanager
async def explained(database: Database) -> AsyncIterator[Any]:
    async with database.connection() as connection:
        for other_way in ("seqscan", "bitmapscan"):
            await connection.execute(f"set enable_{other_way} = off")
        yield ExplainedConnection(connection)


async def letters(database: Database, *states: DeadLetterState) -> list[Any]:
    async with database.connection() as connection:
        return await connection.fetch(
            "select * from dead_messages where state = any ($1::text[])", list(map(str, states))
        )


FACTS = ("queue", "reason", "exception_type", "frame")


@pytest.mark.extended
async def test_how_many_wait_is_counted_without_reading_them(many: Database) -> None:
    wanted = defaultdict(int)
    for letter in await letters(many, DeadLetterState.OPEN):
        wanted[letter["queue"]] += 1
    async with explained(many) as connection:
        counted = await queries.open_by_queue(connection)
    assert {queue: count for queue, count in counted.items() if count} == wanted
    assert connection.scans == {("Index Only Scan", "dead_messages_open_by_queue")}


@pytest.mark.extended
@pytest.mark.parametrize(
    "wanted",
    [
        DeadLetterFilter(DeadLetterState.OPEN),
        DeadLetterFilter(DeadLetterState.OPEN, "social-commands"),
        DeadLetterFilter(DeadLetterState.OPEN, brands=["acme"]),
        DeadLetterFilter(DeadLetterState.OPEN, "social-commands", brands=["acme", "daily-grind"]),
    ],
)
async def test_a_page_of_those_that_wait_reads_no_more_than_its_letters(
    many: Database, wanted: DeadLetterFilter
) -> None:
    expected = [
        letter
        for letter in await letters(many, DeadLetterState.OPEN)
        if wanted.queue in {None, letter["queue"]}
        and (wanted.brands is None or letter["brand_slug"] in wanted.brands)
    ]
    expected.sort(key=lambda letter: (letter["recorded_at"], letter["id"]), reverse=True)
    async with explained(many) as connection:
        page = await queries.fetch_page(connection, wanted, limit=30, before=None)
        assert page is not None
        following = await queries.fetch_page(connection, wanted, limit=30, before=page.items[-1]["id"])
    assert following is not None
    assert [item["id"] for item in (*page.items, *following.items)] == [each["id"] for each in expected[:60]]
    assert page.matching == following.matching == len(expected)
    assert {how for how, _ in connection.scans} <= {"Index Scan", "Index Only Scan"}
    # Two pages of 30, of rows of which one in six may match; 14,000 are open.
    assert connection.rows_read <= 2 * 30 * 20


@pytest.mark.extended
@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ({"error": "DETAIL 14999"}, lambda each: each["detail"] == "detail 14999"),
        ({"error": "b.py:2"}, lambda each: each["frame"] == "b.py:2 in y"),
        ({"payload": "xxx", "max_attempts": 4}, lambda _: False),
        ({"min_attempts": 5, "queue": "social-commands"}, lambda each: each["queue"] == "social-commands"),
    ],
)
async def test_a_search_reads_each_letter_once_for_page_and_number(
    many: Database, wanted: dict[str, Any], matches: Callable[[Any], bool]
) -> None:
    open_ones = await letters(many, DeadLetterState.OPEN)
    expected = sorted(filter(matches, open_ones), key=lambda each: (each["recorded_at"], each["id"]))[::-1]
    async with many.connection() as connection:
        noted = ExplainedConnection(connection)
        searched = await queries.fetch_page(
            connection, DeadLetterFilter(DeadLetterState.OPEN, **wanted), limit=30, before=None
        )
        where, values = DeadLetterFilter(DeadLetterState.OPEN, **wanted).condition()
        await noted.fetch(f"select d.id from dead_messages d where {where}", *values)
        timeout = await connection.fetchval("show statement_timeout")
        assert searched is not None
        if len(expected) > 30:
            last = searched.items[-1]["id"]
            following = await queries.fetch_page(
                connection, DeadLetterFilter(DeadLetterState.OPEN, **wanted), limit=30, before=last
            )
            assert following is not None
            assert [each["id"] for each in following.items] == [each["id"] for each in expected[30:60]]
    assert [each["id"] for each in searched.items] == [each["id"] for each in expected[:30]]
    assert (searched.matching, searched.open) == (len(expected), len(open_ones))
    assert noted.rows_read <= MANY
    # The limit is the search's own: the connection goes back to the pool.
    assert timeout == "0"


async def test_a_letter_is_found_by_any_of_its_ids_without_reading_others(many: Database) -> None:
    [*_, letter] = await letters(many, DeadLetterState.REPLAYING)
    for name in ("id", "event_id", "replay_event_id"):
        async with many.connection() as connection:
            await connection.execute("set enable_seqscan = off; set enable_bitmapscan = on")
            noted = ExplainedConnection(connection)
            page = await queries.fetch_page(
                noted, DeadLetterFilter(message_id=letter[name]), limit=30, before=None
            )
        assert page is not None
        assert ([each["id"] for each in page.items], page.matching) == ([letter["id"]], 1)
        assert noted.rows_read < 10


@pytest.mark.extended
async def test_a_search_that_takes_too_long_is_ended(many: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "SEARCH_SECONDS", 0.001)
    wanted = DeadLetterFilter(DeadLetterState.OPEN, payload="nothing has this")
    async with many.connection() as connection:
        with pytest.raises(filtering.SearchTooSlowError):
            await queries.fetch_page(connection, wanted, limit=1, before=None)
        assert await connection.fetchval("show statement_timeout") == "0"
    with pytest.raises(filtering.SearchTooSlowError):
        async with many.transaction() as tx:
            await decision_store.discard_open(
                tx.connection,
                decision_store.DeadLetterSelection(wanted),
                500,
                decision_store.OperatorDecision(None, "why"),
            )


@pytest.mark.extended
@pytest.mark.parametrize(
    "wanted",
    [
        {"error": "DETAIL 14999"},
        {"error": "100%"},
        {"code": "0123456789abcdef"},
        {"type": "content.publish", "brands": ["acme"]},
        {"replayable": True, "max_attempts": 4},
        {"queue": "social-commands", "state": DeadLetterState.RESOLVED},
    ],
)
async def test_facts_find_what_the_letters_have(many: Database, wanted: dict[str, Any]) -> None:
    filter_ = DeadLetterFilter(**wanted)
    assert filter_.searched_table is Table.FACTS
    found = {}
    async with many.connection() as connection:
        for table in Table:
            where, values = filter_.condition(table)
            found[table] = await connection.fetch(
                f"select id from {table.value} d where {where} order by id", *values
            )
        page = await queries.fetch_page(connection, filter_, limit=30, before=None)
    assert page is not None
    assert found[Table.FACTS] == found[Table.LETTERS]
    assert page.matching == len(found[Table.LETTERS])


async def test_groups_are_counted_without_reading_letters_one_by_one(many: Database) -> None:
    async with explained(many) as connection:
        counted = await groups.failure_groups(connection, state=DeadLetterState.OPEN, limit=200)
        days = await groups.by_day(connection, 90, None)
    open_ones = await letters(many, DeadLetterState.OPEN)
    assert sum(each["count"] for each in counted) == sum(each["open"] for each in days.rows) == len(open_ones)
    assert ("Index Only Scan", "dead_letter_facts_by_kind") in connection.scans
    assert "Seq Scan" not in {how for how, _ in connection.scans}


async def test_facts_follow_every_change_of_a_letter(many: Database) -> None:
    changes = (
        "update dead_messages set state = 'discarded', resolution = 'why', resolved_at = now() where state = 'open'",
        "update dead_messages set queue = 'orchestrator-commands', redirected_from = queue where queue = 'social-commands'",
        "update dead_messages set masked = 'x', masking = 2",
        "delete from dead_messages where type is null",
    )
    for change in changes:
        async with many.connection() as connection:
            await connection.execute(change)
            kept = await connection.fetch("select f.* from dead_letter_facts f order by id")
            expected = await connection.fetch(
                "select f.* from dead_messages d cross join lateral dead_letter_facts_of(d) f order by f.id"
            )
        assert kept == expected, change


@pytest.mark.extended
async def test_open_ones_are_counted_whatever_the_page_is_of(many: Database) -> None:
    async with explained(many) as connection:
        page = await queries.fetch_page(
            connection, DeadLetterFilter(DeadLetterState.RESOLVED, brands=["acme"]), limit=1, before=None
        )
        chain = await queries.fetch_page(
            connection, DeadLetterFilter(correlation_id="chain-7"), limit=5, before=None
        )
    waiting = await letters(many, DeadLetterState.OPEN)
    assert page is not None
    assert chain is not None
    assert page.open == sum(letter["brand_slug"] == "acme" for letter in waiting)
    assert (chain.open, chain.matching, len(chain.items)) == (len(waiting), 1, 1)
    assert ("Index Only Scan", "dead_messages_open_by_queue") in connection.scans


@pytest.mark.extended
@pytest.mark.parametrize("brands", [None, ["acme"], ["nobody"]])
async def test_like_failures_are_told_with_their_types_times_and_newest(
    many: Database, brands: list[str] | None
) -> None:
    together = defaultdict(list)
    for letter in await letters(many, DeadLetterState.OPEN):
        if brands is None or letter["brand_slug"] in brands:
            together[tuple(letter[fact] for fact in FACTS)].append(letter)
    async with many.connection() as connection:
        found_groups = await groups.failure_groups(
            connection, state=DeadLetterState.OPEN, brands=brands, limit=100
        )
        (largest, *_) = await groups.failure_groups(connection, limit=1)
    assert {tuple(group[fact] for fact in FACTS) for group in found_groups} == set(together)
    assert [group["count"] for group in found_groups] == sorted(map(len, together.values()), reverse=True)
    for group in found_groups:
        found = together[tuple(group[fact] for fact in FACTS)]
        latest = max(letter["recorded_at"] for letter in found)
        newest: UUID = min(letter["id"] for letter in found if letter["recorded_at"] == latest)
        (detail,) = (letter["detail"] for letter in found if letter["id"] == newest)
        assert (group["newest_id"], group["newest_detail"]) == (newest, detail)
        assert group["types"] == sorted({letter["type"] for letter in found} - {None})
        codes = Counter(letter["code"] for letter in found if letter["code"])
        assert {each["code"]: each["count"] for each in group["codes"]} == codes
        assert (group["count"], group["first_failed_at"], group["last_failed_at"]) == (
            len(found),
            min(letter["failed_at"] for letter in found),
            max(letter["failed_at"] for letter in found),
        )
    assert largest["count"] >= max(map(len, together.values()), default=0)


async def test_what_waits_is_told_brand_by_brand(many: Database) -> None:
    together = defaultdict(list)
    for letter in await letters(many, DeadLetterState.OPEN, DeadLetterState.REPLAYING):
        together[(letter["brand_slug"], *(letter[fact] for fact in FACTS))].append(letter)
    async with many.connection() as connection:
        unsettled = await groups.unsettled_groups(connection, limit=1_000)
    told = {(each["brand_slug"], *(each[fact] for fact in FACTS)): each for each in unsettled}
    assert {key: each["count"] for key, each in told.items()} == {
        key: len(found) for key, found in together.items()
    }
    for key, each in told.items():
        assert each["types"] == sorted({letter["type"] for letter in together[key]} - {None})
    counts = [each["count"] for each in unsettled]
    assert counts == sorted(counts, reverse=True)
