"""No request of a visitor causes a failure."""

from collections.abc import Awaitable, Callable

import pytest
from pydantic import SecretStr
from starlette.routing import Route

from chassis.testing import running
from chassis.testing.strange_requests import FuzzTarget, ask_strangely
from publisher import store
from publisher.app import build
from publisher.domain import Author, BrandSlug, SiteSettings
from publisher.http_api import create_app
from publisher.settings import Settings
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

pytestmark = pytest.mark.extended

KNOWN = {
    "brand": ["daily-grind"],
    "slug": ["article-0", "feed.xml"],
    "tag": ["cold-brew", "nothing"],
    "author": ["ada", "bob"],
    "digest": ["0123456789abcdef", "x"],
    "number": ["1", "2", "3"],
    "name": ["site.css"],
    "file": ["article-0-0123456789abcdef.png", "article-0-.png", "-0123456789abcdef.jpg"],
    "If-Modified-Since": ["Thu, 01 Jan 2037 00:00:00 GMT"],
    "If-None-Match": ["*"],
}


async def test_nothing_that_is_asked_makes_the_sites_fail(
    make_database: Callable[[str], Awaitable[str]],
    rabbitmq_url: str,
    publication: Callable[..., RenderedArticle],
) -> None:
    settings = Settings(
        rabbitmq_url=SecretStr(rabbitmq_url),
        database_url=SecretStr(await make_database("publisher")),
        service_key=SecretStr("test-service-key-0123456789"),
        http_port=0,
        public_url="https://example.org/news",
        articles_per_page=1,
    )
    async with running(build(settings)) as service:
        async with service.database.transaction() as tx:
            for number in range(3):
                await store.publish(tx.connection, publication(slug=f"article-{number}"))
            with_settings = SiteSettings(tags=("cold brew",), author=Author(name="Ada"), accent="#102030")
            await site_settings.save(tx.connection, BrandSlug("daily-grind"), with_settings)
        sites = create_app(service.database, SiteUrls.under(settings.public_url), articles_per_page=1)
        paths = [route.path for route in sites.routes if isinstance(route, Route)]
        paths += ["/health/live", "/health/ready", "/metrics", "/v1/{x}"]
        target = FuzzTarget(f"http://127.0.0.1:{service.port}", paths, KNOWN)
        answered = await ask_strangely(target, count=300)
    assert {200, 308, 404, 405} <= set(answered)
