"""What leads to articles: lists, feeds, site maps, and what is shown where there is nothing."""

import json

import pytest
from lxml import etree
from lxml import html as lxml_html

from chassis.http.public import SECURITY_HEADERS
from publisher import sitemaps
from tests.fixtures.publisher.readers import ATOM, ORIGIN, SITE, SITEMAP, Web


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
    assert "How this was made: a digest" in shown
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


async def test_what_readers_of_feeds_take_for_html_is_the_text_of_an_article(web: Web) -> None:
    hostile = 'Less <script>alert("1")</script> & more'
    brand = {"slug": "daily-grind", "name": "A & B", "description": hostile, "language": "en"}
    await web.publish(title=hostile, keyword=hostile, meta_description=hostile, brand=brand)

    def shown(html: str) -> tuple[list[str], str]:
        """Elements and text, as a reader has them that takes it for HTML."""
        tree = lxml_html.fragment_fromstring(html, create_parent="div")
        return [str(each.tag) for each in tree.iterdescendants()], tree.text_content()

    [channel] = await web.xml("/sites/daily-grind/rss.xml")
    assert shown(channel.findtext("description")) == ([], hostile)
    assert shown(channel.findtext("item/description")) == ([], hostile)
    # Titles and categories are text, in RSS as in Atom.
    assert (channel.findtext("item/title"), channel.findtext("item/category")) == (hostile, hostile)
    feed = await web.xml("/sites/daily-grind/feed.xml")
    entry = feed.find(f"{ATOM}entry")
    assert (feed.findtext(f"{ATOM}subtitle"), entry.findtext(f"{ATOM}summary")) == (hostile, hostile)
    assert entry.find(f"{ATOM}summary").get("type", "text") == "text"
    page = await web.tree("/sites/daily-grind/cold-brew")
    named = ["description", "og:description", "og:title"]
    told = [page.xpath("//meta[@name=$name or @property=$name]/@content", name=name) for name in named]
    assert told == [[hostile]] * 3
    [document] = page.xpath("//script[@type='application/ld+json']/text()")
    assert (json.loads(document)["description"], page.xpath("//script[not(@type)]")) == (hostile, [])
    assert "<" not in document


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


async def test_a_long_site_map_is_a_list_of_parts_and_a_new_article_changes_the_last_one(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemaps, "ENTRIES", 2)

    async def listed(path: str) -> list[str]:
        return [loc.text for loc in (await web.xml(f"/sites/daily-grind/{path}")).iter(f"{SITEMAP}loc")]

    for number in range(1, 4):
        await web.publish(slug=f"article-{number}", title=f"Article {number}")
    assert await listed("sitemap.xml") == [f"{SITE}sitemap-1.xml", f"{SITE}sitemap-2.xml"]
    first = await listed("sitemap-1.xml")
    assert first == [SITE, f"{SITE}article-1", f"{SITE}article-2"]
    assert await listed("sitemap-2.xml") == [f"{SITE}article-3"]
    await web.publish(slug="article-4", title="Article 4")
    assert await listed("sitemap-1.xml") == first
    assert await listed("sitemap-2.xml") == [f"{SITE}article-3", f"{SITE}article-4"]
    for nothing in (
        "sitemap-0.xml",
        "sitemap-3.xml",
        "sitemap-x.xml",
        "sitemap--1.xml",
        "sitemap-9999999.xml",
    ):
        assert (await web.get(f"/sites/daily-grind/{nothing}")).status_code == 404
    assert (await web.get("/sites/nobody/sitemap-1.xml")).status_code == 404


async def test_an_empty_service_says_that_nothing_is_published(web: Web) -> None:
    assert "Nothing is published yet" in (await web.get("/")).text
    assert (await web.get("/robots.txt")).text == "User-agent: *\nAllow: /\n"


@pytest.mark.extended
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


async def test_a_missing_page_of_a_site_leads_back_to_the_site(web: Web) -> None:
    await web.publish()
    page = lxml_html.fromstring((await web.get("/sites/daily-grind/nope")).text)
    assert "/sites/daily-grind/" in page.xpath("//main//a/@href")


async def test_the_icon_is_a_small_picture_of_the_initial(web: Web) -> None:
    await web.publish()
    response = await web.get("/sites/daily-grind/favicon.svg")
    assert response.headers["content-type"].startswith("image/svg+xml")
    assert etree.fromstring(response.content).findtext("{http://www.w3.org/2000/svg}text") == "T"
