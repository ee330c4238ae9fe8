"""Brands share the handlers of research: slow pages of one hold up no other brand. On a real broker and gateway."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import asyncpg
import pytest

from chassis.testing import eventually, running
from envelope import DomainMessage, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from messaging import Service, ServiceSettings, WaitFor, on_each
from messaging.testing import Broker
from research.app import POLICY
from research.handlers import Handlers
from research.sources.domain import SourceSettings
from research.sources.store import set_sources
from research.web.fetch_limits import KEYWORDS, PAGES, BrandFetchLimits
from tests.fixtures.sites import Request, answer
from tests.fixtures.web_research import TEXTS, World, page

MANY, FEW = 60, 5


class Research:
    """The service as others see it: commands in, events out."""

    def __init__(self, broker: Broker, database_url: str) -> None:
        self._broker = broker
        self._database_url = database_url
        self.ended: Counter[str] = Counter()
        """Commands by brand."""

    async def looks_in(self, brand: str, *urls: str) -> None:
        connection = await asyncpg.connect(self._database_url)
        await set_sources(connection, brand, SourceSettings(folder=False, urls=urls))
        await connection.close()

    async def hand_in(self, brand: str, count: int) -> None:
        for _ in range(count):
            message = DomainMessage[ResearchRequested](
                event_id=new_event_id(),
                type="research.requested",
                source="orchestrator",
                timestamp=datetime.now(UTC),
                correlation_id=brand,
                payload=ResearchRequested(brand_slug=brand, keyword="cold brew"),
            )
            await self._broker.publish("commands", "research-commands", encode(message))

    async def wait_until_ended(self, brand: str, count: int) -> None:
        while self.ended[brand] < count:
            event = json.loads((await self._broker.take("orchestrator-events")).body)
            assert event["type"] in {"research.completed", "research.failed", "research.waiting"}
            self.ended[event["payload"]["brand_slug"]] += event["type"] != "research.waiting"


@pytest.fixture
async def research(
    world: World, rabbitmq_url: str, make_database: Callable[[str], Awaitable[str]]
) -> AsyncIterator[Research]:
    await world.corpus.refresh()
    database_url = await make_database("research")
    settings = ServiceSettings(rabbitmq_url=rabbitmq_url, database_url=database_url, http_port=0)
    service = Service("research", settings, CATALOGUE)
    handlers = Handlers(service.database, world.research)
    service.consume(
        "research-commands", on_each(handlers.research_requested, ResearchRequested), policy=POLICY
    )
    async with running(service), Broker.connected(rabbitmq_url) as broker:
        yield Research(broker, database_url)


@pytest.mark.extended
async def test_slow_pages_of_one_brand_hold_up_no_other(world: World, research: Research) -> None:
    answers = asyncio.Event()
    asked: list[str] = []

    async def slowly(request: Request, writer: asyncio.StreamWriter) -> None:
        asked.append(request.path)
        await answers.wait()
        writer.write(answer(page(TEXTS[request.path[1]])))

    addresses: dict[str, list[str]] = {"many": [], "few": []}
    for path in "abc":
        world.names.mean(f"slow-{path}.example", world.site)
        world.site.pages[f"/{path}-slow"] = slowly
        addresses["many"].append(f"http://slow-{path}.example/{path}-slow")
        addresses["few"].append(world.write(f"http://quick-{path}.example/{path}"))
    for brand, urls in addresses.items():
        await research.looks_in(brand, *urls)

    await research.hand_in("many", MANY)
    await eventually(lambda: len(asked) == len(addresses["many"]))
    await research.hand_in("few", FEW)
    await research.hand_in("folder", FEW)
    await research.wait_until_ended("few", FEW)
    await research.wait_until_ended("folder", FEW)
    assert research.ended["many"] == 0
    # Nothing of what had to wait is lost, or done twice.
    answers.set()
    await research.wait_until_ended("many", MANY)
    assert research.ended == {"many": MANY, "few": FEW, "folder": FEW}


def test_a_brand_has_its_share_and_whoever_must_not_wait_goes_on() -> None:
    turns = BrandFetchLimits()
    with turns.hold_keyword_slot("many"), turns.hold_keyword_slot("many"), turns.hold_keyword_slot("many"):
        with (
            pytest.raises(WaitFor, match="3 other keywords of its brand") as raised,
            turns.hold_keyword_slot("many"),
        ):
            pass
        assert raised.value.after is None  # its pauses grow
        with turns.hold_keyword_slot("few"), turns.hold_keyword_slot("many", at_once=True):
            pass
    with turns.hold_keyword_slot("many"):
        pass
    assert POLICY.max_concurrency > 3 * KEYWORDS


async def test_pages_of_a_brand_share_its_room() -> None:
    turns = BrandFetchLimits()
    room = turns.page_slots("many")
    assert turns.page_slots("many") is room
    for _ in range(PAGES):
        await asyncio.wait_for(room.acquire(), 60)
    assert room.locked()
    assert not turns.page_slots("few").locked()
