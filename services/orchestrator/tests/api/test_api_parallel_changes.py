"""Many changes of one thing at once, and many keys: the connections to the database stay free for all."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import httpx
import pytest
from pydantic import SecretStr

from chassis import Connection, ServiceKey
from chassis.api_keys import ApiKey
from chassis.http.audit import change_queues
from chassis.http.audit.recording import lock_of
from chassis.testing import eventually, serving
from messaging import Database
from orchestrator.api import RequestAuthenticator, http_api
from orchestrator.api.keys import store
from orchestrator.api.keys.store import KeyCredentials

SERVICE = {"X-Service-Key": "test-service-key-0123456789"}
BRAND = {"name": "The Daily Grind"}
ADDRESS = "/v1/brands/daily-grind"


@pytest.fixture
async def http(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    callers = RequestAuthenticator(orchestrator_database, ServiceKey(SecretStr(SERVICE["X-Service-Key"])))
    limits = httpx.Limits(max_connections=None)
    async with (
        serving(http_api(orchestrator_database, callers)) as origin,
        httpx.AsyncClient(
            base_url=origin, trust_env=False, timeout=60, limits=limits, headers=SERVICE
        ) as client,
    ):
        assert (await client.put(ADDRESS, json=BRAND)).status_code == 201
        yield client


@asynccontextmanager
async def locked(database: Database) -> AsyncIterator[None]:
    """While another replica changes the brand."""
    async with database.connection() as connection, connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", lock_of(ADDRESS))
        yield


async def waiting_for_locks(database: Database) -> int:
    async with database.connection() as connection:
        found: int = await connection.fetchval(
            "select count(*) from pg_locks where not granted and locktype = 'advisory'"
            " and database = (select oid from pg_database where datname = current_database())"
        )
    return found


@pytest.mark.extended
@pytest.mark.parametrize("key", [None, "with-a-name"])
async def test_changes_of_one_thing_do_not_take_the_connections_of_others(
    http: httpx.AsyncClient, orchestrator_database: Database, key: str | None
) -> None:
    async with locked(orchestrator_database):
        changes = [
            asyncio.create_task(
                http.post(f"{ADDRESS}/pause", headers={"Idempotency-Key": f"{key}-{number}"} if key else {})
            )
            for number in range(40)
        ]

        async def one_waits() -> bool:
            return await waiting_for_locks(orchestrator_database) == 1

        await eventually(one_waits)
        for _ in range(20):
            assert (await http.get("/v1/brands/of-somebody-else")).status_code == 404
            assert (await http.put("/v1/brands/another", json=BRAND)).status_code in {200, 201}
        assert await orchestrator_database.answers()
        assert await waiting_for_locks(orchestrator_database) == 1
        assert not any(each.done() for each in changes)
    assert {(await each).status_code for each in changes} == {200}


async def test_so_many_may_wait_and_the_others_are_asked_to_come_again(
    http: httpx.AsyncClient, orchestrator_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_queues, "MOST_WAITING", 3)
    async with locked(orchestrator_database):
        changes = [asyncio.create_task(http.post(f"{ADDRESS}/pause")) for _ in range(10)]
        await eventually(lambda: sum(each.done() for each in changes) == 6)
        for each in changes:
            if each.done():
                assert each.result().status_code == 503
                assert each.result().headers["retry-after"] == "5"
                assert "too many changes of the same thing" in each.result().json()["detail"]
    assert sorted([(await each).status_code for each in changes]) == [200] * 4 + [503] * 6


@pytest.mark.extended
async def test_whoever_may_not_change_a_thing_does_not_wait_for_it(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    made = await http.post("/v1/keys", json={"name": "reader", "scopes": ["read"]})
    reader = {"Authorization": f"Bearer {made.json()['key']}"}
    async with locked(orchestrator_database), httpx.AsyncClient(base_url=http.base_url) as stranger:
        answers = [await stranger.post(f"{ADDRESS}/pause", headers=reader) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [403] * 3


async def test_keys_that_somebody_made_to_look_right_are_looked_up_together(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement at a time under any load; a right key among them opens all the while."""
    made = (await http.post("/v1/keys", json={"name": "newsroom", "scopes": ["read"]})).json()["key"]
    under_way, batches = 0, []
    find_locks = store.find_locks
    goes_on = asyncio.Event()

    async def counted(connection: Connection, key_ids: Collection[str]) -> dict[str, KeyCredentials]:
        nonlocal under_way
        under_way += 1
        batches.append(len(key_ids))
        assert under_way == 1
        await goes_on.wait()
        found = await find_locks(connection, key_ids)
        under_way -= 1
        return found

    monkeypatch.setattr(store, "find_locks", counted)
    keys = [ApiKey.make().written() for _ in range(60)] + [made]
    async with httpx.AsyncClient(
        base_url=http.base_url, trust_env=False, timeout=60, limits=httpx.Limits(max_connections=None)
    ) as client:

        async def ask(key: str) -> int:
            return (await client.get("/v1/cycles", headers={"Authorization": f"Bearer {key}"})).status_code

        asking = [asyncio.create_task(ask(key)) for key in keys]
        await eventually(lambda: bool(batches))
        goes_on.set()
        assert [await each for each in asking] == [401] * 60 + [200]
    assert sum(batches) == 61
