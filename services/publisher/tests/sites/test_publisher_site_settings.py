"""A brand's site settings, over the API; and hosts of its own, as visitors reach them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from lxml import html as lxml_html
from pydantic import SecretStr
from starlette.requests import Request

from chassis import ServiceKey
from chassis.http.callers import SERVICE, Caller, Scope
from chassis.testing import serving
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.colours import contrast, parse
from publisher.domain import BrandSlug, SiteSettings
from publisher.http_api import create_app
from publisher.markup import Home, to_html
from publisher.site_settings import GatewayHostProof, custom_hosts, own_stylesheet
from publisher.site_settings import store as site_settings_store
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from tests.fixtures.commands.brandctl import Operator
from tests.fixtures.gateways import KEY as GATEWAY_KEY
from tests.fixtures.gateways import gateway_before
from tests.fixtures.sites import Names, answer, redirect
from tests.fixtures.sites import site as a_site

ORIGIN = "https://blog.example.org"
KEY = {"X-Service-Key": "test-service-key-0123456789"}
SITE = "/v1/brands/daily-grind/site"
NEWS = "https://news.daily-grind.example"


@dataclass
class Web:
    database: Database
    client: httpx.AsyncClient
    publication: Callable[..., RenderedArticle]

    async def publish(self, **changes: Any) -> None:
        async with self.database.transaction() as tx:
            await store.publish(tx.connection, self.publication(**changes))

    async def decide(self, path: str = SITE, **change: Any) -> httpx.Response:
        return await self.client.patch(path, json=change, headers=KEY)

    async def at(self, host: str, path: str) -> httpx.Response:
        return await self.client.get(path, headers={"Host": host})


class WithoutQueries(dict[str, Any]):
    """Pages by path, with any query."""

    def get(self, path: str, default: Any = None) -> Any:
        return super().get(path.partition("?")[0], default)


@pytest.fixture
async def web(
    database: Database, publication: Callable[..., RenderedArticle], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Web]:
    monkeypatch.setattr(custom_hosts, "KNOWN_FOR_SECONDS", 0.0)
    urls = SiteUrls.under(ORIGIN)
    sites = create_app(database, urls, articles_per_page=2)
    app = create_api(database, ServiceKey(SecretStr(KEY["X-Service-Key"])), urls, sites=sites)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield Web(database, client, publication)


async def test_what_is_decided_stays_until_somebody_decides_otherwise(web: Web) -> None:
    untouched = await web.client.get(SITE, headers=KEY)
    assert untouched.json() == {
        "url": f"{ORIGIN}/sites/daily-grind/",
        "accent": None,
        "typefaces": "serif",
        "tags": [],
        "author": None,
        "address": None,
        "canonical_source": False,
        "menu": [],
    }
    await web.decide(accent="#1F6154", tags=["  Cold   brew ", "Espresso"])
    told = (await web.decide(author={"name": "Ada", "about": "Brews."}, typefaces="mixed")).json()
    assert told == (await web.client.get(SITE, headers=KEY)).json()
    assert (told["accent"], told["tags"], told["author"]["name"]) == (
        "#1F6154",
        ["Cold brew", "Espresso"],
        "Ada",
    )
    assert (await web.decide(accent=None)).json() == told | {"accent": None}
    assert (await web.client.delete(SITE, headers=KEY)).status_code == 204
    assert (await web.client.get(SITE, headers=KEY)).json() == untouched.json()


async def test_of_two_who_decide_different_things_at_a_time_both_have_their_way(web: Web) -> None:
    changes: list[dict[str, Any]] = [
        {"accent": "#102030"},
        {"tags": ["a"]},
        {"typefaces": "sans"},
        {"author": {"name": "B"}},
    ]
    answers = await asyncio.gather(*(web.decide(**change) for change in changes))
    assert {answer.status_code for answer in answers} == {200}
    told = (await web.client.get(SITE, headers=KEY)).json()
    assert (told["accent"], told["tags"], told["typefaces"], told["author"]["name"]) == (
        "#102030",
        ["a"],
        "sans",
        "B",
    )


@pytest.mark.extended
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"accent": "red"},
        {"tags": ["a", "A "]},
        {"tags": ["☕"]},
        {"menu": [{"title": "Shop", "to": "http://shop.example"}]},
        {"menu": [{"title": "Shop", "to": "https://user:pw@shop.example"}]},
        {"menu": [{"title": "Shop", "to": "javascript:alert(1)"}]},
        {"menu": [{"title": "Shop", "to": "//shop.example"}]},
        {"menu": [{"title": "Shop", "to": "/v1/../x"}]},
        {"menu": [{"title": "Shop", "to": 'https://shop.example/"><b>'}, {"title": " ", "to": "/"}]},
        {"menu": [{"title": "Shop", "to": "/"}] * 13},
        {"tags": ["x"] * 21},
        {"typefaces": "comic"},
        {"author": {"name": " "}},
        {"address": "https://example.org/news"},
        {"address": "https://user:pw@example.org"},
        {"address": "javascript:alert(1)"},
        {"address": "https://exa mple.org"},
        {"address": "https://" + "a" * 254},
        {"address": "http://publisher:8012"},
        {"address": "http://LOCALHOST"},
        {"address": "http://127.0.0.1:8012"},
        {"address": "http://10.0.0.7"},
        {"address": "http://0x7f.1"},
        {"address": "http://publisher.brand-engine"},
        {"address": "http://publisher.brand-engine.svc:8012"},
        {"address": "http://publisher.brand-engine.svc.cluster.local"},
        {"address": "http://blog.localhost"},
        {"address": "http://host.docker.internal"},
        {"logo": "x"},
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(web: Web, change: dict[str, Any]) -> None:
    before = (await web.decide(accent="#102030")).json()
    assert (await web.decide(**change)).status_code == 422
    assert (await web.client.get(SITE, headers=KEY)).json() == before


async def test_only_who_may_operate_decides_and_only_about_brands_that_are_theirs(database: Database) -> None:
    caller = SERVICE

    async def authorise(_: Request) -> Caller:
        return caller

    urls = SiteUrls.under(ORIGIN)
    app = create_api(database, authorise, urls, sites=create_app(database, urls, articles_per_page=2))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        caller = replace(SERVICE, brands=frozenset({"acme"}))
        for answer in (
            await client.patch(SITE, json={"address": NEWS}),
            await client.get(SITE),
            await client.delete(SITE),
        ):
            assert answer.status_code == 404
        caller = replace(SERVICE, scopes=frozenset({Scope.READ, Scope.REVIEW}))
        assert (await client.patch(SITE, json={"address": NEWS})).status_code == 403


async def test_only_an_administrator_or_a_proof_gives_a_site_a_host(
    database: Database, make_database: Callable[[str], Awaitable[str]]
) -> None:
    caller, names = SERVICE, Names()

    async def authorise(_: Request) -> Caller:
        return caller

    bound = replace(SERVICE, brands=frozenset({"daily-grind"}))
    urls = SiteUrls.under(ORIGIN)
    host, file = "news.daily-grind.example", "/.well-known/brand-engine/daily-grind.txt"
    async with (
        a_site() as public,
        gateway_before(names, await make_database("gateway")) as gateway,
    ):
        public.pages = WithoutQueries()
        names.mean(host, public)
        proof = GatewayHostProof(str(gateway.base_url), SecretStr(GATEWAY_KEY))
        sites = create_app(database, urls, articles_per_page=2)
        app = create_api(database, authorise, urls, sites=sites, host_proof=proof)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:

            async def decide(address: str, brand: str = "daily-grind") -> httpx.Response:
                return await client.patch(f"/v1/brands/{brand}/site", json={"address": address})

            for each in (bound, replace(SERVICE, scopes=frozenset({Scope.OPERATE}))):
                caller = each
                refused = await decide(f"http://{host}")
                assert (refused.status_code, file in refused.json()["detail"]) == (403, True)
            caller = bound
            for wrong in (
                answer(b"https://evil.example/sites/daily-grind/"),
                redirect("http://evil.example/"),
            ):
                public.pages[file] = wrong
                assert (await decide(f"http://{host}")).status_code == 403
            public.pages[file] = answer(f"{ORIGIN}/sites/daily-grind/\n".encode(), media_type="text/plain")
            assert (await decide(f"http://{host}")).status_code == 200
            # It says whose it is: another brand proves nothing with it.
            caller = replace(SERVICE, brands=frozenset({"acme"}))
            assert (await decide(f"http://{host}", "acme")).status_code == 403
            # The host is the brand's: nothing has to be proven again.
            caller = bound
            public.pages.clear()
            assert (await decide(f"https://{host}:8443")).status_code == 200
            assert (await decide("https://other.daily-grind.example")).status_code == 403
            caller = SERVICE
            assert (await decide("https://other.daily-grind.example")).status_code == 200
        await proof.aclose()


async def test_no_version_stores_a_name_of_the_inner_network(database: Database) -> None:
    for origin in ("http://publisher:8012", "http://10.0.0.7", "http://publisher.brand-engine.svc"):
        with pytest.raises(asyncpg.CheckViolationError):
            async with database.transaction() as tx:
                await site_settings_store.save(tx.connection, BrandSlug("acme"), SiteSettings(address=origin))


async def test_a_site_has_a_host_of_its_own_with_everything_on_it(web: Web) -> None:
    linked = f"See [the other]({ORIGIN}/sites/daily-grind/other). [1]"
    await web.publish(slug="other", title="Other")
    markup = to_html(linked, frozenset({1, 2}), Home(ORIGIN, "/sites/daily-grind/"))
    async with web.database.transaction() as tx:
        await store.publish(tx.connection, replace(web.publication(), markup=markup))
    await web.publish(slug="acme", title="Of others", brand={"slug": "acme", "name": "Acme"})
    assert (await web.decide(address=f"{NEWS}:443/", accent="#1f6154")).json()["url"] == f"{NEWS}/"
    host = "NEWS.daily-grind.example"
    page = await web.at(host, "/cold-brew")
    tree = lxml_html.fromstring(page.text)
    assert tree.xpath("//link[@rel='canonical']/@href") == [f"{NEWS}/cold-brew"]
    assert tree.xpath("//div[contains(@class, 'prose')]//a[not(@class)]/@href") == ["/other"]
    assert tree.xpath("//meta[@property='og:image']/@content")[0].startswith(f"{NEWS}/covers/cold-brew-")
    loaded = [*tree.xpath("//link[@rel='stylesheet' or @rel='icon']/@href"), *tree.xpath("//img/@src")]
    assert len(loaded) == 4
    for path in [
        *loaded,
        "/",
        "/feed.xml",
        "/rss.xml",
        "/sitemap.xml",
        "/robots.txt",
        "/search/?q=cold",
        "/page/2",
    ]:
        answer = await web.at(host, path)
        assert answer.status_code == (404 if path == "/page/2" else 200), path
        if path.endswith(".xml"):
            assert NEWS in answer.text
            assert ORIGIN not in answer.text
    # Neither others' sites nor the list of them are there, and old paths lead to where things are.
    assert (
        lxml_html.fromstring((await web.at(host, "/")).text).xpath("//h1")[0].text_content()
        == "The Daily Grind"
    )
    for path in ("/sites/acme/", "/sites/acme/acme", "/acme", "/../acme"):
        assert (await web.at(host, path)).status_code == 404, path
    moved = await web.at(host, "/sites/daily-grind//evil.example/x")
    assert (moved.status_code, moved.headers["location"]) == (308, "/evil.example/x")
    # Under the common address it is there still, and says where it belongs.
    common = lxml_html.fromstring((await web.at("blog.example.org", "/sites/daily-grind/cold-brew")).text)
    assert common.xpath("//link[@rel='canonical']/@href") == [f"{NEWS}/cold-brew"]
    assert common.xpath("//div[contains(@class, 'prose')]//a[not(@class)]/@href") == [
        "/sites/daily-grind/other"
    ]
    assert (await web.at("unknown.example", "/sites/acme/acme")).status_code == 200
    assert (await web.client.get("/sites/daily-grind/feed.xml")).text == (
        await web.at(host, "/feed.xml")
    ).text
    assert NEWS in (await web.client.get("/")).text


async def test_a_host_of_its_own_shows_nothing_to_those_who_run_the_publisher(web: Web) -> None:
    await web.publish(slug="other", title="Other")
    await web.decide(address=NEWS)
    for path in ("/docs", "/openapi.json", "/v1/brands/daily-grind/site", "/health/live", "/metrics"):
        answer = await web.client.get(path, headers={"Host": "news.daily-grind.example", **KEY})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8"), path
    for host in ("blog.example.org", "publisher:8012", "10.0.0.7:8012", "publisher.brand-engine.svc"):
        assert (await web.at(host, "/openapi.json")).status_code == 200, host


async def test_no_article_is_where_the_publisher_has_something_of_its_own(web: Web) -> None:
    await web.publish(slug="docs", title="Docs")
    await web.publish(slug="other", title="Other")
    await web.decide(address=NEWS)
    host = "news.daily-grind.example"
    front = lxml_html.fromstring((await web.at(host, "/")).text)
    assert front.xpath("//main//h2/a/@href") == ["/other", "/articles/docs"]
    page = lxml_html.fromstring((await web.at(host, "/articles/docs")).text)
    assert page.xpath("//link[@rel='canonical']/@href") == [f"{NEWS}/articles/docs"]
    assert (await web.at(host, page.xpath("//img/@src")[0])).status_code == 200
    assert (await web.at(host, "/articles/other")).headers["location"] == "/other"
    assert (await web.at(host, "/sites/daily-grind/docs")).headers["location"] == "/articles/docs"
    common = await web.client.get("/sites/daily-grind/articles/docs")
    assert common.headers["location"] == "/sites/daily-grind/docs"
    assert (await web.client.get("/sites/daily-grind/docs")).status_code == 200


async def test_no_two_brands_share_a_host_and_nobody_takes_the_common_one(web: Web) -> None:
    assert (await web.decide(address=NEWS)).status_code == 200
    other = "/v1/brands/acme/site"
    for taken in (NEWS, NEWS.upper().replace("HTTPS", "https"), NEWS.replace("https", "http")):
        refused = await web.decide(other, address=taken)
        assert (refused.status_code, "another brand" in refused.json()["detail"]) == (409, True)
    for port in ("", ":8080"):
        common = await web.decide(other, address=f"{ORIGIN}{port}")
        assert common.status_code == 409
    assert (common.status_code, "shared address of all sites" in common.json()["detail"]) == (409, True)
    assert (await web.decide(SITE, address=None)).status_code == 200
    assert (await web.decide(other, address=NEWS)).status_code == 200
    await web.publish()
    assert (await web.at("news.daily-grind.example", "/cold-brew")).status_code == 404


@pytest.mark.parametrize("accent", ["#000000", "#ffffff", "#ffcc00", "#1f6154", "#777777", "#0000ff"])
def test_any_colour_is_readable_by_day_and_by_night(accent: str) -> None:
    own = own_stylesheet(SiteSettings(accent=accent))
    assert own is not None
    by_day, by_night = (parse(line.partition("--accent: ")[2][:7]) for line in own.css.splitlines())
    assert contrast(by_day, parse("#fcfbf8")) >= 4.5
    assert contrast(by_night, parse("#17181a")) >= 4.5


def test_without_settings_there_is_no_stylesheet_of_its_own() -> None:
    assert own_stylesheet(SiteSettings(tags=("a",))) is None


async def test_brandctl_sets_shows_and_takes_back(web: Web, tmp_path: Path) -> None:
    urls = SiteUrls.under(ORIGIN)
    sites = create_app(web.database, urls, articles_per_page=2)
    app = create_api(web.database, ServiceKey(SecretStr(KEY["X-Service-Key"])), urls, sites=sites)
    async with serving(app) as origin:
        site = Operator(tmp_path, {"PUBLISHER_URL": origin, "SERVICE_KEY": KEY["X-Service-Key"]}, "site")
        done = await site("set", "acme", "--tag", "Espresso", "--author", "Ada", "--address", NEWS)
        assert (done.code, f"the site is at {NEWS}/" in done.err) == (0, True), done.err
        told = await site.json("set", "acme", "--clear", "address")
        assert (told["address"], told["tags"], told["author"]["name"]) == (None, ["Espresso"], "Ada")
        assert "as it comes" in (await site("reset", "acme")).out


MENU = [
    {"title": "Cold <b>", "to": "/tags/cold-brew"},
    {"title": "Start", "to": "/"},
    {"title": "Guide", "to": "/cold-brew"},
    {"title": "Find", "to": "/search/"},
    {"title": "Ada", "to": "/authors/ada"},
    {"title": "Shop", "to": "https://shop.example/?a=1&b=2"},
]


async def test_a_menu_of_ones_own_leads_to_pages_of_the_site_and_elsewhere(web: Web) -> None:
    await web.publish(slug="cold-brew")
    assert (await web.decide(menu=MENU)).json()["menu"] == MENU
    page = lxml_html.fromstring((await web.client.get("/sites/daily-grind/")).text)
    links = [(each.text, each.get("href")) for each in page.xpath("//nav[@class='menu quiet']/a")]
    start = "/sites/daily-grind/"
    assert links == [
        ("Cold <b>", f"{start}tags/cold-brew"),
        ("Start", start),
        ("Guide", f"{start}cold-brew"),
        ("Find", f"{start}search/"),
        ("Ada", f"{start}authors/ada"),
        ("Shop", "https://shop.example/?a=1&b=2"),
        ("Subscribe", "#subscribe"),
    ]
    await web.decide(menu=None)
    assert "Shop" not in (await web.client.get("/sites/daily-grind/")).text


async def test_a_site_is_shown_with_settings_that_nobody_has_saved(web: Web) -> None:
    path = f"{SITE}/page"
    await web.publish(slug="cold-brew", title="Cold brew <i>")
    wanted = {"accent": "#102030", "menu": MENU, "tags": ["cold brew"]}
    shown = await web.client.get(path, params={"settings": json.dumps(wanted)}, headers=KEY)
    assert shown.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    page = lxml_html.fromstring(shown.text)
    assert [each.text for each in page.xpath("//nav[@class='menu quiet']/a")][-2:] == ["Shop", "Subscribe"]
    assert ("#102030" in shown.text, "Cold brew &lt;i&gt;" in shown.text) == (True, True)
    assert {each.get("src")[:5] for each in page.xpath("//img")} == {"data:"}
    assert not page.xpath("//link | //script")
    assert (await web.client.get(SITE, headers=KEY)).json()["menu"] == []
    assert "#102030" not in (await web.client.get(path, headers=KEY)).text
    for wrong in ("no", "{}", '{"accent": "red"}'):
        assert (await web.client.get(path, params={"settings": wrong}, headers=KEY)).status_code == 422
    assert (await web.client.get(path)).status_code == 401
    without_a_site = await web.client.get("/v1/brands/other/site/page", headers=KEY)
    assert (without_a_site.status_code, "<h1><bdi>other</bdi></h1>" in without_a_site.text) == (200, True)
