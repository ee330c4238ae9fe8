"""Covers as a client gets them: at one address for each picture, drawn once, kept within bounds."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from threading import Event
from typing import Any
from uuid import UUID

import httpx
import pytest
from lxml import html as lxml_html
from PIL import Image
from structlog.testing import capture_logs

from chassis.testing import eventually
from messaging import Database
from publisher import store
from publisher.covers import Covers, serving
from publisher.http_api import create_app
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

MakePublication = Callable[..., RenderedArticle]
ORIGIN = "https://blog.example.org"
CONTENT = "0199e8a0-0000-7000-8000-000000000001"
PATH = "/sites/daily-grind/cold-brew"


@dataclass
class Web:
    database: Database
    client: httpx.AsyncClient
    publication: MakePublication

    async def publish(self, minute: int = 0, **changes: Any) -> str:
        """Publishes the article, as it was changed at a minute of an hour."""
        moment = datetime(2026, 1, 1, 10, tzinfo=UTC) + timedelta(minutes=minute)
        article = self.publication(**{"content_id": CONTENT, "updated_at": moment.isoformat()} | changes)
        async with self.database.transaction() as tx:
            (slug,) = (await store.publish(tx.connection, article)).values()
        return slug

    async def addresses(self, path: str = PATH) -> list[str]:
        """Of the page's pictures, from what it says to programs: for links, for Instagram."""
        page = lxml_html.fromstring((await self.client.get(path)).text)
        document = json.loads(page.xpath("//script[@type='application/ld+json']/text()")[0])
        return [image.removeprefix(ORIGIN) for image in document["image"]]

    async def kept(self) -> list[tuple[UUID, str, str]]:
        async with self.database.connection() as connection:
            rows = await connection.fetch("select content_id, digest, format from covers order by drawn_at")
        return [tuple(row) for row in rows]


@pytest.fixture
async def web(database: Database, publication: MakePublication) -> AsyncIterator[Web]:
    app = create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield Web(database, client, publication)


async def test_all_pictures_are_served_for_ever_and_asked_again_cheaply(web: Web) -> None:
    await web.publish()
    link, portrait = await web.addresses()
    listed = link.removesuffix("png") + "webp"
    for path, kind, size in (
        (link, "png", (1200, 630)),
        (portrait, "jpeg", (1080, 1350)),
        (listed, "webp", (480, 205)),
    ):
        answer = await web.client.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == f"image/{kind}"
        assert "content-encoding" not in answer.headers
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        picture = Image.open(BytesIO(answer.content))
        assert (picture.format, picture.size) == (kind.upper(), size)
        again = await web.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        head = await web.client.head(path)
        assert (head.status_code, head.headers["content-length"]) == (200, str(len(answer.content)))


@pytest.mark.extended
async def test_a_picture_is_drawn_once_however_many_ask_for_it(web: Web) -> None:
    await web.publish()
    link, portrait = await web.addresses()
    with capture_logs() as logs:
        answers = await asyncio.gather(*(web.client.get(path) for path in [link, portrait] * 10))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 2
    assert sorted(log["format"] for log in logs if log["event"] == "cover_drawn") == ["jpg", "png"]


@pytest.mark.extended
async def test_two_replicas_serve_one_picture_under_one_address(
    web: Web, database: Database, publication: MakePublication
) -> None:
    await web.publish()
    [link, _] = await web.addresses()
    other = create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(other), base_url=ORIGIN) as client:
        first, second = await asyncio.gather(web.client.get(link), client.get(link))
    assert first.content == second.content
    assert len(await web.kept()) == 1


async def test_the_same_article_delivered_twice_keeps_its_picture(web: Web) -> None:
    await web.publish()
    [link, _] = await web.addresses()
    await web.client.get(link)
    before = await web.kept()
    await web.publish()
    await web.publish(1, body_markdown="Another text. [1]", meta_description="Another description.")
    assert (await web.addresses())[0] == link
    with capture_logs() as logs:
        assert (await web.client.get(link)).status_code == 200
    assert logs == []
    assert await web.kept() == before


