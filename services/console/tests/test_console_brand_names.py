"""The names of brands in the bar of every page, beside a real orchestrator: few requests, and no name of a brand that one may not see."""

from collections.abc import AsyncIterator, Sequence

import asyncpg
import httpx
import pytest

from chassis.testing import eventually
from client import Address, RefusedError
from client.connections import WholeAnswer
from client.services.orchestrator import AsyncOrchestrator
from console.pages.brands import MOST_BRANDS, BrandNames
from console.service_clients import ServiceConnections, SharedTransport

MANY = 1_000
_COPIES = """
insert into brands
select (jsonb_populate_record(b, jsonb_build_object('slug', 'copy-' || n, 'name', 'Copy ' || n))).*
from brands as b, generate_series(1, $1::integer) as n where b.slug = 'acme'
"""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Answers(SharedTransport):
    """What the orchestrator answered, by status."""

    def __init__(self) -> None:
        super().__init__(limits=httpx.Limits())
        self.statuses: list[int] = []

    async def ask_whole(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], seconds: float
    ) -> WholeAnswer:
        answer = await super().ask_whole(method, url, headers, seconds)
        self.statuses.append(answer.status_code)
        return answer


class Reader:
    """People who have each an API key."""

    def __init__(self, url: str, service: AsyncOrchestrator) -> None:
        self.clock, self.answers = Clock(), Answers()
        self._services = ServiceConnections({"orchestrator": url}, seconds=60)
        self.names = BrandNames(self._services, self.clock)
        self._url, self.service = url, service
        self._keys: dict[str, str] = {}

    async def join(self, person: str, brands: list[str] | None) -> str:
        """Makes a key; returns its id."""
        made = await self.service.create_key(name=person, scopes=["read"], brands=brands, per_minute=6000)
        self._keys[person] = made["key"]
        return str(made["about"]["key_id"])

    async def read(self, person: str) -> list[tuple[str, str]]:
        client = AsyncOrchestrator(Address(self._url, self._keys[person]), transport=self.answers, timeout=60)
        return [tuple(each) for each in await self.names.of(person, client)]  # type: ignore[misc]

    async def read_later(self, person: str) -> list[tuple[str, str]]:
        self.clock.now += 11
        return await self.read(person)

    async def close(self) -> None:
        await self.answers.aclose()
        await self._services.aclose()


@pytest.fixture
async def reader(orchestrator_url: str) -> AsyncIterator[Reader]:
    async with AsyncOrchestrator(Address(orchestrator_url, "test-service-key-0123456789")) as service:
        for slug in ("acme", "bean", "cocoa"):
            await service.set_brand(slug, name=slug.title())
        found = Reader(orchestrator_url, service)
        yield found
        await found.close()


async def test_each_person_sees_the_names_of_their_own_brands_only(reader: Reader) -> None:
    for person, brands in (("ada", None), ("bob", ["acme"]), ("cid", ["acme"]), ("dan", ["bean", "cocoa"])):
        await reader.join(person, brands)
    everything = [("acme", "Acme"), ("bean", "Bean"), ("cocoa", "Cocoa")]
    assert await reader.read("ada") == everything
    assert await reader.read("bob") == await reader.read("cid") == [("acme", "Acme")]
    assert await reader.read("dan") == everything[1:]
    # Those with the same answer hold it together; that of others is never given.
    kept = [each for each, _ in reader.names._known.values()]
    assert kept[1] is kept[2]
    assert len({id(each) for each in kept}) == 3


async def test_a_new_a_renamed_and_an_erased_brand_are_seen_within_seconds(reader: Reader) -> None:
    await reader.join("ada", None)
    await reader.join("bob", ["acme", "bean"])
    for person in ("ada", "bob"):
        await reader.read(person)
    await reader.service.set_brand("acme", name="Acme & Sons")
    await reader.service.set_brand("daily", name="Daily")
    # For some seconds what is known is good enough, except for the person who changed it.
    assert dict(await reader.read("bob")) == {"acme": "Acme", "bean": "Bean"}
    reader.names.forget("ada")
    assert dict(await reader.read("ada"))["acme"] == "Acme & Sons"
    assert dict(await reader.read_later("bob")) == {"acme": "Acme & Sons", "bean": "Bean"}
    assert "daily" in dict(await reader.read("ada"))
    await reader.service.erase_brand("acme", confirm="acme")

    async def is_gone() -> bool:
        return "acme" not in dict(await reader.read_later("ada"))

    await eventually(is_gone)
    assert dict(await reader.read_later("bob")) == {"bean": "Bean"}


async def test_names_that_stay_the_same_are_sent_once_and_by_one_request(
    reader: Reader, orchestrator_database: str
) -> None:
    connection = await asyncpg.connect(orchestrator_database)
    try:
        await connection.execute(_COPIES, MANY)
    finally:
        await connection.close()
    await reader.join("ada", None)
    assert len(await reader.read("ada")) == MOST_BRANDS
    for _ in range(3):
        assert len(await reader.read_later("ada")) == MOST_BRANDS
    assert reader.answers.statuses == [200, 304, 304, 304]


@pytest.mark.extended
async def test_a_revoked_key_gets_no_names_any_more(reader: Reader) -> None:
    key_id = await reader.join("ada", None)
    await reader.join("eve", None)
    await reader.read("ada")
    await reader.service.revoke_key(key_id)
    assert await reader.read_later("eve")
    with pytest.raises(RefusedError):
        await reader.read("ada")
