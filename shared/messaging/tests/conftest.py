"""A world for the tests of this library: a broker with the topology, a database with the tables, services on demand."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import pytest

from envelope import DomainMessage, Payload, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from messaging import Service, ServiceSettings
from messaging.testing import Broker


@dataclass
class World:
    rabbitmq_url: str
    database_url: str
    broker: Broker
    database: asyncpg.Pool

    def service(self, name: str = "research", **settings: object) -> Service:
        values = {
            "rabbitmq_url": self.rabbitmq_url,
            "database_url": self.database_url,
            "service_key": "a-key-for-tests-only",
            "http_port": 0,
            "retry_base_seconds": 0.3,
            "shutdown_grace_seconds": 10,
        }
        return Service(name, ServiceSettings.model_validate(values | settings), CATALOGUE)

    async def send(self, message: DomainMessage, *, headers: dict[str, object] | None = None) -> None:
        await self.broker.publish(
            "commands",
            CATALOGUE.type_of(message.payload).queue,
            encode(message),
            type=message.type,
            headers=headers,
        )

    async def send_raw(self, body: bytes, *, queue: str = "research-commands") -> None:
        await self.broker.publish("commands", queue, body)

    async def effects(self) -> list[str]:
        rows = await self.database.fetch("select keyword from effects order by keyword")
        return [row["keyword"] for row in rows]

    async def outcomes(self) -> dict[UUID, str]:
        rows = await self.database.fetch("select event_id, outcome from processed_events")
        return {UUID(int=row["event_id"].int): row["outcome"] for row in rows}

    async def outbox_is_empty(self) -> bool:
        return not await self.database.fetchval("select count(*) from outbox")

    def request(self, keyword: str = "solar panels", *, event_id: UUID | None = None) -> DomainMessage:
        return self.message(ResearchRequested(brand_slug="acme", keyword=keyword), event_id=event_id)

    def message(self, payload: Payload, *, event_id: UUID | None = None) -> DomainMessage:
        return DomainMessage(
            event_id=event_id or new_event_id(),
            type=CATALOGUE.type_of(payload).name,
            source="orchestrator",
            timestamp=datetime.now(UTC),
            correlation_id="chain-1",
            payload=payload,
        )


@pytest.fixture
async def world(rabbitmq_url: str, make_database: Callable[[], Awaitable[str]]) -> AsyncIterator[World]:
    database_url = await make_database()
    async with (
        Broker.connected(rabbitmq_url) as broker,
        asyncpg.create_pool(database_url, min_size=1) as pool,
    ):
        # No unique constraint: an effect that happens twice must show.
        await pool.execute("create table effects (event_id uuid, keyword text)")
        yield World(rabbitmq_url, database_url, broker, pool)
