"""`brandctl chain` as a process of its own, beside an orchestrator's API; the other services are away."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from messaging import Database
from tests.fixtures.commands.brandctl import Operator
from tests.fixtures.orchestrator.cycles import begin

KEY = "test-service-key-0123456789"
CHAIN = "0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10"


@pytest.fixture
def chain(api: httpx.AsyncClient, tmp_path: Path) -> Operator:
    away = {f"{name}_URL": "http://127.0.0.1:9" for name in ("RESEARCH", "PUBLISHER", "SOCIAL", "MONITOR")}
    variables = {"ORCHESTRATOR_URL": str(api.base_url), "SERVICE_KEY": KEY, **away}
    return Operator(tmp_path, variables, "chain")


async def test_a_chain_is_listed_page_by_page(chain: Operator, orchestrator_database: Database) -> None:
    now = datetime.now(UTC)
    async with orchestrator_database.connection() as connection:
        for number in range(3):
            at = now - timedelta(minutes=number)
            await connection.execute(
                """
                insert into processed_events (event_id, type, queue, outcome, chain)
                values ($1, 'cycle.start', 'orchestrator-commands', 'handled', $2)
                """,
                UUID(int=int(at.timestamp() * 1000) << 80 | 0x7000_8000_0000_0000_0000),
                CHAIN,
            )
    every = await chain(CHAIN)
    first = json.loads((await chain(CHAIN, "--limit", "2", "--json")).out)
    second = json.loads((await chain(CHAIN, "--limit", "2", "--json", "--after", first["next"])).out)
    nothing = await chain("another")

    heading, *lines = every.out.splitlines()
    assert heading == "made\tservice\tmessage\ttype\tstate\tended\twaited\tworked\tattempts\tdue\twhy"
    assert [line.split("\t")[1] for line in lines] == ["orchestrator"] * 3
    assert every.code == 1
    assert all(name in every.err for name in ("research", "publisher", "social", "monitor"))
    assert [len(page["items"]) for page in (first, second)] == [2, 1]
    shown = [each["message_id"] for page in (first, second) for each in page["items"]]
    assert shown == [line.split("\t")[2] for line in lines]
    assert (nothing.code, nothing.out) == (1, "")


async def test_a_chain_is_found_by_its_keyword_and_its_article_and_shown_as_a_tree(
    chain: Operator, orchestrator_database: Database
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await begin(orchestrator_database, "moka pot")
    await begin(orchestrator_database, "moka pot")
    now = datetime.now(UTC)
    ids = [
        UUID(int=int((now + timedelta(seconds=each)).timestamp() * 1000) << 80 | 0x7000_8000_0000_0000_0000)
        for each in range(3)
    ]
    content_id = UUID(int=5)
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            """
            insert into processed_events (event_id, type, queue, outcome, chain, caused_by, processed_at)
            select id, 'cycle.start', 'orchestrator-commands', 'handled', $3, cause, now() + interval '1 minute'
            from unnest($1::uuid[], $2::uuid[]) as t (id, cause)
            """,
            ids,
            [None, ids[0], ids[1]],
            cycle.correlation_id,
        )
        await connection.execute(
            "update keywords set content_id = $1 where keyword = 'cold brew'", content_id
        )
    found = json.loads((await chain("--keyword", "Cold Brew", "--tree", "--json")).out)
    of_article = json.loads((await chain("--article", str(content_id), "--json")).out)
    table = await chain("--keyword", "cold brew", "--tree")
    twice, nothing = await chain("--keyword", "moka pot"), await chain("--keyword", "tea")
    both, none = await chain("x", "--keyword", "tea"), await chain()

    assert found["correlation_id"] == of_article["correlation_id"] == cycle.correlation_id
    listed = [each for each in found["items"] if each["type"] == "cycle.start"]
    assert [(each["message_id"], each["depth"]) for each in listed] == [
        (str(each), depth) for depth, each in enumerate(ids)
    ]
    assert "\t    cycle.start\t" in table.out
    assert "\t1 min\t" in table.out or " s\t" in table.out
    assert (twice.code, "2 chains have the keyword" in twice.err) == (1, True)
    assert (nothing.code, "no stored cycle has the keyword 'tea'" in nothing.err) == (1, True)
    assert (both.code, none.code) == (2, 2)
