"""A service's database with receipts, a server that counts what it accepts, and an adapter for it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from envelope.brand import CATALOGUE
from fakes import serving
from fakes.plain import FakePlain
from messaging import Database, Service, ServiceSettings, Transaction
from receipts import Effect, EffectAbsent, EffectFound, EffectUnclear, Receipt, Receipts, Step, StepInHand
from receipts.answers import expect
from receipts.testing import DirectGateway

SETTLED = 160
"""Seconds after which nothing shows up any more."""


@dataclass
class Settled:
    """What a service was told about receipts that were in doubt."""

    told: list[tuple[UUID, Any]] = field(default_factory=list)

    async def __call__(self, receipt: Receipt, remote: Any, tx: Transaction) -> None:
        self.told.append((receipt.receipt_id, remote))


@dataclass
class World:
    database: Database
    pool: asyncpg.Pool
    plain: FakePlain
    door: DirectGateway
    receipts: Receipts
    settled: Settled
    effect: Effect = field(
        default_factory=lambda: Effect(
            uuid4(), "plain", "plain", "acme", "an item at plain", {"text": "Hello"}
        )
    )

    async def state(self) -> str:
        return await self.pool.fetchval(
            "select state from receipts where receipt_id = $1", self.effect.receipt_id
        )

    async def is_confirmed(self) -> bool:
        return await self.state() == "confirmed"

    async def attempts(self) -> list[str]:
        rows = await self.pool.fetch("select event from receipt_attempts order by attempt_id")
        return [row["event"] for row in rows]

    async def pass_time(self, seconds: float) -> None:
        """As if that much time had gone by: all moments of the receipt move into the past."""
        await self.pool.execute(
            """
            update receipts set held_until = held_until - $1::interval, not_before = not_before - $1::interval,
                                quiet_since = quiet_since - $1::interval, changed_at = changed_at - $1::interval
            """,
            timedelta(seconds=seconds),
        )

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.plain.accepted]

    # -- the adapter ---------------------------------------------------------------------------------------------------

    async def make(self, work: StepInHand) -> dict[str, Any]:
        answer = expect(await work.account.request("POST", "/items", json={"text": work.prepared["text"]}))
        return {"id": answer.json["id"], "url": answer.json["url"]}

    async def find(self, work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
        listed = expect(await work.account.request("GET", "/items")).json["items"]
        for item in listed:
            if item["text"] == work.prepared["text"]:
                return EffectFound({"id": item["id"], "url": item["url"]})
        return EffectAbsent()

    def steps(self, **changes: Any) -> list[Step]:
        return [Step(**({"name": "make", "send": self.make, "detect": self.find, "seconds": 30.0} | changes))]


@pytest.fixture
def open_world(make_database: Callable[[str], Awaitable[str]]) -> Callable[..., Any]:
    @asynccontextmanager
    async def opened(
        database_url: str | None = None, plain: FakePlain | None = None, *, through: str | None = None
    ) -> AsyncIterator[World]:
        """`through`: where the service finds the database, if not where the test does that looks into it."""
        url = database_url or await make_database("receipts")
        settings = {
            "rabbitmq_url": "amqp://nobody:nothing@127.0.0.1:1/",
            "database_url": through or url,
            "service_key": "a-key-for-tests-only",
            "http_port": 0,
        }
        service = Service("social", ServiceSettings.model_validate(settings), CATALOGUE)
        await service.connections.open()
        settled = Settled()
        fake = plain or FakePlain()
        async with asyncpg.create_pool(url, min_size=1) as pool, serving(fake):
            door = DirectGateway(
                {"plain": fake.url}, headers={"plain": {"Authorization": f"Bearer {fake.token}"}}
            )
            receipts = Receipts(service.database, door, settled, margin_seconds=1.0)
            yield World(service.database, pool, fake, door, receipts, settled)
            await door.aclose()
        await service.connections.close()

    return opened


@pytest.fixture
async def world(open_world: Callable[..., Any]) -> AsyncIterator[World]:
    async with open_world() as opened:
        yield opened
