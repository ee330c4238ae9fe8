"""Every route of every service that keeps no keys itself, asked by callers who are bound to another brand, or lack its scope.

The orchestrator's are tried in its own tests. That a key is asked about, and what of one that was revoked, is beside this.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from chassis.database.pool import Connections
from envelope import new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from receipts import Receipts
from receipts.testing import DirectGateway
from tests.end_to_end.keys.walks import APPLICATIONS, FILLED, Place, Walk

VARYING = {"date", "etag"}
"""What is made of the time, or of a body with what was asked for in it."""
FORBIDDEN_TO_BOUND = {
    "POST /v1/brands/{slug}/parts/{part}",
    "PUT /v1/brands/{slug}/departure",
    "DELETE /v1/brands/{slug}/departure",
    "PUT /v1/brands/{slug}/move",
    "PATCH /v1/brands/{slug}/move",
    "DELETE /v1/brands/{slug}/move",
    "GET /v1/backbone",
    "GET /v1/backbone/figures",
    "GET /v1/backbone/pauses",
    "GET /v1/backbone/topology",
    "POST /v1/backbone/pause",
    "POST /v1/backbone/resume",
    "GET /v1/alerts",
    "POST /v1/alerts/{alert_id}/acknowledge",
    "POST /v1/alerts/{alert_id}/silence",
    "POST /v1/alerts/silences/{silence_id}/end",
    "GET /v1/broker-users",
    "POST /v1/broker-users",
    "POST /v1/broker-users/{key_id}/rotate",
    "DELETE /v1/broker-users/{key_id}",
    "GET /v1/doctor",
    "GET /v1/documents",
    "GET /v1/ledger",
    "GET /v1/ledger/messages",
    "POST /v1/ledger/messages/close",
    "GET /v1/messages",
    "GET /v1/messages/outcomes",
    "GET /v1/messages/{message_id}/edit",
    "POST /v1/messages/{message_id}/edit",
    "GET /v1/messages/running",
    "GET /v1/messages/sent",
    "GET /v1/retries",
    "POST /v1/retries/run",
    "POST /v1/retries/cancel",
    "POST /v1/invitation-mails",
    "POST /v1/documents/{document_id}/release",
    "PUT /v1/notifications/routes/{name}",
    "DELETE /v1/notifications/routes/{name}",
    "POST /v1/notifications/routes/{name}/test",
}
"""What concerns all brands."""
LEFT_OUT = {"events": {"/v1/events/live", "/v1/audit-log"}}
"""Paths by service: a stream, which `services/events/tests` ask for; the log of a service that has no change of one brand."""
NAMES_ARE_SHARED = {"PUT /v1/subscriptions/{name}"}
"""A name that is taken by others is refused, and says nothing of what they have."""


@pytest.fixture(params=["research", "publisher", "social", "monitor", "events"])
async def walk(request: Any, make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Walk]:
    service = request.param
    async with AsyncExitStack() as stack:
        connections = Connections(await make_database(service), name=f"{service} test", size=4)
        await connections.open()
        stack.push_async_callback(connections.close)
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        database = Database(connections, relay, service, CATALOGUE)
        door = DirectGateway({})
        stack.push_async_callback(door.aclose)
        app = APPLICATIONS[service](database, Receipts(database, door))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        http = await stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://service")
        )
        made = Walk(
            http,
            [
                (m.upper(), p, o)
                for p, of in app.openapi()["paths"].items()
                for m, o in of.items()
                if p not in LEFT_OUT.get(service, set())
            ],
        )
        made.places = {"slug": Place("rival", "noone"), "brand": Place("rival", "noone")} | {
            # The same for everybody.
            f"/v1/messages/{each}": Place(value, value)
            for each, value in (
                ("sent exchange", "commands"),
                ("outcomes queue", "any"),
                ("outcomes ids", ""),
                ("{message_id}/edit message_id", str(new_event_id())),
                ("{message_id}/edit type", next(n for n, e in CATALOGUE.items() if service in e.consumers)),
            )
        }
        await FILLED[service](made, database)
        yield made


def told(
    answer: httpx.Response, asked: str, query: dict[str, str], body: str | None
) -> tuple[int, dict[str, str], str]:
    """The answer, without what was asked for."""
    text = answer.text
    named = re.findall(r"[0-9a-f-]{36}", body or "")
    for number, value in enumerate([*asked.split("/"), *query.values(), *named]):
        if len(value) > 1:
            text = text.replace(value, f"<{number}>")
    headers = {name: value for name, value in answer.headers.items() if name not in VARYING}
    return answer.status_code, headers, text


@pytest.mark.extended
async def test_another_brand_is_as_one_that_does_not_exist(walk: Walk) -> None:
    assert len(walk.routes) > 10
    for method, path, operation in walk.routes:
        if f"{method} {path}" in NAMES_ARE_SHARED:
            continue
        # What is another brand's, named under that brand, and under the caller's own.
        for fixed in ({}, {"slug": "acme"}):
            foreign = walk.filled(method, path, operation, "foreign", **fixed)
            unknown = walk.filled(method, path, operation, "unknown", **fixed)
            answer = await walk.ask("bound", method, *foreign)
            expected = await walk.ask("bound", method, *unknown)
            where = (method, path, fixed, answer.text, expected.text)
            if method == "GET" or not answer.is_success:
                assert told(answer, *foreign) == told(expected, *unknown), where
            assert answer.is_success == expected.is_success, where
            assert answer.status_code < 500, where
            assert (answer.status_code == 403) == (f"{method} {path}" in FORBIDDEN_TO_BOUND), where
            if answer.is_success:
                assert "rival" not in told(answer, *foreign)[2], where
    for method, path, operation in walk.routes:
        if method == "GET":
            # All of it is there, unharmed, for those who may see it.
            foreign = walk.filled(method, path, operation, "foreign")
            shown = await walk.ask("all", method, *foreign)
            assert shown.status_code == 200, (path, shown.text)
            bound = await walk.ask("bound", method, *foreign)
            assert told(shown, *foreign) != told(bound, *foreign), path


async def test_a_key_without_the_routes_scope_and_one_that_is_over_open_nothing(walk: Walk) -> None:
    for method, path, operation in walk.routes:
        (scope,) = operation["security"][0]["ServiceKey"]
        assert operation["security"][1] == {"ApiKey": [scope]}, (method, path)
        foreign = walk.filled(method, path, operation, "foreign")
        short = await walk.ask(f"without {scope}", method, *foreign)
        assert (short.status_code, f"'{scope}'" in short.text) == (403, True), (method, path, short.text)
        assert (await walk.ask("revoked", method, *foreign)).status_code == 401, (method, path)
