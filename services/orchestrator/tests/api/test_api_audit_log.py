"""The audit log of changes over the API: each is a row in the transaction of the change, and stays as it is."""

import asyncio
import json
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import DatabaseUnavailableError
from chassis.http.audit import log
from chassis.http.audit.changes import difference
from chassis.testing import serving
from messaging import Database
from orchestrator.api import RequestAuthenticator, http_api
from tests.fixtures.databases import Roles

SERVICE_KEY = "test-service-key-0123456789"
SERVICE = {"X-Service-Key": SERVICE_KEY}
CLIENT = "203.0.113.9"


@pytest.fixture
async def http(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Behind a proxy that is trusted."""
    app = http_api(
        orchestrator_database, RequestAuthenticator(orchestrator_database, ServiceKey(SecretStr(SERVICE_KEY)))
    )
    async with (
        serving(app, proxies=["127.0.0.1"]) as origin,
        httpx.AsyncClient(
            base_url=origin, trust_env=False, timeout=60, headers={"X-Forwarded-For": CLIENT}
        ) as client,
    ):
        yield client


async def noted(
    http: httpx.AsyncClient, headers: dict[str, str] = SERVICE, **wanted: Any
) -> list[dict[str, Any]]:
    answer = await http.get("/v1/audit-log", params=wanted, headers=headers)
    items: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
    return items


async def key(http: httpx.AsyncClient, name: str, **wanted: Any) -> tuple[str, dict[str, str]]:
    """The id of a new API key, and what is sent with it."""
    asked = {"name": name, "scopes": ["read", "submit", "operate"], **wanted}
    made = (await http.post("/v1/keys", json=asked, headers=SERVICE)).raise_for_status().json()
    return made["about"]["key_id"], {"Authorization": f"Bearer {made['key']}"}


async def test_a_change_is_noted_with_who_what_when_from_where_before_and_after(
    http: httpx.AsyncClient,
) -> None:
    key_id, newsroom = await key(http, "newsroom")
    for tone in ("dry", "warm"):
        body = {"name": "Acme", "tone": tone}
        (await http.put("/v1/brands/acme", json=body, headers=newsroom)).raise_for_status()
    changed, made, *_ = await noted(http, brand="acme")
    assert changed.pop("at") > made["at"]
    assert changed.pop("id") > made["id"]
    assert changed["before"].pop("updated_at") < changed["after"].pop("updated_at")
    assert changed == {
        "caller": "newsroom",
        "key_id": key_id,
        "operation": "PUT /v1/brands/{slug}",
        "path": "/v1/brands/acme",
        "address": CLIENT,
        "brand": "acme",
        "correlation_id": None,
        "before": {"tone": "dry", "policy": {"tone": "dry"}},
        "after": {"tone": "warm", "policy": {"tone": "warm"}},
    }
    assert made["before"] is None
    assert made["after"]["name"] == "Acme"


async def test_actions_are_noted_with_what_they_belong_to(http: httpx.AsyncClient) -> None:
    (await http.put("/v1/brands/acme", json={"name": "Acme"}, headers=SERVICE)).raise_for_status()
    accepted = await http.post("/v1/brands/acme/research", json={"keywords": ["tea"]}, headers=SERVICE)
    cycle = accepted.raise_for_status().json()
    path = f"/v1/cycles/{cycle['cycle_id']}"
    (await http.post(f"{path}/pause", headers=SERVICE)).raise_for_status()
    paused, handed_in, _ = await noted(http, brand="acme")
    assert paused["operation"] == "POST /v1/cycles/{cycle_id}/pause"
    assert paused["path"] == f"{path}/pause"
    assert (paused["before"]["state"], paused["after"]["state"]) == ("running", "paused")
    assert handed_in["operation"] == "POST /v1/brands/{slug}/research"
    assert (handed_in["before"], handed_in["after"]) == (None, cycle)
    assert handed_in["correlation_id"] == cycle["correlation_id"]
    weekly = {"keywords": ["tea"], "cron": "0 6 * * SUN"}
    schedule = "/v1/brands/acme/schedules/weekly"
    (await http.put(schedule, json=weekly, headers=SERVICE)).raise_for_status()
    (await http.delete(schedule, headers=SERVICE)).raise_for_status()
    removed, made, *_ = await noted(http, brand="acme")
    assert (removed["before"], removed["after"]) == (made["after"], None)


def test_only_what_differs_is_kept_and_what_is_long_by_its_hash() -> None:
    before = {"name": "Acme", "text": "a" * 2000, "list": [1]}
    after = {"name": "Acme", "text": "b", "list": [1], "new": None}
    was, now = difference(before, after)
    assert was == {"text": {"sha256": sha256(json.dumps("a" * 2000).encode()).hexdigest(), "bytes": 2002}}
    assert now == {"text": "b", "new": None}
    assert difference(before, before) == ({}, {})
    many, _ = difference({f"field {number}": "x" * 500 for number in range(100)}, None)
    assert many is not None
    assert set(many) == {"sha256", "bytes"}
    assert difference(None, {"url": "https://user:pass-word-1@x.example/"}) == (
        None,
        {"url": "https://user:***@x.example/"},
    )


async def test_no_secret_is_noted(http: httpx.AsyncClient, orchestrator_database: Database) -> None:
    key_id, sent = await key(http, "newsroom")
    rotated = await http.post(f"/v1/keys/{key_id}/rotate", json={}, headers=SERVICE)
    (await http.delete(f"/v1/keys/{key_id}", headers=SERVICE)).raise_for_status()
    revoked, turned, made = await noted(http)
    assert made["after"]["name"] == "newsroom"
    assert turned["before"]["rotated_at"] is None
    assert revoked["after"] is None
    async with orchestrator_database.connection() as connection:
        kept = await connection.fetchval("select string_agg(audit_log::text, '') from audit_log")
    for secret in (sent["Authorization"].removeprefix("Bearer "), rotated.json()["key"]):
        assert secret not in kept
        assert secret.split("_")[2][:40] not in kept


async def test_what_is_refused_or_repeated_is_not_noted(http: httpx.AsyncClient) -> None:
    assert (await http.put("/v1/brands/acme", json={}, headers=SERVICE)).status_code == 422
    assert (await http.post("/v1/brands/acme/pause", headers=SERVICE)).status_code == 404
    (await http.put("/v1/brands/acme", json={"name": "Acme"}, headers=SERVICE)).raise_for_status()
    named = SERVICE | {"Idempotency-Key": "campaign"}
    for _ in range(3):
        again = await http.post("/v1/brands/acme/research", json={"keywords": ["tea"]}, headers=named)
        assert again.status_code == 202
    assert [each["operation"] for each in await noted(http)] == [
        "POST /v1/brands/{slug}/research",
        "PUT /v1/brands/{slug}",
    ]


async def test_the_row_and_the_change_are_one_transaction(
    http: httpx.AsyncClient, orchestrator_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise DatabaseUnavailableError("on purpose")

    monkeypatch.setattr(log, "write", away)
    lost = await http.put("/v1/brands/acme", json={"name": "Acme"}, headers=SERVICE)
    assert (lost.status_code, lost.headers["retry-after"]) == (503, "5")
    async with orchestrator_database.connection() as connection:
        assert await connection.fetchval("select count(*) from brands") == 0


async def test_changes_at_the_same_time_have_each_before_them_what_the_other_left(
    http: httpx.AsyncClient,
) -> None:
    tones = [f"tone {number}" for number in range(8)]
    await asyncio.gather(
        *(http.put("/v1/brands/acme", json={"name": "Acme", "tone": tone}, headers=SERVICE) for tone in tones)
    )
    entries = await noted(http, brand="acme")
    assert len(entries) == len(tones)
    latest, *_ = entries
    for earlier in entries[1:]:
        assert latest["before"]["tone"] == earlier["after"]["tone"]
        latest = earlier


async def test_a_bound_key_sees_its_brands_alone(http: httpx.AsyncClient) -> None:
    for brand in ("acme", "rival"):
        (await http.put(f"/v1/brands/{brand}", json={"name": brand}, headers=SERVICE)).raise_for_status()
    _, bound = await key(http, "acmes", brands=["acme"])
    assert {each["brand"] for each in await noted(http, bound)} == {"acme"}
    assert await noted(http, bound, brand="rival") == await noted(http, bound, brand="noone") == []
    _, reader = await key(http, "reader", scopes=["read"])
    assert (await http.get("/v1/audit-log", headers=reader)).status_code == 403


async def test_pages_and_filters(http: httpx.AsyncClient) -> None:
    _, newsroom = await key(http, "newsroom")
    for number in range(5):
        body = {"name": f"Brand {number}"}
        (await http.put(f"/v1/brands/brand-{number}", json=body, headers=newsroom)).raise_for_status()
    first = (await http.get("/v1/audit-log", params={"limit": 3}, headers=SERVICE)).json()
    rest = (await http.get("/v1/audit-log", params={"after": first["next"]}, headers=SERVICE)).json()
    paths = [each["path"] for each in first["items"] + rest["items"]]
    assert paths == [f"/v1/brands/brand-{number}" for number in (4, 3, 2, 1, 0)] + ["/v1/keys"]
    assert rest["next"] is None
    assert len(await noted(http, caller="newsroom")) == 5
    assert [each["path"] for each in await noted(http, operation="POST /v1/keys")] == ["/v1/keys"]
    assert await noted(http, caller="a\0b") == []
    fifth, fourth, *_ = first["items"]
    assert await noted(http, since=fifth["at"]) == [fifth]
    assert await noted(http, since=fourth["at"], until=fifth["at"]) == [fourth]
    assert (await http.get("/v1/audit-log?since=soon", headers=SERVICE)).status_code == 422


async def test_nobody_but_time_takes_an_entry_away(
    http: httpx.AsyncClient, orchestrator_database: Database, orchestrator_url: str, database_roles: Roles
) -> None:
    await key(http, "newsroom")
    async with orchestrator_database.connection() as connection:
        for statement in (
            "update audit_log set caller = 'somebody else'",
            "delete from audit_log",
            "truncate audit_log",
            "drop table audit_log",
            (
                "insert into audit_log (at, caller, key_id, operation, path)"
                " values (now() - interval '1 day', 'service', 'service', 'PUT /v1/x', '/v1/x')"
            ),
            (
                "insert into audit_log (id, caller, key_id, operation, path) overriding system value"
                " values (1000000, 'service', 'service', 'PUT /v1/x', '/v1/x')"
            ),
            "select nextval('audit_log_id_seq')",
            "select setval('audit_log_id_seq', 1000000)",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
        # What is young stays, whatever the settings of who asks.
        await connection.execute("select forget_audit_log('0')")
        assert await connection.fetchval("select count(*) from audit_log") == 1
        owner = await asyncpg.connect(database_roles.owner(orchestrator_url))
        await owner.execute(
            "insert into audit_log (at, caller, key_id, operation, path)"
            " values (now() - interval '31 days', 'service', 'service', 'PUT /v1/x', '/v1/x')"
        )
        await owner.close()
        await connection.execute("select forget_audit_log('40 days')")
        assert await connection.fetchval("select count(*) from audit_log") == 2
        await connection.execute("select forget_audit_log('0')")
        assert await connection.fetchval("select path from audit_log") == "/v1/keys"
