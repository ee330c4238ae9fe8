"""Articles as mail programs show them: nothing depends on a stylesheet or on where the document is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
from lxml import html as lxml_html
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.domain import BrandSlug, SiteSettings
from publisher.http_api import create_app
from publisher.markup import Home, to_html
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"
BODY = """
Steep it. [1] See [the other](https://blog.example.org/sites/daily-grind/other) and [elsewhere](https://example.com/?a=1&b=2).

## Ratio <script>alert(1)</script>

> One part, so `1:8`. [2]

| a | b |
|---|---|
| 1 | id="section-x" class="citation" |
"""


async def test_a_newsletter_has_its_styles_and_whole_addresses_and_nothing_to_run(
    database: Database, publication: Callable[..., RenderedArticle], tmp_path: Path
) -> None:
    urls = SiteUrls.under("https://blog.example.org")
    markup = to_html(BODY, frozenset({1, 2}), Home(urls.origin, urls.site(BrandSlug("daily-grind"))))
    async with database.transaction() as tx:
        await store.publish(tx.connection, replace(publication(title="Cold & <new>"), markup=markup))
        gone = publication(slug="gone")
        await store.publish(tx.connection, gone)
        assert await store.take_down(tx.connection, gone.article)
        settings = SiteSettings(accent="#ffcc00", address="https://news.example.com")
        await site_settings.save(tx.connection, BrandSlug("daily-grind"), settings)
    sites = create_app(database, urls, articles_per_page=2)
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites)
    async with serving(app) as origin, httpx.AsyncClient(base_url=origin) as client:
        brandctl = Operator(tmp_path, {"PUBLISHER_URL": origin, "SERVICE_KEY": KEY}, "site")
        done = await brandctl("newsletter", "daily-grind", "cold-brew", "--to", "letter.html")
        assert done.code == 0, done.err
        path = "/v1/brands/{}/articles/{}/newsletter"
        statuses = [
            (await client.get(path.format(*missing), headers={"X-Service-Key": KEY})).status_code
            for missing in (("daily-grind", "gone"), ("daily-grind", "never"), ("acme", "cold-brew"))
        ]
        assert statuses == [404, 404, 404]
        assert (await client.get(path.format("daily-grind", "cold-brew"))).status_code == 401
    letter = lxml_html.fromstring((tmp_path / "letter.html").read_text())
    page = "https://news.example.com/cold-brew"
    addresses = letter.xpath("//a/@href")
    assert {
        f"{page}#source-1",
        "https://news.example.com/other",
        "https://example.com/?a=1&b=2",
        page,
    } <= set(addresses)
    assert all(address.startswith("https://") for address in [*addresses, *letter.xpath("//img/@src")])
    assert not letter.xpath("//script | //link | //style | //*[@class] | //*[@id]")
    unstyled = [each.tag for each in letter.xpath("//body//*[not(@style)]")]
    assert set(unstyled) <= {"table", "tr", "td", "tbody", "thead", "a", "em", "strong"}
    assert {each.get("style") for each in letter.xpath("//p//a[@href='https://news.example.com/other']")} == {
        "color:#856a00"  # yellow, as dark as text has to be
    }
    text = letter.text_content()
    assert "alert(1)" in text
    assert 'id="section-x" class="citation"' in text
    assert letter.findtext(".//title") == "Cold & <new>"
