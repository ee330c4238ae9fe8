"""Counting who looks at pages, without knowing who."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from starlette.datastructures import Headers

from chassis import ServiceKey
from chassis.testing import running, serving
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.app import build
from publisher.domain import BrandSlug
from publisher.http_api import create_app
from publisher.settings import Settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from publisher.views import PageViewCounter, is_person
from tests.fixtures.commands.brandctl import Operator

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
KEY = "test-service-key-0123456789"
PAGE = "/sites/daily-grind/cold-brew"


@pytest.mark.parametrize(
    ("agent", "counts"),
    [
        (FIREFOX, True),
        (
            "Mozilla/5.0 (Linux; Android 13; CUBOT X70) AppleWebKit/537.36 Chrome/126.0.0.0 Mobile Safari/537.36",
            True,
        ),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", False),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/537.36 HeadlessChrome/126.0.0.0 Safari/537.36", False),
        ("facebookexternalhit/1.1", False),
        ("Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app) preview", False),
        ("curl/8.9", False),
        ("", False),
    ],
)
def test_browsers_count_and_what_names_itself_a_robot_does_not(agent: str, counts: bool) -> None:
    assert is_person(Headers({"user-agent": agent})) is counts
    assert not is_person(Headers({"user-agent": agent, "sec-purpose": "prefetch;prerender"}))


@pytest.mark.extended
async def test_views_are_told_by_day_and_page(
    database: Database, publication: Callable[..., RenderedArticle], tmp_path: Path
) -> None:
    now = datetime.combine(datetime.now(UTC).date() - timedelta(days=1), time(23, 59), UTC)
    first, second = (now.date() + timedelta(days=number) for number in range(2))
    views = PageViewCounter(database, clock=lambda: now)
    urls = SiteUrls.under("https://blog.example.org")
    sites = create_app(database, urls, articles_per_page=2, views=views)
    async with database.transaction() as tx:
        await store.publish(tx.connection, publication())
        await store.publish(tx.connection, publication(slug="other", title="Other"))
        await store.publish(
            tx.connection, publication(slug="of-others", brand={"slug": "acme", "name": "Acme"})
        )
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites)
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, headers={"User-Agent": FIREFOX}) as reader,
    ):
        etag = (await reader.get(PAGE)).headers["etag"]
        await views.write()
        assert (await reader.get(PAGE, headers={"If-None-Match": etag})).status_code == 304
        await reader.head(PAGE)
        await reader.get(PAGE, headers={"User-Agent": "Googlebot/2.1"})
        await reader.get("/sites/daily-grind/")
        await reader.get("/sites/daily-grind/nowhere")
        await reader.get("/sites/acme/of-others")
        now += timedelta(minutes=2)
        await reader.get(PAGE)
        await reader.get("/sites/daily-grind/other")
        await views.write()
        await views.write()
        told = (
            await reader.get("/v1/brands/daily-grind/views?days=3", headers={"X-Service-Key": KEY})
        ).json()
        counted = {day["day"]: day["views"] for day in told["days"] if day["views"]}
        assert counted == {first.isoformat(): 2, second.isoformat(): 2}
        assert told["total"] == 4
        assert [(page["url"], page["views"]) for page in told["pages"]] == [
            ("https://blog.example.org/sites/daily-grind/cold-brew", 3),
            ("https://blog.example.org/sites/daily-grind/other", 1),
        ]
        brandctl = Operator(tmp_path, {"PUBLISHER_URL": origin, "SERVICE_KEY": KEY}, "site")
        shown = await brandctl("views", "daily-grind", "--days", "3")
        assert (shown.code, shown.out.splitlines()[1].split("\t")[:2]) == (0, ["3", "Cold brew at home"])
        # What goes with its page is counted no more.
        async with database.transaction() as tx:
            gone = await store.newest(tx.connection, BrandSlug("daily-grind"), 2)
            await reader.get("/sites/daily-grind/other")
            for page in gone:
                assert await store.delete(tx.connection, page.content_id, BrandSlug("daily-grind"))
        await views.write()
        left = await reader.get("/v1/brands/daily-grind/views?days=3", headers={"X-Service-Key": KEY})
        assert (left.json()["total"], left.json()["pages"]) == (0, [])


@pytest.mark.extended
async def test_what_was_counted_is_written_before_the_process_ends(
    make_database: Callable[[str], Awaitable[str]],
    rabbitmq_url: str,
    publication: Callable[..., RenderedArticle],
) -> None:
    settings = Settings(
        rabbitmq_url=SecretStr(rabbitmq_url),
        database_url=SecretStr(await make_database("publisher")),
        service_key=SecretStr(KEY),
        http_port=0,
        public_url="https://example.org",
    )
    async with running(build(settings)) as service:
        async with service.database.transaction() as tx:
            await store.publish(tx.connection, publication())
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}") as reader:
            assert (await reader.get(PAGE, headers={"User-Agent": FIREFOX})).status_code == 200
    async with running(build(settings)) as service, httpx.AsyncClient() as operator:
        address = f"http://127.0.0.1:{service.port}/v1/brands/daily-grind/views"
        told = await operator.get(address, headers={"X-Service-Key": KEY})
    assert told.json()["total"] == 1
