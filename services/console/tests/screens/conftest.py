"""The services that the screens show, as processes; the console of the tests asks them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from brandctl.local import services
from tests.fixtures.running_services import running_services

KEY = "test-service-key-0123456789"
ASKED = (*services.NAMES, "gateway")


@pytest.fixture
async def stack(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[services.ServiceAddresses]:
    """The services, ready, with the sample documents as corpus."""
    async with running_services(
        ASKED, broker_urls=broker_urls, make_database=make_database, service_key=KEY, folder=tmp_path
    ) as addresses:
        yield addresses


@pytest.fixture
def service_urls(stack: services.ServiceAddresses) -> dict[str, str]:
    return {f"{name}_url": stack.url(name) for name in ASKED}
