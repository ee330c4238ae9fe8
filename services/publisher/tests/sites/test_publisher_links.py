"""Short links: they lead to articles of ours and nowhere else, and who follows them is counted without being known."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.http.callers import Caller, Scope
from chassis.testing import serving
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentErase, LinkRegister
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.domain import BrandSlug
from publisher.erasure import erase
from publisher.http_api import create_app
from publisher.short_links import LinkClickCounter, ShortLinks, register
from publisher.short_links.clicks import MOST, VisitLimiter
from publisher.short_links.creation import is_public
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from tests.fixtures.commands.brandctl import Operator

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
KEY = "test-service-key-0123456789"
ORIGIN = "https://pages.example.org"
GRIND, ACME = BrandSlug("daily-grind"), BrandSlug("acme")


@dataclass
class Site:
    """The site over HTTP, as readers and the operator have it."""

    database: Database
    urls: SiteUrls
    clicks: LinkClickCounter
    reader: httpx.AsyncClient
    origin: str

    async def announce(self, published: RenderedArticle, target: str = "site") -> str:
        """Publishes it and returns its short link."""
        article = published.article
        async with self.database.transaction() as tx:
            if target == "site":
                await store.publish(tx.connection, published)
            made = await ShortLinks(self.urls).url_of(
                tx.connection, BrandSlug(article.brand.slug), article.content_id, target, title=article.title
            )
        assert made is not None
        return made

    async def follow(self, link: str, **headers: str) -> httpx.Response:
        return await self.reader.get(link.removeprefix(ORIGIN), headers=headers)

    async def measures(self, brand: str = "daily-grind", **query: Any) -> dict[str, Any]:
        await self.clicks.write()
        answer = await self.reader.get(
            f"/v1/brands/{brand}/measures", params=query, headers={"X-Service-Key": KEY}
        )
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def name(self, content_id: UUID, mark: str, channel: str, brand: str = "daily-grind") -> UUID:
        """Says which post a mark is, twice."""
        wanted = LinkRegister(
            brand_slug=brand,
            content_id=content_id,
            post_id=uuid4(),
            channel=channel,
            account=f"{channel}-eu",
            mark=mark,
        )
        async with self.database.transaction() as tx:
            await register([message("link.register", wanted)] * 2, tx)
        return wanted.post_id


def message(name: str, payload: Any) -> DomainMessage[Any]:
    return DomainMessage[Any](
        event_id=new_event_id(), type=name, source="social", timestamp=datetime.now(UTC), payload=payload
    )


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    urls, clicks = SiteUrls.under(ORIGIN), LinkClickCounter(database)
    sites = create_app(database, urls, articles_per_page=2, clicks=clicks)
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites)
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, headers={"User-Agent": FIREFOX}) as reader,
    ):
        yield Site(database, urls, clicks, reader, origin)


async def test_readers_are_led_to_the_article_and_counted_by_post_and_day(
    site: Site, publication: Callable[..., RenderedArticle], tmp_path: Path
) -> None:
    published = publication()
    link = await site.announce(published)
    assert await site.announce(published) == link
    content_id = published.article.content_id
    post_id = await site.name(content_id, "aaaaa", "mastodon")
    await site.name(content_id, "aaaaa", "x")  # the first that had it keeps it
    await site.name(uuid4(), "bbbbb", "x")

    answer = await site.follow(link + "aaaaa")
    assert (answer.status_code, answer.headers["location"]) == (302, f"{ORIGIN}/sites/daily-grind/cold-brew")
    assert answer.headers["cache-control"] == "private, no-store"
    assert "noindex" in answer.headers["x-robots-tag"]
    assert "set-cookie" not in answer.headers
    await site.follow(link + "bbbbb")
    await site.follow(link)
    # What looks at a link in advance, or makes a preview of it, is led there and does not count.
    ahead = [
        await site.reader.head(link.removeprefix(ORIGIN)),
        await site.follow(link, Purpose="prefetch"),
        await site.follow(
            link, **{"User-Agent": "Mastodon/4.5.0 (http.rb/5.3.1; +https://mastodon.example/) Bot"}
        ),
        await site.follow(link, **{"User-Agent": "Mozilla/5.0 (compatible; Twitterbot/1.0)"}),
    ]
    assert {each.status_code for each in ahead} == {302}

    told = await site.measures(days=2)
    assert (told["clicks"], told["views"], [each["clicks"] for each in told["days"]]) == (3, 0, [0, 3])
    assert told["channels"] == [{"channel": None, "clicks": 2}, {"channel": "mastodon", "clicks": 1}]
    ((article),) = told["items"]
    assert (article["url"], article["clicks"]) == (f"{ORIGIN}/sites/daily-grind/cold-brew", 3)
    assert [(each["post_id"], each["account"], each["clicks"]) for each in article["posts"]] == [
        (None, None, 2),
        (str(post_id), "mastodon-eu", 1),
    ]
    before = await site.measures(last=(datetime.now(UTC).date() - timedelta(days=1)).isoformat())
    assert (before["clicks"], before["items"]) == (0, [])
    brandctl = Operator(tmp_path, {"PUBLISHER_URL": site.origin, "SERVICE_KEY": KEY}, "measures")
    shown = await brandctl("daily-grind", "--days", "2")
    assert shown.code == 0, shown.err
    assert shown.out.splitlines()[1].split("\t")[:4] == [
        "0",
        "3",
        "no post 2, mastodon 1",
        "Cold brew at home",
    ]
    assert "0 views and 3 clicks (no post 2, mastodon 1)" in shown.err
    async with site.database.connection() as connection:
        kept = await connection.fetchval("select string_agg(link_clicks::text, ' ') from link_clicks")
    assert "127.0.0.1" not in kept


async def test_a_link_leads_only_where_its_article_can_be_seen(
    site: Site, publication: Callable[..., RenderedArticle]
) -> None:
    published = publication()
    link = await site.announce(published)
    article = published.article
    for wrong in (link[:-1], link[:-1] + "1", link + "aaaa", link + "/x", f"{ORIGIN}/s/", f"{ORIGIN}/s/%00"):
        assert (await site.follow(wrong)).status_code == 404
    async with site.database.transaction() as tx:
        await store.take_down(tx.connection, article)
    assert (await site.follow(link)).status_code == 410
    async with site.database.transaction() as tx:
        await store.delete(tx.connection, article.content_id, GRIND)
    assert (await site.follow(link)).status_code == 410
    assert (await site.measures())["clicks"] == 0

    # At home elsewhere: where the target has it, while it is public there.
    other = publication(slug="elsewhere", title="Elsewhere")
    link = await site.announce(other, "blog")
    assert (await site.follow(link)).status_code == 410
    async with site.database.transaction() as tx:
        await tx.connection.execute(
            """
            insert into publications (content_id, target, brand_slug, kind, url, state, is_public)
            values ($1, 'blog', 'daily-grind', 'wordpress', 'https://blog.example.com/tea', 'published', true)
            """,
            other.article.content_id,
        )
    answer = await site.follow(link)
    assert (answer.status_code, answer.headers["location"]) == (302, "https://blog.example.com/tea")
    ((item),) = (await site.measures())["items"]
    assert (item["title"], item["url"]) == ("Elsewhere", "https://blog.example.com/tea")
    async with site.database.transaction() as tx:
        await tx.connection.execute("update publications set is_public = false")
    assert (await site.follow(link)).status_code == 410
    async with site.database.transaction() as tx:
        command = ContentErase(brand_slug=GRIND, erasure_id=uuid4())
        await erase([message("content.erase", command)], tx)
    assert (await site.follow(link)).status_code == 404
    assert (await site.measures())["items"] == []


async def test_a_brands_own_host_has_its_links_and_no_others(
    site: Site, publication: Callable[..., RenderedArticle]
) -> None:
    headers = {"X-Service-Key": KEY}
    own = await site.reader.patch(
        "/v1/brands/acme/site", json={"address": "https://blog.acme.example.com"}, headers=headers
    )
    assert own.status_code == 200, own.text
    ours = await site.announce(publication(slug="tea", brand={"slug": "acme", "name": "Acme"}))
    others = await site.announce(publication())
    assert ours.startswith("https://blog.acme.example.com/s/")
    path = ours.removeprefix("https://blog.acme.example.com")
    answer = await site.follow(path, Host="blog.acme.example.com")
    assert (answer.status_code, answer.headers["location"]) == (302, "https://blog.acme.example.com/tea")
    # Under the host of all sites, too: who moves back to it loses no link.
    assert (await site.follow(path)).headers["location"] == "https://blog.acme.example.com/tea"
    stray = others.removeprefix(ORIGIN)
    assert (await site.follow(stray, Host="blog.acme.example.com")).status_code == 404


async def test_measures_come_page_by_page_and_another_brands_key_gets_none(
    site: Site, publication: Callable[..., RenderedArticle], database: Database
) -> None:
    links = [await site.announce(publication(slug=f"tea-{number}")) for number in range(3)]
    for number, link in enumerate(links):
        for _ in range(number + 1):
            await site.follow(link)
    first = await site.measures(limit=2)
    assert [each["clicks"] for each in first["items"]] == [3, 2]
    second = await site.measures(limit=2, after=first["next"])
    assert ([each["clicks"] for each in second["items"]], second["next"]) == ([1], None)

    async def of_acme(*_: Any) -> Caller:
        return Caller("key-1", brands=frozenset({"acme"}), scopes=frozenset({Scope.READ}))

    app = create_api(database, of_acme, site.urls, sites=create_app(database, site.urls, articles_per_page=2))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        assert (await client.get("/v1/brands/daily-grind/measures")).status_code == 404


def test_an_address_counts_so_often_in_an_hour_and_is_not_kept() -> None:
    now = 0.0
    visitors = VisitLimiter(clock=lambda: now)
    article = uuid4()
    # The address of one household, however its last half changes.
    counted = [visitors.may_count(f"2001:db8::{number:x}", article) for number in range(100)]
    assert counted == [True] * MOST + [False] * (100 - MOST)
    assert visitors.may_count("203.0.113.7", article)
    assert visitors.may_count("2001:db8::1", uuid4())
    now = 3600.0
    assert visitors.may_count("2001:db8::1", article)


@pytest.mark.parametrize(
    ("origin", "public"),
    [
        ("https://blog.example.org", True),
        ("http://8.8.8.8:8080", True),
        ("http://127.0.0.1:8012", False),
        ("http://localhost:8012", False),
        ("http://10.0.0.7", False),
        ("http://[::1]:80", False),
        ("http://publisher.internal", False),
    ],
)
def test_only_who_can_be_found_from_outside_has_short_links(origin: str, public: bool) -> None:
    assert is_public(origin) is public
