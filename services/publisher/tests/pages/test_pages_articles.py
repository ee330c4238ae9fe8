"""Contents of an article's page, and data that it never shows, even from broken rows."""

import json
import re
from typing import Any

import pytest
from lxml import html as lxml_html

from messaging import Database
from publisher.domain import BrandSlug, SiteSettings
from publisher.site_settings import store as site_settings
from tests.fixtures.publisher.readers import ORIGIN, SITE, Web


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
    assert content("og:title") == "Cold brew at home"
    assert content("og:type") == "article"
    assert content("og:url") == f"{SITE}cold-brew"
    assert content("twitter:card") == "summary_large_image"
    [cover] = page.xpath("//img")
    assert content("og:image") == ORIGIN + cover.get("src")
    assert (content("og:image:width"), content("og:image:height")) == ("1200", "630")
    assert (cover.get("width"), cover.get("height")) == ("1200", "630")
    described = "A pattern in the colours of The Daily Grind, for “Cold brew at home”"
    assert content("og:image:alt") == cover.get("alt") == described
    document = json.loads(page.xpath("//script[@type='application/ld+json']/text()")[0])
    assert document["@type"] == "Article"
    assert document["headline"] == "Cold brew at home"
    assert document["wordCount"] == 460
    link, portrait = document["image"]
    assert link == content("og:image")
    assert portrait == link.removesuffix("png") + "jpg"
    assert document["mainEntityOfPage"]["@id"] == f"{SITE}cold-brew"
    assert document["publisher"]["name"] == "The Daily Grind"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["datePublished"])
    text = page.text_content()
    assert "a digest that a program put together from paragraphs of the sources below, word for word" in text
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


QUOTED = {
    "n": 1,
    "title": "Steeping",
    "url": "https://docs.acme.example/steeping",
    "licence": "CC BY 4.0",
    "quoted": True,
}
LABEL = "How this was made: by a program. No person has reviewed it."


@pytest.mark.parametrize(
    ("sources", "label", "note"),
    [
        (
            [QUOTED | {"author": "Ada B."}],
            LABEL,
            "Quoted word for word from Steeping, by Ada B., licence CC BY 4.0. No person has reviewed it.",
        ),
        (
            [QUOTED | {"section": "Cold water", "work": "Coffee Handbook"}],
            "It was made. A person has edited it.",
            "Quoted from “Cold water” in Steeping, Coffee Handbook, licence CC BY 4.0. A person has edited it.",
        ),
        (
            [QUOTED, QUOTED | {"n": 2, "title": "Ratios", "url": None}],
            "It was made. A person has edited it.",
            "Quoted from Steeping and Ratios, licence CC BY 4.0. A person has edited it.",
        ),
        (
            [QUOTED, *(QUOTED | {"n": n, "licence": None} for n in (2, 3, 4))],
            None,
            "Quoted word for word from Steeping and Steeping and 2 more.",
        ),
        ([QUOTED, {"n": 2, "title": "Ratios"}], LABEL, LABEL),
        ([], LABEL, LABEL),
    ],
)
async def test_the_note_says_from_what_an_article_quotes(
    web: Web, sources: list[dict[str, Any]], label: str | None, note: str
) -> None:
    await web.publish(sources=sources, label=label, body_markdown="Cold brew is steeped. [1]")
    page = await web.tree("/sites/daily-grind/cold-brew")
    assert [" ".join(each.text_content().split()) for each in page.xpath("//p[@role='note']")] == [note]
    feed = (await web.get("/sites/daily-grind/feed.xml")).text
    assert note.partition(" ")[0] in feed


async def test_a_page_of_one_source_names_it_as_canonical_if_the_brand_says_so(
    web: Web, database: Database
) -> None:
    await web.publish(sources=[QUOTED], body_markdown="Cold brew is steeped. [1]")

    async def canonical(slug: str = "cold-brew", **settings: Any) -> str:
        async with database.transaction() as tx:
            await site_settings.save(tx.connection, BrandSlug("daily-grind"), SiteSettings(**settings))
        page = await web.tree(f"/sites/daily-grind/{slug}")
        [address] = page.xpath("//link[@rel='canonical']/@href")
        return str(address)

    assert await canonical() == f"{SITE}cold-brew"
    assert await canonical(canonical_source=True) == QUOTED["url"]
    assert await canonical(address="https://docs.acme.example") == QUOTED["url"], "the brand's own host"
    await web.publish(
        slug="two", sources=[QUOTED, QUOTED | {"n": 2}], body_markdown="Steeped. [1] Slowly. [2]"
    )
    assert await canonical("two", canonical_source=True) == f"{SITE}two"


async def test_long_tables_and_listings_are_folded_on_pages_and_whole_in_feeds(web: Web) -> None:
    table = "| a | b |\n|---|---|\n" + "".join(f"| row {n} | x |\n" for n in range(13))
    listing = "```\n" + "line\n" * 31 + "```\n"
    short = "| a | b |\n|---|---|\n| c | d |\n\n```\nline\n```\n"
    await web.publish(body_markdown=f"Steeped. [1]\n\n{table}\n{listing}\n{short}", sources=[QUOTED])
    page = await web.tree("/sites/daily-grind/cold-brew")
    assert page.xpath("//details/summary/text()") == ["Table of 13 rows", "Listing of 31 lines"]
    assert [len(page.xpath(f"//{tag}")) for tag in ("table", "pre", "details/table", "details/pre")] == [
        2,
        2,
        1,
        1,
    ]
    feed = (await web.get("/sites/daily-grind/feed.xml")).text
    assert "row 12" in feed
    assert "summary&gt;" not in feed


async def test_sharing_takes_plain_links_and_no_script(web: Web) -> None:
    await web.publish(title="Cold & slow")
    page = await web.tree("/sites/daily-grind/cold-brew")
    links = dict(
        zip(
            *(page.xpath(f"//section[@class='share']//a/{each}") for each in ("text()", "@href")), strict=True
        )
    )
    assert list(links) == ["Email", "Mastodon", "Bluesky", "LinkedIn", "X"]
    assert all("https%3A%2F%2F" in link for link in links.values())
    assert links["Email"].startswith("mailto:?subject=Cold%20%26%20slow&body=")
    assert page.xpath("//section[@class='share']//*[@class='address']/text()") == [f"{SITE}cold-brew"]


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


@pytest.mark.extended
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
            "//img[not(starts-with(@src, '/sites/daily-grind/covers/'))] | //iframe | //@onerror | //@onmouseover | //@style | //a[contains(@href, 'javascript')]"
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
