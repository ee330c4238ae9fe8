"""Schedules through the API, and their firing on several replicas: each due time begins one cycle."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.brands import upsert_brand
from orchestrator.cycles import DEFAULT_LIMITS
from orchestrator.schedule import Scheduler, count_states
from orchestrator.schedule.firing import AT_ONCE
from tests.fixtures.databases import Roles

KEEP = timedelta(days=90)
WEEKLY = {
    "keywords": ["cold brew", "moka pot", "grind size"],
    "cron": "0 6 * * SUN",
    "time_zone": "Europe/Berlin",
}
PATH = "/v1/brands/acme/schedules/basics"
ONCE = "/v1/brands/acme/schedules/launch"


@pytest.fixture
async def acme(orchestrator_database: Database) -> Database:
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            "acme",
            BrandSettings(name="Acme"),
        )
    return orchestrator_database


async def put(api: httpx.AsyncClient, request: dict[str, Any], path: str = PATH) -> dict[str, Any]:
    answer = await api.put(path, json=request)
    assert answer.status_code in {200, 201}, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def get(api: httpx.AsyncClient, path: str) -> dict[str, Any]:
    answer = await api.get(path)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def make_due(database: Database, ago: timedelta = timedelta()) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "update schedules set due_at = now() - $1::interval, try_at = now() - $1::interval", ago
        )


async def cycles(database: Database) -> list[tuple[str, ...]]:
    """The keywords of each cycle, the oldest cycle first."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select array_agg(keyword order by position) as keywords from cycles join keywords using (cycle_id)"
            " group by cycle_id, created_at order by created_at"
        )
    return [tuple(row["keywords"]) for row in rows]


async def test_a_schedule_tells_when_it_fires_next(acme: Database, api: httpx.AsyncClient) -> None:
    made = await put(api, WEEKLY)

    times = [datetime.fromisoformat(each) for each in made["next"]]
    assert [time.strftime("%a %H:%M") for time in times] == ["Sun 06:00"] * 5
    assert times[0] > datetime.now(UTC)
    assert all(
        datetime.fromisoformat(each).utcoffset() in {timedelta(hours=1), timedelta(hours=2)}
        for each in made["next"]
    )
    assert (made["state"], made["keywords"], made["keyword_list"]) == ("active", 3, WEEKLY["keywords"])
    assert await get(api, PATH) == made


async def test_making_it_twice_changes_nothing_and_another_plan_holds_from_now_on(
    acme: Database, api: httpx.AsyncClient
) -> None:
    first = await api.put(PATH, json=WEEKLY)
    second = await api.put(PATH, json=WEEKLY)
    third = await api.put(PATH, json=WEEKLY | {"cron": "30 7 * * MON"})

    assert (first.status_code, second.status_code, third.status_code) == (201, 200, 200)
    assert first.headers["Location"] == PATH
    assert first.json() == second.json()
    assert datetime.fromisoformat(third.json()["next"][0]).strftime("%a %H:%M") == "Mon 07:30"
    assert third.json()["created_at"] == first.json()["created_at"]


async def test_what_is_due_begins_one_cycle_and_is_due_again_later(
    acme: Database, api: httpx.AsyncClient
) -> None:
    made = await put(api, WEEKLY | {"time_zone": "UTC"})
    async with acme.connection() as connection:
        await connection.execute(
            "update schedules set due_at = due_at - interval '28 days', try_at = try_at - interval '28 days'"
        )

    await Scheduler(acme, keep_firings=KEEP).tick()
    await Scheduler(acme, keep_firings=KEEP).tick()

    assert await cycles(acme) == [tuple(WEEKLY["keywords"])]
    assert (await get(api, PATH))["next"] == made["next"]
    (firing,) = (await get(api, f"{PATH}/firings"))["items"]
    assert (firing["keywords"], firing["missed"], firing["failure"]) == (3, 3, None)
    progress = await get(api, f"/v1/cycles/{firing['cycle_id']}")
    assert (progress["total"], progress["state"]) == (3, "running")