async def test_another_figure_is_another_picture_and_the_former_stays_for_links_that_name_it(
    web: Web,
) -> None:
    seen: list[str] = []
    for minute in range(3):
        rows = "".join(f"| way {row} | {row + minute} g |\n" for row in range(3))
        await web.publish(minute, body_markdown=f"Text. [1]\n\n| Way | Amount |\n|---|---|\n{rows}")
        [link, _] = await web.addresses()
        assert (await web.client.get(link)).status_code == 200
        seen.append(link)
    assert len(set(seen)) == 3
    assert [(await web.client.get(link)).status_code for link in seen] == [404, 200, 200]


async def test_another_title_is_the_same_picture(web: Web) -> None:
    await web.publish()
    before = await web.addresses()
    await web.publish(1, title="Another title")
    assert await web.addresses() == before


async def test_another_name_of_the_site_is_another_picture(web: Web) -> None:
    await web.publish()
    [link, _] = await web.addresses()
    brand = {"slug": "daily-grind", "name": "The Weekly Grind", "description": "", "language": "en"}
    await web.publish(1, brand=brand)
    assert (await web.addresses())[0] != link


async def test_nobody_has_pictures_drawn_that_no_page_shows(web: Web) -> None:
    await web.publish()
    [link, _] = await web.addresses()
    digest = link.rpartition("-")[2].removesuffix(".png")
    for path in (
        "/sites/daily-grind/covers/cold-brew-0123456789abcdef.png",
        f"/sites/daily-grind/covers/other-{digest}.png",
        f"/sites/other/covers/cold-brew-{digest}.png",
        f"/sites/daily-grind/covers/cold-brew-{digest}.gif",
        f"/sites/daily-grind/covers/cold-brew-{digest.upper()}.png",
        f"/sites/daily-grind/covers/cold-brew-{digest}.png%00",
        "/sites/daily-grind/covers/",
        "/sites/daily-grind/covers/cold-brew.png",
    ):
        answer = await web.client.get(path, follow_redirects=True)
        assert answer.status_code == 404, path
        assert "immutable" not in answer.headers.get("cache-control", "")
    assert await web.kept() == []


async def test_an_article_called_covers_has_a_page_and_a_picture(web: Web) -> None:
    assert await web.publish(slug="covers") == "covers"
    [link, _] = await web.addresses("/sites/daily-grind/covers")
    assert (await web.client.get(link)).status_code == 200


@pytest.mark.extended
async def test_what_is_kept_has_an_end_and_what_went_is_drawn_again(
    database: Database, publication: MakePublication
) -> None:
    covers = Covers(database, most_bytes=60_000)
    app = create_app(database, SiteUrls.under(ORIGIN), articles_per_page=2, covers=covers)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        web = Web(database, client, publication)
        links = []
        for number in range(8):
            slug = await web.publish(content_id=str(UUID(int=number)), slug=f"article-{number}")
            links.append((await web.addresses(f"/sites/daily-grind/{slug}"))[0])
            assert (await client.get(links[-1])).status_code == 200
        async with database.connection() as connection:
            kept, taken = await connection.fetchrow("select count(*), sum(octet_length(body)) from covers")
        assert 2 <= kept < 8
        assert taken <= 60_000
        first = await client.get(links[0])
        assert (first.status_code, first.headers["content-type"]) == (200, "image/png")


async def test_pages_are_served_while_pictures_are_drawn(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = Event(), Event()
    draw = serving._drawn

    def draw_slowly(*what: Any) -> bytes:
        begun.set()
        go_on.wait(60)
        return draw(*what)

    monkeypatch.setattr(serving, "_drawn", draw_slowly)
    await web.publish(title="字" * 400)
    drawing = asyncio.gather(*(web.client.get(path) for path in await web.addresses()))
    await eventually(begun.is_set)
    for _ in range(4):
        assert (await web.client.get(PATH)).status_code == 200
    assert not drawing.done()
    go_on.set()
    assert {answer.status_code for answer in await drawing} == {200}
