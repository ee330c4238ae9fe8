"""Work that another command has done than the one that died: reported to the monitor, in any order of events."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentPublishFailed,
    DeadLetterRecorded,
    ResearchFailed,
    SocialFailed,
    SocialPosted,
)
from envelope.brand.work import announcing_id, publishing_id, researching_id, work_ids_in, writing_id
from messaging import Database
from orchestrator.cycles import Cycle, Housekeeping
from tests.fixtures.orchestrator.cycles import (
    MessageOf,
    begin,
    handle,
    researched,
    rows_of,
    write_article,
)

BRAND = "daily-grind"
URL = "https://example.com/cold-brew"
Sent = dict[str, Any]


async def sent(database: Database, kind: str) -> list[Sent]:
    """Envelopes of a type, in the order in which they were sent."""
    async with database.connection() as connection:
        rows = await connection.fetch("select body from outbox where type = $1 order by id", kind)
    return [json.loads(row["body"]) for row in rows]


async def reports(database: Database) -> list[Sent]:
    return [each["payload"] for each in await sent(database, "work.finished")]


async def reported(database: Database) -> set[UUID]:
    return {UUID(each["work_id"]) for each in await reports(database)}


async def awaited(database: Database) -> int:
    async with database.connection() as connection:
        count: int = await connection.fetchval("select count(*) from awaited_work")
    return count


@pytest.fixture
def death_of(message_of: MessageOf) -> Callable[[Sent], DomainMessage[Any]]:
    """A dead letter as the monitor announces it."""

    def death(command: Sent) -> DomainMessage[Any]:
        payload = command["payload"]
        known = {name: payload[name] for name in ("content_id", "keyword", "target") if payload.get(name)}
        recorded = DeadLetterRecorded(
            dead_event_id=command["event_id"],
            queue="publisher-commands",
            message_type=command["type"],
            reason="exhausted",
            brand_slug=payload["brand_slug"],
            work_ids=work_ids_in(command["type"], payload, command["correlation_id"]),
            **known,
        )
        return message_of(recorded, command["correlation_id"])

    return death


DeathOf = Callable[[Sent], DomainMessage[Any]]


async def stall(database: Database) -> None:
    """Has all unanswered work requested once more."""
    async with database.connection() as connection:
        await connection.execute("update keywords set moved_at = moved_at - interval '2 hours'")
    hour = timedelta(hours=1)
    await Housekeeping(database, stall_after=hour, keep_cycles=hour).tidy()


@pytest.fixture
async def written(orchestrator_database: Database, message_of: MessageOf) -> tuple[Cycle, UUID]:
    """A keyword with a stored article and a requested publication; and the article's id."""
    cycle = await begin(orchestrator_database, "cold brew", channels=("feed", "webhook"))
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.content_id is not None
    await write_article(orchestrator_database, row.facts.content_id)
    generated = ContentGenerated(
        brand_slug=BRAND, content_id=row.facts.content_id, keyword="cold brew", word_count=400
    )
    await handle(orchestrator_database, message_of(generated, cycle.correlation_id))
    return cycle, row.facts.content_id


Written = tuple[Cycle, UUID]


@pytest.fixture
def answer(orchestrator_database: Database, message_of: MessageOf, written: Written) -> Callable[..., Any]:
    """The publisher's answer to a command for a target."""
    cycle, content_id = written

    async def answer(
        command: Sent, *, target: str = "site", current: bool = True, failed: bool = False
    ) -> DomainMessage[Any]:
        async with orchestrator_database.connection() as connection:
            changed_at = await connection.fetchval("select updated_at from content")
        payload: ContentPublished | ContentPublishFailed = ContentPublished(
            brand_slug=BRAND,
            content_id=content_id,
            published_url=URL,
            target=target,
            as_of=changed_at if current else changed_at - timedelta(minutes=1),
        )
        if failed:
            payload = ContentPublishFailed(
                brand_slug=BRAND, content_id=content_id, target=target, reason="refused"
            )
        event = message_of(payload, cycle.correlation_id)
        return event.model_copy(update={"causation_id": UUID(command["event_id"])})

    return answer


@pytest.mark.parametrize(
    "order", ["death, repeat, success", "repeat, death, success", "repeat, success, death"]
)
async def test_a_publication_that_the_sweep_repeats_is_reported(
    orchestrator_database: Database,
    written: Written,
    death_of: DeathOf,
    answer: Callable[..., Any],
    order: str,
) -> None:
    _, content_id = written
    (first,) = await sent(orchestrator_database, "content.publish")
    for step in order.split(", "):
        match step:
            case "death":
                for _ in range(2):
                    await handle(orchestrator_database, death_of(first))
                if order.startswith("death"):  # it has failed, and somebody has it published once more
                    async with orchestrator_database.connection() as connection:
                        await connection.execute("update keywords set state = 'publishing', setbacks = '{}'")
            case "repeat":
                await stall(orchestrator_database)
            case _:
                _, second = await sent(orchestrator_database, "content.publish")
                assert first["event_id"] != second["event_id"]
                for _ in range(2):
                    await handle(orchestrator_database, await answer(second))
    told = await reports(orchestrator_database)
    assert {each["work_id"] for each in told} == {str(publishing_id(BRAND, content_id, "site"))}
    assert {each["finished_by"] for each in told} == {second["event_id"]}
    assert all(first["timestamp"] <= each["covers_until"] for each in told)