@pytest.mark.parametrize("refresh", [False, True])
async def test_a_schedule_says_whether_articles_that_stand_are_written_anew(
    acme: Database, api: httpx.AsyncClient, *, refresh: bool
) -> None:
    assert (await put(api, WEEKLY))["refresh"] is False
    assert (await put(api, WEEKLY | {"refresh": refresh}))["refresh"] is refresh
    await make_due(acme)

    await Scheduler(acme, keep_firings=KEEP).tick()

    async with acme.connection() as connection:
        assert await connection.fetch("select distinct refresh from keywords") == [(refresh,)]


async def test_keywords_of_a_schedule_may_have_priorities_of_their_own(
    acme: Database, api: httpx.AsyncClient
) -> None:
    keywords = ["cold brew", "moka pot", "Cold  Brew", "grind size"]
    wanted = WEEKLY | {"keywords": keywords, "priorities": ["high", None, "low", "normal"], "take": 2}
    made = await put(api, wanted)
    assert (made["keyword_list"], made["priorities"]) == (WEEKLY["keywords"], {"cold brew": "high"})
    assert await put(api, wanted) == made
    assert (await put(api, wanted | {"priority": "low"}))["priorities"] == {
        "cold brew": "high",
        "grind size": "normal",
    }
    for _ in range(2):
        await make_due(acme)
        await Scheduler(acme, keep_firings=KEEP).tick()

    async with acme.connection() as connection:
        rows = await connection.fetch("select keyword, rank from keywords")
    assert dict(map(tuple, rows)) == {"cold brew": 0, "moka pot": 2, "grind size": 1}

    refused = await api.put(PATH, json=wanted | {"priorities": ["high"]})
    assert refused.status_code == 422
    assert "there are 1 priorities for 4 keywords" in refused.text


async def test_keywords_of_a_schedule_may_be_subjects_of_their_own(
    acme: Database, api: httpx.AsyncClient
) -> None:
    keywords = ["cold brew", "cold brews", "Cold  Brews", "moka pots"]
    wanted = WEEKLY | {"keywords": keywords, "each_distinct": [None, True, False, True], "take": 2}
    made = await put(api, wanted)
    assert made["distinct_keywords"] == ["cold brews", "moka pots"]
    assert await put(api, wanted) == made
    assert (await put(api, wanted | {"distinct": True}))["distinct_keywords"] == made["keyword_list"]
    assert await put(api, wanted) == made | {"updated_at": (await get(api, PATH))["updated_at"]}
    for _ in range(2):
        await make_due(acme)
        await Scheduler(acme, keep_firings=KEEP).tick()

    async with acme.connection() as connection:
        rows = await connection.fetch("select keyword, is_distinct, follows from keywords")
    assert {tuple(row) for row in rows} == {
        ("cold brew", False, False),
        ("cold brews", True, False),
        ("moka pots", True, False),
    }
    refused = await api.put(PATH, json=wanted | {"each_distinct": [True]})
    assert refused.status_code == 422
    assert "there are 1 values in each_distinct for 4 keywords" in refused.text


async def test_a_list_is_handed_in_a_few_at_a_time(acme: Database, api: httpx.AsyncClient) -> None:
    await put(api, WEEKLY | {"take": 2})

    for _ in range(3):
        await make_due(acme)
        await Scheduler(acme, keep_firings=KEEP).tick()

    shown = await get(api, PATH)
    assert await cycles(acme) == [("cold brew", "moka pot"), ("grind size",)]
    assert (shown["state"], shown["handed_in"], shown["next"]) == ("ended", 3, [])

    longer = await put(api, WEEKLY | {"take": 2, "keywords": [*WEEKLY["keywords"], "latte art"]})
    assert (longer["state"], longer["handed_in"]) == ("active", 3)


