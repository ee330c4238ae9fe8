"""What the gateway's tests share: an internet of their own."""

from collections.abc import AsyncIterator

import pytest

from gateway.egress import Egress
from gateway.egress.addresses import networks
from tests.fixtures.sites import PUBLIC, Names, Site, answer, site


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
async def public() -> AsyncIterator[Site]:
    """A site of the internet."""
    async with site() as made:
        yield made


@pytest.fixture
async def private() -> AsyncIterator[Site]:
    """What nobody outside may reach through us; a test asserts that it was never asked."""
    async with site("127.0.0.1") as made:
        made.pages["/"] = answer(b"secret")
        yield made


@pytest.fixture
async def egress(names: Names) -> AsyncIterator[Egress]:
    async with Egress("BrandEngine", exceptions=networks(f"{PUBLIC}/32"), resolve=names.resolve) as made:
        yield made
