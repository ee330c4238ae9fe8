"""Deadlines and costs of requests: what messages carry, when keywords end, and what an operator's replay moves."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from envelope.brand.payloads import ContentGenerated, DeadLetterRecorded
from envelope.brand.settings import BrandSettings
from envelope.brand.work import writing_id
from messaging import Database
from orchestrator.brands import upsert_brand
from orchestrator.cycles import DEFAULT_LIMITS, BrandLimits, end_late_keywords, next_deadline
from orchestrator.cycles.facts import KeywordState
from tests.fixtures.orchestrator.cycles import MessageOf, begin, handle, researched, rows_of, write_article

URL = "/v1/brands/daily-grind/research"


async def brand(database: Database, **settings: Any) -> None:
    async with database.transaction() as tx:
        await upsert_brand(tx.connection, "daily-grind", BrandSettings(name="The Daily Grind", **settings))


async def sent(database: Database) -> list[dict[str, Any]]:
    async with database.connection() as connection:
        rows = await connection.fetch("select convert_from(body, 'utf8') as body from outbox order by id")
    return [json.loads(row["body"]) for row in rows]


async def pass_deadline(database: Database, cycle_id: Any) -> datetime:
    async with database.connection() as connection:
        deadline: datetime = await connection.fetchval(
            "update cycles set deadline = clock_timestamp() - interval '1 minute' where cycle_id = $1 returning deadline",
            cycle_id,
        )
    return deadline


async def submit(api: httpx.AsyncClient, **asked: Any) -> dict[str, Any]:
    response = await api.post(URL, json={"keywords": ["cold brew"], **asked})
    assert response.status_code == 202, response.text
    found = await api.get(response.headers["location"])
    cycle: dict[str, Any] = found.json()
    return cycle


def hours_from_now(moment: str) -> float:
    return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds() / 3600


async def test_a_request_has_its_own_limits_or_those_of_its_brand_and_its_commands_carry_them(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    await brand(orchestrator_database, deadline_hours=48, max_cost=2.5)

    default = await submit(api)
    own = await submit(api, deadline_hours=2, max_cost=0.07)
    none = await submit(api, deadline=None, max_cost=None)
    one = await submit(api, max_cost=1)

    assert hours_from_now(default["deadline"]) == pytest.approx(48, abs=0.1)
    assert default["max_cost"] == 2.5
    assert hours_from_now(own["deadline"]) == pytest.approx(2, abs=0.1)
    assert own["max_cost"] == 0.07
    assert (none["deadline"], none["max_cost"]) == (None, None)
    assert hours_from_now(one["deadline"]) == pytest.approx(48, abs=0.1)
    assert one["max_cost"] == 1
    (command,) = [
        each
        for each in await sent(orchestrator_database)
        if each["correlation_id"] == default["correlation_id"]
    ]
    assert command["max_cost"] == 2_500_000
    assert datetime.fromisoformat(command["deadline"]) == datetime.fromisoformat(default["deadline"])


async def test_a_list_has_its_limits_beside_it_and_a_found_keyword_shows_them(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    await brand(orchestrator_database)
    at = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)

    await api.post(
        URL,
        params={"deadline": at.isoformat(), "max_cost": "5"},
        content=b"cold brew\npour over\n",
        headers={"Content-Type": "text/plain"},
    )

    found = (await api.get("/v1/keywords")).json()["items"]
    assert len(found) == 2
    assert {datetime.fromisoformat(each["deadline"]) for each in found} == {at}
    assert {each["max_cost"] for each in found} == {5.0}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"deadline": "2020-01-01T00:00:00Z"}, "has passed; name a time in the future"),
        ({"deadline": "2999-01-01T00:00:00Z"}, "over a year away"),
        ({"deadline": "2026-12-03T14:00:00"}, "deadline"),
        ({"deadline": "tomorrow"}, "deadline"),
        ({"deadline": "2026-12-03T14:00:00Z", "deadline_hours": 3}, "give one of them"),
        ({"deadline_hours": 0}, "deadline_hours"),
        ({"deadline_hours": 8761}, "deadline_hours"),
        ({"max_cost": 0}, "max_cost"),
        ({"max_cost": -1}, "max_cost"),
        ({"max_cost": 1e12}, "max_cost"),
        ({"max_cost": "much"}, "max_cost"),
    ],
)
async def test_impossible_limits_are_refused_with_a_sentence_and_begin_nothing(
    api: httpx.AsyncClient, orchestrator_database: Database, asked: dict[str, Any], told: str
) -> None:
    await brand(orchestrator_database)

    response = await api.post(URL, json={"keywords": ["cold brew"], **asked})

    assert response.status_code == 422
    assert told in response.text
    assert await sent(orchestrator_database) == []


async def test_a_request_that_comes_twice_begins_one_cycle_and_one_with_other_limits_is_another_request(
    api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    await brand(orchestrator_database)
    key, asked = (
        {"Idempotency-Key": "campaign"},
        {"keywords": ["cold brew"], "deadline_hours": 2, "max_cost": 1},
    )

    first = await api.post(URL, json=asked, headers=key)
    again = await api.post(URL, json=asked, headers=key)
    other = await api.post(URL, json={**asked, "max_cost": 2}, headers=key)

    assert (again.status_code, again.json()) == (202, first.json())
    assert other.status_code == 422
    assert len(await sent(orchestrator_database)) == 1


async def test_at_the_deadline_all_keywords_without_an_article_end_once_whoever_looks(
    orchestrator_database: Database, api: httpx.AsyncClient, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "pour over", "espresso")
    limits = BrandLimits(research=1, articles=1)
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set awaits_turn = true where keyword = 'espresso'")
        assert await next_deadline(connection) is None
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    before = len(await sent(orchestrator_database))
    await pass_deadline(orchestrator_database, cycle.cycle_id)

    ended = await asyncio.gather(*(end_late_keywords(orchestrator_database, limits) for _ in range(3)))

    assert sum(ended) == 3
    rows = await rows_of(orchestrator_database, cycle)
    assert {row.facts.state for row in rows} == {KeywordState.REFUSED}
    written, waiting, queued = (row.facts.reason or "" for row in rows)
    assert written.startswith("the deadline of ")
    assert written.endswith(" UTC passed while the article was written")
    assert waiting.endswith("passed before its research was done")
    assert queued == waiting
    types = [each["type"] for each in (await sent(orchestrator_database))[before:]]
    assert types == ["cycle.completed"]
    found = await api.get(f"/v1/cycles/{cycle.cycle_id}")
    assert found.json()["states"] == {"refused": 3}
    assert await end_late_keywords(orchestrator_database, limits) == 0


async def test_a_late_answer_goes_on_with_its_own_deadline_and_moves_that_of_its_request(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await pass_deadline(orchestrator_database, cycle.cycle_id)
    await end_late_keywords(orchestrator_database, DEFAULT_LIMITS)
    extended = datetime.now(UTC) + timedelta(hours=5)

    # As an operator's replay with a new deadline brings it.
    answer = message_of(researched("cold brew"), cycle.correlation_id).model_copy(
        update={"deadline": extended}
    )
    await handle(orchestrator_database, answer)
    await end_late_keywords(orchestrator_database, DEFAULT_LIMITS)

    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.WRITING
    assert row.limits.deadline == extended
    command = (await sent(orchestrator_database))[-1]
    assert command["type"] == "content.generate"
    assert datetime.fromisoformat(command["deadline"]) == extended


@pytest.mark.parametrize(
    ("kind", "state", "reason"),
    [
        (
            "research.requested",
            KeywordState.REFUSED,
            "the deadline of 3 December 2026, 14:00 UTC passed before its research was done",
        ),
        (
            "content.generate",
            KeywordState.REFUSED,
            "the deadline of 3 December 2026, 14:00 UTC passed while the article was written",
        ),
        (
            "content.publish",
            KeywordState.FAILED,
            "the deadline of 3 December 2026, 14:00 UTC passed before the article was published",
        ),
    ],
)
async def test_a_message_that_was_late_ends_its_keyword_with_a_plain_reason(
    orchestrator_database: Database, message_of: MessageOf, kind: str, state: KeywordState, reason: str
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    content_id = None
    if kind != "research.requested":
        await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
        (row,) = await rows_of(orchestrator_database, cycle)
        content_id = row.facts.content_id
    if kind == "content.publish":
        assert content_id is not None
        await write_article(orchestrator_database, content_id)
        generated = ContentGenerated(
            brand_slug="daily-grind", content_id=content_id, keyword="cold brew", word_count=4
        )
        await handle(orchestrator_database, message_of(generated, cycle.correlation_id))
    letter = DeadLetterRecorded(
        dead_event_id=cycle.cycle_id,
        queue="some-commands",
        message_type=kind,
        reason="deadline_passed",
        detail="the deadline of 3 December 2026, 14:00 UTC has passed",
        brand_slug="daily-grind",
        keyword="cold brew",
        content_id=content_id,
    )
    event = message_of(letter, cycle.correlation_id).model_copy(
        update={"deadline": datetime(2026, 12, 3, 14, tzinfo=UTC)}
    )

    await handle(orchestrator_database, event)

    (row,) = await rows_of(orchestrator_database, cycle)
    assert (row.facts.state, row.facts.reason) == (state, reason)


async def test_work_that_was_over_a_limit_is_not_done_so_its_dead_letter_stays_open_and_a_failure_outweighs_it(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.content_id is not None

    def letter(reason: str) -> DeadLetterRecorded:
        return DeadLetterRecorded(
            dead_event_id=cycle.cycle_id,
            queue="orchestrator-commands",
            message_type="content.generate",
            reason=reason,
            detail="why",
            brand_slug="daily-grind",
            content_id=row.facts.content_id,
            work_ids=(writing_id("daily-grind", row.facts.content_id or cycle.cycle_id),),
        )

    for reason in ("cost_reached", "deadline_passed"):
        await handle(orchestrator_database, message_of(letter(reason), cycle.correlation_id))
        assert "work.finished" not in {each["type"] for each in await sent(orchestrator_database)}
    await handle(orchestrator_database, message_of(letter("exhausted"), cycle.correlation_id))

    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.FAILED
    assert row.facts.reason == "dead letter on orchestrator-commands: exhausted: why"


async def test_a_chain_that_reached_its_cost_ends_its_keyword_as_refused(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    letter = DeadLetterRecorded(
        dead_event_id=cycle.cycle_id,
        queue="orchestrator-commands",
        message_type="content.generate",
        reason="cost_reached",
        detail="0.02 of the 0.10 dollars are left",
        brand_slug="daily-grind",
        content_id=row.facts.content_id,
    )

    await handle(orchestrator_database, message_of(letter, cycle.correlation_id))

    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.REFUSED
    assert (
        row.facts.reason
        == "the cost limit was reached while the article was written: 0.02 of the 0.10 dollars are left"
    )


async def test_an_approval_publishes_after_the_deadline(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.content_id is not None
    await write_article(orchestrator_database, row.facts.content_id)
    await pass_deadline(orchestrator_database, cycle.cycle_id)
    # The event that an approval sends has no limits.
    approved = ContentGenerated(
        brand_slug="daily-grind", content_id=row.facts.content_id, keyword="cold brew", word_count=4
    )

    await handle(orchestrator_database, message_of(approved, cycle.correlation_id))

    command = (await sent(orchestrator_database))[-1]
    assert command["type"] == "content.publish"
    assert "deadline" not in command