async def test_what_is_to_happen_once_happens_once(acme: Database, api: httpx.AsyncClient) -> None:
    once = {"keywords": ["cold brew"], "at": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    made = await put(api, once)
    assert len(made["next"]) == 1

    await make_due(acme)
    for _ in range(2):
        await Scheduler(acme, keep_firings=KEEP).tick()

    assert await cycles(acme) == [("cold brew",)]
    assert (await get(api, PATH))["state"] == "ended"
    assert {state: count for state, count in (await count_states_of(acme)).items() if count} == {"ended": 1}


async def count_states_of(database: Database) -> dict[str, float]:
    async with database.connection() as connection:
        return await count_states(connection)


@pytest.mark.extended
async def test_replicas_share_out_what_is_due_and_no_due_time_fires_twice(
    acme: Database,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
) -> None:
    count = AT_ONCE + 60
    async with acme.connection() as connection:
        await connection.execute(
            """
            insert into schedules (schedule_id, brand_slug, name, keywords, priority, cron, time_zone, state, due_at, try_at)
            select gen_random_uuid(), 'acme', 'daily-' || n, array['subject ' || n], 'normal', '0 6 * * *', 'UTC',
                   'active', now() - interval '3 days', now() - interval '3 days' + n * interval '1 second'
            from generate_series(1, $1) as n
            """,
            count,
        )

    async with orchestrator_database_at(orchestrator_url) as other:
        schedulers = [Scheduler(database, keep_firings=KEEP) for database in (acme, other, acme)]
        first = await asyncio.gather(*(each.tick() for each in schedulers))
        second = await asyncio.gather(*(each.tick() for each in schedulers))

    assert max(first) <= AT_ONCE
    assert sum(first) + sum(second) == count
    begun = Counter(await cycles(acme))
    assert len(begun) == count
    assert set(begun.values()) == {1}
    async with acme.connection() as connection:
        sent = await connection.fetchval("select count(*) from outbox where type = 'research.requested'")
    assert sent == min(count, DEFAULT_LIMITS.research)


REFUSE = """
    create function refuse() returns trigger language plpgsql as $$
        begin if new.keyword = 'moka pot' then raise exception 'no room'; end if; return new; end $$;
    create trigger refuse before insert on keywords for each row execute function refuse();
"""


@pytest.fixture
async def owner(orchestrator_url: str, database_roles: Roles) -> AsyncIterator[asyncpg.Connection]:
    """A connection that may change tables."""
    connection = await asyncpg.connect(database_roles.owner(orchestrator_url))
    yield connection
    await connection.close()


async def let_retry(database: Database) -> timedelta:
    """Makes the next try due now; returns how long it would have had to wait."""
    async with database.connection() as connection:
        pause: timedelta = await connection.fetchval("select max(try_at) - clock_timestamp() from schedules")
        await connection.execute("update schedules set try_at = now() where state = 'active'")
    return pause


@pytest.mark.extended
async def test_a_firing_that_fails_is_tried_again_and_then_parked_where_a_person_finds_it(
    acme: Database, api: httpx.AsyncClient, owner: asyncpg.Connection
) -> None:
    await put(api, {"keywords": ["moka pot"], "at": (datetime.now(UTC) + timedelta(hours=1)).isoformat()})
    await make_due(acme)
    await owner.execute(REFUSE)
    scheduler = Scheduler(acme, keep_firings=KEEP)

    pauses = []
    for _ in range(3):
        assert await scheduler.tick() == 1
        pauses.append(await let_retry(acme))
    await scheduler.tick()

    assert [round(pause / timedelta(minutes=1)) for pause in pauses] == [1, 5, 30]
    parked = await get(api, PATH)
    assert parked["state"] == "parked"
    assert "no room" in parked["reason"]
    (firing,) = (await get(api, f"{PATH}/firings"))["items"]
    assert (firing["cycle_id"], "no room" in firing["failure"]) == (None, True)

    await owner.execute("drop trigger refuse on keywords")
    resumed = await api.post(f"{PATH}/resume")
    assert (resumed.status_code, resumed.json()["state"]) == (200, "active")
    await scheduler.tick()
    assert await cycles(acme) == [("moka pot",)]
    assert (await get(api, PATH))["state"] == "ended"
    (fired,) = (await get(api, f"{PATH}/firings"))["items"]
    assert fired["failure"] is None


@pytest.mark.extended
async def test_one_that_fails_does_not_keep_the_others_from_firing(
    acme: Database, api: httpx.AsyncClient, owner: asyncpg.Connection
) -> None:
    await put(api, WEEKLY, "/v1/brands/acme/schedules/first")
    await put(api, WEEKLY | {"keywords": ["latte art"]}, "/v1/brands/acme/schedules/second")
    await make_due(acme)
    await owner.execute(REFUSE)

    assert await Scheduler(acme, keep_firings=KEEP).tick() == 2

    assert await cycles(acme) == [("latte art",)]


async def test_a_paused_schedule_does_not_fire(acme: Database, api: httpx.AsyncClient) -> None:
    made = await put(api, WEEKLY)
    paused = await api.post(f"{PATH}/pause")
    await make_due(acme, timedelta(days=10))

    assert await Scheduler(acme, keep_firings=KEEP).tick() == 0
    assert (paused.json()["state"], paused.json()["next"]) == ("paused", [])
    assert (await put(api, WEEKLY | {"priority": "high"}))["state"] == "paused"

    resumed = await api.post(f"{PATH}/resume")
    assert resumed.json()["next"] == made["next"]


async def test_a_person_has_it_fire_now_and_its_next_time_stays(
    acme: Database, api: httpx.AsyncClient
) -> None:
    made = await put(api, WEEKLY)
    await put(api, WEEKLY | {"keywords": ["spring"], "cron": None, "at": "2090-01-01T00:00:00Z"}, ONCE)
    for path in (PATH, ONCE):
        assert (await api.post(f"{path}/run")).status_code == 200

    assert await Scheduler(acme, keep_firings=KEEP).tick() == 2
    assert await Scheduler(acme, keep_firings=KEEP).tick() == 0

    assert sorted(await cycles(acme)) == [tuple(WEEKLY["keywords"]), ("spring",)]
    assert (await get(api, PATH))["next"] == made["next"]
    (firing,) = (await get(api, f"{PATH}/firings"))["items"]
    assert (firing["missed"], firing["failure"]) == (0, None)
    ended = await api.post(f"{ONCE}/run")
    assert (ended.status_code, "has fired for the last time" in ended.json()["detail"]) == (409, True)
    await api.post(f"{PATH}/pause")
    paused = await api.post(f"{PATH}/run")
    assert (paused.status_code, "resume it first" in paused.json()["detail"]) == (409, True)
    assert (await api.post("/v1/brands/acme/schedules/none/run")).status_code == 404


async def test_what_falls_due_while_its_brand_is_paused_is_caught_up_once(
    acme: Database, api: httpx.AsyncClient
) -> None:
    await put(api, WEEKLY)
    (await api.post("/v1/brands/acme/pause")).raise_for_status()
    await make_due(acme, timedelta(days=30))
    scheduler = Scheduler(acme, keep_firings=KEEP)

    assert await scheduler.tick() == 0
    assert (await count_states_of(acme))["overdue"] == 0
    (await api.post("/v1/brands/acme/resume")).raise_for_status()
    assert [await scheduler.tick(), await scheduler.tick()] == [1, 0]

    assert await cycles(acme) == [tuple(WEEKLY["keywords"])]
    (firing,) = (await get(api, f"{PATH}/firings"))["items"]
    assert firing["missed"] >= 3


async def test_schedules_are_listed_in_pages_and_removed(acme: Database, api: httpx.AsyncClient) -> None:
    for name in ("c", "a", "b"):
        await put(api, WEEKLY, f"/v1/brands/acme/schedules/{name}")

    first = await get(api, "/v1/brands/acme/schedules?limit=2")
    rest = await get(api, f"/v1/brands/acme/schedules?limit=2&after={first['next']}")
    assert [each["name"] for each in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["next"] is None
    assert "keyword_list" not in first["items"][0]

    assert [(await api.delete("/v1/brands/acme/schedules/a")).status_code for _ in range(2)] == [204, 204]
    assert (await api.get("/v1/brands/acme/schedules/a")).status_code == 404


@pytest.mark.extended
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"cron": None}, "give either cron"),
        ({"at": "2099-01-01T00:00:00Z"}, "give either cron"),
        ({"cron": None, "at": "2020-01-01T00:00:00Z"}, "has passed"),
        ({"cron": None, "at": "2099-01-01T00:00:00Z", "take": 1}, "take is for what recurs"),
        ({"cron": "every sunday"}, "5 fields"),
        ({"time_zone": "Europe/Atlantis"}, "no time zone"),
        ({"keywords": []}, "keywords"),
        ({"keywords": ["???"]}, "no letter or digit"),
        ({"keywords": [f"subject {n}" for n in range(1001)]}, "the limit is 1,000"),
    ],
)
async def test_what_cannot_be_planned_is_refused_with_a_reason(
    acme: Database, api: httpx.AsyncClient, change: dict[str, Any], complaint: str
) -> None:
    answer = await api.put(
        PATH, json={name: value for name, value in (WEEKLY | change).items() if value is not None}
    )

    assert answer.status_code == 422
    assert complaint in answer.json()["detail"]


