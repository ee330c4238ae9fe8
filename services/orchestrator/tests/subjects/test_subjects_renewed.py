"""An article that stands is written anew: a new version at the same address, unless a person has to look at it first."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
import structlog

from envelope.brand.payloads import ContentGenerate, ContentGenerated, ContentPublished, ContentRefused
from envelope.brand.settings import MIN_SOURCES
from messaging import Context
from messaging.testing import write_records
from orchestrator.article_workflow import ContentWorkflow, versions_of
from orchestrator.article_workflow.store import find_content
from orchestrator.cycles import Cycle
from tests.fixtures.kilns import SOURCES
from writing import Article, ArticleSource
from writing.extractive import ExtractiveWriter

Desk = Any
"""See conftest.py."""
PAGE = "http://site.test/sites/daily-grind/kiln"


class Newsroom:
    """Writes what is sent to the writers, and tells the router of it."""

    def __init__(self, desk: Desk, message_of: Any) -> None:
        self.desk = desk
        self._message_of = message_of
        self._written = 0
        self._told = Counter[str]()
        self.label = "first"

    async def write(self, cycle: Cycle, keyword: str) -> None:
        await self.desk.research(cycle, keyword)
        for payload in (await self.desk.sent("content.generate"))[self._written :]:
            self._written += 1
            await self._carry_out(ContentGenerate.model_validate(payload))
        for name, event in (("content.generated", ContentGenerated), ("content.refused", ContentRefused)):
            for payload in (await self.desk.sent(name))[self._told[name] :]:
                self._told[name] += 1
                await self.desk.tell(event.model_validate(payload))

    async def _carry_out(self, command: ContentGenerate) -> None:
        writer, label = ExtractiveWriter(MIN_SOURCES), self.label

        class Labelled:
            async def write(self, **given: Any) -> Article:
                article = await writer.write(**given)
                return Article(
                    article.title,
                    article.slug,
                    label,
                    article.body_markdown,
                    article.word_count,
                    article.key_points,
                    article.cited,
                )

        async def fetch(_: UUID, __: str) -> Sequence[ArticleSource]:
            return SOURCES

        workflow = ContentWorkflow(self.desk.database, fetch, {"extractive": lambda _: Labelled()})  # type: ignore[arg-type]
        context = Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())
        record = await workflow.generate(self._message_of(command), context)
        async with self.desk.database.transaction() as tx:
            await write_records(tx, record)

    async def publish(self, keyword: str) -> UUID:
        """The keyword is handed in, written and published; the id of its article."""
        cycle = await self.desk.hand_in(keyword)
        await self.write(cycle, keyword)
        ((row,)) = await self.desk.rows(cycle)
        content_id: UUID = row.facts.content_id
        await self.desk.tell(
            ContentPublished(brand_slug="daily-grind", content_id=content_id, published_url=PAGE)
        )
        return content_id

    async def article(self, content_id: UUID) -> tuple[str, int, str]:
        """Its description, version and address as they stand."""
        async with self.desk.database.connection() as connection:
            found = await find_content(connection, content_id)
        assert found is not None
        return found.meta_description, found.version, found.slug

    async def set(self, statement: str, *arguments: object) -> None:
        async with self.desk.database.connection() as connection:
            await connection.execute(statement, *arguments)


@pytest.fixture
def newsroom(desk: Desk, message_of: Any) -> Newsroom:
    return Newsroom(desk, message_of)


async def test_a_refresh_writes_a_new_version_at_the_same_address_from_research_of_its_own(
    newsroom: Newsroom,
) -> None:
    desk = newsroom.desk
    content_id = await newsroom.publish("kiln")
    posted = len(await desk.sent("social.create"))
    newsroom.label = "second"

    cycle = await desk.hand_in("Kilns", refresh=True)
    await newsroom.write(cycle, "Kilns")

    assert await newsroom.article(content_id) == ("second", 2, "kiln")
    (seen,) = await desk.seen(cycle)
    assert (seen.state, seen.content_id, seen.published_url) == ("completed", content_id, PAGE)
    assert seen.reason == f"its article was written anew, as version 2 ({PAGE})"
    first, second = await desk.sent("research.requested")
    assert first.get("not_before") is None
    assert second["not_before"] is not None
    assert [each["content_id"] for each in await desk.sent("content.publish")] == [str(content_id)] * 2
    await desk.tell(ContentPublished(brand_slug="daily-grind", content_id=content_id, published_url=PAGE))
    assert len(await desk.sent("social.create")) == posted
    async with desk.database.connection() as connection:
        assert await connection.fetchval("select count(*) from content") == 1


async def test_without_an_article_a_refresh_is_a_keyword_like_any(newsroom: Newsroom) -> None:
    cycle = await newsroom.desk.hand_in("kiln", refresh=True)
    await newsroom.write(cycle, "kiln")

    (command,) = await newsroom.desk.sent("content.generate")
    assert command.get("renews") is None
    assert await newsroom.desk.states(cycle) == ["publishing"]


async def test_of_two_refreshes_at_once_one_is_written_and_a_plain_keyword_ends_at_once(
    newsroom: Newsroom,
) -> None:
    desk = newsroom.desk
    content_id = await newsroom.publish("kiln")

    one, other = await asyncio.gather(*(desk.hand_in("kiln", refresh=True) for _ in "ab"))
    plain = await desk.hand_in("kiln")
    assert await desk.states(plain) == ["completed"]
    ((first,), (second,)) = (await desk.rows(one), await desk.rows(other))
    written, waiting = (one, other) if second.facts.follows else (other, one)
    assert first.facts.follows is not second.facts.follows
    await newsroom.write(written, "kiln")

    assert await desk.states(written) == ["completed"]
    assert await desk.states(waiting) == ["completed"]
    assert (await newsroom.article(content_id))[1] == 2
    assert len(await desk.sent("research.requested")) == 2


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (
            "update brands set approval = 'everything'",
            "its brand wants to see every article before it is published",
        ),
        ("update content_versions set made_by = 'lena'", "lena edited what stands"),
        (
            (
                "with made as (insert into content_versions select content_id, 2, slug, title, 'mine', body_markdown, word_count,"
                " key_points, label, sources, measures, 'lena', 'better', now() from content_versions)"
                " update content set offered_version = 2"
            ),
            "version 2 waits, too",
        ),
    ],
)
async def test_what_a_person_wants_to_see_or_has_written_is_not_overwritten_unasked(
    newsroom: Newsroom, before: str, why: str
) -> None:
    desk = newsroom.desk
    content_id = await newsroom.publish("kiln")
    await newsroom.set(before)
    newsroom.label = "second"

    cycle = await desk.hand_in("kiln", refresh=True)
    await newsroom.write(cycle, "kiln")

    assert await newsroom.article(content_id) == ("first", 1, "kiln")
    async with desk.database.connection() as connection:
        offered = await connection.fetchval("select offered_version from content")
        versions = await versions_of(connection, content_id, limit=9)
    assert (versions[-1].version, versions[-1].why) == (offered, f"written anew; it waits: {why}")
    (seen,) = await desk.seen(cycle)
    assert seen.state == "completed"
    assert seen.reason == (
        f"its article was written anew, as version {offered}, which waits to be approved"
        f" (/v1/drafts/{content_id}): {why}"
    )
    assert len(await desk.sent("content.publish")) == 1


async def test_what_was_taken_down_while_it_was_written_anew_stays_so(newsroom: Newsroom) -> None:
    desk = newsroom.desk
    content_id = await newsroom.publish("kiln")
    cycle = await desk.hand_in("kiln", refresh=True)
    await desk.decide(content_id, "taken_down")

    await newsroom.write(cycle, "kiln")

    assert (await newsroom.article(content_id))[1] == 1
    (seen,) = await desk.seen(cycle)
    assert seen.state == "refused"
    assert seen.reason.startswith("not_renewed: its article is not published any more")
    assert len(await desk.sent("content.publish")) == 1


async def test_an_article_that_says_the_same_ends_its_keyword_with_the_one_that_stands(
    newsroom: Newsroom,
) -> None:
    desk = newsroom.desk
    content_id = await newsroom.publish("kiln")

    cycle = await desk.hand_in("the kiln")
    await newsroom.write(cycle, "the kiln")

    (seen,) = await desk.seen(cycle)
    assert (seen.state, seen.content_id, seen.published_url) == ("completed", content_id, PAGE)
    assert "of it stands in" in seen.reason
    again = await desk.hand_in("The Kilns")
    (seen,) = await desk.seen(again)
    assert (seen.state, seen.content_id) == ("completed", content_id)
    assert len(await desk.sent("research.requested")) == 2
