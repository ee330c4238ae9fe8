"""Every answer: its headers, what may be kept of it, and what is said without a database."""

import asyncio

import httpx
import pytest

from chassis.database.pool import Connections
from chassis.http.public import SECURITY_HEADERS
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from publisher.http_api import create_app
from publisher.urls import SiteUrls
from tests.fixtures.publisher.readers import ORIGIN, Web

PATHS = [
    "/",
    "/robots.txt",
    "/assets/site.css",
    "/assets/favicon.svg",
    "/sites/daily-grind/",
    "/sites/daily-grind/cold-brew",
    "/sites/daily-grind/feed.xml",
    "/sites/daily-grind/sitemap.xml",
    "/sites/daily-grind/robots.txt",
    "/sites/daily-grind/favicon.svg",
]


@pytest.mark.extended
@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_is_protected_cacheable_and_asked_again_cheaply(web: Web, path: str) -> None:
    await web.publish()
    response = await web.get(path)
    assert response.status_code == 200
    assert {name: response.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert response.headers["cache-control"].startswith("public, max-age=")
    head = await web.client.head(path)
    assert (head.status_code, head.headers["etag"]) == (200, response.headers["etag"])
    again = await web.get(path, **{"If-None-Match": f'"other", {response.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == response.headers["etag"]
    assert (await web.get(path, **{"If-None-Match": '"other"'})).status_code == 200
    assert (await web.client.post(path)).status_code == 405


async def test_dates_serve_clients_without_entity_tags(web: Web) -> None:
    await web.publish()
    path = "/sites/daily-grind/cold-brew"
    modified = (await web.get(path)).headers["last-modified"]
    assert modified.endswith("GMT")
    assert (await web.get(path, **{"If-Modified-Since": modified})).status_code == 304
    assert (await web.get(path, **{"If-Modified-Since": "Thu, 01 Jan 2015 00:00:00 GMT"})).status_code == 200
    assert (await web.get(path, **{"If-Modified-Since": "yesterday"})).status_code == 200
    both = {"If-Modified-Since": modified, "If-None-Match": '"other"'}
    assert (await web.get(path, **both)).status_code == 200


async def test_the_policy_lets_no_script_run(web: Web) -> None:
    policy = (await web.get("/")).headers["content-security-policy"]
    for directive in ("default-src 'none'", "script-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert directive in policy
    assert "unsafe" not in policy


async def test_the_stylesheet_may_be_kept_for_ever_under_its_version(web: Web) -> None:
    [link] = (await web.tree("/")).xpath("//link[@rel='stylesheet']/@href")
    assert "immutable" in (await web.get(link)).headers["cache-control"]
    assert "immutable" not in (await web.get("/assets/site.css?v=old")).headers["cache-control"]


async def test_without_a_database_readers_are_asked_to_come_back() -> None:
    connections = Connections("postgresql://nobody@127.0.0.1:1/none", name="none")
    database = Database(
        connections, Relay(connections, Publisher("amqp://127.0.0.1:1/", name="none")), "publisher", CATALOGUE
    )
    app = create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        response = await client.get("/sites/daily-grind/")
        assert response.status_code == 503
        assert response.headers["retry-after"] == "30"
        picture = await client.get("/sites/daily-grind/covers/cold-brew-0123456789abcdef.png")
        assert (picture.status_code, picture.headers["cache-control"]) == (503, "no-store")
        assert (await client.get("/nothing")).status_code == 404


async def test_many_readers_at_once_are_served(web: Web) -> None:
    await web.publish()
    responses = await asyncio.gather(*(web.get("/sites/daily-grind/cold-brew") for _ in range(40)))
    assert {response.status_code for response in responses} == {200}
