"""A site as files: read with a parser, and opened in a browser from a folder."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

import httpx
import pytest
from lxml import etree
from lxml import html as lxml_html
from playwright.async_api import BrowserContext, Request
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from messaging import Database
from publisher import sitemaps, store
from publisher.api import create_api
from publisher.domain import Author, BrandSlug, MenuEntry, SiteSettings
from publisher.http_api import create_app
from publisher.markup import Home, to_html
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"
ORIGIN = "https://blog.example.org"


@pytest.fixture
async def brandctl(
    database: Database, publication: Callable[..., RenderedArticle], tmp_path: Path
) -> AsyncIterator[Operator]:
    """Beside a publisher with a site of three articles, of which one has moved and one is called "index"."""
    urls = SiteUrls.under(ORIGIN)
    linked = f"See [the other]({ORIGIN}/sites/daily-grind/index). [1]\n\n## Ratio\n\nOne to eight. [2]"
    markup = to_html(linked, frozenset({1, 2}), Home(ORIGIN, "/sites/daily-grind/"))
    async with database.transaction() as tx:
        await store.publish(tx.connection, publication(slug="index", title="Cold brew for beginners"))
        first = publication(slug="before")
        await store.publish(tx.connection, first)
        moved = first.article.model_copy(
            update={"slug": "cold-brew", "updated_at": first.article.updated_at.replace(year=2027)}
        )
        await store.publish(tx.connection, RenderedArticle(moved, markup, '"2"'))
        await store.publish(tx.connection, publication(slug="kettles", title="Kettles <b>", keyword="kettle"))
        gone = publication(slug="gone", title="Gone")
        await store.publish(tx.connection, gone)
        assert await store.take_down(tx.connection, gone.article)
        with_settings = SiteSettings(
            tags=("cold brew", "kettle"),
            author=Author(name="Ada"),
            accent="#1f6154",
            menu=(
                MenuEntry(title="Start", to="/"),
                MenuEntry(title="Brews", to="/tags/cold-brew"),
                MenuEntry(title="Guide", to="/cold-brew"),
                MenuEntry(title="Find", to="/search/"),
            ),
        )
        await site_settings.save(tx.connection, BrandSlug("daily-grind"), with_settings)
    sites = create_app(database, urls, articles_per_page=2)
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites, articles_per_page=2)
    async with serving(app) as origin:
        yield Operator(tmp_path, {"PUBLISHER_URL": origin, "SERVICE_KEY": KEY}, "site")


def broken_links(folder: Path) -> set[str]:
    """Addresses in pages that lead to no file of the folder, those with a host of their own apart."""
    broken = set()
    for file in folder.rglob("*.html"):
        tree = lxml_html.fromstring(file.read_text())
        here = file.relative_to(folder).as_posix()
        for address in tree.xpath("//link[@rel!='canonical']/@href | //a/@href | //img/@src"):
            parts = urlsplit(address)
            target = normpath(join(dirname(here), unquote(parts.path))) if parts.path else here
            if not parts.scheme and not (folder / target).is_file():
                broken.add(f"{here}: {address}")
    return broken


@pytest.mark.extended
async def test_every_link_of_an_exported_site_leads_to_a_file_and_browsers_read_it_from_its_folder(
    brandctl: Operator,
    tmp_path: Path,
    new_browser_context: Callable[..., Awaitable[BrowserContext]],
) -> None:
    done = await brandctl("export", "daily-grind", "out")
    assert done.code == 0, done.err
    out = tmp_path / "out"
    assert broken_links(out) == set()
    names = {file.relative_to(out).as_posix() for file in out.rglob("*") if file.is_file()}
    assert {
        "index.html", "page/2.html", "index_.html", "cold-brew.html", "kettles.html", "before.html", "tags/cold-brew.html",
        "tags/kettle.html", "authors/ada.html", "feed.xml", "rss.xml", "sitemap.xml", "robots.txt", "favicon.svg", "assets/site.css",
    } <= names  # fmt: skip
    assert len([name for name in names if name.startswith("covers/")]) == 9
    assert "gone.html" not in names
    page = lxml_html.fromstring((out / "cold-brew.html").read_text())
    assert page.xpath("//div[contains(@class, 'prose')]//a[not(@class)]/@href") == ["index_.html"]
    # A copy says where the original is.
    assert page.xpath("//link[@rel='canonical']/@href") == [f"{ORIGIN}/sites/daily-grind/cold-brew"]
    assert 'url=cold-brew.html"' in (out / "before.html").read_text()
    tab = await (await new_browser_context()).new_page()
    complaints: list[str] = []

    def failed(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # what a page still loads while it is left
            complaints.append(f"{request.url} {request.failure}")

    tab.on("requestfailed", failed)
    await tab.goto((tmp_path / "out" / "index.html").as_uri())
    await tab.get_by_role("link", name="Older articles").click()
    await tab.get_by_role("link", name="Cold brew for beginners").click()
    assert await tab.locator("h1").inner_text() == "Cold brew for beginners"
    assert await tab.locator("img.cover").evaluate("i => i.naturalWidth") == 1200
    assert await tab.evaluate("getComputedStyle(document.body).marginTop") == "0px"
    await tab.get_by_role("link", name="cold brew", exact=True).click()
    assert tab.url.endswith("/tags/cold-brew.html")
    await tab.goto((tmp_path / "out" / "before.html").as_uri())
    await tab.wait_for_url("**/cold-brew.html")
    assert complaints == []
    again = await brandctl("export", "daily-grind", "out")
    assert (again.code, "not an empty folder" in again.err) == (2, True)


@pytest.mark.extended
async def test_where_the_files_will_be_is_what_canonical_addresses_and_feeds_say(
    brandctl: Operator, tmp_path: Path
) -> None:
    done = await brandctl.json(
        "export", "daily-grind", "site.zip", "--address", "https://Static.example/news/"
    )
    with ZipFile(tmp_path / "site.zip") as archive:
        assert len(archive.namelist()) == done["files"]
        feed = etree.fromstring(archive.read("daily-grind/feed.xml"))
        site_map = archive.read("daily-grind/sitemap.xml").decode()
        texts = [
            archive.read(name).decode()
            for name in archive.namelist()
            if not name.endswith(("png", "jpg", "webp"))
        ]
        for address in [
            *feed.xpath("//*[local-name()='link']/@href"),
            *etree.fromstring(site_map.encode()).xpath("//*[local-name()='loc']/text()"),
        ]:
            file = address.removeprefix("https://static.example/news/") or "index.html"
            assert f"daily-grind/{file}" in archive.namelist(), address
    assert not [text for text in texts if ORIGIN in text]


@pytest.mark.extended
async def test_a_long_site_map_is_exported_in_parts(
    brandctl: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemaps, "ENTRIES", 2)
    await brandctl.json("export", "daily-grind", "site.zip", "--address", "https://static.example/news/")
    with ZipFile(tmp_path / "site.zip") as archive:
        names = archive.namelist()
        parts = etree.fromstring(archive.read("daily-grind/sitemap.xml")).xpath(
            "//*[local-name()='loc']/text()"
        )
        assert len(parts) > 1
        listed = []
        for address in parts:
            part = archive.read(f"daily-grind/{address.removeprefix('https://static.example/news/')}")
            listed += etree.fromstring(part).xpath("//*[local-name()='loc']/text()")
    files = [address.removeprefix("https://static.example/news/") or "index.html" for address in listed]
    assert len(set(files)) == len(files)
    assert {f"daily-grind/{file}" for file in files} <= set(names)
    assert "daily-grind/cold-brew.html" in {f"daily-grind/{file}" for file in files}


async def test_only_who_may_operate_exports_and_only_to_an_address(brandctl: Operator) -> None:
    async with httpx.AsyncClient(base_url=brandctl.variables["PUBLISHER_URL"]) as stranger:
        path = "/v1/brands/daily-grind/site/export"
        nobody = await stranger.get("/v1/brands/nobody/site/export", headers={"X-Service-Key": KEY})
        assert nobody.status_code == 404
        assert (await stranger.get(path)).status_code == 401
        for wrong in ("javascript:alert(1)", 'https://x/"><script>', "https://user@x/", "ftp://x"):
            answer = await stranger.get(path, params={"address": wrong}, headers={"X-Service-Key": KEY})
            assert answer.status_code == 422, wrong