async def test_a_failure_or_another_target_is_no_success(
    orchestrator_database: Database, written: Written, death_of: DeathOf, answer: Callable[..., Any]
) -> None:
    (first,) = await sent(orchestrator_database, "content.publish")
    await handle(orchestrator_database, death_of(first))
    await handle(orchestrator_database, await answer(first, failed=True))
    await handle(orchestrator_database, await answer(first, target="wordpress"))
    assert await reports(orchestrator_database) == []
    assert await awaited(orchestrator_database) == 1


async def test_a_publication_covers_what_was_sent_before_it_and_all_if_it_shows_the_last_state(
    orchestrator_database: Database, written: Written, death_of: DeathOf, answer: Callable[..., Any]
) -> None:
    await stall(orchestrator_database)
    first, second = await sent(orchestrator_database, "content.publish")
    # The article has changed since: its publication, sent later, may have died as well.
    await handle(orchestrator_database, await answer(first, current=False))
    (early,) = await reports(orchestrator_database)
    assert early["covers_until"] < second["timestamp"]
    await handle(orchestrator_database, await answer(first))
    *_, late = await reports(orchestrator_database)
    assert late["covers_until"] > second["timestamp"]
    assert await awaited(orchestrator_database) == 0


async def test_a_publication_without_its_cycle_is_reported(
    orchestrator_database: Database, written: Written, death_of: DeathOf, answer: Callable[..., Any]
) -> None:
    _, content_id = written
    (first,) = await sent(orchestrator_database, "content.publish")
    async with orchestrator_database.connection() as connection:
        await connection.execute("delete from cycles")
    second = {**first, "event_id": str(new_event_id())}
    await asyncio.gather(
        handle(orchestrator_database, death_of(first)),
        handle(orchestrator_database, await answer(second, current=False)),
    )
    (told,) = await reports(orchestrator_database)
    assert told["work_id"] == str(publishing_id(BRAND, content_id, "site"))
    assert first["timestamp"] <= told["covers_until"]


@pytest.mark.parametrize("death_first", [True, False])
async def test_posts_that_the_sweep_repeats_are_reported_channel_by_channel(
    orchestrator_database: Database,
    message_of: MessageOf,
    written: Written,
    death_of: DeathOf,
    answer: Callable[..., Any],
    *,
    death_first: bool,
) -> None:
    cycle, content_id = written
    (publish,) = await sent(orchestrator_database, "content.publish")
    await handle(orchestrator_database, await answer(publish))
    (create,) = await sent(orchestrator_database, "social.create")
    if death_first:
        await handle(orchestrator_database, death_of(create))
        async with orchestrator_database.connection() as connection:
            await connection.execute("update keywords set state = 'promoting', setbacks = '{}'")
    await stall(orchestrator_database)
    await handle(
        orchestrator_database,
        message_of(
            SocialPosted(brand_slug=BRAND, content_id=content_id, platform="feed", post_url=URL),
            cycle.correlation_id,
        ),
    )
    assert await reported(orchestrator_database) == {announcing_id(BRAND, content_id, "feed")}
    await handle(
        orchestrator_database,
        message_of(
            SocialFailed(brand_slug=BRAND, content_id=content_id, platform="webhook", reason="no_account"),
            cycle.correlation_id,
        ),
    )
    if not death_first:
        await handle(orchestrator_database, death_of(create))
    assert await reported(orchestrator_database) == {
        announcing_id(BRAND, content_id, channel) for channel in ("feed", "webhook")
    }
    assert await awaited(orchestrator_database) == 0


async def test_research_and_writing_that_end_after_all_are_reported(
    orchestrator_database: Database, message_of: MessageOf, death_of: DeathOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    (research,) = await sent(orchestrator_database, "research.requested")
    await handle(orchestrator_database, death_of(research))
    assert await reports(orchestrator_database) == []
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    content_id = row.facts.content_id
    assert content_id is not None
    wanted = {researching_id(BRAND, cycle.correlation_id, "cold brew")}
    assert await reported(orchestrator_database) == wanted

    await write_article(orchestrator_database, content_id)
    generated = ContentGenerated(brand_slug=BRAND, content_id=content_id, keyword="cold brew", word_count=400)
    await handle(orchestrator_database, message_of(generated, cycle.correlation_id))
    (generate,) = await sent(orchestrator_database, "content.generate")
    # It died before it was taken up, and that is known only after another command has done its work.
    await handle(orchestrator_database, death_of(generate))
    assert await reported(orchestrator_database) == wanted | {writing_id(BRAND, content_id)}


@pytest.mark.parametrize(("reason", "count"), [("insufficient_sources", 1), ("no_answer", 0)])
async def test_research_that_is_refused_has_ended_and_one_that_failed_has_not(
    orchestrator_database: Database, message_of: MessageOf, death_of: DeathOf, reason: str, count: int
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    (research,) = await sent(orchestrator_database, "research.requested")
    await handle(orchestrator_database, death_of(research))
    failed = ResearchFailed(brand_slug=BRAND, keyword="cold brew", reason=reason)
    await handle(orchestrator_database, message_of(failed, cycle.correlation_id))
    assert len(await reports(orchestrator_database)) == count


async def test_work_that_nothing_went_wrong_with_is_not_reported(
    orchestrator_database: Database, message_of: MessageOf, written: Written, answer: Callable[..., Any]
) -> None:
    cycle, content_id = written
    (publish,) = await sent(orchestrator_database, "content.publish")
    await handle(orchestrator_database, await answer(publish))
    for channel in ("feed", "webhook"):
        posted = SocialPosted(brand_slug=BRAND, content_id=content_id, platform=channel, post_url=URL)
        await handle(orchestrator_database, message_of(posted, cycle.correlation_id))
    assert await reports(orchestrator_database) == []
    assert await awaited(orchestrator_database) == 0
