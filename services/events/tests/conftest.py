"""Fixtures: the service on a real broker and a real database, and events of others."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID

import httpx
import pytest

from chassis.testing import eventually, running
from envelope import DomainMessage, Payload, encode, new_event_id
from envelope.brand import CATALOGUE
from events.app import EventsService, build
from events.settings import Settings
from messaging.testing import Broker
from tests.fixtures.event_log import KEY, Report


@pytest.fixture
async def settings(broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]]) -> Settings:
    return Settings(
        rabbitmq_url=broker_urls["events"],
        database_url=await make_database("events"),
        service_key=KEY,
        http_port=0,
    )


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[EventsService]:
    async with running(build(settings)) as service:
        yield service


@pytest.fixture
async def api(service: EventsService) -> AsyncIterator[httpx.AsyncClient]:
    url = f"http://127.0.0.1:{service.port}"
    async with httpx.AsyncClient(
        base_url=url, headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
    ) as client:
        yield client


@pytest.fixture
async def report(broker_urls: dict[str, str], service: EventsService) -> AsyncIterator[Report]:
    """Publishes events, as the services that report them do; returns their ids once they are stored."""
    brokers: dict[str, Broker] = {}
    connected = []

    async def publish(
        *payloads: Payload, correlation_id: str | None = None, ids: list[UUID] | None = None
    ) -> list[UUID]:
        ids = ids or [new_event_id() for _ in payloads]
        for event_id, payload in zip(ids, payloads, strict=True):
            entry = CATALOGUE.type_of(payload)
            source = entry.producers[0]
            if source not in brokers:
                context = Broker.connected(broker_urls[source])
                brokers[source] = await context.__aenter__()
                connected.append(context)
            message = DomainMessage[type(payload)](  # type: ignore[misc]
                event_id=event_id,
                type=entry.name,
                source=source,
                timestamp=datetime.now(UTC),
                correlation_id=correlation_id,
                payload=payload,
            )
            await brokers[source].publish(CATALOGUE.events, entry.name, encode(message), type=entry.name)

        async def stored() -> bool:
            async with service.database.connection() as connection:
                found = await connection.fetchval(
                    "select count(*) from events where event_id = any ($1::uuid[])", ids
                )
            return bool(found == len(set(ids)))

        await eventually(stored)
        return ids

    yield publish
    for context in connected:
        await context.__aexit__(None, None, None)
