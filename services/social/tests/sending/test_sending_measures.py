"""What `brandctl measures` tells of posts and their article: views and clicks by the publisher, how posts were received by social."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import LinkRegister, SocialCreate
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from publisher import store
from publisher.api import create_api
from publisher.domain import Article, BrandSlug
from publisher.http_api import create_app
from publisher.markup import to_html
from publisher.short_links import LinkClickCounter, ShortLinks, register
from publisher.short_links.clicks import VisitLimiter
from publisher.urls import SiteUrls
from publisher.views import PageViewCounter
from services.social.tests.sending.conftest import KEY, Networks
from services.social.tests.sending.test_sending_post_metrics import CHANNELS, later
from services.social.tests.sending.test_sending_posts import told
from social.post_metrics import PostMetricsPoller
from tests.fixtures.commands.brandctl import Operator

ORIGIN = "https://blog.daily-grind.example"
BRAND = BrandSlug("daily-grind")


@dataclass
class Site:
    """The publisher's, as readers and operators have it."""

    database: Database
    views: PageViewCounter
    clicks: LinkClickCounter
    reader: httpx.AsyncClient
    origin: str

    async def publish(self, title: str, slug: str, elsewhere: str | None = None) -> tuple[UUID, str]:
        """Its id and short link; an article whose home is at an address elsewhere is a target's."""
        content_id, target = uuid4(), "site" if elsewhere is None else "company-blog"
        brand = {"slug": BRAND, "name": "The Daily Grind", "description": "", "language": "en"}
        article = Article.model_validate(
            {
                "content_id": content_id,
                "brand": brand,
                "keyword": title.lower(),
                "slug": slug,
                "title": title,
                "meta_description": "How it is done.",
                "body_markdown": "Twelve hours are enough.",
                "word_count": 4,
                "key_points": [],
                "label": None,
                "sources": [],
                "created_at": datetime.now(UTC),
                "updated_at": datetime.now(UTC),
                "published_url": None,
            }
        )
        async with self.database.transaction() as tx:
            if elsewhere is None:
                made = store.RenderedArticle(article, to_html(article.body_markdown, frozenset()), None)
                await store.publish(tx.connection, made)
            else:
                await tx.connection.execute(
                    """
                    insert into publications (content_id, target, brand_slug, kind, remote_id, url, is_public)
                    values ($1, $2, $3, 'wordpress', '7', $4, true)
                    """,
                    content_id,
                    target,
                    BRAND,
                    elsewhere,
                )
            link = await ShortLinks(SiteUrls.under(ORIGIN)).url_of(
                tx.connection, BRAND, content_id, target, title=title
            )
        assert link is not None
        return content_id, link

    async def read(self, times: int, address: str) -> None:
        for _ in range(times):
            answer = await self.reader.get(address.removeprefix(ORIGIN))
            assert answer.status_code in {200, 302}, answer.text
        await self.views.write()
        await self.clicks.write()

    async def learn(self, wanted: dict[str, Any]) -> None:
        """Takes a command that social has sent."""
        assert wanted.pop("type") == "link.register"
        message = DomainMessage[LinkRegister](
            event_id=new_event_id(),
            type="link.register",
            source="social",
            timestamp=datetime.now(UTC),
            payload=LinkRegister.model_validate(wanted),
        )
        async with self.database.transaction() as tx:
            await register([message], tx)


@pytest.fixture
async def site(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Site]:
    connections = Connections(await make_database("publisher"), name="publisher test", size=3)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://127.0.0.1:1/", name="none"))
    database = Database(connections, relay, "publisher", CATALOGUE)
    urls, views, clicks = (
        SiteUrls.under(ORIGIN),
        PageViewCounter(database),
        LinkClickCounter(database, visitors=VisitLimiter(1000)),
    )
    sites = create_app(database, urls, articles_per_page=5, views=views, clicks=clicks)
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites)
    browser = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
    try:
        async with serving(app) as origin, httpx.AsyncClient(base_url=origin, headers=browser) as reader:
            yield Site(database, views, clicks, reader, origin)
    finally:
        await connections.close()


async def test_an_article_is_told_with_its_views_its_clicks_by_channel_and_how_its_posts_were_received(
    social: Any,
    site: Site,
    networks: Networks,
    new_command: Callable[..., SocialCreate],
    social_database: asyncpg.Connection,
    looks: PostMetricsPoller,
    tmp_path: Path,
) -> None:
    await networks.connect("mastodon", "bluesky")
    for channel in ("mastodon", "bluesky"):
        await social.api.put(f"{CHANNELS}/{channel}", json={"reach": True})
    brewed, link = await site.publish("Cold brew at home", "cold-brew")
    descaled, _ = await site.publish(
        "Descaling an espresso machine", "descaling", "https://shop.daily-grind.example/descaling"
    )
    page = f"{ORIGIN}/sites/daily-grind/cold-brew"
    command = new_command(
        brewed,
        channels=("mastodon", "bluesky"),
        title="Cold brew at home",
        published_url=page,
        short_link=link,
    )
    await social.send(command)
    await told(social, 2)
    marks = {}
    for wanted in await social.commands("publisher-commands", 2):
        marks[wanted["channel"]] = wanted["mark"]
        await site.learn(wanted)
    await site.read(41, page)
    await site.read(14, link + marks["mastodon"])
    await site.read(8, link + marks["bluesky"])
    await site.read(1, link)
    async with site.database.connection() as connection:
        code = await connection.fetchval("select code from short_links where content_id = $1", descaled)
    await site.read(9, f"{link.rpartition('/')[0]}/{code}")
    networks.mastodon.receive("1", likes=12, shares=3, replies=2)
    [skeet] = networks.bluesky.accepted
    networks.bluesky.receive(skeet.id, likes=30, reposts=4, replies=0, quotes=1)
    await later(social_database, 1.01)
    await looks.tick()  # follows the rules: nothing was due a moment ago
    await looks.tick()

    known = {"PUBLISHER_URL": site.origin, "SERVICE_KEY": KEY}
    brandctl = Operator(tmp_path, known | {"SOCIAL_URL": social.url})
    shown = await brandctl("measures", BRAND, "--days", "7")
    assert shown.code == 0, shown.err
    heads, first, second = (line.split("\t") for line in shown.out.splitlines())
    assert heads == ["views", "clicks", "from", "likes", "shares", "replies", "article", "address"]
    by_channel = "mastodon 14, bluesky 8, no post 1"
    assert first == ["41", "23", by_channel, "42", "8", "2", "Cold brew at home", page]
    assert second[:6] == ["0", "9", "no post 9", "", "", ""]
    assert "41 views and 32 clicks (mastodon 14, no post 10, bluesky 8)" in shown.err
    listed = await brandctl("posts", "reach", BRAND)
    rows = [line.split("\t") for line in listed.out.splitlines()[1:]]
    assert {row[0]: row[2:5] for row in rows} == {
        "mastodon": ["12", "3", "2"],
        "bluesky": ["30", "5", "0"],
    }

    # Who has not said where social is, or asks it in vain, is told what the publisher knows.
    for beside in ({}, {"SOCIAL_URL": "http://127.0.0.1:1"}):
        alone = await replace(brandctl, variables=known | beside)("measures", BRAND)
        assert (alone.code, alone.out.splitlines()[0].count("likes")) == (0, 0)
        assert ("post metrics are left out" in alone.err) is bool(beside)
