"""`brandctl webhooks` as processes of their own, beside the API of `events` and a gateway's answers."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http.client import Peer
from chassis.testing import serving
from envelope.brand import CATALOGUE
from events.http_api import create_api
from events.live.follower import EventFollower
from events.webhooks.gateway import WebhookGateway
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


async def accounts(_: Request) -> JSONResponse:
    return JSONResponse({"items": [{"name": "crm", "kind": "webhook", "state": "unchecked", "detail": None}]})


async def answer(_: Request) -> JSONResponse:
    return JSONResponse(
        {"status": 500, "headers": {}, "text": "out of order", "json": None, "retry_at": None}
    )


@pytest.fixture
async def run(make_database: Callable[[str], Awaitable[str]], tmp_path: Path) -> AsyncIterator[Operator]:
    connections = Connections(await make_database("events"), name="events test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    database = Database(connections, relay, "events", CATALOGUE)
    # Nothing here watches live.
    follower = EventFollower(Connections("postgresql://nobody@127.0.0.1:1/none", name="none", size=1), most=0)
    routes = [
        Route("/v1/accounts", accounts),
        Route("/v1/accounts/crm/requests", answer, methods=["POST"]),
    ]
    async with serving(Starlette(routes=routes)) as gateway_url:
        gateway = WebhookGateway(Peer("the gateway", gateway_url, "GATEWAY_URL", SecretStr(KEY)))
        async with serving(create_api(database, ServiceKey(SecretStr(KEY)), follower, gateway)) as url:
            yield Operator(tmp_path, {"EVENTS_URL": url, "SERVICE_KEY": KEY})
        await gateway.aclose()
    await connections.close()


async def test_a_webhook_is_made_tried_turned_off_and_removed(run: Operator) -> None:
    nothing = await run("webhooks", "list", "acme")
    unknown = await run("webhooks", "add", "acme", "crm", "--account", "other")
    made = await run("webhooks", "add", "acme", "crm", "--account", "crm", "--type", "content.published")
    listed = await run("webhooks", "list", "acme")
    tried = await run("webhooks", "test", "acme", "crm")
    off = await run("webhooks", "off", "acme", "crm")
    shown = await run("webhooks", "show", "acme", "crm", "--json")
    on = await run("webhooks", "on", "acme", "crm", "--skip-missed")
    none = await run("webhooks", "deliveries", "acme", "crm")
    again = await run("webhooks", "resend", "acme", "crm", "--dead")
    since = await run("webhooks", "resend", "acme", "crm", "--since", "2026-01-01")
    both = await run("webhooks", "resend", "acme", "crm", "1", "--dead")
    removed = await run("webhooks", "remove", "acme", "crm", "--yes")
    gone = await run("webhooks", "show", "acme", "crm")

    assert (nothing.code, "there is no webhook" in nothing.err) == (0, True)
    assert (unknown.code, "no account 'other' is connected" in unknown.err) == (1, True)
    assert (made.code, "crm is on" in made.err) == (0, True)
    assert listed.out.splitlines()[1].split("\t")[:4] == ["crm", "on", "crm", "content.published"]
    assert (tried.code, "the receiver answered 500" in tried.err) == (1, True)
    assert "out of order" in tried.err
    assert (off.code, json.loads(shown.out)["state"]) == (0, "off")
    assert (on.code, none.code, "nothing was sent" in none.err) == (0, 0, True)
    assert (again.code, "0 are sent again" in again.err) == (1, True)
    assert (since.code, "past events are being sent again" in since.err) == (0, True)
    assert (both.code, "give places" in both.err) == (2, True)
    assert (removed.code, gone.code) == (0, 1)
