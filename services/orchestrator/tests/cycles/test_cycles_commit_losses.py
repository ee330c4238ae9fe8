"""Only work that publisher and social have answered and may have forgotten is requested once more."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from chassis.testing import eventually
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    DatabaseFellBack,
    Picture,
    SocialFailed,
    SocialPosted,
)
from messaging import CommitLoss, Database
from orchestrator.article_workflow.durable import DeliveredCommand, claim_article, has_claim
from orchestrator.cycles import (
    AnswerConfirmation,
    Cycle,
    Housekeeping,
    note_commit_losses,
    note_own_loss,
    route,
)
from orchestrator.cycles.domain import content_id_of
from orchestrator.cycles.facts import KeywordState
from tests.fixtures.orchestrator.cycles import (
    ARTICLE,
    MessageOf,
    begin,
    handle,
    researched,
    rows_of,
    write_article,
)

PAGE = "https://example.com/cold-brew"


async def commands(database: Database, kind: str) -> list[dict[str, Any]]:
    async with database.connection() as connection:
        rows = await connection.fetch("select body from outbox where type = $1 order by id", kind)
    return [json.loads(row["body"])["payload"] for row in rows]


async def execute(database: Database, statement: str, *arguments: object) -> None:
    async with database.connection() as connection:
        await connection.execute(statement, *arguments)


def from_service(
    service: str, payload: Any, correlation_id: str, sent_at: datetime | None = None
) -> DomainMessage[Any]:
    return DomainMessage(
        event_id=new_event_id(),
        type=CATALOGUE.type_of(payload).name,
        source=service,
        timestamp=sent_at or datetime.now(UTC),
        correlation_id=correlation_id,
        payload=payload,
    )


async def lose(database: Database, service: str, *, since: timedelta = timedelta(minutes=1)) -> None:
    """The service says that it has lost its last commits."""
    loss = DatabaseFellBack(service=service, kept_until=datetime.now(UTC) - since)
    async with database.transaction() as tx:
        await note_commit_losses([from_service(service, loss, "none")], tx)


async def ask(database: Database) -> int:
    return await AnswerConfirmation(database).ask()


def posted(content_id: UUID, platform: str = "feed") -> SocialPosted:
    return SocialPosted(
        brand_slug="daily-grind",
        content_id=content_id,
        platform=platform,
        post_url=f"https://example.com/{platform}",
    )


@pytest.fixture
async def promoted(orchestrator_database: Database, message_of: MessageOf) -> tuple[Cycle, UUID]:
    """A keyword with a published page and requested posts on four channels; and its article's id."""
    cycle = await begin(orchestrator_database, "cold brew", channels=("feed", "mastodon", "telegram", "x"))
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    content_id = row.facts.content_id
    assert content_id is not None
    await write_article(orchestrator_database, content_id)
    generated = ContentGenerated(
        brand_slug="daily-grind", content_id=content_id, keyword="cold brew", word_count=400
    )
    published = ContentPublished(brand_slug="daily-grind", content_id=content_id, published_url=PAGE)
    for event in (generated, published):
        await handle(orchestrator_database, message_of(event, cycle.correlation_id))
    return cycle, content_id


