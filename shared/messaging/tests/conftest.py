"""A world for the tests of this library: a broker with the topology, a database with the tables, services on demand."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import pytest

from chassis.testing import ServerProxy
from envelope import Catalogue, DomainMessage, Payload, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from messaging import Service, ServiceSettings, Transaction
from messaging.flow import relay
from messaging.testing import Broker
from tests.fixtures.databases import Roles

QUEUE = "research-commands"


@pytest.fixture
def wakes_when_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relay looks by itself once an hour: what leaves sooner does so because the relay knew when it would be due."""
    monkeypatch.setattr(relay, "LONGEST_SLEEP", 3600.0)


@dataclass
class World:
    """`QUEUE` is what its services consume, where nothing else is said."""

    rabbitmq_url: str
    database_url: str
    broker: Broker
    database: asyncpg.Pool

    def service(
        self, name: str = "research", *, catalogue: Catalogue = CATALOGUE, **settings: object
    ) -> Service:
        values = {
            "rabbitmq_url": self.rabbitmq_url,
            "database_url": self.database_url,
            "service_key": "a-key-for-tests-only",
            "http_port": 0,
            "retry_base_seconds": 0.3,
            "shutdown_grace_seconds": 10,
        }
        return Service(name, ServiceSettings.model_validate(values | settings), catalogue)

    def proxy_to_database(self) -> ServerProxy:
        return ServerProxy(self.database_url)

    def proxy_to_broker(self) -> ServerProxy:
        return ServerProxy(self.rabbitmq_url)

    async def send(
        self,
        message: DomainMessage,
        *,
        headers: dict[str, object] | None = None,
        exchange: str = "commands",
    ) -> None:
        await self.broker.publish(
            exchange,
            CATALOGUE.type_of(message.payload).queue,
            encode(message),
            type=message.type,
            headers=headers,
        )

    async def send_raw(self, body: bytes, *, queue: str = QUEUE) -> None:
        await self.broker.publish("commands", queue, body)

    @staticmethod
    async def write(tx: Transaction, message: DomainMessage) -> None:
        """An effect, for handlers to have."""
        await tx.connection.execute(
            "insert into effects values ($1, $2)", message.event_id, message.payload.keyword
        )

    @staticmethod
    async def write_all(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        """A set-based handler with one effect for each message."""
        for message in messages:
            await World.write(tx, message)

    async def effect_count(self) -> int:
        return await self.database.fetchval("select count(*) from effects")

    async def has_effects(self, wanted: int) -> bool:
        return await self.effect_count() == wanted

    async def has_consumers(self, wanted: int) -> bool:
        return await self.broker.consumers(QUEUE) == wanted

    async def has_waiting(self, wanted: int) -> bool:
        return await self.broker.depth(QUEUE) == wanted

    @staticmethod
    async def is_ready(service: Service) -> bool:
        return not await service.problems()

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
            source=CATALOGUE.type_of(payload).producers[0],
            timestamp=datetime.now(UTC),
            correlation_id="chain-1",
            payload=payload,
        )


@pytest.fixture
def world_at(
    make_database: Callable[[], Awaitable[str]], database_roles: Roles
) -> Callable[[str], AbstractAsyncContextManager[World]]:
    """A world on a given vhost."""

    @asynccontextmanager
    async def at(rabbitmq_url: str) -> AsyncIterator[World]:
        database_url = await make_database()
        async with (
            Broker.connected(rabbitmq_url) as broker,
            asyncpg.create_pool(database_roles.owner(database_url), min_size=1) as pool,
        ):
            # No unique constraint: an effect that happens twice must show.
            await pool.execute("create table effects (event_id uuid, keyword text)")
            await pool.execute(f"grant select, insert on effects to {database_roles.runtime_role}")
            yield World(rabbitmq_url, database_url, broker, pool)

    return at


@pytest.fixture
async def world(
    rabbitmq_url: str, world_at: Callable[[str], AbstractAsyncContextManager[World]]
) -> AsyncIterator[World]:
    async with world_at(rabbitmq_url) as world:
        yield world
