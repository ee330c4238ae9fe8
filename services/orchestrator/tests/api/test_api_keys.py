"""API keys over HTTP and in the database: what each opens, and since and until when."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.api_keys import ApiKey
from chassis.testing import serving
from messaging import Database
from orchestrator.api import RequestAuthenticator, http_api

SERVICE = {"X-Service-Key": "test-service-key-0123456789"}
BRAND = {"name": "The Daily Grind"}


@asynccontextmanager
async def replica(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client of one more process of the service."""
    callers = RequestAuthenticator(database, ServiceKey(SecretStr(SERVICE["X-Service-Key"])))
    async with (
        serving(http_api(database, callers)) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False, timeout=60) as client,
    ):
        yield client


@pytest.fixture
async def http(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with replica(orchestrator_database) as client:
        yield client


Make: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def make(http: httpx.AsyncClient) -> Make:
    async def make(name: str = "newsroom", **asked: Any) -> dict[str, Any]:
        asked = {"scopes": ["read"]} | asked
        answer = await http.post("/v1/keys", json={"name": name, **asked}, headers=SERVICE)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        assert answer.headers["location"] == f"/v1/keys/{made['about']['key_id']}"
        return made

    return make


def sent(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def refused(answer: httpx.Response) -> str:
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    return str(answer.json()["detail"])


async def test_a_key_opens_what_its_scopes_say(http: httpx.AsyncClient, make: Make) -> None:
    made = await make(scopes=["submit", "read"])
    assert made["about"]["scopes"] == ["read", "submit"]
    assert made["about"]["created_by"] == "service"
    key = sent(made["key"])
    assert (await http.get("/v1/brands/daily-grind", headers=key)).status_code == 404
    for answer in (
        await http.put("/v1/brands/daily-grind", json=BRAND, headers=key),
        await http.get("/v1/keys", headers=key),
    ):
        assert answer.status_code == 403
    assert (await http.put("/v1/brands/daily-grind", json=BRAND, headers=SERVICE)).status_code == 201
    answer = await http.post("/v1/brands/daily-grind/research", json={"keywords": ["tea"]}, headers=key)
    assert answer.status_code == 202


async def test_a_key_is_shown_once_and_its_secret_kept_nowhere(
    http: httpx.AsyncClient, make: Make, orchestrator_database: Database
) -> None:
    made = await make()
    key = ApiKey.read(made["key"])
    assert key is not None
    about = made["about"]
    assert about["key_id"] == key.id
    listed = await http.get("/v1/keys", headers=SERVICE)
    assert listed.json() == {"items": [about], "next": None}
    assert (await http.get(f"/v1/keys/{key.id}", headers=SERVICE)).json() == about
    async with orchestrator_database.connection() as connection:
        row = dict(await connection.fetchrow("select * from api_keys") or {})
    assert row["secret_hash"] == key.hashed()
    for written in (listed.text, repr(row)):
        assert key.secret not in written
        assert key.hashed().hex() not in written


async def test_lists_come_in_pages(http: httpx.AsyncClient, make: Make) -> None:
    ids = sorted([(await make(f"key-{number}"))["about"]["key_id"] for number in range(5)])
    found, after = [], ""
    for _ in range(3):
        page = await http.get("/v1/keys", params={"limit": 2, "after": after}, headers=SERVICE)
        found += [each["key_id"] for each in page.json()["items"]]
        after = page.json()["next"]
    assert (found, after) == (ids, None)


async def test_what_opens_nothing_says_why(
    http: httpx.AsyncClient, make: Make, orchestrator_database: Database
) -> None:
    made = await make()
    key = ApiKey.read(made["key"])
    assert key is not None
    url = "/v1/brands/daily-grind"
    assert "send an API key" in await refused(await http.get(url))
    assert "send an API key" in await refused(await http.get(url, headers={"Authorization": "Basic eA=="}))
    assert "the checksum" in await refused(await http.get(url, headers=sent(made["key"][:-1])))
    for other in (ApiKey.make(key.id), ApiKey.make()):
        assert "is not known" in await refused(await http.get(url, headers=sent(other.written())))
    # Whoever sends the service key is held to it, whatever else is sent.
    wrong = await http.get(url, headers=sent(made["key"]) | {"X-Service-Key": "wrong"})
    assert wrong.status_code == 401
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute("update api_keys set expires_at = now()")
    assert "this API key expired on 20" in await refused(await http.get(url, headers=sent(made["key"])))
    assert (await http.get("/v1/keys", headers=SERVICE)).json()["items"][0]["is_expired"]
    # Not even that is told to whoever has another secret.
    assert "is not known" in await refused(await http.get(url, headers=sent(ApiKey.make(key.id).written())))


async def test_a_mistyped_key_asks_no_database_and_one_that_is_away_is_said_to_be(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    await orchestrator_database._connections.close()
    key = ApiKey.make().written()
    mistyped = key[:-1] + ("a" if key[-1] != "a" else "b")
    assert "the checksum" in await refused(await http.get("/v1/keys", headers=sent(mistyped)))
    away = await http.get("/v1/keys", headers=sent(key))
    assert (away.status_code, away.headers["retry-after"]) == (503, "5")
    assert away.json()["detail"] == "the database is away; try again in a few seconds"


async def test_two_secrets_open_while_a_key_is_rotated(
    http: httpx.AsyncClient, make: Make, orchestrator_database: Database
) -> None:
    first = await make(scopes=["admin"])
    url = f"/v1/keys/{first['about']['key_id']}"
    second = (await http.post(f"{url}/rotate", json={"grace_seconds": 3600}, headers=SERVICE)).json()
    assert second["about"]["key_id"] == first["about"]["key_id"]
    until = datetime.fromisoformat(second["about"]["former_until"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < until < timedelta(minutes=61)

    async def opened() -> list[bool]:
        return [(await http.get(url, headers=sent(each["key"]))).is_success for each in (first, second)]

    assert await opened() == [True, True]
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute("update api_keys set former_until = now()")
    assert await opened() == [False, True]
    # The one that rotates may be the one that is rotated; without a grace the former ends at once.
    third = (await http.post(f"{url}/rotate", json={"grace_seconds": 0}, headers=sent(second["key"]))).json()
    assert third["about"]["former_until"] is None
    assert await opened() == [False, False]
    fourth = (await http.post(f"{url}/rotate", headers=sent(third["key"]))).json()
    await http.post(f"{url}/rotate", headers=sent(fourth["key"]))
    assert not (await http.get(url, headers=sent(third["key"]))).is_success


async def test_a_key_that_is_revoked_opens_nothing_from_the_next_request_on_any_replica(
    http: httpx.AsyncClient,
    make: Make,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
) -> None:
    async with orchestrator_database_at(orchestrator_url) as other, replica(other) as second:
        made = await make(scopes=["admin"])
        url, key = f"/v1/keys/{made['about']['key_id']}", sent(made["key"])
        assert [(await each.get(url, headers=key)).status_code for each in (http, second)] == [200, 200]
        assert (await http.delete(url, headers=key)).status_code == 204
        for each in (http, second):
            assert "was revoked" in await refused(await each.get(url, headers=key))
        about = (await http.get(url, headers=SERVICE)).json()
        assert about["revoked_by"] == "newsroom"
        # Again changes nothing; it is not to be had back, and its name is free.
        assert (await second.delete(url, headers=SERVICE)).status_code == 204
        assert (await http.get(url, headers=SERVICE)).json() == about
        assert (await http.post(f"{url}/rotate", headers=SERVICE)).status_code == 409
        assert (await make())["about"]["key_id"] != about["key_id"]


@pytest.mark.extended
async def test_the_last_use_is_known_to_the_minute_and_written_once_a_minute(
    http: httpx.AsyncClient, make: Make, orchestrator_database: Database
) -> None:
    made = await make()

    async def state() -> Any:
        async with orchestrator_database.connection() as connection:
            return await connection.fetchrow(
                "select last_used_at, ctid, date_trunc('minute', now()) from api_keys"
            )

    assert (await state())["last_used_at"] is None
    before = datetime.now(UTC).replace(second=0, microsecond=0)
    async with replica(orchestrator_database) as other:
        answers = await asyncio.gather(
            *(each.get("/v1/brands/x", headers=sent(made["key"])) for each in [http, other] * 10)
        )
    assert {answer.status_code for answer in answers} == {404}
    used = await state()
    assert before <= used["last_used_at"] <= used["date_trunc"]
    await http.get("/v1/brands/x", headers=sent(made["key"]))
    again = await state()
    assert again["ctid"] == used["ctid"] or again["last_used_at"] > used["last_used_at"]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"name": "service"}, 422, "is that of the service key"),
        ({"name": "News Room"}, 422, "name: does not match"),
        ({"scopes": []}, 422, "scopes: "),
        ({"scopes": ["write"]}, 422, "must be 'read', 'submit'"),
        ({"brands": []}, 422, "brands: "),
        ({"brands": ["nobodys"]}, 422, "there is no brand 'nobodys'; create it first"),
        ({"scopes": ["admin"], "brands": ["acme"]}, 422, "cannot be bound to brands"),
        ({"expires_at": "2030-01-01T00:00:00"}, 422, "expires_at: "),
        ({"name": "taken"}, 409, "there is a key named 'taken' already; rotate it"),
    ],
)
async def test_what_cannot_be_made_is_refused(
    http: httpx.AsyncClient, make: Make, asked: dict[str, Any], status: int, said: str
) -> None:
    await make("taken")
    answer = await http.post("/v1/keys", json={"name": "new", "scopes": ["read"]} | asked, headers=SERVICE)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text
    assert len((await http.get("/v1/keys", headers=SERVICE)).json()["items"]) == 1


@pytest.mark.extended
async def test_the_document_tells_of_both_ways_in(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    assert document["components"]["securitySchemes"]["ApiKey"] == {"type": "http", "scheme": "bearer"}
    assert document["paths"]["/v1/keys"]["post"]["security"] == [
        {"ServiceKey": ["admin"]},
        {"ApiKey": ["admin"]},
    ]


async def test_a_key_learns_what_it_may_do(http: httpx.AsyncClient, make: Make) -> None:
    await http.put("/v1/brands/acme", json=BRAND, headers=SERVICE)
    made = await make("assistant", scopes=["submit", "read"], brands=["acme"], per_minute=30)
    own = (await http.get("/v1/keys/own", headers=sent(made["key"]))).json()
    assert own == {"name": "assistant", "scopes": ["read", "submit"], "brands": ["acme"], "per_minute": 30}
    assert (await http.get("/v1/keys/own", headers=SERVICE)).json()["brands"] is None
    assert (await http.get("/v1/keys/own")).status_code == httpx.codes.UNAUTHORIZED
    blind = await make("blind", scopes=["submit"])
    assert (await http.get("/v1/keys/own", headers=sent(blind["key"]))).status_code == httpx.codes.FORBIDDEN
