"""Addresses: of pages that were moved, taken down or deleted, spelled otherwise, or under a path."""

from uuid import UUID

import httpx
from lxml import html as lxml_html

from messaging import Database
from publisher import store
from publisher.http_api import create_app
from publisher.urls import SiteUrls
from tests.fixtures.publisher.readers import MakePublication, Web


async def test_a_page_that_was_taken_down_is_gone_from_everywhere(web: Web) -> None:
    await web.publish(content_id=str(UUID(int=1)), slug="stays", title="Stays")
    await web.publish(content_id=str(UUID(int=2)), slug="goes", title="Goes")
    cover = (await web.tree("/sites/daily-grind/goes")).xpath("//meta[@property='og:image']/@content")[0]
    assert (await web.get(cover)).status_code == 200
    await web.take_down(content_id=str(UUID(int=2)), slug="goes")

    gone = await web.get("/sites/daily-grind/goes")
    assert (gone.status_code, gone.headers["cache-control"]) == (410, "public, max-age=60")
    page = lxml_html.fromstring(gone.text)
    assert page.xpath("//meta[@name='robots']/@content") == ["noindex"]
    assert page.xpath("//a[text()='See all articles']/@href") == ["/sites/daily-grind/"]
    assert "Goes" not in gone.text
    for path in ("", "feed.xml", "sitemap.xml", "stays"):
        shown = await web.get(f"/sites/daily-grind/{path}")
        assert shown.status_code == 200
        assert "goes" not in shown.text.lower()
    assert (await web.get(cover)).status_code == 404
    assert "1 article" in (await web.get("/")).text


async def test_a_deleted_page_is_gone_for_good_at_every_address_it_had(web: Web) -> None:
    await web.publish(content_id=str(UUID(int=1)), slug="stays", title="Stays")
    article = str(UUID(int=2))
    await web.publish(content_id=article, slug="before", title="Goes")
    await web.publish(content_id=article, slug="goes", title="Goes", updated_at="2026-02-01T10:00:00Z")
    cover = (await web.tree("/sites/daily-grind/goes")).xpath("//meta[@property='og:image']/@content")[0]
    assert (await web.get(cover)).status_code == 200
    assert [await web.delete(article) for _ in range(2)] == [True, False]

    for path in ("before", "goes"):
        gone = await web.get(f"/sites/daily-grind/{path}")
        assert (gone.status_code, "Goes" in gone.text) == (410, False)
    assert (await web.get(cover)).status_code == 404
    for path in ("", "feed.xml", "sitemap.xml", "stays"):
        assert "goes" not in (await web.get(f"/sites/daily-grind/{path}")).text.lower()
    # Its address is given to no other.
    assert await web.publish(content_id=str(UUID(int=3)), slug="goes") == "goes-2"


async def test_every_address_a_page_ever_had_leads_to_where_it_is(web: Web) -> None:
    article = str(UUID(int=1))
    await web.publish(content_id=article, slug="first")
    cover = (await web.tree("/sites/daily-grind/first")).xpath("//meta[@property='og:image']/@content")[0]
    await web.publish(content_id=article, slug="second", updated_at="2026-02-01T10:00:00Z")
    await web.publish(content_id=article, slug="third", updated_at="2026-03-01T10:00:00Z")

    for former in ("first", "second"):
        answer = await web.get(f"/sites/daily-grind/{former}")
        assert (answer.status_code, answer.headers["location"]) == (301, "/sites/daily-grind/third")
    for path in ("", "feed.xml", "sitemap.xml", "third"):
        shown = await web.get(f"/sites/daily-grind/{path}")
        assert shown.status_code == 200
        assert "/first" not in shown.text
    moved = await web.get(cover)
    assert moved.status_code == 301
    assert (await web.get(moved.headers["location"])).headers["content-type"] == "image/png"

    await web.publish(content_id=article, slug="first", updated_at="2026-04-01T10:00:00Z")
    assert (await web.get("/sites/daily-grind/first")).status_code == 200
    assert (await web.get("/sites/daily-grind/third")).headers["location"] == "/sites/daily-grind/first"


async def test_other_spellings_of_an_address_lead_to_the_one_that_counts(web: Web) -> None:
    await web.publish()
    for path, location in {
        "/sites/daily-grind": "/sites/daily-grind/",
        "/sites/daily-grind/cold-brew/": "/sites/daily-grind/cold-brew",
        "/sites/daily-grind/page/1": "/sites/daily-grind/",
    }.items():
        response = await web.get(path)
        assert (response.status_code, response.headers["location"]) == (308, location)


async def test_links_keep_to_the_path_that_the_service_is_published_under(
    database: Database, publication: MakePublication
) -> None:
    async with database.transaction() as tx:
        await store.publish(tx.connection, publication())
    app = create_app(database, SiteUrls.under("https://example.org/news/"), articles_per_page=2)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://inside") as client:
        page = lxml_html.fromstring((await client.get("/sites/daily-grind/")).text)
        article = lxml_html.fromstring((await client.get("/sites/daily-grind/cold-brew")).text)
    [picture] = article.xpath("//img/@src")
    assert picture.startswith("/news/sites/daily-grind/covers/cold-brew-")
    assert article.xpath("//meta[@property='og:image']/@content") == [f"https://example.org{picture}"]
    assert page.xpath("//main//h2/a/@href") == ["/news/sites/daily-grind/cold-brew"]
    assert page.xpath("//link[@rel='canonical']/@href") == ["https://example.org/news/sites/daily-grind/"]
    assert page.xpath("//link[@rel='stylesheet']/@href")[0].startswith("/news/assets/site.css?v=")
