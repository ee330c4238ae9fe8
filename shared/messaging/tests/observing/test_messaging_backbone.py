"""`GET /v1/backbone` and `GET /v1/doctor` of a service at a real broker and a real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import add_routes, api
from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, running
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from messaging import Service, WaitFor, on_batch
from messaging import backbone_routes as backbone_routes_module
from messaging.backbone_routes import backbone_routes
from messaging.doctor_routes import doctor_routes
from messaging.running_code import running_code

QUEUE = "research-commands"
BACKBONE = "/v1/backbone"
CALLERS = {
    "operator": Caller("olga", frozenset({Scope.READ, Scope.OPERATE})),
    "editor": Caller("eve", frozenset(Scope) - {Scope.OPERATE}),
    "bound": Caller("bo", frozenset(Scope), frozenset({"acme"})),
}


async def authorise(request: Request) -> Caller:
    return CALLERS[request.headers["X-Service-Key"]]


@asynccontextmanager
async def asking(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """The API of a service, asked by the operator unless a request says otherwise."""
    app = api("Backbone", authorise, answers=service.database)
    add_routes(app, backbone_routes(service.database), doctor_routes(service.database))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://test", headers={"X-Service-Key": "operator"}
    ) as client:
        yield client


async def ignore(_messages: Any, _tx: Any) -> None: ...


async def test_a_service_tells_of_its_queues_its_outbox_and_what_it_waits_for(world: Any) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(ignore, ResearchRequested))
    gateway = service.dependency("gateway", outages=(ConnectionError,))
    async with running(service), asking(service) as client:
        await world.database.execute(
            """
            insert into outbox (id, exchange, routing_key, event_id, type, body, headers, deliver_at, due_at)
            select gen_random_uuid(), 'returns', $1, gen_random_uuid(), 'research.requested', '', '{}', at, at
            from (values (now() + interval '1 hour'), (now() + interval '2 hours')) as later (at)
            """,
            QUEUE,
        )
        with suppress(WaitFor):
            async with gateway.call():
                raise ConnectionError("no route")
        found = (await client.get(BACKBONE)).json()
    assert (found["is_ready"], found["problems"]) == (True, [])
    assert found["code"] == running_code(CATALOGUE.system, "research").hash != ""
    [queue] = found["queues"]
    # Unknown if the service began in the minute that the rate ends with.
    assert queue.pop("in_per_minute") in (0.0, None)
    assert queue == {
        "queue": QUEUE,
        "ready": 0,
        "consumers": 1,
        "is_consumed": True,
        "pause": None,
        "out_per_minute": 0.0,
    }
    assert found["outbox"] == {"depth": 2, "due": 0, "oldest_due_at": None}
    assert [each["name"] for each in found["breakers"]] == ["gateway"]
    assert "no route" in found["breakers"][0]["trouble"]


async def test_a_service_tells_what_its_doctor_has_found_lately(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(ignore, ResearchRequested))
    async with asking(service) as client:
        # Looking at the backbone runs no probes.
        assert service.database.doctor.known(60) is None
        async with running(service):
            # At the start.
            await eventually(lambda: service.database.doctor.known(60))
            report = (await client.get("/v1/doctor", params={"max_age_seconds": 60})).json()
            assert (await client.get(BACKBONE)).json()["doctor"] == report
            monkeypatch.setattr(backbone_routes_module, "_DOCTOR_KNOWN_SECONDS", -1)
            monkeypatch.setattr(backbone_routes_module, "_KEEP_SECONDS", -1.0)
            assert (await client.get(BACKBONE)).json()["doctor"] is None


async def test_a_broker_that_is_away_leaves_the_rest(world: Any) -> None:
    async with world.proxy_to_broker() as proxy:
        service = world.service(rabbitmq_url=proxy.url)
        service.consume(QUEUE, on_batch(ignore, ResearchRequested))
        async with running(service), asking(service) as client:
            proxy.cut()

            async def answer() -> Any:
                found = (await client.get(BACKBONE)).json()
                return None if found["is_ready"] else found

            found = await eventually(answer)
            proxy.mend()
    assert found["queues"][0]["ready"] is None
    assert found["outbox"]["depth"] == 0


@pytest.mark.parametrize("path", [BACKBONE, "/v1/doctor"])
async def test_only_operators_of_all_brands_may_look(world: Any, path: str) -> None:
    service = world.service()
    async with asking(service) as client:
        for caller in ("editor", "bound"):
            refused = await client.get(path, headers={"X-Service-Key": caller})
            assert refused.status_code == httpx.codes.FORBIDDEN, caller