async def test_posts_that_social_may_have_forgotten_are_asked_for_once_more_and_those_refused_are_not(
    orchestrator_database: Database, message_of: MessageOf, promoted: tuple[Cycle, UUID]
) -> None:
    cycle, content_id = promoted
    answers = [
        posted(content_id),
        posted(content_id, "mastodon"),
        SocialFailed(
            brand_slug="daily-grind", content_id=content_id, platform="telegram", reason="scheduled"
        ),
        SocialFailed(brand_slug="daily-grind", content_id=content_id, platform="x", reason="rejected"),
    ]
    for answer in answers:
        await handle(orchestrator_database, message_of(answer, cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.COMPLETED

    await lose(orchestrator_database, "social")
    assert await ask(orchestrator_database) == 1
    first, second = await commands(orchestrator_database, "social.create")
    assert first["channels"] == ["feed", "mastodon", "telegram", "x"]
    assert second["channels"] == ["feed", "mastodon", "telegram"]
    assert {each["platform"]: each["post_url"] for each in second["known_posts"]} == {
        "feed": "https://example.com/feed",
        "mastodon": "https://example.com/mastodon",
    }
    assert second["asked_since"] is not None
    assert second["published_url"] == PAGE
    assert await ask(orchestrator_database) == 0

    # The answers are those that are known, and ask for nothing more.
    for answer in answers:
        await handle(orchestrator_database, message_of(answer, cycle.correlation_id))
    assert await ask(orchestrator_database) == 0


async def test_the_word_of_a_loss_that_comes_twice_asks_once_more_and_one_from_elsewhere_asks_nothing(
    orchestrator_database: Database, promoted: tuple[Cycle, UUID]
) -> None:
    for _ in range(2):
        await lose(orchestrator_database, "social")
    assert await ask(orchestrator_database) == 1
    loss = DatabaseFellBack(service="social", kept_until=datetime.now(UTC) - timedelta(days=1))
    async with orchestrator_database.transaction() as tx:
        await note_commit_losses([from_service("publisher", loss, "none")], tx)
    await lose(orchestrator_database, "research")
    assert await ask(orchestrator_database) == 0


async def test_an_answer_from_before_the_loss_that_comes_after_the_word_of_it_is_confirmed_too(
    orchestrator_database: Database, promoted: tuple[Cycle, UUID]
) -> None:
    cycle, content_id = promoted
    await execute(
        orchestrator_database, "update keywords set moved_at = now() - interval '1 hour', state = 'completed'"
    )
    sent_at = datetime.now(UTC)
    await lose(orchestrator_database, "social")
    assert await ask(orchestrator_database) == 0
    late = from_service("social", posted(content_id), cycle.correlation_id, sent_at)
    await handle(orchestrator_database, late)
    assert await ask(orchestrator_database) == 1
    after = from_service("social", posted(content_id, "mastodon"), cycle.correlation_id)
    await handle(orchestrator_database, after)
    assert await ask(orchestrator_database) == 0


async def test_only_what_moved_since_the_commits_are_missing_is_asked_for(
    orchestrator_database: Database, message_of: MessageOf, promoted: tuple[Cycle, UUID]
) -> None:
    cycle, content_id = promoted
    for platform in ("feed", "mastodon", "telegram", "x"):
        await handle(orchestrator_database, message_of(posted(content_id, platform), cycle.correlation_id))
    await execute(orchestrator_database, "update keywords set moved_at = now() - interval '1 hour'")
    await execute(orchestrator_database, "update content set updated_at = now() - interval '1 hour'")
    await lose(orchestrator_database, "social")
    await lose(orchestrator_database, "publisher")
    assert await ask(orchestrator_database) == 0
    await lose(orchestrator_database, "social", since=timedelta(hours=2))
    assert await ask(orchestrator_database) == 1


@pytest.mark.parametrize(
    ("statement", "posts"),
    [
        ("update content set taken_down_at = now(), held_for = '{somebody: wrong}'", 1),
        ("delete from content", 1),
        ("delete from brands", 1),
    ],
)
async def test_no_post_is_asked_for_that_leads_nowhere_any_more(
    orchestrator_database: Database, promoted: tuple[Cycle, UUID], statement: str, posts: int
) -> None:
    await lose(orchestrator_database, "social")
    if "brands" in statement:
        for table in ("keywords", "content", "cycles"):
            await execute(orchestrator_database, f"delete from {table}")
    await execute(orchestrator_database, statement)
    await ask(orchestrator_database)
    assert len(await commands(orchestrator_database, "social.create")) == posts


async def test_pages_that_the_publisher_may_have_forgotten_are_asked_for_once_more_as_they_stand_by_now(
    orchestrator_database: Database, promoted: tuple[Cycle, UUID]
) -> None:
    _, content_id = promoted
    await lose(orchestrator_database, "publisher")
    assert await ask(orchestrator_database) == 1
    first, second = await commands(orchestrator_database, "content.publish")
    assert first == second

    # Taken down: the publisher reads that of the article, so the same command has the page go.
    await execute(
        orchestrator_database,
        "update content set taken_down_at = now(), updated_at = now(), held_for = '{somebody: wrong}'",
    )
    await lose(orchestrator_database, "publisher")
    assert await ask(orchestrator_database) == 1
    assert len(await commands(orchestrator_database, "content.publish")) == 3

    await execute(orchestrator_database, "delete from content")
    await execute(
        orchestrator_database,
        "insert into deleted_articles (content_id, brand_slug, address, deleted_by, reason)"
        " values ($1, 'daily-grind', 'cold-brew', 'anna', 'wrong')",
        content_id,
    )
    await lose(orchestrator_database, "publisher")
    assert await ask(orchestrator_database) == 1
    assert len(await commands(orchestrator_database, "content.publish")) == 3
    (deletion,) = await commands(orchestrator_database, "content.delete")
    assert deletion["content_id"] == str(content_id)


async def test_a_draft_that_waits_for_a_person_is_not_published_by_a_loss(
    orchestrator_database: Database, promoted: tuple[Cycle, UUID]
) -> None:
    await execute(
        orchestrator_database,
        "update content set published_url = null, held_for = '{too long}', updated_at = now()",
    )
    await lose(orchestrator_database, "publisher")
    await ask(orchestrator_database)
    assert len(await commands(orchestrator_database, "content.publish")) == 1


async def test_posts_that_are_announced_to_a_database_that_has_forgotten_asking_are_asked_for_with_the_page(
    orchestrator_database: Database, message_of: MessageOf, promoted: tuple[Cycle, UUID]
) -> None:
    """The answers come again, or only now: without them no one would ask social, which may have lost the posts."""
    cycle, content_id = promoted
    await execute(
        orchestrator_database,
        "update keywords set published_url = null, promoted = false, posts = '[]', state = 'publishing'",
    )
    platforms = ("feed", "mastodon", "telegram", "x")
    for platform in platforms:
        await handle(orchestrator_database, message_of(posted(content_id, platform), cycle.correlation_id))
    published = ContentPublished(brand_slug="daily-grind", content_id=content_id, published_url=PAGE)
    for _ in range(2):
        await handle(orchestrator_database, message_of(published, cycle.correlation_id))
    _, again = await commands(orchestrator_database, "social.create")
    assert again["channels"] == list(platforms)
    assert [each["platform"] for each in again["known_posts"]] == list(platforms)


async def test_after_a_loss_of_its_own_posts_of_keywords_in_hand_may_be_out_and_others_are_not(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    """The request for them may be among the commits that are lost."""
    first = await begin(orchestrator_database, "cold brew")
    kept_until = datetime.now(UTC) - timedelta(minutes=1)
    async with orchestrator_database.transaction() as tx:
        await note_own_loss(CommitLoss(kept_until, datetime.now(UTC)), tx)
    second = await begin(orchestrator_database, "pour over")
    for cycle, keyword in ((first, "cold brew"), (second, "pour over")):
        await handle(orchestrator_database, message_of(researched(keyword), cycle.correlation_id))
        (row,) = await rows_of(orchestrator_database, cycle)
        content_id = row.facts.content_id
        assert content_id is not None
        article = replace(ARTICLE, slug=keyword.replace(" ", "-"))
        await write_article(orchestrator_database, content_id, article)
        published = ContentPublished(brand_slug="daily-grind", content_id=content_id, published_url=PAGE)
        await handle(orchestrator_database, message_of(published, cycle.correlation_id))
    flagged, other = await commands(orchestrator_database, "social.create")
    assert datetime.fromisoformat(flagged["asked_since"]) == kept_until
    assert "asked_since" not in other


async def test_research_of_articles_that_are_not_begun_is_asked_for_once_more_when_research_may_have_lost_it(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "pour over", "grind size")
    for keyword in ("cold brew", "pour over"):
        await handle(orchestrator_database, message_of(researched(keyword), cycle.correlation_id))
    begun, unbegun, _ = before = await rows_of(orchestrator_database, cycle)
    await execute(
        orchestrator_database,
        "insert into workflow_steps values ($1, 'research', '{}')",
        begun.facts.content_id,
    )
    asked = len(await commands(orchestrator_database, "research.requested"))
    for _ in range(2):
        await lose(orchestrator_database, "research")
    *_, again = requests = await commands(orchestrator_database, "research.requested")
    assert (len(requests), again["keyword"]) == (asked + 1, "pour over")
    first, second, third = await rows_of(orchestrator_database, cycle)
    assert first.facts == before[0].facts
    assert third.facts == before[2].facts
    assert second.facts.state is KeywordState.QUEUED

    await handle(orchestrator_database, message_of(researched("pour over"), cycle.correlation_id))
    _, second, _ = await rows_of(orchestrator_database, cycle)
    assert second.facts.state is KeywordState.WRITING
    assert second.facts.content_id == unbegun.facts.content_id
    *_, generate = await commands(orchestrator_database, "content.generate")
    assert generate["research_id"] == str(second.facts.research_id) != str(unbegun.facts.research_id)


async def test_a_hold_that_the_standby_has_kept_does_not_delay_the_command_that_writes_after_the_second_research(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    """The command that has it was carried out, in commits that are lost."""
    cycle = await begin(orchestrator_database, "cold brew")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    content_id = row.facts.content_id
    assert content_id is not None
    hold = timedelta(minutes=10)
    first, second = (DeliveredCommand(content_id, new_event_id(), None, 1) for _ in range(2))
    async with orchestrator_database.connection() as connection:
        assert await claim_article(connection, first, hold) == first.event_id
    await lose(orchestrator_database, "research")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    async with orchestrator_database.connection() as connection:
        assert await claim_article(connection, second, hold) == second.event_id
        assert not await has_claim(connection, first)


async def test_research_from_before_the_loss_that_is_heard_of_after_the_word_of_it_is_asked_for_once_more(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    sent_at = datetime.now(UTC)
    await lose(orchestrator_database, "research")
    asked = await commands(orchestrator_database, "research.requested")
    late = from_service("research", researched("cold brew"), cycle.correlation_id, sent_at)
    await handle(orchestrator_database, late)
    assert await commands(orchestrator_database, "research.requested") == asked * 2
    assert await commands(orchestrator_database, "content.generate") == []
    (row,) = await rows_of(orchestrator_database, cycle)
    assert (row.facts.state, row.facts.research_id) == (KeywordState.QUEUED, None)

    # The answer to the second request is believed, even if the clock of research says that it is as old as the first.
    again = researched("cold brew")
    await handle(orchestrator_database, from_service("research", again, cycle.correlation_id, sent_at))
    (generate,) = await commands(orchestrator_database, "content.generate")
    assert generate["research_id"] == str(again.research_id)
    assert len(await commands(orchestrator_database, "research.requested")) == 2


async def test_late_research_that_is_decided_about_while_the_loss_is_noted_is_not_missed(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    late = from_service("research", researched("cold brew"), cycle.correlation_id, datetime.now(UTC))
    async with orchestrator_database.transaction() as tx:
        await route([late], tx)
        noting = asyncio.create_task(lose(orchestrator_database, "research"))

        async def waits() -> bool:
            # A transaction sees the activity as it was when it first looked.
            async with orchestrator_database.connection() as connection:
                return noting.done() or await connection.fetchval(
                    "select exists (select from pg_stat_activity"
                    " where datname = current_database() and wait_event_type = 'Lock')"
                )

        await eventually(waits)
        assert not noting.done()
    await noting
    assert len(await commands(orchestrator_database, "research.requested")) == 2
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.QUEUED


async def test_research_that_was_certainly_kept_or_was_done_after_the_loss_is_written_from(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "pour over")
    await lose(orchestrator_database, "research")
    kept = datetime.now(UTC) - timedelta(hours=1)
    await handle(
        orchestrator_database,
        from_service("research", researched("cold brew"), cycle.correlation_id, kept),
        from_service("research", researched("pour over"), cycle.correlation_id),
    )
    assert len(await commands(orchestrator_database, "content.generate")) == 2
    assert len(await commands(orchestrator_database, "research.requested")) == 2


async def test_late_research_of_a_cycle_that_was_cancelled_asks_for_nothing(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    sent_at = datetime.now(UTC)
    await lose(orchestrator_database, "research")
    await execute(orchestrator_database, "update cycles set cancelled_at = now()")
    late = from_service("research", researched("cold brew"), cycle.correlation_id, sent_at)
    await handle(orchestrator_database, late)
    assert len(await commands(orchestrator_database, "research.requested")) == 1
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.CANCELLED


PICTURE = Picture(
    url="https://example.com/cover.png", alt="A jug", media_type="image/png", width=1200, height=630
)


@pytest.mark.parametrize("by", ["a loss", "a standstill"])
async def test_posts_are_asked_for_once_more_with_the_short_link_and_the_picture_of_the_first_time(
    orchestrator_database: Database, message_of: MessageOf, by: str
) -> None:
    """Social looks for posts by what they say: others would not be found, and go out a second time."""
    cycle = await begin(orchestrator_database, "cold brew", channels=("feed", "mastodon"))
    await execute(orchestrator_database, "update brands set short_links = true")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    content_id = row.facts.content_id
    assert content_id is not None
    await write_article(orchestrator_database, content_id)
    published = ContentPublished(
        brand_slug="daily-grind",
        content_id=content_id,
        published_url=PAGE,
        short_link="https://example.com/s/abc",
        picture=PICTURE,
    )
    await handle(orchestrator_database, message_of(published, cycle.correlation_id))
    # The page is told of again, without them.
    plain = published.model_copy(update={"short_link": None, "picture": None})
    await handle(orchestrator_database, message_of(plain, cycle.correlation_id))
    if by == "a loss":
        await lose(orchestrator_database, "social")
        assert await ask(orchestrator_database) == 1
    else:
        await execute(orchestrator_database, "update keywords set moved_at = now() - interval '7 hours'")
        housekeeping = Housekeeping(
            orchestrator_database,
            stall_after=timedelta(hours=6),
            keep_cycles=timedelta(days=30),
        )
        assert await housekeeping.look_after_stalled() == 1
    first, second = await commands(orchestrator_database, "social.create")
    assert first["short_link"] == second["short_link"] == "https://example.com/s/abc"
    assert first["picture"] == second["picture"] == PICTURE.model_dump(mode="json", exclude_none=True)


async def test_two_replicas_share_out_what_is_asked(
    orchestrator_database: Database, promoted: tuple[Cycle, UUID]
) -> None:
    await lose(orchestrator_database, "social")
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute("select from answers_to_confirm for update")
        assert await ask(orchestrator_database) == 0
    assert await ask(orchestrator_database) == 1


async def test_a_keyword_has_the_same_article_when_its_research_is_heard_of_for_the_first_time_again(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    """This database may have forgotten that there is a page; a second id would make a second page."""
    cycle = await begin(orchestrator_database, "cold brew", "pour over")
    events = [message_of(researched(keyword), cycle.correlation_id) for keyword in ("cold brew", "pour over")]
    await handle(orchestrator_database, *events)
    before = [row.facts.content_id for row in await rows_of(orchestrator_database, cycle)]
    await execute(
        orchestrator_database, "update keywords set content_id = null, research_id = null, state = 'queued'"
    )
    await handle(orchestrator_database, *events)
    assert [row.facts.content_id for row in await rows_of(orchestrator_database, cycle)] == before
    assert len(set(before)) == 2


def test_ids_of_articles_are_of_version_7_and_in_the_order_of_the_keywords() -> None:
    cycle_id = new_event_id()
    content_id = content_id_of(cycle_id, 3)
    assert (content_id.version, content_id.variant) == (7, cycle_id.variant)
    assert content_id.int >> 80 == (cycle_id.int >> 80) + 3
    ids = [content_id_of(cycle_id, position) for position in range(1, 100)]
    assert sorted(set(ids)) == ids
