"""The publisher answers every request that its document allows as the document says."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from PIL import Image
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz

KEY = "test-service-key-0123456789"


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_the_publisher_is_as_documented(
    database: Database, publication: Callable[..., RenderedArticle], tmp_path: Path, thorough: bool
) -> None:
    urls = SiteUrls.under("https://blog.example.org")
    sites = create_app(database, urls, articles_per_page=2)
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites)
    logo = BytesIO()
    Image.new("RGB", (60, 20), (200, 0, 0)).save(logo, "PNG")
    slugs = [f"brand-{number}" for number in range(8)]
    async with database.transaction() as tx:
        for slug in slugs:
            await store.publish(tx.connection, publication(brand={"slug": slug, "name": slug}))
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, headers={"X-Service-Key": KEY}) as api,
    ):
        for slug in slugs:
            (await api.patch(f"/v1/brands/{slug}/site", json={"tags": [slug]})).raise_for_status()
            (await api.put(f"/v1/brands/{slug}/logo", content=logo.getvalue())).raise_for_status()
        await fuzz(
            api,
            tmp_path,
            known={
                "query.type": ["content.publish"],
                "path.slug": slugs,
                "path.article": ["cold-brew"],
                "path.part": ["pages"],
            },
            thorough=thorough,
            # An id is of one brand only: the two do not meet.
            unreached=["DELETE /v1/brands/{slug}/newsletter/subscribers/{subscriber_id}"],
        )
