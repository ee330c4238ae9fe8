"""The public pages as a client gets them: content, headers, caching, and hostile content shown harmlessly."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import httpx
import pytest
from lxml import etree
from lxml import html as lxml_html

from chassis.database.pool import Connections
from chassis.http.public.headers import SECURITY_HEADERS
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from publisher import store
from publisher.domain import BrandSlug
from publisher.http_api import create_app
from publisher.store import Publication
from publisher.urls import SiteUrls

MakePublication = Callable[..., Publication]
ORIGIN = "https://blog.example.org"
SITE = f"{ORIGIN}/sites/daily-grind/"
ATOM = "{http://www.w3.org/2005/Atom}"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


class Web:
    """The site as readers reach it, and the way to put something on it."""

    def __init__(self, database: Database, client: httpx.AsyncClient, publication: MakePublication) -> None:
        self._database = database
        self.client = client
        self._publication = publication

    async def publish(self, **changes: Any) -> str:
        async with self._database.transaction() as tx:
            (slug,) = (await store.publish(tx.connection, self._publication(**changes))).values()
        return slug

    async def take_down(self, **changes: Any) -> None:
        async with self._database.transaction() as tx:
            assert await store.take_down(tx.connection, self._publication(**changes).article)

    async def delete(self, content_id: str) -> bool:
        async with self._database.transaction() as tx:
            return await store.delete(tx.connection, UUID(content_id), BrandSlug("daily-grind"))

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers=headers)

    async def tree(self, path: str) -> Any:
        response = await self.get(path)
        assert response.status_code == 200, response.text
        return lxml_html.fromstring(response.text)

    async def xml(self, path: str) -> Any:
        response = await self.get(path)
        assert response.status_code == 200, response.text
        return etree.fromstring(response.content)


@pytest.fixture
async def web(database: Database, publication: MakePublication) -> AsyncIterator[Web]:
    app = create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield Web(database, client, publication)


async def test_an_article_page_says_what_it_is_to_people_and_programs(web: Web) -> None:
    await web.publish()
    page = await web.tree("/sites/daily-grind/cold-brew")

    def content(name: str) -> str:
        [value] = page.xpath(f"//meta[@name='{name}' or @property='{name}']/@content")
        return str(value)

    assert page.get("lang") == "en"
    assert page.findtext(".//title") == "Cold brew at home – The Daily Grind"  # noqa: RUF001
    assert page.xpath("//h1/text()") == ["Cold brew at home"]
    assert page.xpath("//link[@rel='canonical']/@href") == [f"{SITE}cold-brew"]
    assert content("description") == content("og:description") == "How to steep, strain and keep it."
    assert content("og:title") == content("twitter:title") == "Cold brew at home"
    assert content("og:type") == "article"
    assert content("og:url") == f"{SITE}cold-brew"
    assert content("twitter:card") == "summary_large_image"
    [cover] = page.xpath("//img")
    assert content("og:image") == content("twitter:image") == ORIGIN + cover.get("src")
    assert (content("og:image:width"), content("og:image:height")) == ("1200", "630")
    assert (cover.get("width"), cover.get("height")) == ("1200", "630")
    assert content("og:image:type") == "image/png"
    described = "Cover: Cold brew at home – The Daily Grind"  # noqa: RUF001 - a dash
    assert content("og:image:alt") == content("twitter:image:alt") == cover.get("alt") == described
    document = json.loads(page.xpath("//script[@type='application/ld+json']/text()")[0])
    assert document["@type"] == "Article"
    assert document["headline"] == "Cold brew at home"
    assert document["wordCount"] == 460
    pictures = [(image["width"], image["height"], image["encodingFormat"]) for image in document["image"]]
    assert pictures == [(1200, 630, "image/png"), (1080, 1350, "image/jpeg")]
    assert document["image"][0]["url"] == content("og:image")
    assert document["mainEntityOfPage"]["@id"] == f"{SITE}cold-brew"
    assert document["publisher"]["name"] == "The Daily Grind"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["datePublished"])
    text = page.text_content()
    assert "Extractive digest – no AI model configured" in text  # noqa: RUF001
    assert "2 min read" in text


async def test_readers_learn_neither_files_nor_passwords(web: Web) -> None:
    sources = [
        {"n": 1, "title": "Steeping", "url": "https://user:pw@example.org/steeping", "path": "secret/a.md"},
        {"n": 2, "title": "", "url": None, "path": "secret/b.md", "licence": None},
        {"n": 3, "title": "", "url": "ftp://user:pw@example.org/c", "path": "secret/c.md", "licence": None},
    ]
    body = "A. [1] B. [2] C. [3] [D](https://user:pw@example.org/d)."
    await web.publish(sources=sources, body_markdown=body)
    for path in ("cold-brew", "feed.xml"):
        shown = (await web.get(f"/sites/daily-grind/{path}")).text
        for secret in ("secret", ".md", "user", "pw@"):
            assert secret not in shown
        for kept in ("https://example.org/steeping", "https://example.org/d", "Source 2", "Source 3"):
            assert kept in shown


async def test_readers_see_how_old_a_source_is(web: Web) -> None:
    await web.publish(
        sources=[{"n": 1, "title": "Steeping", "published_on": "2021-04-09"}, {"n": 2, "title": "Ratios"}]
    )
    page = await web.tree("/sites/daily-grind/cold-brew")
    (day,) = page.xpath("//section[@class='sources']//li//time")
    assert (day.get("datetime"), day.text_content().strip()) == ("2021-04-09", "9 April 2021")


async def test_citations_lead_to_the_sources_and_back(web: Web) -> None:
    await web.publish()
    page = await web.tree("/sites/daily-grind/cold-brew")
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    for href in page.xpath("//a[starts-with(@href, '#')]/@href"):
        assert href.removeprefix("#") in ids
    sources = [
        " ".join(item.text_content().split()) for item in page.xpath("//section[@class='sources']//li")
    ]
    assert sources == ["Steeping example.org Licence: CC BY 4.0 ↑\ufe0e", "Ratios not on the web ↑\ufe0e"]
    assert page.xpath("//section[@class='sources']//a[@rel]/@href") == ["https://example.org/steeping"]
    assert page.xpath("//nav[@class='contents']//a/text()") == ["Ratio", "Time", "Storage"]


async def test_a_description_that_repeats_the_opening_is_not_printed_twice(web: Web) -> None:
    opening = "Cold brew is coffee steeped in cold water & time."
    await web.publish(meta_description=opening, body_markdown=f"{opening} [1]\n\nMore. [2]")
    page = await web.tree("/sites/daily-grind/cold-brew")
    assert not page.xpath("//p[@class='standfirst']")
    assert page.xpath("//meta[@name='description']/@content") == [opening]
    await web.publish(slug="other")
    page = await web.tree("/sites/daily-grind/other")
    assert page.xpath("//p[@class='standfirst']/text()") == ["How to steep, strain and keep it."]


async def test_two_sections_need_no_table_of_contents(web: Web) -> None:
    await web.publish(body_markdown="## One\n\nA. [1]\n\n## Two\n\nB. [2]")
    page = await web.tree("/sites/daily-grind/cold-brew")
    assert not page.xpath("//nav[@class='contents']")


async def test_a_site_lists_its_articles_newest_first_over_several_pages(web: Web) -> None:
    for number in range(1, 6):
        await web.publish(slug=f"article-{number}", title=f"Article {number}")

    async def titles(path: str) -> list[str]:
        return list((await web.tree(path)).xpath("//main//h2/a/text()"))

    assert await titles("/sites/daily-grind/") == ["Article 5", "Article 4"]
    assert await titles("/sites/daily-grind/page/2") == ["Article 3", "Article 2"]
    assert await titles("/sites/daily-grind/page/3") == ["Article 1"]
    middle = await web.tree("/sites/daily-grind/page/2")
    assert middle.xpath("//nav//a[@rel='prev']/@href") == ["/sites/daily-grind/"]
    assert middle.xpath("//nav//a[@rel='next']/@href") == ["/sites/daily-grind/page/3"]
    assert middle.xpath("//link[@rel='canonical']/@href") == [f"{SITE}page/2"]
    for beyond in ("page/0", "page/4", "page/99999999999999999999", f"page/{'9' * 5000}", "page/٣", "page/x"):
        assert (await web.get(f"/sites/daily-grind/{beyond}")).status_code == 404


async def test_the_feed_is_atom_with_identities_that_stay(web: Web) -> None:
    content_id = "0192f0c1-2b3c-7d4e-8f50-61728394a5b6"
    await web.publish(content_id=content_id)
    feed = await web.xml("/sites/daily-grind/feed.xml")
    assert feed.tag == f"{ATOM}feed"
    assert feed.findtext(f"{ATOM}id").startswith("urn:uuid:")
    assert feed.findtext(f"{ATOM}title") == "The Daily Grind"
    assert feed.findtext(f"{ATOM}author/{ATOM}name") == "The Daily Grind"
    assert feed.find(f"{ATOM}link[@rel='self']").get("href") == f"{SITE}feed.xml"
    [entry] = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}id") == f"urn:uuid:{content_id}"
    assert entry.findtext(f"{ATOM}updated") == feed.findtext(f"{ATOM}updated")
    assert entry.find(f"{ATOM}link").get("href") == f"{SITE}cold-brew"
    content = entry.find(f"{ATOM}content")
    assert content.get("type") == "html"
    assert content.get("{http://www.w3.org/XML/1998/namespace}base") == f"{SITE}cold-brew"
    shown = lxml_html.fromstring(f"<div>{content.text}</div>").text_content()
    assert "Extractive digest" in shown
    assert "Ratios" in shown

    before = (feed.findtext(f"{ATOM}id"), entry.findtext(f"{ATOM}id"), entry.findtext(f"{ATOM}published"))
    await web.publish(content_id=content_id, title="Changed", updated_at="2026-05-01T00:00:00Z")
    feed = await web.xml("/sites/daily-grind/feed.xml")
    [entry] = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "Changed"
    assert before == (
        feed.findtext(f"{ATOM}id"),
        entry.findtext(f"{ATOM}id"),
        entry.findtext(f"{ATOM}published"),
    )


async def test_site_maps_and_robots_lead_to_every_page(web: Web) -> None:
    tea = {"slug": "tea-time", "name": "Tea & Time", "description": "", "language": "en"}
    await web.publish()
    await web.publish(brand=tea, slug="oolong", title="Oolong")
    sitemap = await web.xml("/sites/daily-grind/sitemap.xml")
    assert [loc.text for loc in sitemap.iter(f"{SITEMAP}loc")] == [SITE, f"{SITE}cold-brew"]
    assert all(lastmod.text.endswith("Z") for lastmod in sitemap.iter(f"{SITEMAP}lastmod"))
    robots = (await web.get("/robots.txt")).text
    assert f"Sitemap: {SITE}sitemap.xml\n" in robots
    assert f"Sitemap: {ORIGIN}/sites/tea-time/sitemap.xml\n" in robots
    own = (await web.get("/sites/tea-time/robots.txt")).text
    assert "tea-time" in own
    assert "daily-grind" not in own
    root = await web.tree("/")
    assert root.xpath("//main//h2/a/text()") == ["Tea & Time", "The Daily Grind"]
    assert "1 article" in root.text_content()


async def test_an_empty_service_says_that_nothing_is_published(web: Web) -> None:
    assert "Nothing is published yet" in (await web.get("/")).text
    assert (await web.get("/robots.txt")).text == "User-agent: *\nAllow: /\n"


async def test_the_icon_is_a_small_picture_of_the_initial(web: Web) -> None:
    await web.publish()
    response = await web.get("/sites/daily-grind/favicon.svg")
    assert response.headers["content-type"].startswith("image/svg+xml")
    assert etree.fromstring(response.content).findtext("{http://www.w3.org/2000/svg}text") == "T"


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/sites/",
        "/sites/nobody/",
        "/sites/nobody",
        "/sites/nobody/feed.xml",
        "/sites/daily-grind/nope",
        "/sites/daily-grind/a/b/c",
        "/sites/daily-grind/%00",
        "/sites/%00/",
        "/sites/..%2f..%2fetc/passwd",
        "/sites/Daily-Grind/",
        "/sites/evil.example%0d%0aX: y",
        "/assets/../settings.py",
        "/assets/nope.css",
    ],
)
async def test_what_is_not_there_is_a_404_page_in_style(web: Web, path: str) -> None:
    await web.publish()
    response = await web.client.get(path, follow_redirects=True)
    assert response.status_code == 404
    assert "There is no page here" in response.text
    assert response.headers["content-security-policy"] == SECURITY_HEADERS["Content-Security-Policy"]


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


async def test_a_missing_page_of_a_site_leads_back_to_the_site(web: Web) -> None:
    await web.publish()
    page = lxml_html.fromstring((await web.get("/sites/daily-grind/nope")).text)
    assert "/sites/daily-grind/" in page.xpath("//main//a/@href")


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


HOSTILE_TEXT = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"' onmouseover='alert(1)",
    "{{ 7 * 7 }} {% raw %}",
    "]]>&lt;&#60;&",
    "\u202egnp.exe\u202c \u2066x",
    "☕️ 👩‍🍳 🇫🇷",
    "n\x00u\x00l \x1b[31m",
    "W" * 3000,
    "\u2028line\u2029",
]


@pytest.mark.parametrize("text", HOSTILE_TEXT)
async def test_hostile_text_anywhere_is_only_text(web: Web, text: str) -> None:
    brand = {"slug": "daily-grind", "name": f"B{text}", "description": text, "language": text}
    source = {"n": 1, "title": text, "url": f"javascript:{text}", "path": text, "licence": text}
    slug = await web.publish(
        brand=brand,
        keyword=text,
        title=f"T{text}",
        meta_description=text,
        body_markdown=f"## {text}\n\n{text} [1]\n\n## b\n\n## c",
        label=text,
        sources=[source],
    )
    for path in ("/", "/sites/daily-grind/", f"/sites/daily-grind/{slug}", "/sites/daily-grind/nope"):
        response = await web.get(path)
        assert response.status_code in {200, 404}
        page = lxml_html.fromstring(response.text)
        assert all(script.get("type") == "application/ld+json" for script in page.iter("script"))
        assert not page.xpath(
            "//img[not(@class='cover') or not(starts-with(@src, '/sites/daily-grind/covers/'))] | //iframe | //@onerror | //@onmouseover | //@style | //a[contains(@href, 'javascript')]"
        )
        for picture in page.xpath("//img/@src"):
            assert (await web.get(picture)).status_code == 200
        assert page.get("lang") == "en"
        assert not re.search("[\x00\x1b\u202e\u2066]", response.text)
        assert "49" not in page.findtext(".//title", "")
        for script in page.iter("script"):
            assert not re.search("[<>&\u2028]", script.text)
            assert json.loads(script.text)["headline"][0] == "T"
    for path in ("feed.xml", "sitemap.xml", "favicon.svg"):
        await web.xml(f"/sites/daily-grind/{path}")


async def test_a_row_that_was_tampered_with_is_sanitised_where_it_is_shown(
    web: Web, database: Database
) -> None:
    await web.publish()
    async with database.connection() as connection:
        await connection.execute(
            "update pages set body_html = '<p onclick=x>kept</p><script>alert(1)</script>'"
        )
    for path in ("/sites/daily-grind/cold-brew", "/sites/daily-grind/feed.xml"):
        text = (await web.get(path)).text
        assert "kept" in text
        assert "alert(1)" not in text
        assert "onclick" not in text


async def test_right_to_left_languages_are_set_that_way(web: Web) -> None:
    await web.publish(brand={"slug": "qahwa", "name": "قهوة", "description": "", "language": "ar"})
    page = await web.tree("/sites/qahwa/cold-brew")
    assert (page.get("lang"), page.get("dir")) == ("ar", "rtl")


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
