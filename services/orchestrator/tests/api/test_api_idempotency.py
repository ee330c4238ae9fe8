"""A POST that is sent again with its Idempotency-Key: one effect, one answer, on any replica, even if a process dies in between."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.types import ASGIApp

from chassis import ServiceKey
from chassis.http import idempotency
from chassis.http.idempotency import IdempotentRequest, StoredAnswer
from chassis.http.limits import Limits
from chassis.testing import serving
from messaging import Database
from messaging.storage import answers
from orchestrator.api import RequestAuthenticator, http_api

SERVICE = {"X-Service-Key": "test-service-key-0123456789"}
KEYED = SERVICE | {"Idempotency-Key": "campaign 1"}
RESEARCH = "/v1/brands/acme/research"
TEA = {"keywords": ["tea"]}
ASKED = IdempotentRequest("service", RESEARCH, "campaign 1", b"")


def app_on(database: Database) -> ASGIApp:
    return http_api(database, RequestAuthenticator(database, ServiceKey(SecretStr(SERVICE["X-Service-Key"]))))


@asynccontextmanager
async def replica(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client of one more process of the service, which takes as much at a time as is sent."""
    async with (
        serving(app_on(database), limits=Limits(connections=4000)) as origin,
        httpx.AsyncClient(
            base_url=origin, trust_env=False, timeout=120, limits=httpx.Limits(max_connections=600)
        ) as client,
    ):
        yield client


