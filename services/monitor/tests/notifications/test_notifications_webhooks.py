"""Webhooks that events has turned off, as the monitor learns of them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from chassis.http.client import Peer
from chassis.testing import serving
from monitor.notifications.domain import NotificationKind, Severity
from monitor.notifications.peer_clients import PeerClient
from monitor.notifications.sources.webhooks import webhook_conditions

ITEMS: list[dict[str, Any]] = [
    {
        "brand": "acme",
        "name": "crm",
        "account": "crm-hook",
        "problem": "the receiver answered 410: secret-of-theirs",
    }
]


async def listed(request: Request) -> JSONResponse:
    assert (request.query_params["state"], request.headers["x-service-key"]) == (
        "failed",
        "a-key-of-the-pair",
    )
    return JSONResponse({"items": ITEMS, "next": None})


@pytest.fixture
async def events() -> AsyncIterator[PeerClient]:
    async with serving(Starlette(routes=[Route("/v1/webhooks", listed)])) as url:
        client = PeerClient(Peer("events", url, "EVENTS_URL", SecretStr("a-key-of-the-pair")))
        yield client
        await client.aclose()


async def test_a_webhook_that_is_off_is_a_condition_of_its_brand_without_the_receivers_words(
    events: PeerClient,
) -> None:
    [found] = await webhook_conditions(events)
    assert (found.kind, found.key, found.brand, found.severity) == (
        NotificationKind.WEBHOOKS,
        "crm",
        "acme",
        Severity.WARNING,
    )
    assert found.command == "brandctl webhooks show acme crm"
    assert "secret-of-theirs" not in f"{found.title} {found.detail}"


async def test_a_version_without_webhooks_has_none() -> None:
    async with serving(Starlette()) as url:
        client = PeerClient(Peer("events", url, "EVENTS_URL", None))
        assert await webhook_conditions(client) == []
        await client.aclose()
