"""From the command to the page and the event, on a real database and over real HTTP."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from lxml import html as lxml_html
from pydantic import SecretStr
from starlette.responses import JSONResponse

from chassis.http.client import UnavailableError
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentDelete, ContentPublish
from messaging import Context, Database, Dependency, RetryLater, Unprocessable
from messaging.testing import write_records
from publisher import store
from publisher.domain import ArticlePage, BrandSlug, PageSlug, SiteSettings
from publisher.handlers import Handlers
from publisher.orchestrator_client import OrchestratorClient
from publisher.site_settings import store as site_settings
from publisher.urls import SiteUrls

GRIND = BrandSlug("daily-grind")


def publish_command(
    content_id: UUID, *, target: str = "site", brand: str = "daily-grind"
) -> DomainMessage[ContentPublish]:
    return DomainMessage[ContentPublish](
        event_id=new_event_id(),
        type="content.publish",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id="chain-1",
        payload=ContentPublish(brand_slug=brand, content_id=content_id, target=target),
    )


class Publisher:
    """The handlers, and what they leave behind."""

    def __init__(self, database: Database, handlers: Handlers, context: Context) -> None:
        self.database = database
        self._handlers = handlers
        self._context = context

    async def publish(
        self, content_id: UUID, *, target: str = "site", brand: str = "daily-grind"
    ) -> dict[str, Any]:
        """Handles one command and returns the message that it sent."""
        [message] = await self.command(content_id, target=target, brand=brand)
        return message

    async def command(
        self, content_id: UUID, *, target: str = "site", brand: str = "daily-grind"
    ) -> list[dict[str, Any]]:
        """Handles one command and returns what it sent."""
        command = publish_command(content_id, target=target, brand=brand)
        record = await self._handlers.content_publish(command, self._context)
        async with self.database.transaction() as tx:
            await write_records(tx, record)
            messages: list[dict[str, Any]] = [json.loads(row.body) for row in tx.outgoing]
        for message in messages:
            assert message["correlation_id"] == "chain-1"
            assert message["causation_id"] == str(command.event_id)
        return messages

    async def together(self, *content_ids: UUID) -> tuple[list[dict[str, Any]], list[str]]:
        """Handles a command about each in one transaction; what they sent, and the statements of that transaction."""
        commands = [publish_command(content_id) for content_id in content_ids]
        records = await asyncio.gather(
            *(self._handlers.content_publish(command, self._context) for command in commands)
        )
        statements: list[str] = []
        async with self.database.transaction() as tx:
            with tx.connection.query_logger(lambda query: statements.append(query.query)):
                await write_records(tx, *records)
            # A connection asks once, in capitals, what a type is that it has not met.
            statements = [each for each in statements if each.lstrip()[:4].islower()]
            return [json.loads(row.body) for row in tx.outgoing], statements

    async def delete(self, content_id: UUID) -> None:
        command = DomainMessage[ContentDelete](
            event_id=new_event_id(),
            type="content.delete",
            source="orchestrator",
            timestamp=datetime.now(UTC),
            payload=ContentDelete(brand_slug=GRIND, content_id=content_id),
        )
        record = await self._handlers.content_delete(command, self._context)
        async with self.database.transaction() as tx:
            await record(tx)
            assert tx.outgoing == []

    async def url(self, content_id: UUID) -> str:
        message = await self.publish(content_id)
        assert message["type"] == "content.published"
        return str(message["payload"]["published_url"])

    async def page(self, slug: str) -> ArticlePage:
        async with self.database.connection() as connection:
            page = await store.page(connection, GRIND, PageSlug(slug))
        assert page is not None
        return page

    async def site_changed_at(self) -> datetime:
        async with self.database.connection() as connection:
            site = await store.site(connection, GRIND)
        assert site is not None
        return site.changed_at


@pytest.fixture
async def publisher(database: Database, orchestrator: Any, context: Context) -> AsyncIterator[Publisher]:
    async with OrchestratorClient(
        orchestrator.url,
        SecretStr("test-service-key-0123456789"),
        timeout_seconds=60,
        max_bytes=100_000,
        orchestrator=Dependency("orchestrator", outages=(UnavailableError,)),
    ) as client:
        urls = SiteUrls.under("https://example.org/news")
        yield Publisher(database, Handlers(database, client, urls), context)


async def test_an_article_becomes_a_page_and_its_address_is_announced(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    message = await publisher.publish(content_id)
    assert message["type"] == "content.published"
    picture, short_link, tags = (message["payload"].pop(name) for name in ("picture", "short_link", "tags"))
    assert tags == []
    assert re.fullmatch(r"https://example\.org/news/s/[a-z2-7]{10}", short_link)
    assert (await publisher.publish(content_id))["payload"]["short_link"] == short_link
    assert message["payload"] == {
        "brand_slug": "daily-grind",
        "content_id": str(content_id),
        "published_url": "https://example.org/news/sites/daily-grind/cold-brew",
        "as_of": "2026-01-01T10:00:00Z",
        "target": "site",
    }
    cover = picture["url"].removesuffix(".png")
    assert cover.startswith("https://example.org/news/sites/daily-grind/covers/cold-brew-")
    assert picture == {
        "url": f"{cover}.png",
        "alt": "A pattern in the colours of The Daily Grind, for “Cold brew at home”",
        "media_type": "image/png",
        "width": 1200,
        "height": 630,
        "jpeg_url": f"{cover}.jpg",
    }
    page = await publisher.page("cold-brew")
    assert page.title == "Cold brew at home"
    assert page.cited == {1, 2}
    assert [section.title for section in page.sections] == ["Ratio", "Time", "Storage"]
    assert [source.title for source in page.sources] == ["Steeping", "Ratios"]


async def test_an_article_is_announced_where_its_site_has_an_address_of_its_own(
    publisher: Publisher, orchestrator: Any
) -> None:
    async with publisher.database.transaction() as tx:
        settings = SiteSettings(address="https://blog.example.com")
        await site_settings.save(tx.connection, GRIND, settings)
    await publisher.publish(orchestrator.add(slug="other", title="Other"))
    linked = "See [it](https://blog.example.com/other) and [elsewhere](https://blog.example.com/a/b). [1]"
    message = await publisher.publish(orchestrator.add(body_markdown=linked))
    assert message["payload"]["published_url"] == "https://blog.example.com/cold-brew"
    # The social service reads the picture at the shared address of all sites.
    assert message["payload"]["picture"]["url"].startswith(
        "https://example.org/news/sites/daily-grind/covers/cold-brew-"
    )
    links = lxml_html.fromstring((await publisher.page("cold-brew")).body_html).xpath(
        "//a[not(@class)]/@href"
    )
    assert links == ["/news/sites/daily-grind/other", "https://blog.example.com/a/b"]


async def test_publishing_again_changes_nothing_and_says_the_same(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    first, page, changed_at = (
        await publisher.url(content_id),
        await publisher.page("cold-brew"),
        await publisher.site_changed_at(),
    )
    assert await publisher.url(content_id) == first
    assert await publisher.page("cold-brew") == page
    assert await publisher.site_changed_at() == changed_at
    assert orchestrator.statuses == [200, 304]


async def test_a_changed_article_updates_its_page_at_the_same_address(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    first = await publisher.url(content_id)
    before, changed_at = await publisher.page("cold-brew"), await publisher.site_changed_at()
    orchestrator.documents[content_id] |= {"title": "Colder brew", "updated_at": "2026-02-01T10:00:00Z"}
    assert await publisher.url(content_id) == first
    after = await publisher.page("cold-brew")
    assert after.title == "Colder brew"
    assert after.published_at == before.published_at
    assert after.updated_at > before.updated_at
    assert await publisher.site_changed_at() > changed_at


async def test_a_page_moves_to_the_address_its_article_asks_for_and_no_other_gets_the_one_before(
    publisher: Publisher, orchestrator: Any
) -> None:
    base = "https://example.org/news/sites/daily-grind"
    content_id = orchestrator.add()
    await publisher.url(content_id)
    before, changed_at = await publisher.page("cold-brew"), await publisher.site_changed_at()
    document = orchestrator.documents[content_id]
    moved = {"slug": "colder-brew", "updated_at": "2026-02-01T10:00:00Z"}
    orchestrator.documents[content_id] = document | moved
    for _ in range(2):
        message = await publisher.publish(content_id)
        assert message["payload"]["published_url"] == f"{base}/colder-brew"
        assert message["payload"]["as_of"] == moved["updated_at"]
    after = await publisher.page("colder-brew")
    assert (after.content_id, after.published_at) == (content_id, before.published_at)
    assert after.updated_at > before.updated_at
    assert await publisher.site_changed_at() > changed_at

    # What was asked before the move, and comes late, moves nothing back.
    orchestrator.documents[content_id] = document
    assert await publisher.url(content_id) == f"{base}/colder-brew"
    assert await publisher.url(orchestrator.add(title="Another")) == f"{base}/cold-brew-2"

    orchestrator.documents[content_id] = document | {"updated_at": "2026-03-01T10:00:00Z"}
    assert await publisher.url(content_id) == f"{base}/cold-brew"
    assert await publisher.url(orchestrator.add(slug="colder-brew")) == f"{base}/colder-brew-2"


async def test_an_older_version_that_arrives_late_does_not_win(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add(title="New", updated_at="2026-02-01T10:00:00Z")
    first = await publisher.url(content_id)
    orchestrator.documents[content_id] |= {"title": "Old", "updated_at": "2026-01-01T10:00:00Z"}
    assert await publisher.url(content_id) == first
    assert (await publisher.page("cold-brew")).title == "New"


async def test_pages_of_an_older_markup_are_rendered_again(
    publisher: Publisher, orchestrator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content_id = orchestrator.add()
    await publisher.url(content_id)
    monkeypatch.setattr(store, "MARKUP_VERSION", store.MARKUP_VERSION + 1)
    await publisher.url(content_id)
    assert orchestrator.statuses == [200, 200]


async def test_articles_that_want_one_address_get_distinct_ones_for_good(
    publisher: Publisher, orchestrator: Any
) -> None:
    first, second = orchestrator.add(title="First"), orchestrator.add(title="Second")
    base = "https://example.org/news/sites/daily-grind/cold-brew"
    assert [await publisher.url(first), await publisher.url(second)] == [base, f"{base}-2"]
    assert [await publisher.url(second), await publisher.url(first)] == [f"{base}-2", base]


async def test_the_same_address_on_another_site_is_free(publisher: Publisher, orchestrator: Any) -> None:
    await publisher.url(orchestrator.add())
    other = {"slug": "tea-time", "name": "Tea Time", "description": "", "language": "en"}
    message = await publisher.publish(orchestrator.add(brand=other), brand="tea-time")
    assert message["payload"]["published_url"] == "https://example.org/news/sites/tea-time/cold-brew"


async def test_articles_published_at_the_same_moment_do_not_share_an_address(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_ids = [orchestrator.add(title=f"Article {number}") for number in range(6)]
    urls = await asyncio.gather(*(publisher.url(content_id) for content_id in content_ids))
    base = "https://example.org/news/sites/daily-grind/cold-brew"
    assert sorted(urls) == [base, *(f"{base}-{number}" for number in range(2, 7))]


async def test_what_is_stored_together_is_what_is_stored_one_by_one(
    publisher: Publisher, orchestrator: Any
) -> None:
    first, second = orchestrator.add(title="First"), orchestrator.add(title="Second")
    elsewhere = orchestrator.add(slug="iced-tea")
    await publisher.publish(elsewhere)
    orchestrator.documents[elsewhere] |= {"slug": "iced", "updated_at": "2026-01-02T10:00:00Z"}
    wants_the_former = orchestrator.add(slug="iced-tea")
    gone, down = orchestrator.add(slug="gone"), orchestrator.add(slug="down")
    await publisher.delete(gone)
    orchestrator.documents[down]["taken_down_at"] = "2026-01-02T10:00:00Z"
    unchanged = orchestrator.add(slug="unchanged")
    before = await publisher.publish(unchanged)

    sent, _ = await publisher.together(
        first, second, gone, elsewhere, first, wants_the_former, down, unchanged
    )
    told = {
        (
            message["payload"]["content_id"],
            message["payload"].get("published_url") or message["payload"]["reason"],
        )
        for message in sent
    }
    site = "https://example.org/news/sites/daily-grind"
    assert told == {
        (str(first), f"{site}/cold-brew"),
        (str(second), f"{site}/cold-brew-2"),
        (str(gone), "deleted"),
        (str(elsewhere), f"{site}/iced"),
        (str(wants_the_former), f"{site}/iced-tea-2"),
        (str(down), "taken_down"),
        (str(unchanged), before["payload"]["published_url"]),
    }
    assert len(sent) == 8
    async with publisher.database.connection() as connection:
        assert len(await store.newest(connection, GRIND, 10)) == 5
        assert (await store.find_former(connection, GRIND, PageSlug("iced-tea"))).moved_to == "iced"  # type: ignore[union-attr]


async def test_many_articles_are_stored_by_as_many_statements_as_one(
    publisher: Publisher, orchestrator: Any
) -> None:
    _, of_one = await publisher.together(orchestrator.add(slug="alone"))
    _, of_many = await publisher.together(*(orchestrator.add(slug=f"article-{n}") for n in range(12)))
    assert of_many == of_one
    assert len(of_one) <= 9


async def test_one_article_published_twice_at_the_same_moment_is_one_page(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    urls = await asyncio.gather(*(publisher.url(content_id) for _ in range(4)))
    assert len(set(urls)) == 1
    async with publisher.database.connection() as connection:
        assert len(await store.newest(connection, GRIND, 10)) == 1


async def test_an_unknown_target_ends_in_a_failure_that_names_the_known_ones(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    message = await publisher.publish(content_id, target="wordpress")
    assert message["type"] == "content.publish_failed"
    assert message["payload"] == {
        "brand_slug": "daily-grind",
        "content_id": str(content_id),
        "target": "wordpress",
        "reason": "unknown_target",
        "detail": "There is no target 'wordpress'.",
    }
    assert orchestrator.statuses == []


async def test_an_empty_article_ends_in_a_failure(publisher: Publisher, orchestrator: Any) -> None:
    message = await publisher.publish(orchestrator.add(body_markdown=" \n"))
    assert message["type"] == "content.publish_failed"
    assert message["payload"]["reason"] == "empty_article"


async def test_a_draft_that_waits_is_not_published_whoever_asks_for_it(
    publisher: Publisher, orchestrator: Any
) -> None:
    message = await publisher.publish(orchestrator.add(held_for=["231 words, of at least 250"]))
    assert message["type"] == "content.publish_failed"
    assert message["payload"]["reason"] == "needs_review"
    assert "231 words" in message["payload"]["detail"]


async def test_a_page_is_taken_down_and_comes_back_when_its_article_does(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    url = await publisher.url(content_id)
    changed_at = await publisher.site_changed_at()
    document = orchestrator.documents[content_id]
    gone = {
        "updated_at": "2027-01-01T00:00:00Z",
        "taken_down_at": "2027-01-01T00:00:00Z",
        "held_for": ["wrong"],
    }
    orchestrator.documents[content_id] = document | gone
    for _ in range(2):
        await publisher.command(content_id)
        assert (await publisher.page("cold-brew")).taken_down_at is not None
    assert await publisher.site_changed_at() > changed_at

    orchestrator.documents[content_id] = document | {"updated_at": "2027-01-02T00:00:00Z"}
    assert await publisher.url(content_id) == url
    assert (await publisher.page("cold-brew")).taken_down_at is None

    # What was asked before, and comes late, takes nothing down.
    orchestrator.documents[content_id] = document | gone
    await publisher.command(content_id)
    assert (await publisher.page("cold-brew")).taken_down_at is None


async def test_of_a_deleted_article_no_page_is_made_however_late_it_is_asked_for(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id, never = orchestrator.add(), orchestrator.add(slug="never")
    await publisher.url(content_id)
    for each in (content_id, content_id, never):
        await publisher.delete(each)
    # As it was read before it was deleted, and comes to be stored after that.
    for each in (content_id, never):
        message = await publisher.publish(each)
        assert (message["type"], message["payload"]["reason"]) == ("content.publish_failed", "deleted")
    orchestrator.answer = lambda _: JSONResponse({"detail": "it was deleted"}, 410)
    message = await publisher.publish(uuid4())
    assert message["payload"]["reason"] == "deleted"
    async with publisher.database.connection() as connection:
        assert await store.newest(connection, GRIND, 10) == []
        assert await connection.fetchval("select count(*) from covers") == 0


async def test_what_was_taken_down_before_it_was_published_ends_in_a_failure(
    publisher: Publisher, orchestrator: Any
) -> None:
    message = await publisher.publish(orchestrator.add(taken_down_at="2027-01-01T00:00:00Z"))
    assert (message["type"], message["payload"]["reason"]) == ("content.publish_failed", "taken_down")


async def test_links_to_the_brands_other_articles_are_links_within_the_site(
    publisher: Publisher, orchestrator: Any
) -> None:
    other = await publisher.url(orchestrator.add(slug="grind-size", title="Grind size"))
    elsewhere = other.replace("/news/", "/old/")
    body = f"Mind the [grind size]({other}), not [that]({elsewhere}). [1]"
    await publisher.publish(orchestrator.add(body_markdown=body))

    page = lxml_html.fromstring((await publisher.page("cold-brew")).body_html)

    assert [(link.get("href"), link.get("rel")) for link in page.xpath("//a[not(@class)]")] == [
        ("/news/sites/daily-grind/grind-size", None),
        (elsewhere, "external noopener noreferrer"),
    ]


async def test_an_article_of_another_brand_is_not_published(publisher: Publisher, orchestrator: Any) -> None:
    with pytest.raises(Unprocessable, match="belongs to brand 'daily-grind'"):
        await publisher.publish(orchestrator.add(), brand="tea-time")


async def test_an_article_of_another_brand_is_not_announced_because_it_has_not_changed(
    publisher: Publisher, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    await publisher.publish(content_id)
    with pytest.raises(Unprocessable, match="belongs to brand 'daily-grind'"):
        await publisher.publish(content_id, brand="tea-time")


async def test_an_article_that_is_not_there_yet_is_tried_again(publisher: Publisher) -> None:
    with pytest.raises(RetryLater):
        await publisher.publish(uuid4())


async def test_nul_characters_do_not_stop_a_publication(publisher: Publisher, orchestrator: Any) -> None:
    content_id = orchestrator.add(
        title="Cold\x00 brew \u202egnirb\u202c",
        body_markdown="Steep\x00 it. [1]",
        sources=[{"n": 1, "title": "A\x00B", "url": None, "path": "a\x00.md", "licence": "\x00"}],
    )
    await publisher.url(content_id)
    page = await publisher.page("cold-brew")
    assert page.title == "Cold brew gnirb"
    assert page.sources[0].title == "AB"
