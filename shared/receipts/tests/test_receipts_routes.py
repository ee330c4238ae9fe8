"""What people see of receipts, and what they may decide about them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Caller, Scope
from receipts import EffectInDoubt, serve_receipts
from shared.receipts.tests.conftest import World

CALLERS = {
    "all": Caller("ann", frozenset(Scope)),
    "reader": Caller("rita", frozenset({Scope.READ})),
    "editor": Caller("eve", frozenset({Scope.READ, Scope.REVIEW}), frozenset({"acme"})),
    "stranger": Caller("sam", frozenset(Scope), frozenset({"other"})),
}


@pytest.fixture
async def asking(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async def authorise(request: Request) -> Caller:
        return CALLERS[request.headers["X-Service-Key"]]

    app = api("Receipts", authorise, answers=world.database)
    serve_receipts(app, world.receipts)
    keep_audit_log(app, world.database)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://test", headers={"X-Service-Key": "all"}
    ) as client:
        yield client


@pytest.fixture
async def path(world: World) -> str:
    """Of a receipt in doubt."""
    world.plain.faults.inject("reset_after", "POST /items")
    assert isinstance(await world.receipts.perform(world.effect, world.steps(detect=None)), EffectInDoubt)
    return f"/v1/receipts/{world.effect.receipt_id}"


async def test_one_in_doubt_is_listed_shown_and_confirmed(
    world: World, asking: httpx.AsyncClient, path: str
) -> None:
    (listed,) = (await asking.get("/v1/receipts", params={"state": "in_doubt"})).json()["items"]
    assert (listed["subject"], listed["state"], listed["step"]) == ("an item at plain", "in_doubt", "make")
    shown = (await asking.get(path)).json()
    assert [attempt["event"] for attempt in shown["attempts"]] == ["send", "lost", "close", "closed"]
    assert shown["prepared"] == {"text": "Hello"}
    remote = {"url": "https://example.com/1", "id": "1"}
    confirmed = await asking.post(f"{path}/confirm", json={"remote": remote})
    assert (confirmed.status_code, confirmed.json()["state"], confirmed.json()["remote"]) == (
        200,
        "confirmed",
        remote,
    )
    assert world.settled.told == [(world.effect.receipt_id, remote)]
    assert (await asking.get("/v1/receipts")).json()["items"] == []
    again = await asking.post(f"{path}/repeat")
    assert again.status_code == 409
    assert "is confirmed" in again.json()["detail"]
    last = (await asking.get(path)).json()["attempts"][-1]
    assert (last["event"], last["made_by"]) == ("confirmed by a person", "ann")
    (entry,) = (await asking.get("/v1/audit-log")).json()["items"]
    assert entry["operation"] == "POST /v1/receipts/{receipt_id}/confirm"
    assert (entry["brand"], entry["before"]["state"], entry["after"]["state"]) == (
        "acme",
        "in_doubt",
        "confirmed",
    )


async def test_who_may_not_decide(asking: httpx.AsyncClient, path: str) -> None:
    async def answered(key: str, method: str, what: str = "") -> int:
        body = {"json": {"remote": {"url": "https://example.com/"}}} if what == "/confirm" else {}
        return (
            await asking.request(method, f"{path}{what}", headers={"X-Service-Key": key}, **body)
        ).status_code

    assert [await answered("reader", "POST", what) for what in ("/confirm", "/repeat")] == [403, 403]
    # Whoever decides about texts says what is there; to have something sent that might be there, is an operator's.
    assert await answered("editor", "POST", "/repeat") == 403
    assert [
        await answered("stranger", *each) for each in (("GET",), ("POST", "/confirm"), ("POST", "/repeat"))
    ] == [404] * 3
    of_others = await asking.get(
        "/v1/receipts", headers={"X-Service-Key": "stranger"}, params={"brand": "acme"}
    )
    assert of_others.json() == {"items": [], "next": None}
    assert await answered("editor", "POST", "/confirm") == 200


async def test_pages(world: World, asking: httpx.AsyncClient) -> None:
    for _ in range(3):
        world.plain.faults.inject("reset_before", "POST /items")
        await world.receipts.perform(replace(world.effect, receipt_id=uuid4()), world.steps(detect=None))
    first = (await asking.get("/v1/receipts", params={"limit": 2})).json()
    second = (await asking.get("/v1/receipts", params={"limit": 2, "before": first["next"]})).json()
    assert (len(first["items"]), len(second["items"]), second["next"]) == (2, 1, None)


@pytest.mark.parametrize(
    "remote", [{}, {"url": ""}, {"url": "a\nb"}, {"URL": "https://example.com/"}, {"url": 5}]
)
async def test_what_a_confirmation_must_say(asking: httpx.AsyncClient, path: str, remote: object) -> None:
    assert (await asking.post(f"{path}/confirm", json={"remote": remote})).status_code == 422
