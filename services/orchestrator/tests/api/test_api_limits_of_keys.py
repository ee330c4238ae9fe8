"""How often a key may ask: told with every answer, and counted by all replicas together."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.http.callers import SERVICE as SERVICE_CALLER
from chassis.http.callers import Caller, Scope
from chassis.testing import serving
from messaging import Database
from orchestrator.api import RequestAuthenticator, http_api
from orchestrator.api.keys import KeyQuotas

SERVICE_KEY = "test-service-key-0123456789"
SERVICE = {"X-Service-Key": SERVICE_KEY}
_Seen = TypeVar("_Seen")


@pytest.fixture
async def replicas(orchestrator_database: Database) -> AsyncIterator[list[httpx.AsyncClient]]:
    def replica() -> Any:
        callers = RequestAuthenticator(orchestrator_database, ServiceKey(SecretStr(SERVICE_KEY)))
        return serving(http_api(orchestrator_database, callers))

    async with (
        replica() as one,
        replica() as other,
        httpx.AsyncClient(base_url=one, trust_env=False, timeout=60) as http,
        httpx.AsyncClient(base_url=other, trust_env=False, timeout=60) as second,
    ):
        yield [http, second]


async def key(http: httpx.AsyncClient, name: str, **wanted: Any) -> tuple[str, dict[str, str]]:
    made = await http.post("/v1/keys", json={"name": name, "scopes": ["read"], **wanted}, headers=SERVICE)
    about = made.raise_for_status().json()
    return about["about"]["key_id"], {"Authorization": f"Bearer {about['key']}"}


async def in_one_minute(database: Database, seen: Callable[[int], Awaitable[_Seen]]) -> _Seen:
    """The result within a minute that does not end meanwhile; the function gets the number of its attempt."""

    async def now() -> Any:
        async with database.connection() as connection:
            return await connection.fetchval("select date_trunc('minute', clock_timestamp())")

    for attempt in range(3):
        began = await now()
        found = await seen(attempt)
        if await now() == began:
            return found
    raise AssertionError("this takes longer than a minute")


@pytest.mark.extended
async def test_every_answer_tells_what_is_left_and_the_one_too_many_is_refused(
    replicas: list[httpx.AsyncClient], orchestrator_database: Database
) -> None:
    http, _ = replicas

    async def seen(attempt: int) -> list[httpx.Response]:
        _, sent = await key(http, f"hasty-{attempt}", per_minute=5)
        return [await http.get("/v1/cycles", headers=sent) for _ in range(7)]

    answers = await in_one_minute(orchestrator_database, seen)
    assert [each.status_code for each in answers] == [200] * 5 + [429] * 2
    left = [each.headers["ratelimit"].partition(";t=")[0] for each in answers]
    assert left == [f'"requests";r={number}' for number in (4, 3, 2, 1, 0, 0, 0)]
    assert {each.headers["ratelimit-policy"] for each in answers} == {'"requests";q=5;w=60'}
    refused = answers[-1]
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    problem = refused.json()
    assert problem["type"] == "https://iana.org/assignments/http-problem-types#quota-exceeded"
    assert problem["violated-policies"] == ["requests"]
    assert "5 times a minute" in problem["detail"]


@pytest.mark.extended
async def test_replicas_count_together(
    replicas: list[httpx.AsyncClient], orchestrator_database: Database
) -> None:
    async def seen(attempt: int) -> int:
        _, sent = await key(replicas[0], f"busy-{attempt}", per_minute=40)
        asked = [http.get("/v1/cycles", headers=sent) for _ in range(30) for http in replicas]
        return sum(answer.status_code == 200 for answer in await asyncio.gather(*asked))

    # What one of them has taken and not spent is little.
    assert 36 <= await in_one_minute(orchestrator_database, seen) <= 40


async def test_the_database_is_asked_once_for_many_requests(orchestrator_database: Database) -> None:
    async def seen(attempt: int) -> list[int]:
        quotas = KeyQuotas(orchestrator_database)
        caller = Caller("busy", frozenset({Scope.READ}), key_id=f"busy-{attempt}", per_minute=2000)
        taken = []
        for count in (1, 99, 1):
            await asyncio.gather(*(quotas(caller) for _ in range(count)))
            async with orchestrator_database.connection() as connection:
                taken.append(
                    await connection.fetchval(
                        "select taken from api_key_minutes where key_id = $1", caller.key_id
                    )
                )
        return taken

    assert await in_one_minute(orchestrator_database, seen) == [100, 100, 200]


async def test_a_minute_later_all_of_it_is_there_again(orchestrator_database: Database) -> None:
    now = 0.0
    quotas = KeyQuotas(orchestrator_database, clock=lambda: now)
    caller = Caller("hasty", frozenset({Scope.READ}), key_id="hasty", per_minute=2)
    standings = [await quotas(caller) for _ in range(6)]
    assert any(each is not None and each.is_exceeded for each in standings)
    now += 61
    async with orchestrator_database.connection() as connection:
        await connection.execute("update api_key_minutes set minute = minute - interval '1 minute'")
    again = await quotas(caller)
    assert again is not None
    assert (again.is_exceeded, again.remaining) == (False, 1)


async def test_who_has_no_limit_is_told_of_none(
    replicas: list[httpx.AsyncClient], orchestrator_database: Database
) -> None:
    http, _ = replicas
    answer = await http.get("/v1/cycles", headers=SERVICE)
    assert not [name for name in answer.headers if name.startswith("ratelimit")]
    assert await KeyQuotas(orchestrator_database)(SERVICE_CALLER) is None


async def test_a_limit_is_that_of_the_scopes_unless_it_is_said_otherwise(
    replicas: list[httpx.AsyncClient],
) -> None:
    http, other = replicas
    limits = {}
    for scopes in (["read"], ["submit"], ["read", "submit"], ["operate"], ["admin"]):
        key_id, _ = await key(http, "-".join(scopes), scopes=scopes)
        limits["-".join(scopes)] = (await http.get(f"/v1/keys/{key_id}", headers=SERVICE)).json()[
            "per_minute"
        ]
    assert limits == {"read": 600, "submit": 120, "read-submit": 600, "operate": 300, "admin": 60}
    key_id, sent = await key(http, "newsroom", per_minute=7)
    for number in (9, None):
        changed = await http.patch(f"/v1/keys/{key_id}", json={"per_minute": number}, headers=SERVICE)
        told = await other.get("/v1/cycles", headers=sent)
        assert told.headers["ratelimit-policy"] == f'"requests";q={number or 600};w=60'
        assert changed.json()["per_minute"] == (number or 600)
    for wrong in ({"per_minute": 0}, {}, {"per_minute": 10**9}):
        assert (await http.patch(f"/v1/keys/{key_id}", json=wrong, headers=SERVICE)).status_code == 422
    assert (
        await http.patch("/v1/keys/000000000000", json={"per_minute": 5}, headers=SERVICE)
    ).status_code == 404
