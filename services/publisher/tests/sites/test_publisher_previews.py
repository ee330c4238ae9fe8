"""Preview links: they show the current draft until they expire, and nothing else opens it."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from lxml import html as lxml_html
from pydantic import SecretStr
from starlette.responses import JSONResponse

from chassis import ServiceKey
from chassis.http.client import UnavailableError
from messaging import Database, Dependency
from publisher import store
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.orchestrator_client import OrchestratorClient
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

KEY = {"X-Service-Key": "test-service-key-0123456789"}
PREVIEWS = "/v1/brands/daily-grind/previews"
ORIGIN = "https://blog.example.org"


@pytest.fixture
async def web(database: Database, orchestrator: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with OrchestratorClient(
        orchestrator.url,
        SecretStr(KEY["X-Service-Key"]),
        timeout_seconds=60,
        max_bytes=100_000,
        orchestrator=Dependency("orchestrator", outages=(UnavailableError,)),
    ) as drafts:
        urls = SiteUrls.under(ORIGIN)
        sites = create_app(database, urls, articles_per_page=2, drafts=drafts)
        app = create_api(
            database, ServiceKey(SecretStr(KEY["X-Service-Key"])), urls, sites=sites, drafts=drafts
        )
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
            yield client


async def link(web: httpx.AsyncClient, content_id: UUID, path: str = PREVIEWS, **more: Any) -> str:
    made = await web.post(path, json={"content_id": str(content_id), **more}, headers=KEY)
    assert made.status_code == 201, made.text
    url: str = made.json()["url"]
    assert url.startswith(f"{ORIGIN}/preview/")
    return url


async def test_who_has_the_link_sees_the_draft_as_it_stands_and_no_cache_or_search_engine_keeps_it(
    web: httpx.AsyncClient, orchestrator: Any
) -> None:
    content_id = orchestrator.add(held_for=["everything is approved first: a secret reason"])
    url = await link(web, content_id)
    page = await web.get(url)
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    assert "noindex" in page.headers["x-robots-tag"]
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "etag" not in page.headers
    tree = lxml_html.fromstring(page.text)
    assert tree.xpath("//h1/text()") == ["Cold brew at home"]
    assert "A draft that is not published" in tree.text_content()
    assert "secret reason" not in page.text
    assert not tree.xpath("//link[@rel='canonical'] | //script | //img")
    orchestrator.documents[content_id]["title"] = "Better cold brew"
    assert "Better cold brew" in (await web.get(url)).text
    # It is on no site, and another draft has another link.
    assert (await web.get("/sites/daily-grind/cold-brew")).status_code == 404
    assert await link(web, content_id) != url


async def test_a_link_ends_and_what_is_like_it_leads_nowhere(
    web: httpx.AsyncClient, orchestrator: Any, database: Database
) -> None:
    url = await link(web, orchestrator.add(), hours=1)
    made = await web.post(PREVIEWS, json={"content_id": str(uuid4()), "hours": 720}, headers=KEY)
    left = datetime.fromisoformat(made.json()["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29, hours=23) < left < timedelta(days=30, hours=1)
    for wrong in (
        url[:-1],
        url + "a",
        f"{ORIGIN}/preview/",
        f"{ORIGIN}/preview/%00",
        f"{ORIGIN}/preview/{'a' * 5000}",
    ):
        assert (await web.get(wrong)).status_code == 404
    async with database.connection() as connection:
        await connection.execute("update previews set expires_at = clock_timestamp() - interval '1 second'")
        kept = [str(value) for row in await connection.fetch("select * from previews") for value in row]
        audit = await connection.fetchval("select string_agg(audit_log::text, '') from audit_log")
    assert (await web.get(url)).status_code == 404
    word = url.rpartition("/")[2]
    assert word not in "".join(kept) + audit
    await link(web, uuid4())
    async with database.connection() as connection:
        assert await connection.fetchval("select count(*) from previews") == 1


async def test_another_brands_draft_is_not_shown_and_an_orchestrator_that_is_away_is_said(
    web: httpx.AsyncClient, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    others = await link(web, content_id, "/v1/brands/acme/previews")
    assert (await web.get(others)).status_code == 404
    url = await link(web, content_id)
    orchestrator.answer = lambda _: JSONResponse({"detail": "no"}, 500)
    assert (await web.get(url)).status_code == 503
    orchestrator.answer = lambda _: JSONResponse({"detail": "gone"}, 410)
    assert (await web.get(url)).status_code == 404
    assert (await web.post(PREVIEWS, json={"content_id": str(content_id)})).status_code == 401


async def test_a_draft_looks_as_its_site_does(
    web: httpx.AsyncClient, orchestrator: Any, database: Database, publication: Callable[..., RenderedArticle]
) -> None:
    async with database.transaction() as tx:
        await store.publish(tx.connection, publication(slug="first"))
    await web.patch("/v1/brands/daily-grind/site", json={"accent": "#1f6154"}, headers=KEY)
    await web.patch("/v1/brands/acme/site", json={"author": {"name": "Ada"}}, headers=KEY)
    page = await web.get(await link(web, orchestrator.add()))
    assert (
        lxml_html.fromstring(page.text)
        .xpath("//link[@rel='stylesheet']/@href")[0]
        .startswith("/sites/daily-grind/look-")
    )
    unpublished = orchestrator.add(brand={"slug": "acme", "name": "Acme", "language": "de"})
    page = await web.get(await link(web, unpublished, "/v1/brands/acme/previews"))
    assert 'lang="de"' in page.text
    assert "Ada" in page.text


async def test_a_version_is_one_document_with_its_styles_and_nothing_to_run_or_to_fetch(
    web: httpx.AsyncClient, orchestrator: Any
) -> None:
    content_id = orchestrator.add(held_for=["everything is approved first"])
    changed = {
        "title": "Cold <script>alert(1)</script> brew",
        "body_markdown": "Steep it. [1] <img src=x onerror=alert(1)>\n",
    }
    orchestrator.versions[content_id, 2] = {**orchestrator.documents[content_id], **changed}
    path = f"/v1/brands/daily-grind/drafts/{content_id}/page"
    page = await web.get(path, params={"version": 2}, headers=KEY)

    assert page.status_code == 200, page.text
    assert page.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    tree = lxml_html.fromstring(page.text)
    assert tree.xpath("//h1/text()") == ["Cold <script>alert(1)</script> brew"]
    assert "Steep it." in tree.text_content()
    assert len(tree.xpath("//style")) == 1
    assert not tree.xpath("//link | //script | //img | //@onerror")


async def test_a_version_of_another_brand_or_none_is_not_shown_and_needs_a_key(
    web: httpx.AsyncClient, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    orchestrator.versions[content_id, 1] = orchestrator.documents[content_id]
    path = "/v1/brands/{}/drafts/{}/page?version={}"

    statuses = [
        (await web.get(path.format(*asked), headers=KEY)).status_code
        for asked in (("acme", content_id, 1), ("daily-grind", content_id, 2), ("daily-grind", uuid4(), 1))
    ]
    assert statuses == [404, 404, 503]
    assert (await web.get(path.format("daily-grind", content_id, 1))).status_code == 401
