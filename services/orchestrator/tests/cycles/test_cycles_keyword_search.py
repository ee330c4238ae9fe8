"""Keywords found over all cycles, the times of their steps, and the lines of the log that tell when one came in and ended."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import structlog

from chassis import Connection
from envelope.brand.payloads import (
    ContentPublished,
    DeadLetterRecorded,
    Priority,
    ResearchCompleted,
    ResearchFailed,
    SocialPosted,
)
from messaging import Database
from orchestrator.cycles import DEFAULT_LIMITS, Housekeeping, cancel_writing, store
from orchestrator.cycles.control import cancel_cycle
from orchestrator.cycles.facts import CycleState, KeywordState
from orchestrator.cycles.keyword_search import (
    MOST_COUNTED_WITH_TEXT,
    KeywordFilter,
    count_keywords,
    find_few,
    newest_spellings,
    search_keywords,
)
from orchestrator.cycles.routes import MAX_SPELLINGS
from tests.fixtures.databases import Roles
from tests.fixtures.explained import ExplainedConnection
from tests.fixtures.orchestrator.cycles import MessageOf, begin, handle, rows_of


async def test_what_waits_for_its_turn_gets_another_priority_and_goes_first(
    orchestrator_database: Database, api: httpx.AsyncClient
) -> None:
    await begin(orchestrator_database, "moka pot")
    assert (await api.post("/v1/brands/daily-grind/pause")).is_success
    await begin(orchestrator_database, "cold brew", "espresso")
    paths = {
        each["keyword"]: f"/v1/cycles/{each['cycle_id']}/keywords/{each['position']}/priority"
        for each in (await api.get("/v1/keywords")).json()["items"]
    }
    changed = await api.put(paths["espresso"], json={"priority": "high"})
    assert (changed.json()["keyword"], changed.json()["priority"]) == ("espresso", "high")
    late = await api.put(paths["moka pot"], json={"priority": "high"})
    assert (late.status_code, late.json()["code"]) == (409, "keyword_has_its_turn")
    unknown = paths["espresso"].replace("/keywords/", "/keywords/99")
    assert (await api.put(unknown, json={"priority": "low"})).status_code == 404
    async with orchestrator_database.connection() as connection:
        waiting = await connection.fetch(
            "select keyword from keywords where awaits_turn order by rank, moved_at, position"
        )
    assert [row["keyword"] for row in waiting] == ["espresso", "cold brew"]


async def test_a_page_of_a_brand_reads_its_last_cycles_alone(
    orchestrator_database: Database, orchestrator_url: str, database_roles: Roles
) -> None:
    first = await begin(orchestrator_database, "moka pot", "cold brew")
    async with orchestrator_database.connection() as connection:
        await add_former_cycles(connection)
        await analyze(database_roles.owner(orchestrator_url))
        await connection.execute("set enable_seqscan = off")
        for last, wanted in (
            (None, KeywordFilter(["daily-grind"])),
            (None, KeywordFilter(["daily-grind"], state=KeywordState.REFUSED)),
            ((UUID(int=500), 1), KeywordFilter(["daily-grind"], text="coffee")),
        ):
            explained: Any = ExplainedConnection(connection)
            found = await search_keywords(
                explained, wanted, await find_few(explained, wanted), after=last, limit=6
            )
            of_first = wanted == KeywordFilter(["daily-grind"])
            assert [each.cycle_id == first.cycle_id for each in found] == [of_first] * 2 + [False] * 4
            assert [each.position for each in found] == [2, 1] * 3
            assert explained.entries_read < 100, explained.scans


async def add_former_cycles(connection: Connection) -> None:
    """A thousand more cycles of the brand, with two refused keywords each."""
    await connection.execute(
        """
        insert into cycles select (jsonb_populate_record(c, jsonb_build_object(
            'cycle_id', lpad(to_hex(n), 32, '0'), 'correlation_id', 'former ' || n, 'idempotency_key', 'former ' || n,
            'queued', 0, 'awaiting_research', 0))).*
        from cycles as c, generate_series(1, 1000) as n
        """
    )
    await connection.execute(
        """
        insert into keywords (cycle_id, position, keyword, state)
        select cycle_id, n, 'coffee ' || n, 'refused' from cycles, generate_series(1, 2) as n where correlation_id like 'former %'
        """
    )


async def analyze(url: str) -> None:
    owner = await asyncpg.connect(url)
    for table in ("keywords", "cycles", "keyword_spellings"):
        await owner.execute(f"vacuum analyze {table}")
    await owner.close()


async def test_a_rare_text_is_looked_up_and_a_frequent_one_is_read_until_the_page_is_full(
    orchestrator_database: Database, orchestrator_url: str, database_roles: Roles
) -> None:
    cycle = await begin(orchestrator_database, "Moka pot", "cold brew")
    async with orchestrator_database.connection() as connection:
        await add_former_cycles(connection)
        await analyze(database_roles.owner(orchestrator_url))
        await connection.execute("set enable_seqscan = off")
        for brands in (None, {"daily-grind"}, {"daily-grind", "another"}):
            for text, positions in (("OKA p", [1]), ("zzzz", []), ("pot moka", [])):
                rare: Any = ExplainedConnection(connection)
                wanted = KeywordFilter(brands, text=text)
                found = await search_keywords(rare, wanted, await find_few(rare, wanted), after=None, limit=6)
                assert [each.position for each in found] == positions
                assert await count_keywords(rare, wanted, await find_few(rare, wanted)) == len(positions)
                assert rare.rows_read + rare.entries_read < 50, rare.scans
        frequent: Any = ExplainedConnection(connection)
        wanted = KeywordFilter(text="coffee")
        behind = (UUID(int=500), 1)
        found = await search_keywords(
            frequent, wanted, await find_few(frequent, wanted), after=behind, limit=6
        )
        assert [(each.cycle_id, each.position) for each in found] == [
            (UUID(int=number), position) for number in (499, 498, 497) for position in (2, 1)
        ]
        assert (
            await count_keywords(frequent, wanted, await find_few(frequent, wanted)) == MOST_COUNTED_WITH_TEXT
        )
        # Of a page, a state and a time are kept apart, too.
        of_cycle = KeywordFilter({"daily-grind"}, text="mok", state=KeywordState.QUEUED)
        assert await count_keywords(connection, of_cycle, await find_few(connection, of_cycle)) == 1
        newer = KeywordFilter(text="mok", since=datetime(2090, 1, 1, tzinfo=UTC))
        assert await count_keywords(connection, newer, await find_few(connection, newer)) == 0
        behind_it = await search_keywords(
            connection, of_cycle, await find_few(connection, of_cycle), after=(cycle.cycle_id, 1), limit=6
        )
        assert behind_it == []


async def test_keywords_are_counted_by_the_counts_of_their_cycles(
    orchestrator_database: Database, orchestrator_url: str, database_roles: Roles
) -> None:
    cycle = await begin(orchestrator_database, "moka pot", "cold brew")
    async with orchestrator_database.connection() as connection:
        await add_former_cycles(connection)
        await analyze(database_roles.owner(orchestrator_url))
        await connection.execute("set enable_seqscan = off")
        # Some of a cycle, and the count is kept with each change.
        await connection.execute("update keywords set state = 'failed' where keyword = 'moka pot'")
        for wanted, count in (
            (KeywordFilter(["daily-grind"]), 2002),
            (KeywordFilter(), 2002),
            (KeywordFilter([]), 0),
            (KeywordFilter(["another"]), 0),
            (KeywordFilter(["daily-grind"], state=KeywordState.FAILED), 1),
            (KeywordFilter(["daily-grind"], state=KeywordState.REFUSED), 2000),
            (KeywordFilter(state=KeywordState.COMPLETED), 0),
            (KeywordFilter(["daily-grind"], correlation_id=cycle.correlation_id), 2),
            (KeywordFilter(["daily-grind"], since=datetime(2090, 1, 1, tzinfo=UTC)), 0),
        ):
            explained: Any = ExplainedConnection(connection)
            assert await count_keywords(explained, wanted, await find_few(explained, wanted)) == count, wanted
            assert explained.rows_read + explained.entries_read <= 1001, explained.scans


async def test_cycles_under_way_are_listed_without_a_look_at_those_that_have_ended(
    orchestrator_database: Database, orchestrator_url: str, database_roles: Roles
) -> None:
    cycle = await begin(orchestrator_database, "moka pot")
    async with orchestrator_database.connection() as connection:
        await add_former_cycles(connection)
        await connection.execute("update cycles set ended_at = now() where correlation_id like 'former %'")
        await analyze(database_roles.owner(orchestrator_url))
        await connection.execute("set enable_seqscan = off")
        for states, expected in (
            ([CycleState.RUNNING], [cycle.cycle_id]),
            ([CycleState.WAITING], []),
            ([CycleState.PAUSED], []),
            ([CycleState.RUNNING, CycleState.PAUSED], [cycle.cycle_id]),
        ):
            explained: Any = ExplainedConnection(connection)
            found = await store.cycles_page(
                explained, brands=["daily-grind"], states=states, after=None, limit=5
            )
            assert [each.cycle_id for each in found] == expected
            assert explained.rows_read < 10, explained.scans
        ended = await store.cycles_page(
            connection, brands=None, states=[CycleState.FAILED], after=None, limit=5
        )
        assert [each.cycle_id for each in ended] == [UUID(int=number) for number in range(1000, 995, -1)]


async def test_keywords_of_all_cycles_are_found_by_spelling_text_and_state(
    orchestrator_database: Database, api: httpx.AsyncClient, message_of: MessageOf
) -> None:
    first = await begin(orchestrator_database, "cold brew", "moka pot", "100% arabica")
    await begin(orchestrator_database, "Cold Brew ratio", "espresso")
    await handle(
        orchestrator_database,
        message_of(
            ResearchFailed(
                brand_slug="daily-grind", keyword="moka pot", reason="insufficient_sources", detail="too few"
            ),
            first.correlation_id,
        ),
    )

    async def found(**query: Any) -> list[str]:
        answer = await api.get("/v1/keywords", params=query)
        assert answer.status_code == 200, answer.text
        return [each["keyword"] for each in answer.json()["items"]]

    assert await found(brand="daily-grind", q="cold BREW") == ["Cold Brew ratio", "cold brew"]
    assert await found(brand="daily-grind", keyword="COLD brew") == ["cold brew"]
    assert await found(q="%") == ["100% arabica"]
    assert await found(state="refused") == ["moka pot"]
    assert await found(brand="daily-grind", q="nothing like it") == []
    of_first = await found(correlation_id=first.correlation_id)
    assert sorted(of_first) == ["100% arabica", "cold brew", "moka pot"]
    assert await found(correlation_id=first.correlation_id, state="refused") == ["moka pot"]
    assert await found(correlation_id="another") == []
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update keywords set content_id = $1 where keyword = 'espresso'", UUID(int=5)
        )
    assert await found(content_id=str(UUID(int=5))) == ["espresso"]
    assert await found(content_id=str(UUID(int=6))) == []

    for query, count in (
        ({}, 5),
        ({"state": "refused"}, 1),
        ({"q": "nothing like it"}, 0),
        ({"correlation_id": first.correlation_id}, 3),
    ):
        counted = await api.get("/v1/keyword-counts", params={"brand": "daily-grind", **query})
        assert counted.json() == {"count": count, "is_exact": True}
        # The same number beside a page of them.
        beside = {"brand": "daily-grind", **query, "counted": True, "limit": 1}
        assert (await api.get("/v1/keywords", params=beside)).json()["count"] == counted.json()
    assert (await api.get("/v1/keywords", params={"limit": 1})).json()["count"] is None

    assert await found(since="2090-01-01T00:00:00Z") == []
    assert await found(keyword="moka pot", since="2020-01-01T00:00:00Z") == ["moka pot"]

    (one,) = (await api.get("/v1/keywords", params={"keyword": "cold brew"})).json()["items"]
    assert (one["cycle_id"], one["correlation_id"]) == (str(first.cycle_id), first.correlation_id)
    assert (one["brand_slug"], one["priority"]) == ("daily-grind", Priority.NORMAL)
    assert one["accepted_at"] <= one["moved_at"]
    # The cursor behind a keyword's place finds exactly this keyword.
    behind = {"after": f"{one['cycle_id']}.{one['position'] + 1}", "limit": 1}
    assert (await api.get("/v1/keywords", params=behind)).json()["items"] == [one]

    pages: list[str] = []
    after = None
    for _ in range(5):
        query = {"limit": 1} | ({"after": after} if after else {})
        page = (await api.get("/v1/keywords", params=query)).json()
        pages += [each["keyword"] for each in page["items"]]
        after = page["next"]
    assert (after, pages) == (None, await found())
    assert len(set(pages)) == 5
    wrong = await api.get("/v1/keywords", params={"after": "elsewhere"})
    assert wrong.status_code == 422


async def test_the_spellings_of_a_brands_newest_keywords_are_read_alone(
    orchestrator_database: Database, orchestrator_url: str, database_roles: Roles, api: httpx.AsyncClient
) -> None:
    await begin(orchestrator_database, "cold brew", "moka pot", "Espresso")
    path = "/v1/brands/daily-grind/keyword-spellings"
    assert (await api.get(path)).json() == {"spellings": ["Espresso", "moka pot", "cold brew"]}
    assert (await api.get("/v1/brands/nobody/keyword-spellings")).status_code == 404
    async with orchestrator_database.connection() as connection:
        await add_former_cycles(connection)
        await analyze(database_roles.owner(orchestrator_url))
        await connection.execute("set enable_seqscan = off")
        explained: Any = ExplainedConnection(connection)
        assert await newest_spellings(explained, "daily-grind", 3) == ["Espresso", "moka pot", "cold brew"]
        assert explained.rows_read + explained.entries_read <= 10, explained.scans
    assert len((await api.get(path)).json()["spellings"]) == MAX_SPELLINGS


async def test_the_log_has_a_line_when_a_cycle_is_accepted_and_when_a_keyword_ends(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    with structlog.testing.capture_logs() as lines:
        cycle = await begin(orchestrator_database, "moka pot")
        failure = ResearchFailed(
            brand_slug="daily-grind", keyword="moka pot", reason="insufficient_sources", detail="too few"
        )
        await handle(orchestrator_database, *[message_of(failure, cycle.correlation_id)] * 2)

    told = [each for each in lines if each["event"] in {"cycle_accepted", "keyword_ended", "cycle_ended"}]
    assert [each["event"] for each in told] == ["cycle_accepted", "keyword_ended", "cycle_ended"]
    assert {each["correlation_id"] for each in told} == {cycle.correlation_id}
    assert {each["brand"] for each in told} == {"daily-grind"}
    assert (told[1]["keyword"], told[1]["state"]) == ("moka pot", "refused")


def ends(lines: list[Any]) -> list[tuple[str, str, str, str]]:
    told = [each for each in lines if each["event"] == "keyword_ended"]
    return [(each["keyword"], each["correlation_id"], each["state"], each["reason"]) for each in told]


async def test_the_log_has_a_line_for_each_keyword_that_is_cancelled(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    keywords = [f"keyword {number}" for number in range(250)]
    cycle = await begin(orchestrator_database, *keywords)
    at_research = {
        row.keyword for row in await rows_of(orchestrator_database, cycle) if not row.facts.awaits_turn
    }
    with structlog.testing.capture_logs() as lines:
        for _ in range(2):
            await cancel_cycle(orchestrator_database, cycle.cycle_id, None, DEFAULT_LIMITS)
    assert sorted(ends(lines)) == [
        (keyword, cycle.correlation_id, "cancelled", "cancelled")
        for keyword in sorted({*keywords} - at_research)
    ]

    with structlog.testing.capture_logs() as lines:
        completed = ResearchCompleted(
            brand_slug="daily-grind", research_id=UUID(int=7), keyword=min(at_research)
        )
        await handle(orchestrator_database, message_of(completed, cycle.correlation_id))
    assert ends(lines) == [(min(at_research), cycle.correlation_id, "cancelled", "cancelled")]


async def test_the_log_has_a_line_for_a_keyword_whose_writing_is_cancelled_and_for_one_that_is_given_up(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "moka pot")
    completed = ResearchCompleted(brand_slug="daily-grind", research_id=UUID(int=7), keyword="cold brew")
    await handle(orchestrator_database, message_of(completed, cycle.correlation_id))
    (row, _) = await rows_of(orchestrator_database, cycle)
    with structlog.testing.capture_logs() as lines:
        async with orchestrator_database.transaction() as tx:
            now = await store.lock_brand(tx.connection, "daily-grind")
            await cancel_writing(tx, row, DEFAULT_LIMITS, by="anna", now=now)
    assert ends(lines) == [("cold brew", cycle.correlation_id, "cancelled", "cancelled by anna")]

    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update keywords set moved_at = now() - interval '2 hours', asked_again = true"
        )
    housekeeping = Housekeeping(
        orchestrator_database,
        stall_after=timedelta(hours=1),
        keep_cycles=timedelta(hours=1),
    )
    with structlog.testing.capture_logs() as lines:
        assert await housekeeping.look_after_stalled() == 1
    assert [each[:3] for each in ends(lines)] == [("moka pot", cycle.correlation_id, "failed")]


async def found(api: httpx.AsyncClient, keyword: str) -> dict[str, Any]:
    answer = await api.get("/v1/keywords", params={"keyword": keyword})
    (one,) = answer.json()["items"]
    times = one["times"]
    return {**one, "has_time": {name for name, at in times.items() if at is not None}}


async def test_a_keyword_says_who_handed_it_in_and_when_each_step_was_taken(
    orchestrator_database: Database, api: httpx.AsyncClient, message_of: MessageOf
) -> None:
    (await api.put("/v1/brands/daily-grind", json={"name": "Grind", "channels": ["feed"]})).raise_for_status()
    await api.post("/v1/brands/daily-grind/research", json={"keywords": ["cold brew"]})
    asked = await found(api, "cold brew")
    assert asked["submitted_by"] == "service"
    assert asked["has_time"] == {"research_asked_at"}

    chain = asked["correlation_id"]
    completed = ResearchCompleted(brand_slug="daily-grind", research_id=UUID(int=7), keyword="cold brew")
    await handle(orchestrator_database, message_of(completed, chain))
    writing = await found(api, "cold brew")
    assert writing["has_time"] == {"research_asked_at", "researched_at", "writing_asked_at"}

    content_id = writing["content_id"]
    about = {"brand_slug": "daily-grind", "content_id": content_id}
    published = ContentPublished(**about, published_url="https://site.test/1")
    posted = SocialPosted(**about, platform="feed", post_url="https://feed.test/1")
    await handle(orchestrator_database, message_of(published, chain))
    promoting = await found(api, "cold brew")
    assert promoting["has_time"] == writing["has_time"] | {"published_at"}
    for _ in range(2):
        await handle(orchestrator_database, message_of(posted, chain), message_of(published, chain))
    ended = await found(api, "cold brew")
    assert ended["has_time"] == promoting["has_time"] | {"ended_at"}
    # What comes twice changes no time.
    assert {**ended["times"], "ended_at": None} == promoting["times"]
    (post,) = ended["posts"]
    order = [
        ended["accepted_at"],
        *(
            ended["times"][f"{step}_at"]
            for step in ("research_asked", "researched", "writing_asked", "published")
        ),
        post["posted_at"],
        ended["times"]["ended_at"],
    ]
    assert [datetime.fromisoformat(each) for each in order] == sorted(map(datetime.fromisoformat, order))


async def test_what_a_version_before_began_has_no_caller_and_the_times_since(
    orchestrator_database: Database, api: httpx.AsyncClient, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "moka pot")
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set times = '{}'")
    before = await found(api, "cold brew")
    assert (before["submitted_by"], before["has_time"]) == (None, set())

    await cancel_cycle(orchestrator_database, cycle.cycle_id, None, DEFAULT_LIMITS)
    refused = ResearchFailed(
        brand_slug="daily-grind", keyword="cold brew", reason="insufficient_sources", detail="too few"
    )
    await handle(orchestrator_database, message_of(refused, cycle.correlation_id))
    assert (await found(api, "cold brew"))["has_time"] == {"ended_at"}
    # It goes on after all, and so has no end.
    completed = ResearchCompleted(brand_slug="daily-grind", research_id=UUID(int=7), keyword="moka pot")
    lost = message_of(
        DeadLetterRecorded(
            dead_event_id=UUID(int=8),
            queue="research-commands",
            message_type="research.requested",
            reason="exhausted",
            brand_slug="daily-grind",
            keyword="moka pot",
        ),
        cycle.correlation_id,
    )
    async with orchestrator_database.connection() as connection:
        await connection.execute("update cycles set cancelled_at = null")
    await handle(orchestrator_database, lost)
    assert (await found(api, "moka pot"))["has_time"] == {"ended_at"}
    await handle(orchestrator_database, message_of(completed, cycle.correlation_id))
    assert (await found(api, "moka pot"))["has_time"] == {"researched_at", "writing_asked_at"}
