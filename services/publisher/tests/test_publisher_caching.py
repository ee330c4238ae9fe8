"""Responses on the wire, from the server itself: compressed, revalidated cheaply, cached for ever where allowed."""

import gzip
from collections.abc import Callable

import httpx
from lxml import html as lxml_html

from chassis.testing import serving
from messaging import Database
from publisher import store
from publisher.domain import BrandSlug, SiteSettings
from publisher.http_api import create_app
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

ARTICLE = "/sites/daily-grind/cold-brew"
PAGES = ("/", "/sites/daily-grind/", "/sites/daily-grind/search/?q=brew", ARTICLE)


async def wire(client: httpx.AsyncClient, path: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """The answer, and its body as it was sent."""
    async with client.stream("GET", path, headers=headers) as answer:
        return answer, b"".join([part async for part in answer.aiter_raw()])


async def test_pages_travel_compressed_once_and_what_they_load_is_kept_for_ever(
    database: Database, publication: Callable[..., RenderedArticle]
) -> None:
    async with database.transaction() as tx:
        await store.publish(tx.connection, publication())
        await site_settings.save(tx.connection, BrandSlug("daily-grind"), SiteSettings(accent="#336699"))
    app = create_app(database, SiteUrls.under("http://example.org"), articles_per_page=2)
    async with serving(app) as origin, httpx.AsyncClient(base_url=origin, trust_env=False) as client:
        loaded = set()
        for path in PAGES:
            plain, text = await wire(client, path, **{"Accept-Encoding": "identity"})
            assert (plain.status_code, "content-encoding" in plain.headers) == (200, False)
            packed, body = await wire(client, path, **{"Accept-Encoding": "br, gzip"})
            if len(text) > 1024:
                assert packed.headers["content-encoding"] == "gzip"
                assert "Accept-Encoding" in packed.headers["vary"], (
                    "or a cache gives it to who cannot read it"
                )
                assert gzip.decompress(body) == text
                assert len(body) < len(text) / 2
            known = {"If-None-Match": packed.headers["etag"], "Accept-Encoding": "gzip"}
            again, nothing = await wire(client, path, **known)
            assert (again.status_code, nothing) == (304, b"")
            assert packed.headers["etag"] == plain.headers["etag"]

            tree = lxml_html.fromstring(text)
            sheets = tree.xpath("//link[@rel='stylesheet']/@href")
            hinted = [each.partition(">")[0].strip(" <") for each in plain.headers["link"].split(",")]
            assert sorted(hinted) == sorted(sheets)
            assert all(
                each.endswith(">; rel=preload; as=style") for each in plain.headers["link"].split(", ")
            )
            loaded |= {*sheets, *tree.xpath("//main//img/@src")}
        assert len(loaded) == 4, "the stylesheet of all, the one of the site, and a cover in two sizes"
        for path in loaded:
            answer = await client.get(path)
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable", path
            again = await client.get(path, headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            if answer.headers["content-type"].startswith("image/"):
                assert "content-encoding" not in answer.headers, "it would only get larger"
