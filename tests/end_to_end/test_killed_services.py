"""Every service is killed while the work is running; each keyword still ends in one page and one post."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from brandctl.local import processes, services
from chassis.testing import eventually

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-tests-only"
KEYWORDS = [
    "pour-over coffee",
    "grind size",
    "water quality for coffee",
    "cold brew",
    "french press",
    "moka pot",
    "espresso",
]


class Stack:
    """The five services as processes, to be killed and started again on the same broker and databases."""

    def __init__(
        self, addresses: services.ServiceAddresses, environments: dict[str, dict[str, str]], logs: Path
    ) -> None:
        self.addresses = addresses
        self._environments = environments
        self._logs = logs
        self.children: dict[str, processes.ChildProcess] = {}

    def start(self, name: str) -> None:
        self.children[name] = services.start(name, self._environments[name], self._logs)

    def kill(self, name: str) -> None:
        """As the kernel does when memory runs out: no signal handler, no goodbye."""
        self.children[name].process.kill()
        self.children[name].process.wait()

    def wait_until_ready(self) -> None:
        services.wait_until_ready(list(self.children.values()), self.addresses)


@pytest.fixture
async def stack(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[Stack]:
    addresses = services.choose_addresses()
    environments = {
        name: services.environment(
            name,
            addresses=addresses,
            rabbitmq_url=broker_urls[name],
            database_url=await make_database(name),
            service_key=KEY,
            corpus=ROOT / "deploy" / "demo" / "corpus",
        )
        | {"RETRY_BASE_SECONDS": "0.5"}
        for name in services.NAMES
    }
    stack = Stack(addresses, environments, tmp_path)
    try:
        for name in services.NAMES:
            stack.start(name)
        await asyncio.to_thread(stack.wait_until_ready)
        yield stack
    finally:
        await asyncio.to_thread(services.stop, list(stack.children.values()))


@pytest.mark.extended
async def test_a_kill_of_every_service_costs_nothing_and_doubles_nothing(stack: Stack) -> None:
    async with httpx.AsyncClient(
        headers={"X-Service-Key": KEY}, base_url=stack.addresses.url("orchestrator"), timeout=60
    ) as api:
        await api.put("/v1/brands/daily-grind", json={"name": "The Daily Grind"})
        submitted = await api.post("/v1/brands/daily-grind/research", json={"keywords": KEYWORDS})
        assert submitted.status_code == 202
        for name in ("research", "orchestrator", "publisher", "social", "monitor"):
            stack.kill(name)
            await asyncio.sleep(0.3)  # others go on without it for a while: that is what is tested
            stack.start(name)
        await asyncio.to_thread(stack.wait_until_ready)

        async def ended() -> dict[str, Any] | None:
            answer = await api.get(f"/v1/cycles/{submitted.json()['cycle_id']}")
            cycle = answer.json()
            return cycle if cycle["percent"] == 100 else None

        cycle = await eventually(ended)
    assert {keyword["keyword"]: keyword["state"] for keyword in cycle["keywords"]} == dict.fromkeys(
        KEYWORDS, "completed"
    )
    assert all(len(keyword["posts"]) == 1 for keyword in cycle["keywords"])
    async with httpx.AsyncClient(timeout=60, headers={"X-Service-Key": KEY}) as visitor:
        sitemap = await visitor.get(f"{stack.addresses.url('publisher')}/sites/daily-grind/sitemap.xml")
        assert sorted(keyword["published_url"] for keyword in cycle["keywords"]) == sorted(
            address for address in addresses_in(sitemap.text) if not address.endswith("/")
        )
        feed = await visitor.get(f"{stack.addresses.url('social')}/feeds/daily-grind/feed.xml")
        assert feed.text.count("<entry>") == len(KEYWORDS)
        dead = await visitor.get(f"{stack.addresses.url('monitor')}/v1/dead-letters")
        assert dead.json()["items"] == []


def addresses_in(sitemap: str) -> list[str]:
    return [part.split("</loc>")[0] for part in sitemap.split("<loc>")[1:]]
