"""Logos as those who run brands give them, and as visitors see them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import httpx
import pytest
from lxml import html as lxml_html
from PIL import Image
from pydantic import SecretStr
from starlette.requests import Request

from chassis import ServiceKey
from chassis.http.callers import SERVICE, Caller, Scope
from chassis.testing import serving
from chassis.testing.strange_requests import FuzzTarget, ask_strangely
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.logos.routes import MAX_BYTES
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

ORIGIN = "https://blog.example.org"
KEY = {"X-Service-Key": "test-service-key-0123456789"}
LOGO = "/v1/brands/daily-grind/logo"
PAGES = ("/sites/daily-grind/cold-brew", "/sites/daily-grind/", "/sites/daily-grind/nowhere")


def logo(red: int = 200, size: tuple[int, int] = (300, 100), format_: str = "PNG") -> bytes:
    file = BytesIO()
    Image.new("RGB", size, (red, 0, 0)).save(file, format_)
    return file.getvalue()


@dataclass
class Web:
    database: Database
    client: httpx.AsyncClient
    publication: Callable[..., RenderedArticle]

    async def publish(self, **changes: Any) -> None:
        async with self.database.transaction() as tx:
            await store.publish(tx.connection, self.publication(**changes))

    async def put(self, file: bytes, path: str = LOGO) -> httpx.Response:
        return await self.client.put(path, content=file, headers=KEY)

    async def covers(self) -> list[str]:
        """Addresses of both pictures of the article."""
        page = lxml_html.fromstring((await self.client.get(PAGES[0])).text)
        document = json.loads(page.xpath("//script[@type='application/ld+json']/text()")[0])
        return [image.removeprefix(ORIGIN) for image in document["image"]]


@pytest.fixture
async def web(database: Database, publication: Callable[..., RenderedArticle]) -> AsyncIterator[Web]:
    urls = SiteUrls.under(ORIGIN)
    sites = create_app(database, urls, articles_per_page=2)
    app = create_api(database, ServiceKey(SecretStr(KEY["X-Service-Key"])), urls, sites=sites)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield Web(database, client, publication)


async def test_a_logo_is_given_looked_at_and_taken_away(web: Web) -> None:
    assert (await web.client.get(LOGO, headers=KEY)).status_code == 404
    given = await web.put(logo())
    assert (given.status_code, given.json()["width"], given.json()["height"]) == (200, 300, 100)
    told = await web.client.get(LOGO, headers=KEY)
    assert told.json() == given.json()
    assert (
        await web.client.get(LOGO, headers=KEY | {"If-None-Match": told.headers["ETag"]})
    ).status_code == 304
    assert (await web.put(logo(90, format_="WEBP"))).json()["url"] != given.json()["url"]
    changed = await web.client.get(LOGO, headers=KEY | {"If-None-Match": told.headers["ETag"]})
    assert changed.status_code == 200
    assert (await web.client.delete(LOGO, headers=KEY)).status_code == 204
    for answer in (await web.client.delete(LOGO, headers=KEY), await web.client.get(LOGO, headers=KEY)):
        assert (answer.status_code, "PUT one" in answer.json()["detail"]) == (404, True)


async def test_what_is_refused_changes_nothing(web: Web) -> None:
    before = (await web.put(logo())).json()
    for file, status, why in (
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", 422, "SVG is not accepted"),
        (logo()[:60], 422, "broken"),
        (b"", 422, "is empty"),
        (logo() + bytes(MAX_BYTES), 413, "larger than 1 MB"),
    ):
        refused = await web.put(file)
        assert (refused.status_code, why in refused.json()["detail"]) == (status, True), refused.text
    assert (await web.client.get(LOGO, headers=KEY)).json() == before


async def test_only_who_may_change_brands_gives_logos_and_only_to_those_that_are_theirs(
    database: Database,
) -> None:
    caller = SERVICE

    async def authorise(_: Request) -> Caller:
        return caller

    urls = SiteUrls.under(ORIGIN)
    app = create_api(database, authorise, urls, sites=create_app(database, urls, articles_per_page=2))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        assert (await client.put(LOGO, content=logo())).status_code == 200
        caller = replace(SERVICE, brands=frozenset({"acme"}))
        for answer in (
            await client.put(LOGO, content=logo(9)),
            await client.get(LOGO),
            await client.delete(LOGO),
        ):
            assert answer.status_code == 404
        caller = replace(SERVICE, scopes=frozenset({Scope.READ, Scope.SUBMIT}))
        assert (await client.put(LOGO, content=logo(9))).status_code == 403
        assert (await client.delete(LOGO)).status_code == 403
        assert (await client.get(LOGO)).status_code == 200


async def test_nothing_is_done_without_the_key(web: Web) -> None:
    for method in ("PUT", "GET", "DELETE"):
        for headers in ({}, {"X-Service-Key": "wrong"}):
            assert (
                await web.client.request(method, LOGO, content=logo(), headers=headers)
            ).status_code == 401
    assert (await web.client.get(LOGO, headers=KEY)).status_code == 404


async def test_pages_show_the_logo_with_words_for_those_who_do_not_see_it(web: Web) -> None:
    await web.publish()
    address = (await web.put(logo())).json()["url"].removeprefix(ORIGIN)
    for path in PAGES[:2]:
        page = lxml_html.fromstring((await web.client.get(path)).text)
        [image] = page.xpath("//header//img")
        assert image.get("src") == address
        assert (image.get("width"), image.get("height")) == ("300", "100")
        assert "The Daily Grind" in image.get("alt")
    assert lxml_html.fromstring((await web.client.get(PAGES[0])).text).xpath("//a[@class='home']/img")
    document = json.loads(
        lxml_html.fromstring((await web.client.get(PAGES[0])).text).xpath(
            "//script[@type='application/ld+json']/text()"
        )[0]
    )
    assert document["publisher"]["logo"]["url"] == ORIGIN + address
    await web.client.delete(LOGO, headers=KEY)
    for path in PAGES[:2]:
        page = lxml_html.fromstring((await web.client.get(path)).text)
        assert page.xpath("//header//img") == []
        assert "The Daily Grind" in page.xpath("string(//header)")


async def test_pages_and_covers_are_new_with_another_logo_and_not_with_the_same(web: Web) -> None:
    await web.publish()

    async def seen() -> list[Any]:
        answers = [await web.client.get(path) for path in PAGES[:2]]
        return [*((each.headers["etag"], each.text) for each in answers), *await web.covers()]

    without = await seen()
    one = await web.put(logo())
    first = await seen()
    assert not set(first) & set(without)
    async with web.database.connection() as connection:
        changed = "select changed_at from sites"
        moment = await connection.fetchval(changed)
        assert (await web.put(logo())).json() == one.json()
        assert (await seen(), await connection.fetchval(changed)) == (first, moment)
        await web.put(logo(90))
        assert not set(await seen()) & {*without, *first}
        assert await connection.fetchval(changed) > moment
    await web.client.delete(LOGO, headers=KEY)
    assert await seen() == without


async def test_covers_are_drawn_with_the_logo(web: Web) -> None:
    await web.publish()
    plain = [(await web.client.get(path)).content for path in await web.covers()]
    await web.put(logo(250))
    for path, before in zip(await web.covers(), plain, strict=True):
        answer = await web.client.get(path)
        assert answer.status_code == 200
        assert answer.content != before
        picture = Image.open(BytesIO(answer.content)).convert("RGB")
        pixel = picture.getpixel((100, 571 if picture.height == 630 else 1215))
        assert isinstance(pixel, tuple)
        assert pixel[0] > 230
        assert max(pixel[1:]) < 20


async def test_visitors_get_the_logo_for_ever_and_from_a_former_address_the_one_of_now(web: Web) -> None:
    await web.publish()
    first = (await web.put(logo())).json()["url"]
    answer = await web.client.get(first)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    known = await web.client.get(first, headers={"If-None-Match": answer.headers["etag"]})
    assert known.status_code == 304
    second = (await web.put(logo(90))).json()["url"]
    moved = await web.client.get(first)
    assert (moved.status_code, ORIGIN + moved.headers["location"]) == (307, second)
    assert moved.headers["cache-control"] == "public, max-age=60"
    for path in ("logo-.png", "logo-../x.png", "logo-%00.png", "logo-0123456789abcdef.svg"):
        assert (await web.client.get(f"/sites/other/{path}")).status_code == 404
    await web.client.delete(LOGO, headers=KEY)
    assert (await web.client.get(second)).status_code == 404


async def test_a_brand_may_have_its_logo_before_its_first_article(web: Web) -> None:
    await web.put(logo())
    assert (await web.client.get(PAGES[1])).status_code == 404
    await web.publish()
    assert 'class="logo' in (await web.client.get(PAGES[0])).text


async def test_many_at_once_end_with_one_of_them(web: Web) -> None:
    await web.publish()
    files = [logo(red) for red in (50, 100, 150, 200)]
    answers = await asyncio.gather(*(web.put(file) for file in files * 2))
    taken = {answer.json()["url"] for answer in answers if answer.status_code == 200}
    # Some find too many files on their way, and are told to come back.
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert (await web.client.get(LOGO, headers=KEY)).json()["url"] in taken
    assert {(await web.client.get(path)).status_code for path in await web.covers()} == {200}


async def test_the_api_is_documented_and_the_sites_are_as_before(web: Web) -> None:
    document = (await web.client.get("/openapi.json")).json()
    assert set(document["paths"]) == {
        "/v1/brands/{slug}/logo",
        "/v1/brands/{slug}/articles/{article}/newsletter",
        "/v1/brands/{slug}/newsletter",
        "/v1/brands/{slug}/newsletter/letters",
        "/v1/brands/{slug}/newsletter/letters/{content_id}/again",
        "/v1/brands/{slug}/newsletter/subscribers",
        "/v1/brands/{slug}/newsletter/subscribers/{subscriber_id}",
        "/v1/brands/{slug}/previews",
        "/v1/brands/{slug}/site",
        "/v1/brands/{slug}/site/export",
        "/v1/brands/{slug}/site/page",
        "/v1/brands/{slug}/site/indexnow",
        "/v1/brands/{slug}/parts/{part}",
        "/v1/brands/{slug}/departure",
        "/v1/brands/{slug}/targets",
        "/v1/brands/{slug}/targets/{target}",
        "/v1/brands/{slug}/publications",
        "/v1/brands/{slug}/views",
        "/v1/brands/{slug}/measures",
        "/v1/audit-log",
        "/v1/retries",
        "/v1/retries/run",
        "/v1/retries/cancel",
        "/v1/messages",
        "/v1/messages/{message_id}/edit",
        "/v1/messages/running",
        "/v1/messages/sent",
        "/v1/messages/outcomes",
        "/v1/doctor",
        "/v1/backbone",
        "/v1/backbone/figures",
        "/v1/backbone/pause",
        "/v1/backbone/pauses",
        "/v1/backbone/resume",
        "/v1/backbone/topology",
    }
    put = document["paths"]["/v1/brands/{slug}/logo"]["put"]
    assert set(put["requestBody"]["content"]) == {"image/png", "image/jpeg", "image/webp"}
    assert "1 MB" in put["responses"]["413"]["description"]
    assert (await web.client.get("/docs")).status_code == 200
    unknown = await web.client.get("/v1/brands", headers=KEY)
    assert (unknown.status_code, "detail" in unknown.json()) == (404, True)
    lost = await web.client.get("/sites/nobody/")
    assert (lost.status_code, lost.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert lost.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.extended
async def test_nothing_that_is_asked_makes_it_fail(web: Web, database: Database) -> None:
    await web.put(logo())
    urls = SiteUrls.under(ORIGIN)
    sites = create_app(database, urls, articles_per_page=2)
    app = create_api(database, ServiceKey(SecretStr(KEY["X-Service-Key"])), urls, sites=sites)
    document = app.openapi()
    paths = [*document["paths"], "/docs", "/v1/{x}", "/sites/{slug}/logo-{digest}.png"]
    async with serving(app) as origin:
        known = {"slug": ["daily-grind"], "digest": ["0123456789abcdef"], "If-None-Match": ["*"]}
        target = FuzzTarget(origin, paths, known, key=KEY["X-Service-Key"], document=document)
        answered = await ask_strangely(target, count=200)
    assert {200, 401, 404, 422} <= set(answered)
