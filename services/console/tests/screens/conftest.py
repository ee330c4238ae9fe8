"""The services that the screens show, as processes; the console of the tests asks them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from brandctl.local import services

ROOT = Path(__file__).parents[4]
KEY = "test-service-key-0123456789"
ASKED = (*services.NAMES, "gateway")


@pytest.fixture
async def stack(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[services.ServiceAddresses]:
    """The services, ready, with the sample documents as corpus."""
    addresses = services.choose_addresses()
    children = []
    try:
        for name in ASKED:
            environment = services.environment(
                name,
                addresses=addresses,
                rabbitmq_url=broker_urls.get(name),
                database_url=await make_database(name),
                service_key=KEY,
                corpus=ROOT / "deploy" / "demo" / "corpus",
            )
            children.append(services.start(name, environment, tmp_path))
        await asyncio.to_thread(services.wait_until_ready, children, addresses)
        yield addresses
    finally:
        await asyncio.to_thread(services.stop, children)


@pytest.fixture
def service_urls(stack: services.ServiceAddresses) -> dict[str, str]:
    return {f"{name}_url": stack.url(name) for name in ASKED}
