"""Pages that are sent again as they were made: by whichever replica, never once anything that they show has changed."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from lxml import html as lxml_html
from pydantic import SecretStr
from starlette.requests import Request

from chassis import ServiceKey
from chassis.http.request_metrics import MeasuredRequests, request_seconds
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentErase
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.domain import BrandSlug, Logo, SiteSettings
from publisher.erasure import erase
from publisher.http_api import create_app
from publisher.logos import store as kept_logos
from publisher.page_cache import KEPT_SECONDS, CachedAnswer, PageCache
from publisher.rendering import Renderer
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

ORIGIN = "https://blog.example.org"
BRAND = BrandSlug("daily-grind")
PAGE = "/sites/daily-grind/cold-brew"
LATER = "2026-02-01T10:00:00Z"
MakePublication = Callable[..., RenderedArticle]


class Replicas:
    """Two publishers over one database, and what they have rendered so far."""

    def __init__(
        self, database: Database, clients: list[httpx.AsyncClient], publication: MakePublication
    ) -> None:
        self.database = database
        self.clients = clients
        self.made = 0
        self.content_id = str(uuid4())
        self._publication = publication

    def publication(self, **changes: Any) -> RenderedArticle:
        return self._publication(**{"content_id": self.content_id, **changes})

    async def publish(self, **changes: Any) -> None:
        async with self.database.transaction() as tx:
            await store.publish(tx.connection, self.publication(**changes))

    async def execute(self, statement: str) -> None:
        async with self.database.connection() as connection:
            await connection.execute(statement)

    async def seen(self, path: str = PAGE, **headers: str) -> httpx.Response:
        """What both show, which is the same."""
        first, second = [await client.get(path, headers=headers) for client in self.clients]
        assert (first.status_code, first.text) == (second.status_code, second.text)
        assert first.headers.get("etag") == second.headers.get("etag")
        return first


@pytest.fixture
async def replicas(
    database: Database, publication: MakePublication, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Replicas]:
    async with AsyncExitStack() as stack:
        apps = [create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2) for _ in range(2)]
        clients = [
            await stack.enter_async_context(
                httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN)
            )
            for app in apps
        ]
        both = Replicas(database, clients, publication)
        render = Renderer.article

        def counted(*given: Any) -> str:
            both.made += 1
            return render(*given)

        monkeypatch.setattr(Renderer, "article", counted)
        yield both


async def test_a_page_is_made_once_however_it_is_asked_for(replicas: Replicas) -> None:
    await replicas.publish()
    page = await replicas.seen()
    assert (page.status_code, replicas.made) == (200, 2), "once by each"
    etag, changed = page.headers["etag"], page.headers["last-modified"]
    plain = await replicas.seen(**{"Accept-Encoding": "identity"})
    assert (plain.text, "content-encoding" in plain.headers) == (page.text, False)
    assert page.headers["content-encoding"] == "gzip"
    assert page.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    for known in ({"If-None-Match": etag}, {"If-Modified-Since": changed}):
        again = await replicas.seen(**known)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
    assert (await replicas.seen(**{"If-None-Match": '"another"'})).status_code == 200
    head = await replicas.clients[0].head(PAGE)
    assert (head.status_code, head.headers["etag"]) == (200, etag)
    assert replicas.made == 2


async def test_many_who_come_at_once_each_see_the_page_that_they_asked_for(replicas: Replicas) -> None:
    titles = {f"brew-{number}": f"Brew no. {number} at home" for number in range(5)}
    for slug, title in titles.items():
        await replicas.publish(content_id=str(uuid4()), slug=slug, title=title)
    gone = replicas.publication(slug="gone", updated_at=LATER)
    await replicas.publish(slug="gone")
    async with replicas.database.transaction() as tx:
        assert await store.take_down(tx.connection, gone.article)

    async def one(slug: str) -> tuple[int, str]:
        answer = await replicas.clients[0].get(f"/sites/daily-grind/{slug}")
        heading = lxml_html.fromstring(answer.text).findtext(".//h1")
        return answer.status_code, heading if slug in titles else slug

    slugs = [*titles, "gone", "never-was"] * 10
    seen = await asyncio.gather(*map(one, slugs))
    assert seen == [
        (200, titles[slug]) if slug in titles else (410 if slug == "gone" else 404, slug) for slug in slugs
    ]


async def test_a_new_text_is_seen_at_once(replicas: Replicas) -> None:
    await replicas.publish()
    before = await replicas.seen()
    await replicas.publish(title="Colder brew", updated_at=LATER)
    after = await replicas.seen(**{"If-None-Match": before.headers["etag"]})
    assert (after.status_code, "Colder brew" in after.text) == (200, True)


async def test_what_is_taken_down_or_deleted_is_gone_at_once_and_back_at_once(replicas: Replicas) -> None:
    await replicas.publish()
    etag = (await replicas.seen()).headers["etag"]
    async with replicas.database.transaction() as tx:
        assert await store.take_down(tx.connection, replicas.publication(updated_at=LATER).article)
    assert (await replicas.seen(**{"If-None-Match": etag})).status_code == 410
    await replicas.publish(updated_at="2026-03-01T10:00:00Z")
    assert (await replicas.seen()).status_code == 200
    async with replicas.database.transaction() as tx:
        assert await store.delete(tx.connection, UUID(replicas.content_id), BRAND)
    assert (await replicas.seen(**{"If-None-Match": etag})).status_code == 410


LISTS = ("", "feed.xml", "rss.xml", "sitemap.xml", "tags/brew")


@pytest.mark.parametrize("path", LISTS)
async def test_a_list_is_as_its_articles_are_at_once(replicas: Replicas, path: str) -> None:
    async def shown() -> str:
        answer = await replicas.seen(f"/sites/daily-grind/{path}")
        return answer.text if answer.status_code == 200 else ""

    async with replicas.database.transaction() as tx:
        await site_settings.save(tx.connection, BRAND, SiteSettings(tags=["brew"]))
    assert (await replicas.seen(f"/sites/daily-grind/{path}")).status_code == 404
    await replicas.publish(keyword="brew", title="Brew at home")
    first = await shown()
    assert "cold-brew" in first
    assert await shown() == first
    other = {"content_id": str(uuid4()), "slug": "hot-brew", "title": "Hot brew", "keyword": "hot brew"}
    await replicas.publish(**other)
    assert "hot-brew" in await shown()
    async with replicas.database.transaction() as tx:
        await store.take_down(tx.connection, replicas.publication(**other, updated_at=LATER).article)
    assert "hot-brew" not in await shown()
    await replicas.publish(slug="iced-brew", keyword="brew", title="Brew at home", updated_at=LATER)
    assert "iced-brew" in await shown()
    # A page's own change of a time is one, too.
    await replicas.execute("update pages set updated_at = '2020-01-01'; update sites set changed_at = now()")
    assert ("2020-01-01" in await shown()) == (path in {"feed.xml", "sitemap.xml"})
    async with replicas.database.transaction() as tx:
        await store.set_canonical_urls(
            tx.connection, {UUID(replicas.content_id): "https://elsewhere.example/brew"}
        )
    assert "2020-01-01" not in await shown()
    async with replicas.database.transaction() as tx:
        await site_settings.save(tx.connection, BRAND, SiteSettings(address="https://grind.example"))
    assert ("grind.example" in await shown()) == (path != "tags/brew")
    async with replicas.database.transaction() as tx:
        assert await store.delete(tx.connection, UUID(replicas.content_id), BRAND)
    assert "iced-brew" not in await shown()


async def test_a_list_that_is_known_is_not_sent_again(replicas: Replicas) -> None:
    await replicas.publish()
    for path in ("", "feed.xml", "sitemap.xml"):
        known = (await replicas.seen(f"/sites/daily-grind/{path}")).headers
        again = await replicas.seen(f"/sites/daily-grind/{path}", **{"If-None-Match": known["etag"]})
        assert (again.status_code, again.content) == (304, b""), path
        assert again.headers["cache-control"] == known["cache-control"]


async def test_an_article_that_is_called_like_a_list_is_kept_beside_it(replicas: Replicas) -> None:
    await replicas.publish(slug="feed", title="Feed the cat")
    for _ in range(3):
        assert "Feed the cat" in (await replicas.seen("/sites/daily-grind/feed")).text
        assert (
            (await replicas.seen("/sites/daily-grind/feed.xml"))
            .headers["content-type"]
            .startswith("application/atom")
        )
    assert replicas.made == 2, "once by each"


async def test_a_page_that_moves_leads_on_at_once(replicas: Replicas) -> None:
    await replicas.publish()
    await replicas.seen()
    await replicas.publish(slug="iced-brew", updated_at=LATER)
    moved = await replicas.seen()
    assert (moved.status_code, moved.headers["location"]) == (301, "/sites/daily-grind/iced-brew")
    assert (await replicas.seen("/sites/daily-grind/iced-brew")).status_code == 200


async def test_an_erased_brand_has_no_page_at_once(replicas: Replicas) -> None:
    await replicas.publish()
    await replicas.seen()
    command = DomainMessage[ContentErase](
        event_id=new_event_id(),
        type="content.erase",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        payload=ContentErase(erasure_id=uuid4(), brand_slug=BRAND),
    )
    async with replicas.database.transaction() as tx:
        await erase([command], tx)
    assert (await replicas.seen()).status_code == 410


async def test_another_article_is_named_at_once_and_no_more_once_it_is_gone(replicas: Replicas) -> None:
    await replicas.publish()
    assert "Hot brew" not in (await replicas.seen()).text
    other = {"content_id": str(uuid4()), "slug": "hot-brew", "title": "Hot brew at home"}
    await replicas.publish(**other)
    assert "Hot brew" in (await replicas.seen()).text
    async with replicas.database.transaction() as tx:
        await store.take_down(tx.connection, replicas.publication(**other, updated_at=LATER).article)
    assert "Hot brew" not in (await replicas.seen()).text


async def test_what_a_brand_decides_about_its_site_is_seen_at_once(replicas: Replicas) -> None:
    await replicas.publish()
    plain = (await replicas.seen()).text
    async with replicas.database.transaction() as tx:
        await site_settings.save(tx.connection, BRAND, SiteSettings(accent="#336699"))
    coloured = await replicas.seen()
    assert "look-" in coloured.text
    assert "look-" in coloured.headers["link"]
    async with replicas.database.transaction() as tx:
        assert await site_settings.remove(tx.connection, BRAND)
    assert (await replicas.seen()).text == plain
    async with replicas.database.transaction() as tx:
        await kept_logos.save(tx.connection, BRAND, Logo("0123456789abcdef", 40, 20, None), b"a picture")
    assert "logo-0123456789abcdef.png" in (await replicas.seen()).text
    async with replicas.database.transaction() as tx:
        assert await kept_logos.remove(tx.connection, BRAND)
    assert (await replicas.seen()).text == plain


async def test_an_address_of_its_own_is_another_place_for_the_same_page(
    replicas: Replicas, database: Database
) -> None:
    await replicas.publish()
    async with database.transaction() as tx:
        await site_settings.save(tx.connection, BRAND, SiteSettings(address="https://grind.example"))
    shared = (await replicas.seen()).text
    own = (await replicas.seen("https://grind.example/cold-brew")).text
    assert 'href="/sites/daily-grind/"' in shared
    assert 'href="/sites/daily-grind/"' not in own
    assert (await replicas.seen()).text == shared


@pytest.mark.parametrize(
    "statement",
    [
        "update pages set label = 'by hand'",
        "update sites set description = 'by hand', name = 'by hand'",
        'insert into site_settings (brand_slug, settings) values (\'daily-grind\', \'{"author": {"name": "by hand"}}\')',
    ],
)
async def test_a_row_that_is_changed_by_other_means_is_seen_at_once(
    replicas: Replicas, statement: str
) -> None:
    await replicas.publish()
    assert "by hand" not in (await replicas.seen()).text
    await replicas.execute(statement)
    assert "by hand" in (await replicas.seen()).text


async def test_visitors_are_counted_by_the_route_that_answers_them(
    database: Database, publication: MakePublication
) -> None:
    async with database.transaction() as tx:
        await store.publish(tx.connection, publication())
        await site_settings.save(tx.connection, BRAND, SiteSettings(address="https://grind.example"))
    urls = SiteUrls.under(ORIGIN)
    seconds = request_seconds("test")
    sites = create_app(database, urls, articles_per_page=2)
    api = create_api(database, ServiceKey(SecretStr("k" * 32)), urls, sites=sites)
    transport = httpx.ASGITransport(MeasuredRequests(api, seconds))
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        assert (await client.get(PAGE)).status_code == 200
        assert (await client.get("https://grind.example/cold-brew")).status_code == 200
        refused = await client.get("/v1/nothing", headers={"X-Service-Key": "k" * 32})
        assert (refused.status_code, refused.headers["content-type"]) == (404, "application/problem+json")
        for path in ("/docs", "/openapi.json"):
            assert (await client.get(path)).status_code == 200
        for path, of in (
            ("/v1", "problem+json"),
            ("/docs/nothing", "problem+json"),
            ("//v1/", ""),
            ("/nothing", ""),
        ):
            lost = await client.get(ORIGIN + path)
            kind = f"application/{of}" if of else "text/html; charset=utf-8"
            assert (lost.status_code, lost.headers["content-type"]) == (404, kind), path
    [counted] = seconds.collect()
    samples = [each for each in counted.samples if each.name.endswith("_count")]
    assert {each.labels["route"]: each.value for each in samples}["/sites/{brand}/{slug}"] == 2


def answer(text: str) -> CachedAnswer:
    headers = {"Cache-Control": "public"}
    return CachedAnswer.build(
        text, media_type="text/html", last_modified=datetime(2026, 7, 1, tzinfo=UTC), headers=headers
    )


def test_no_more_is_kept_than_there_is_room_for_and_what_was_asked_for_last_stays() -> None:
    each = answer("short")
    cache = PageCache(most_bytes=3 * (each.size + 2_000))
    for place in "abc":
        cache.put(place, 1, each)
    assert cache.get("a", 1) is each
    cache.put("d", 1, each)
    assert [cache.get(place, 1) is not None for place in "abcd"] == [True, False, True, True]
    cache.put("d", 2, each)
    assert (cache.get("d", 1), cache.get("d", 2)) == (None, each)
    assert [cache.get(place, 1) is not None for place in "ac"] == [True, True], (
        "another state takes no more room"
    )
    cache.drop("a")
    cache.put("e", 1, each)
    assert [
        cache.get(place, version) is not None for place, version in zip("cde", (1, 2, 1), strict=True)
    ] == [True] * 3
    huge = answer("".join(str(uuid4()) for _ in range(2_000)))
    cache.put("c", 2, huge)
    assert (cache.get("c", 1), cache.get("c", 2)) == (None, None)


def test_what_nobody_asked_for_lately_makes_room() -> None:
    clock = [0.0]
    cache = PageCache(now=lambda: clock[0])
    for place in "abc":
        cache.put(place, 1, answer("short"))
    clock[0] = KEPT_SECONDS
    assert cache.get("b", 1) is not None
    clock[0] += 1
    cache.put("d", 1, answer("short"))
    assert [cache.get(place, 1) is not None for place in "abcd"] == [False, True, False, True]


def test_what_is_small_is_not_packed() -> None:
    def sent(text: str) -> tuple[bytes, str | None]:
        request = Request({"type": "http", "method": "GET", "headers": [(b"accept-encoding", b"gzip, br")]})
        response = answer(text).respond(request)
        return bytes(response.body), response.headers.get("content-encoding")

    assert sent("short") == (b"short", None)
    body, encoding = sent("long " * 1_000)
    assert (gzip.decompress(body), encoding) == (b"long " * 1_000, "gzip")