@pytest.fixture
async def http(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with replica(orchestrator_database) as client:
        for slug in ("acme", "other"):
            (await client.put(f"/v1/brands/{slug}", json={"name": slug}, headers=SERVICE)).raise_for_status()
        yield client


async def counted(database: Database) -> tuple[int, int, int]:
    """Cycles, messages that are sent, and answers that are kept."""
    async with database.connection() as connection:
        row = await connection.fetchrow(
            "select (select count(*) from cycles), (select count(*) from outbox), (select count(*) from kept_answers)"
        )
    assert row is not None
    return row[0], row[1], row[2]


async def test_the_same_again_has_the_same_answer_and_no_effect(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    first = await http.post(RESEARCH, json=TEA, headers=KEYED)
    again = await http.post(RESEARCH, json=TEA, headers=KEYED)

    assert first.status_code == again.status_code == 202
    assert again.content == first.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    for name in ("location", "content-type", "content-length", "cache-control"):
        assert again.headers[name] == first.headers[name]
    other = await http.post(RESEARCH, json={"keywords": ["coffee"]}, headers=KEYED)
    assert (other.status_code, "was used for another request" in other.json()["detail"]) == (422, True)
    assert await counted(orchestrator_database) == (1, 1, 1)


async def test_a_name_is_the_callers_own_and_of_one_address(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    made = await http.post("/v1/keys", json={"name": "a", "scopes": ["submit"]}, headers=SERVICE)
    caller = {"Authorization": f"Bearer {made.json()['key']}", "Idempotency-Key": KEYED["Idempotency-Key"]}
    asked = [(RESEARCH, KEYED), (RESEARCH, caller), ("/v1/brands/other/research", KEYED)]
    told = [await http.post(url, json=TEA, headers=headers) for url, headers in asked]
    assert {answer.status_code for answer in told} == {202}
    assert len({answer.json()["cycle_id"] for answer in told}) == 3
    # Two of the cycles are of one brand, which asks for its research once.
    assert await counted(orchestrator_database) == (3, 2, 3)


async def test_what_was_refused_may_be_mended_and_sent_again(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    url = "/v1/brands/to-come/research"
    assert (await http.post(url, json=TEA, headers=KEYED)).status_code == 404
    assert (await http.post(url, json={"keywords": []}, headers=KEYED)).status_code == 422
    await http.put("/v1/brands/to-come", json={"name": "x"}, headers=SERVICE)
    assert (await http.post(url, json=TEA, headers=KEYED)).status_code == 202
    assert await counted(orchestrator_database) == (1, 1, 1)


@pytest.mark.extended
@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there", "é"])
async def test_a_name_is_short_and_can_be_printed(http: httpx.AsyncClient, key: str) -> None:
    headers = [*SERVICE.items(), ("Idempotency-Key", key.encode("latin-1"))]
    answer = await http.post(RESEARCH, json=TEA, headers=headers)  # type: ignore[arg-type]
    assert (answer.status_code, "1 to 200 printable ASCII" in answer.json()["detail"]) == (422, True)


async def test_an_address_that_no_database_keeps_is_nobodys(http: httpx.AsyncClient) -> None:
    answer = await http.post(f"{RESEARCH}%00", json=TEA, headers=KEYED)

    assert answer.status_code == 404


async def test_a_key_that_is_made_is_kept_nowhere(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    for url in ("/v1/keys", "/v1/keys/000000000000/rotate"):
        answer = await http.post(url, json={"name": "a", "scopes": ["read"]}, headers=KEYED)
        assert (answer.status_code, "kept nowhere" in answer.json()["detail"]) == (422, True)
    assert await counted(orchestrator_database) == (0, 0, 0)


@pytest.mark.extended
async def test_who_hears_no_answer_because_it_died_on_the_way_has_it_when_he_asks_again(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    """As after a process that was killed between the commit and the answer."""

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(TEA).encode(), "more_body": False}

    async def send(_: Any) -> None:
        raise ConnectionResetError

    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": "POST",
        "path": RESEARCH,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in KEYED.items()],
    }
    with pytest.raises(ConnectionResetError):
        await app_on(orchestrator_database)(scope, receive, send)

    assert await counted(orchestrator_database) == (1, 1, 1)
    again = await http.post(RESEARCH, content=json.dumps(TEA), headers=KEYED)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    cycle = await http.get(again.headers["location"], headers=SERVICE)
    assert cycle.json()["cycle_id"] == again.json()["cycle_id"]
    assert await counted(orchestrator_database) == (1, 1, 1)


async def test_a_twin_waits_for_the_first_and_has_its_answer(
    http: httpx.AsyncClient, orchestrator_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with orchestrator_database.attempt(ASKED):
        with monkeypatch.context() as patched:
            patched.setattr(idempotency, "WAIT_SECONDS", 0.1)
            late = await http.post(RESEARCH, json=TEA, headers=KEYED)
        assert (late.status_code, late.headers["retry-after"]) == (409, "2")
        assert "is under way" in late.json()["detail"]
        assert (await http.post(RESEARCH, json=TEA, headers=SERVICE)).status_code == 202
        waiting = asyncio.create_task(http.post(RESEARCH, json=TEA, headers=KEYED))
        await asyncio.sleep(0.1)
        assert not waiting.done()
    assert (await waiting).status_code == 202
    assert (await counted(orchestrator_database))[0] == 2


async def test_the_index_has_the_last_word(http: httpx.AsyncClient, orchestrator_database: Database) -> None:
    """Should two have got as far as their answers, as with two databases' worth of locks after a fail-over."""
    first = StoredAnswer(202, (), b"first")
    async with orchestrator_database.attempt(ASKED) as attempt:
        async with orchestrator_database.attempt(ASKED) as twin:
            assert twin.under_way
            assert await twin.keep(first)
        assert not await attempt.keep(StoredAnswer(202, (), b"second"))
    async with orchestrator_database.attempt(ASKED) as attempt:
        assert attempt.kept == (b"", first)


@pytest.mark.extended
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
async def test_however_many_come_at_once_make_one_cycle(
    count: int,
    http: httpx.AsyncClient,
    orchestrator_url: str,
    orchestrator_database: Database,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
) -> None:
    async with AsyncExitStack() as stack:
        other = await stack.enter_async_context(orchestrator_database_at(orchestrator_url))
        clients = [http, await stack.enter_async_context(replica(other))]
        told = await asyncio.gather(
            *(clients[number % 2].post(RESEARCH, json=TEA, headers=KEYED) for number in range(count))
        )
    accepted = [answer for answer in told if answer.status_code == 202]
    # 409: it waited for as long as is waited, on a busy machine.
    assert {answer.status_code for answer in told} <= {202, 409}
    assert sum("idempotent-replayed" not in answer.headers for answer in accepted) == 1
    assert len({answer.content for answer in accepted}) == 1
    assert await counted(orchestrator_database) == (1, 1, 1)


async def test_a_day_later_a_name_is_free_and_what_was_kept_of_it_goes(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    first = await http.post(RESEARCH, json=TEA, headers=KEYED)
    async with orchestrator_database.transaction() as tx:
        assert await answers.delete_expired(tx.connection) == 0
        await tx.connection.execute("update kept_answers set answered_at = now() - interval '25 hours'")
        await tx.connection.execute("update cycles set created_at = now() - interval '25 hours'")
    again = await http.post(RESEARCH, json=TEA, headers=KEYED)
    assert "idempotent-replayed" not in again.headers
    assert again.json()["cycle_id"] != first.json()["cycle_id"]
    # The second waits for the article of the first.
    assert await counted(orchestrator_database) == (2, 1, 1)
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute("update kept_answers set answered_at = now() - interval '25 hours'")
        assert await answers.delete_expired(tx.connection) == 1


async def test_a_key_that_was_given_to_the_version_before_begins_no_other_cycle(
    http: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    """It has no answers to keep, and notes keys with cycles, as this one still does for it."""
    first = await http.post(RESEARCH, json=TEA, headers=KEYED)
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute("delete from kept_answers")
        assert await tx.connection.fetchval("select idempotency_key from cycles") == "campaign 1"
    other = await http.post(RESEARCH, json={"keywords": ["coffee"]}, headers=KEYED)
    assert (other.status_code, "was used for another request" in other.json()["detail"]) == (422, True)
    again = await http.post(RESEARCH, json=TEA, headers=KEYED)
    assert (again.status_code, again.json()) == (202, first.json())
    assert (await counted(orchestrator_database))[:2] == (1, 1)


async def test_what_is_to_follow_the_commit_follows_the_whole(orchestrator_database: Database) -> None:
    told: list[str] = []

    async def work(name: str) -> None:
        async with orchestrator_database.transaction() as tx:
            await tx.connection.execute(
                "insert into brands (slug, name, description, language, channels, target) values ($1, '', '', '', '{}', '')",
                name,
            )
        orchestrator_database.once_committed(lambda: told.append(name))

    async def names() -> list[str]:
        async with orchestrator_database.connection() as connection:
            return [row["slug"] for row in await connection.fetch("select slug from brands order by slug")]

    await work("alone")
    assert told == ["alone"]
    async with orchestrator_database.attempt(ASKED) as attempt:
        await work("undone")
        # It sees what was written in it.
        assert await names() == ["alone", "undone"]
        attempt.undo()
    assert (await names(), told) == (["alone"], ["alone"])
    async with orchestrator_database.attempt(ASKED):
        await work("part")
        assert told == ["alone"]
    assert (await names(), told) == (["alone", "part"], ["alone", "part"])


@pytest.mark.extended
async def test_documents_tell_of_it_at_every_post_but_those_that_show_keys(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    told = {
        path: [each["name"].lower() for each in operations["post"].get("parameters", ())].count(
            "idempotency-key"
        )
        for path, operations in document["paths"].items()
        if "post" in operations
    }
    assert told.pop("/v1/keys") == told.pop("/v1/keys/{key_id}/rotate") == 0
    assert set(told.values()) == {1}
