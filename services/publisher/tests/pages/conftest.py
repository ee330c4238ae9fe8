"""A site to be read."""

from collections.abc import AsyncIterator

import httpx
import pytest

from messaging import Database
from publisher.http_api import create_app
from publisher.urls import SiteUrls
from tests.fixtures.publisher.readers import ORIGIN, MakePublication, Web


@pytest.fixture
async def web(database: Database, publication: MakePublication) -> AsyncIterator[Web]:
    app = create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield Web(database, client, publication)