async def test_a_schedule_belongs_to_a_brand_that_exists(acme: Database, api: httpx.AsyncClient) -> None:
    assert (await api.put("/v1/brands/nobody/schedules/basics", json=WEEKLY)).status_code == 404
    assert (await api.get("/v1/brands/nobody/schedules")).status_code == 404
    assert (await api.post(f"{PATH}/resume")).status_code == 404


async def test_what_became_of_old_due_times_is_forgotten(acme: Database, api: httpx.AsyncClient) -> None:
    await put(api, WEEKLY)
    await make_due(acme)
    scheduler = Scheduler(acme, keep_firings=KEEP)
    await scheduler.tick()
    async with acme.connection() as connection:
        await connection.execute("update firings set at = now() - interval '91 days'")
    await scheduler.fire_due()
    assert not (await get(api, f"{PATH}/firings"))["items"]


async def test_each_submission_gets_the_limits_of_its_schedule_or_those_of_its_brand(
    acme: Database, api: httpx.AsyncClient
) -> None:
    scheduler = Scheduler(acme, keep_firings=KEEP)
    of_brand = {"name": "Acme", "deadline_hours": 5, "max_cost": 3}
    assert (await api.put("/v1/brands/acme", json=of_brand)).status_code == 200
    plain = await put(api, WEEKLY)
    assert (plain["deadline_hours"], plain["max_cost"]) == (None, None)
    limited = await put(api, WEEKLY | {"deadline_hours": 48, "max_cost": 2.5}, ONCE)
    assert (limited["deadline_hours"], limited["max_cost"]) == (48, 2.5)
    assert await put(api, WEEKLY | {"deadline_hours": 48, "max_cost": 2.5}, ONCE) == limited
    # Two times: the limits of each count from its own submission on.
    for _ in range(2):
        await make_due(acme)
        await scheduler.tick()
    async with acme.connection() as connection:
        rows = await connection.fetch(
            "select submitted_by, max_cost, round(extract(epoch from deadline - created_at) / 3600) as hours from cycles order by 1"
        )
    assert [tuple(row) for row in rows] == [
        ("schedule basics", 3_000_000, 5),
        ("schedule basics", 3_000_000, 5),
        ("schedule launch", 2_500_000, 48),
        ("schedule launch", 2_500_000, 48),
    ]
    changed = await put(api, WEEKLY | {"max_cost": 1}, ONCE)
    assert (changed["deadline_hours"], changed["max_cost"]) == (None, 1)
    for wrong in ({"deadline_hours": 0}, {"max_cost": 0}, {"deadline_hours": 10_000}, {"max_cost": "much"}):
        assert (await api.put(ONCE, json=WEEKLY | wrong)).status_code == 422, wrong
    audit = {"cron": "0 6 * * SUN", "max_cost": 1}
    assert (await api.put("/v1/brands/acme/schedules/weekly-audit", json=audit)).status_code == 422
