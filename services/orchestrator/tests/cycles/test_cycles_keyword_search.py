"""Keywords found over all cycles, and the lines of the log that tell when one came in and ended."""

from typing import Any

import httpx
import structlog

from envelope.brand.payloads import Priority, ResearchFailed
from messaging import Database
from tests.fixtures.orchestrator.cycles import MessageOf, begin, handle


async def test_keywords_of_all_cycles_are_found_by_spelling_text_and_state(
    orchestrator_database: Database, api: httpx.AsyncClient, message_of: MessageOf
) -> None:
    first = await begin(orchestrator_database, "cold brew", "moka pot", "100% arabica")
    await begin(orchestrator_database, "Cold Brew ratio", "espresso")
    await handle(
        orchestrator_database,
        message_of(
            ResearchFailed(
                brand_slug="daily-grind", keyword="moka pot", reason="insufficient_sources", detail="too few"
            ),
            first.correlation_id,
        ),
    )

    async def found(**query: Any) -> list[str]:
        answer = await api.get("/v1/keywords", params=query)
        assert answer.status_code == 200, answer.text
        return [each["keyword"] for each in answer.json()["items"]]

    assert await found(brand="daily-grind", q="cold BREW") == ["Cold Brew ratio", "cold brew"]
    assert await found(brand="daily-grind", keyword="COLD brew") == ["cold brew"]
    assert await found(q="%") == ["100% arabica"]
    assert await found(state="refused") == ["moka pot"]
    assert await found(brand="daily-grind", q="nothing like it") == []

    (one,) = (await api.get("/v1/keywords", params={"keyword": "cold brew"})).json()["items"]
    assert (one["cycle_id"], one["correlation_id"]) == (str(first.cycle_id), first.correlation_id)
    assert (one["brand_slug"], one["priority"]) == ("daily-grind", Priority.NORMAL)
    assert one["accepted_at"] <= one["moved_at"]

    pages: list[str] = []
    after = None
    for _ in range(5):
        query = {"limit": 1} | ({"after": after} if after else {})
        page = (await api.get("/v1/keywords", params=query)).json()
        pages += [each["keyword"] for each in page["items"]]
        after = page["next"]
    assert (after, pages) == (None, await found())
    assert len(set(pages)) == 5
    wrong = await api.get("/v1/keywords", params={"after": "elsewhere"})
    assert wrong.status_code == 422


async def test_the_log_has_a_line_when_a_cycle_is_accepted_and_when_a_keyword_ends(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    with structlog.testing.capture_logs() as lines:
        cycle = await begin(orchestrator_database, "moka pot")
        failure = ResearchFailed(
            brand_slug="daily-grind", keyword="moka pot", reason="insufficient_sources", detail="too few"
        )
        await handle(orchestrator_database, *[message_of(failure, cycle.correlation_id)] * 2)

    told = [each for each in lines if each["event"] in {"cycle_accepted", "keyword_ended", "cycle_ended"}]
    assert [each["event"] for each in told] == ["cycle_accepted", "keyword_ended", "cycle_ended"]
    assert {each["correlation_id"] for each in told} == {cycle.correlation_id}
    assert {each["brand"] for each in told} == {"daily-grind"}
    assert (told[1]["keyword"], told[1]["state"]) == ("moka pot", "refused")
