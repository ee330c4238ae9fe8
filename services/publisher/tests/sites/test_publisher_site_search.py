"""Finding articles: by their words, by tags, and from one to the next. On a real database, as visitors do it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from lxml import etree
from lxml import html as lxml_html

from messaging import Database
from publisher import site_search, store
from publisher.domain import Author, BrandSlug, PageSlug, SiteSettings
from publisher.http_api import create_app
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from tests.fixtures.explained import ExplainedConnection

ORIGIN = "https://blog.example.org"
SITE = "/sites/daily-grind/"
BREWERS = {
    "aeropress": "AeroPress for one cup",
    "espresso": "Espresso machines at home",
    "grinders": "Burr grinders for espresso",
    "kettles": "Kettles that pour slowly",
}


class Web:
    def __init__(
        self, database: Database, client: httpx.AsyncClient, publication: Callable[..., RenderedArticle]
    ) -> None:
        self.database = database
        self.client = client
        self._publication = publication

    async def publish(self, **changes: Any) -> None:
        async with self.database.transaction() as tx:
            await store.publish(tx.connection, self._publication(**changes))

    async def decide(self, **settings: Any) -> None:
        async with self.database.transaction() as tx:
            await site_settings.save(tx.connection, BrandSlug("daily-grind"), SiteSettings(**settings))

    async def tree(self, path: str) -> Any:
        response = await self.client.get(path)
        assert response.status_code == 200, response.text
        return lxml_html.fromstring(response.text)

    async def found(self, wanted: str) -> list[str]:
        page = await self.client.get(f"{SITE}search/", params={"q": wanted})
        assert page.status_code == 200
        return [
            title.text_content()
            for title in lxml_html.fromstring(page.text).xpath("//ol[@class='listing']//h2")
        ]


@pytest.fixture
async def web(database: Database, publication: Callable[..., RenderedArticle]) -> AsyncIterator[Web]:
    app = create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield Web(database, client, publication)


@pytest.fixture
async def brewers(web: Web) -> Web:
    for slug, title in BREWERS.items():
        body = (
            f"How to use it. [1]\n\n## Care of {slug}\n\nDescale it with citric acid."
            if slug == "kettles"
            else "Plain. [1]"
        )
        await web.publish(slug=slug, title=title, keyword=slug, meta_description="Short.", body_markdown=body)
    return web


async def test_articles_are_found_by_any_form_of_their_words_the_best_first(brewers: Web) -> None:
    assert await brewers.found("grinder") == ["Burr grinders for espresso"]
    assert await brewers.found("descaled CITRIC") == ["Kettles that pour slowly"]
    assert await brewers.found("espresso") == ["Espresso machines at home", "Burr grinders for espresso"]
    assert await brewers.found("espresso -burr") == ["Espresso machines at home"]
    assert await brewers.found('"cup one"') == []
    assert await brewers.found("") == await brewers.found("tea") == []


@pytest.mark.extended
@pytest.mark.parametrize(
    "wanted",
    [
        "' or 1=1 --",
        "a & | ! ( <-> :*",
        "\0\u202e",
        "\\",
        '"',
        "x" * 5000,
        "<script>alert(1)</script>",
        "%",
        "é" * 99,
    ],
)
async def test_whatever_is_wanted_is_shown_and_never_carried_out(brewers: Web, wanted: str) -> None:
    page = await brewers.client.get(f"{SITE}search/", params={"q": wanted})
    assert page.status_code == 200
    assert len(page.content) < 10_000
    assert "<script>alert" not in page.text
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert "script-src 'none'" in page.headers["content-security-policy"]
    assert "private" in page.headers["cache-control"]
    assert 'name="robots" content="noindex"' in page.text


async def test_words_follow_the_language_and_every_change_of_an_article(
    web: Web, new_article: Callable[..., dict[str, Any]]
) -> None:
    article = new_article(title="Die Häuser am Fluss", keyword="wohnen", body_markdown="Alt. [1]")
    await web.publish(**article)
    assert await web.found("haus fluss") == []  # which is no form of "häuser" in English
    article["brand"] = {**article["brand"], "language": "de-AT"}
    await web.publish(**{**article, "updated_at": "2026-01-02T10:00:00Z"})
    assert await web.found("haus fluss") == ["Die Häuser am Fluss"]
    await web.publish(
        **{**article, "title": "Die Mühlen", "keyword": "mühle", "updated_at": "2026-01-03T10:00:00Z"}
    )
    assert await web.found("fluss") == []
    assert await web.found("mühle") == ["Die Mühlen"]


async def test_other_sites_and_pages_that_were_taken_down_are_not_found(
    brewers: Web, publication: Callable[..., RenderedArticle]
) -> None:
    await brewers.publish(slug="acme", title="Espresso of others", brand={"slug": "acme", "name": "Acme"})
    gone = publication(slug="gone", title="Espresso that is gone")
    async with brewers.database.transaction() as tx:
        await store.publish(tx.connection, gone)
        assert await store.take_down(tx.connection, gone.article)
    assert await brewers.found("espresso") == ["Espresso machines at home", "Burr grinders for espresso"]


async def test_an_article_leads_to_those_on_its_subject(brewers: Web) -> None:
    page = await brewers.tree(f"{SITE}espresso")
    assert page.xpath("//aside//h2")[0].text_content() == "Related articles"
    assert page.xpath("//aside//li/a/@href") == [f"{SITE}grinders"]
    alone = await brewers.tree(f"{SITE}aeropress")
    assert alone.xpath("//aside//h2")[0].text_content() == "More from The Daily Grind"
    assert len(alone.xpath("//aside//li/a/@href")) == 3


async def test_tags_gather_articles_and_only_those_that_any_has_are_shown(brewers: Web) -> None:
    assert (await brewers.client.get(f"{SITE}tags/espresso")).status_code == 404
    await brewers.decide(tags=("Kettle", "Espresso", "Tea", "Burr grinder"))
    front = await brewers.tree(SITE)
    assert front.xpath("//header//ul[@class='tags']//a/@href") == [
        f"{SITE}tags/kettle",
        f"{SITE}tags/espresso",
        f"{SITE}tags/burr-grinder",
    ]
    page = await brewers.tree(f"{SITE}grinders")
    assert page.xpath("//article//ul[@class='tags']//a/text()") == ["Espresso", "Burr grinder"]
    tag = await brewers.tree(f"{SITE}tags/espresso")
    assert tag.xpath("//link[@rel='canonical']/@href") == [f"{ORIGIN}{SITE}tags/espresso"]
    assert tag.xpath("//main//h2/a/@href") == [f"{SITE}grinders", f"{SITE}espresso"]
    for missing in ("tags/tea", "tags/nothing", "tags/espresso/page/2", "tags/espresso/page/0", "tags/%00"):
        assert (await brewers.client.get(SITE + missing)).status_code == 404, missing
    assert (await brewers.client.get(f"{SITE}tags/espresso/page/1")).headers[
        "location"
    ] == f"{SITE}tags/espresso"
    await brewers.publish(slug="third", title="Espresso again", keyword="espresso")
    assert (await brewers.tree(f"{SITE}tags/espresso/page/2")).xpath("//main//h2/a/@href") == [
        f"{SITE}espresso"
    ]
    site_map = etree.fromstring((await brewers.client.get(f"{SITE}sitemap.xml")).content)
    assert f"{ORIGIN}{SITE}tags/kettle" in site_map.xpath("//*[local-name()='loc']/text()")


async def test_an_author_has_a_page_once_the_brand_names_one(brewers: Web) -> None:
    assert (await brewers.client.get(f"{SITE}authors/ada-b")).status_code == 404
    await brewers.decide(author=Author(name="Ada <B>", about="Brews since 1987."))
    page = await brewers.tree(f"{SITE}espresso")
    assert page.xpath("//a[@rel='author']/@href") == [f"{SITE}authors/ada-b"]
    assert '"author":{"@type":"Person","name":"Ada \\u003cB\\u003e"' in page.xpath("//script/text()")[0]
    author = await brewers.tree(f"{SITE}authors/ada-b")
    assert author.xpath("//h1/text()") == ["Ada <B>"]
    assert "Brews since 1987." in author.text_content()
    assert len(author.xpath("//main//h2/a/@href")) == 2


async def test_rss_stands_beside_atom(brewers: Web) -> None:
    answer = await brewers.client.get(f"{SITE}rss.xml")
    assert answer.headers["content-type"] == "application/rss+xml; charset=utf-8"
    feed = etree.fromstring(answer.content)
    assert feed.xpath("//item/title/text()") == list(reversed(BREWERS.values()))
    assert feed.xpath("//item/link/text()")[0] == f"{ORIGIN}{SITE}kettles"
    assert len(set(feed.xpath("//guid/text()"))) == 4
    page = await brewers.tree(f"{SITE}espresso")
    assert page.xpath("//link[@type='application/rss+xml']/@href") == [f"{SITE}rss.xml"]


async def test_an_article_called_search_keeps_its_address(web: Web) -> None:
    await web.publish(slug="other", title="Other")
    assert (await web.client.get(f"{SITE}search")).headers["location"] == f"{SITE}search/"
    await web.publish(slug="search", title="How search works")
    assert (await web.tree(f"{SITE}search")).xpath("//h1/text()") == ["How search works"]


async def test_pages_of_before_are_found_once_the_database_is_up_to_date(brewers: Web) -> None:
    migration = Path(__file__).parents[2] / "migrations" / "0015_words_of_pages_of_before.sql"
    async with brewers.database.connection() as connection:
        await connection.execute("update pages set words = null, topic = null")
        assert await brewers.found("espresso") == []
        assert (
            (await brewers.tree(f"{SITE}espresso"))
            .xpath("//aside//h2")[0]
            .text_content()
            .startswith("More from")
        )
        await connection.execute(migration.read_text())
    assert await brewers.found("espresso") == ["Espresso machines at home", "Burr grinders for espresso"]


@pytest.mark.extended
async def test_links_to_read_on_are_looked_for_among_the_newest_articles_alone(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("insert into sites values ('large', 'Large', '', 'en')")
        await connection.execute(
            """
            insert into pages (content_id, brand_slug, slug, keyword, title, meta_description, body_html, sections, sources, cited,
                word_count, content_updated_at, markup_version, published_at)
            select gen_random_uuid(), 'large', 'page-' || n, 'tea', 'Tea number ' || n, '', '', '[]', '[]', '{}', 1, now(), 1,
                now() - n * interval '1 minute'
            from generate_series(1, 5000) as n
            """
        )
        await connection.execute(
            "analyze pages; set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off"
        )
        explained: Any = ExplainedConnection(connection)
        found = await site_search.related(explained, BrandSlug("large"), PageSlug("page-4000"), 3)
    assert [each.slug for each in found] == ["page-1", "page-2", "page-3"]
    assert explained.rows_read <= 2_001
