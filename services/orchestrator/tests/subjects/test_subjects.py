"""Keywords on one subject, on a real database: one article, and every keyword ends with it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from envelope import DomainMessage
from envelope.brand.payloads import (
    ResearchCompleted,
)
from orchestrator.article_workflow.approval import load_approval_reasons
from orchestrator.brands import find_brand
from orchestrator.cycles import (
    BrandLimits,
    Housekeeping,
    control,
)
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.cycles.facts import KeywordState
from orchestrator.subjects import Candidate, claim_subjects

MessageOf = Callable[..., DomainMessage[Any]]
LIMITS = BrandLimits(research=4, articles=4)
BRAND = "daily-grind"
Desk = Any
"""See conftest.py."""


async def test_a_keyword_whose_article_stands_ends_with_it_and_is_researched_no_more(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    content_id, url = await desk.publish(first, "cold brew")

    again = await desk.hand_in("Cold-Brews", "pour over")

    standing, other = await desk.seen(again)
    assert (standing.state, standing.content_id, standing.published_url) == ("completed", content_id, url)
    assert standing.reason == f"“cold brew” is the same subject: its article stands already ({url})"
    assert other.state == "queued"
    assert await desk.asked() == ["cold brew", "pour over"]
    view = await desk.view(again)
    assert (view.completed, view.pending, view.percent) == (1, 1, 50)


async def test_a_double_click_makes_one_article_and_both_end_with_it(desk: Desk) -> None:
    cycles = [await desk.hand_in("cold brew", "cold brews", "moka pot") for _ in range(3)]
    assert await desk.asked() == ["cold brew", "moka pot"]
    waiting = (await desk.seen(cycles[2]))[0]
    assert waiting.waits == f"waits for “cold brew” on the same subject (/v1/cycles/{cycles[0].cycle_id})"
    assert (await desk.view(cycles[2])).not_sent == 3

    content_id, url = await desk.publish(cycles[0], "cold brew")
    await desk.publish(cycles[0], "moka pot")

    for cycle in cycles:
        assert (await desk.view(cycle)).state == "completed"
        for each in (await desk.seen(cycle))[:2]:
            assert (each.state, each.content_id, each.published_url) == ("completed", content_id, url)
    assert await desk.asked() == ["cold brew", "moka pot"]


async def test_who_waits_for_another_keyword_takes_no_room_from_others(desk: Desk) -> None:
    await desk.hand_in("cold brew")
    await desk.hand_in(*(f"cold brew{'!' * count}" for count in range(1, 9)))

    await desk.hand_in("one", "two", "three", "four")

    assert await desk.asked() == ["cold brew", "one", "two", "three"]


async def test_a_long_list_of_what_stands_already_ends_in_one_go(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    await desk.publish(first, "cold brew")

    again = await desk.hand_in(*(f"cold brew{'!' * count}" for count in range(60)), "pour over")

    assert Counter(await desk.states(again)) == {"completed": 60, "queued": 1}
    assert await desk.asked() == ["cold brew", "pour over"]


async def test_what_stands_already_takes_nothing_of_what_a_brand_begins_in_a_day(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    await desk.publish(first, "cold brew")
    async with desk.database.connection() as connection:
        await connection.execute("update brands set articles_per_day = 1, released_at = null")

    again = await desk.hand_in("cold brews", "pour over", "moka pot")

    assert await desk.states(again) == ["completed", "queued", "queued"]
    assert await desk.asked() == ["cold brew", "pour over"]


async def test_a_draft_that_waits_for_a_person_is_the_article_of_its_subject(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    content_id = await desk.write(first, "cold brew", held_for="its brand wants to see it")

    (waited,) = await desk.seen(second)

    assert (waited.state, waited.content_id, waited.published_url) == ("completed", content_id, None)
    assert await desk.ends_told() == {str(second.cycle_id): "completed"}
    assert waited.reason == (
        f"“cold brew” is the same subject: its article waits to be published (/v1/drafts/{content_id})"
    )


async def test_what_research_found_too_little_on_is_refused_to_all_who_wait_and_may_be_tried_again(
    desk: Desk,
) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")

    await desk.refuse(first, "cold brew")

    (waited,) = await desk.seen(second)
    assert waited.state == "refused"
    assert waited.reason == "as “cold brew”, the same subject: insufficient_sources: nothing there"
    (row,) = await desk.rows(second)
    assert (row.facts.state, row.facts.reason) == (KeywordState.REFUSED, waited.reason)
    await desk.hand_in("cold brews")
    assert await desk.asked() == ["cold brew", "cold brews"]


async def test_of_those_that_wait_for_one_that_failed_one_is_tried_and_the_rest_fail_with_it(
    desk: Desk,
) -> None:
    cycle = await desk.hand_in("cold brew", "cold brews", "coldbrew", "cold-brew")

    await desk.lose(cycle, "cold brew")
    assert await desk.asked() == ["cold brew", "cold brews"]
    assert await desk.states(cycle) == ["failed", "queued", "queued", "queued"]

    await desk.lose(cycle, "cold brews")
    assert await desk.asked() == ["cold brew", "cold brews"]
    assert await desk.states(cycle) == ["failed"] * 4
    assert (await desk.seen(cycle))[3].reason == (
        "as “cold brews”, the same subject: dead letter on research-commands: exhausted"
    )
    assert (await desk.view(cycle)).state == "failed"


async def test_when_the_first_is_cancelled_the_next_takes_its_turn(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    await control.cancel_cycle(desk.database, first.cycle_id, None, LIMITS)
    # It is at research, and ends when that has answered.
    assert await desk.asked() == ["cold brew"]

    await desk.tell(
        ResearchCompleted(brand_slug=BRAND, research_id=UUID(int=7), keyword="cold brew"), cycle=first
    )

    assert await desk.states(first) == ["cancelled"]
    assert await desk.asked() == ["cold brew", "cold brews"]
    await desk.publish(second, "cold brews")
    assert await desk.states(second) == ["completed"]


async def test_who_waits_for_another_keyword_can_be_cancelled_and_is_not_taken_for_stalled(
    desk: Desk,
) -> None:
    await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    housekeeping = Housekeeping(
        desk.database,
        stall_after=timedelta(hours=6),
        keep_cycles=timedelta(days=90),
        limits=LIMITS,
    )
    async with desk.database.connection() as connection:
        await connection.execute("update keywords set moved_at = now() - interval '7 hours' where follows")
    assert await housekeeping.look_after_stalled() == 0

    await control.cancel_cycle(desk.database, second.cycle_id, None, LIMITS)

    assert await desk.states(second) == ["cancelled"]
    (row,) = await desk.rows(second)
    assert row.facts.state is KeywordState.CANCELLED
    assert not row.facts.follows


async def test_a_paused_cycle_keeps_no_other_from_the_subject(desk: Desk) -> None:
    await control.pause_brand(desk.database, BRAND)
    first = await desk.hand_in("cold brew")
    await control.pause_cycle(desk.database, first.cycle_id, None)
    await control.resume_brand(desk.database, BRAND, LIMITS)

    second = await desk.hand_in("cold brews")
    assert await desk.asked() == ["cold brews"]
    await desk.publish(second, "cold brews")
    await control.resume_cycle(desk.database, first.cycle_id, None, LIMITS)

    assert await desk.states(first) == ["completed"]
    assert await desk.asked() == ["cold brews"]


async def test_what_a_person_rejected_or_took_down_may_be_written_again_and_then_waits(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    content_id, _ = await desk.publish(first, "cold brew")
    await desk.decide(content_id, "taken_down")

    second = await desk.hand_in("cold brews")

    assert await desk.asked() == ["cold brew", "cold brews"]
    assert await desk.states(second) == ["queued"]
    async with desk.database.connection() as connection:
        brand = await find_brand(connection, BRAND)
        assert brand is not None
        (why,) = await load_approval_reasons(connection, brand, "Cold Brews")
    assert why == f"a person rejected an article on its subject, or took it down (/v1/drafts/{content_id})"


async def test_articles_of_the_version_before_and_of_cycles_long_gone_stand(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    content_id, _ = await desk.publish(first, "cold brew")
    async with desk.database.connection() as connection:
        assert await connection.fetchval("select subject_key from content") is None
        await connection.execute("delete from cycles")

    again = await desk.hand_in("cold brews")

    (seen,) = await desk.seen(again)
    assert (seen.state, seen.content_id) == ("completed", content_id)


async def test_what_a_replica_of_the_version_before_brought_about_is_noticed(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    content_id = await desk.write(first, "cold brew")
    async with desk.database.connection() as connection:
        # It knows nothing of those that wait.
        await connection.execute(
            "update content set published_url = 'http://site.test/cold-brew' where content_id = $1",
            content_id,
        )

    await dispatch_overlooked(desk.database, LIMITS)

    assert await desk.states(second) == ["completed"]


async def test_of_many_who_hand_in_one_subject_at_once_one_is_sent(desk: Desk) -> None:
    spellings = ("cold brew", "Cold Brews", "cold-brew", "COLD BREW", "coldbrew", "cold  brew?")
    cycles = await asyncio.gather(*(desk.hand_in(each) for each in spellings))

    (sent,) = await desk.asked()
    (cycle,) = [each for each in cycles if (await desk.rows(each))[0].keyword == sent]
    content_id, _ = await desk.publish(cycle, sent)

    for each in cycles:
        (seen,) = await desk.seen(each)
        assert (seen.state, seen.content_id) == ("completed", content_id)


async def test_the_key_of_the_table_alone_keeps_two_from_one_subject(desk: Desk) -> None:
    await control.pause_brand(desk.database, BRAND)
    cycle = await desk.hand_in("cold brew", "cold brews")
    candidates = [
        Candidate(BRAND, "en", (cycle.cycle_id, position), keyword)
        for position, keyword in enumerate(("cold brew", "cold brews"), start=1)
    ]
    begun = asyncio.Event()

    async def take(candidate: Candidate, *, first: bool) -> int:
        # Nobody holds the brand's lock.
        async with desk.database.transaction() as tx:
            now = await tx.connection.fetchval("select clock_timestamp()")
            if not first:
                await begun.wait()
            taken = await claim_subjects(tx.connection, [candidate], {BRAND: 1}, now=now)
            begun.set()
            return len(taken.going)

    assert sorted(
        await asyncio.gather(take(candidates[0], first=True), take(candidates[1], first=False))
    ) == [0, 1]
