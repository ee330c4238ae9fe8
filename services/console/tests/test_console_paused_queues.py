"""When the services are asked for the line of paused queues, and how long a page waits for them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from chassis.testing import eventually
from client import UnreachableError
from console.pages.paused_queues import PausedQueues
from console.service_clients import PersonClients


class Service:
    """One of the services, which answers, is away, or is silent."""

    def __init__(self) -> None:
        self.asked = 0
        self.paused: list[str] = []
        self.is_away = False
        self.answers = asyncio.Event()
        self.answers.set()

    async def get_pauses(self) -> dict[str, Any]:
        self.asked += 1
        await self.answers.wait()
        if self.is_away:
            raise UnreachableError("away")
        since = "2026-03-01T12:00:00+00:00"
        return {
            "queues": [
                {"queue": each, "by": "Ada", "reason": "moves", "since": since} for each in self.paused
            ]
        }


class Services:
    """The clients of a person; `alone` is the same for all."""

    def __init__(self) -> None:
        self.orchestrator, self.research, self.publisher = Service(), Service(), Service()
        self.social, self.monitor, self.events = Service(), Service(), Service()
        self.now = 0.0
        self.paused = PausedQueues(clock=lambda: self.now)

    def alone(self) -> "Services":
        return self

    async def read(self) -> list[str]:
        return [each.queue for each in await self.paused.read(cast("PersonClients", self))]


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    made = Services()
    yield made
    await made.paused.aclose()


async def test_each_service_is_asked_once_in_a_few_seconds(services: Services) -> None:
    services.monitor.paused = ["monitor-commands"]
    services.social.paused = ["social-commands"]
    for _ in range(3):
        assert await services.read() == ["social-commands", "monitor-commands"]
    assert services.monitor.asked == 1
    services.now = 6.0
    services.monitor.paused = []
    assert await services.read() == ["social-commands", "monitor-commands"], "a page waited for the answer"

    async def is_renewed() -> bool:
        return await services.read() == ["social-commands"]

    await eventually(is_renewed)
    assert services.monitor.asked == 2


async def test_a_page_waits_for_what_has_not_been_asked_for_long(services: Services) -> None:
    services.monitor.paused = ["monitor-commands"]
    await services.read()
    services.now = 31.0
    services.monitor.paused = []
    assert await services.read() == []


async def test_many_pages_at_once_ask_once(services: Services) -> None:
    await asyncio.gather(*(services.read() for _ in range(20)))
    assert services.research.asked == 1


async def test_a_service_that_is_away_keeps_its_last_answer_and_hides_no_other(services: Services) -> None:
    services.monitor.paused = ["monitor-commands"]
    await services.read()
    services.now = 6.0
    services.monitor.is_away = True
    services.publisher.paused = ["publisher-commands"]

    async def others_are_renewed() -> bool:
        return await services.read() == ["publisher-commands", "monitor-commands"]

    await eventually(others_are_renewed)


async def test_a_silent_service_delays_a_page_once_and_a_service_that_is_away_none(
    services: Services,
) -> None:
    services.research.answers.clear()
    services.publisher.paused = ["publisher-commands"]
    clock = asyncio.get_running_loop().time
    began = clock()
    assert await services.read() == ["publisher-commands"]
    assert clock() - began < 5
    # Nobody waits for the request that is under way, nor begins another.
    services.now = 60.0
    assert await services.read() == ["publisher-commands"]
    assert services.research.asked == 1
    services.research.is_away = True
    services.research.answers.set()

    async def is_known_to_be_away() -> bool:
        return "research" not in services.paused._reading

    await eventually(is_known_to_be_away)
    services.research.answers.clear()
    services.now = 120.0
    began = clock()
    await services.read()
    assert clock() - began < 0.3


async def test_after_a_change_the_next_page_asks_again_and_an_older_answer_counts_no_more(
    services: Services,
) -> None:
    await services.read()
    services.now = 31.0
    services.monitor.answers.clear()
    await services.read()
    services.monitor.paused = ["monitor-commands"]
    services.paused.forget("monitor")
    services.monitor.answers.set()
    assert await services.read() == ["monitor-commands"]
    assert services.monitor.asked == 3
