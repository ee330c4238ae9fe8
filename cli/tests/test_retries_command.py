"""`brandctl retries` as a process of its own, beside an orchestrator's API; the other services are away."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import api as new_api
from chassis.http.callers import SERVICE, Caller
from chassis.testing import serving
from messaging import Database
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"
MESSAGE = str(UUID(int=7))


@pytest.fixture
def retries(api: httpx.AsyncClient, tmp_path: Path) -> Operator:
    away = {
        f"{name}_URL": "http://127.0.0.1:9"
        for name in ("RESEARCH", "PUBLISHER", "SOCIAL", "MONITOR", "EVENTS")
    }
    variables = {"ORCHESTRATOR_URL": str(api.base_url), "SERVICE_KEY": KEY, **away}
    return Operator(tmp_path, variables, "retries")


async def test_waiting_messages_are_listed_and_services_that_are_away_are_named(
    retries: Operator, orchestrator_database: Database
) -> None:
    nothing = await retries("list", "--service", "orchestrator")
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            """
            insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at)
            select gen_random_uuid(), 'returns', 'orchestrator-commands', $1, 'cycle.start', 'chain-1', $2, $3, at, at
            from (values (now() + interval '1 hour'), (now() + interval '2 hours')) as due (at)
            """,
            MESSAGE,
            b'{"payload": {"brand_slug": "acme"}}',
            json.dumps({"attempt": 2, "failure-type": "OSError", "failure-message": "no route"}),
        )
    every = await retries("list")
    unheard = await retries("list", "--service", "research")
    first = await retries("list", "--service", "orchestrator", "--limit", "1", "--json")
    told = json.loads(first.out)
    following = ("--after", told["next"]["orchestrator"])
    second = await retries("list", "--service", "orchestrator", "--json", *following)
    without = await retries("list", *following)
    other = await retries("list", "--service", "orchestrator", "--type", "content.publish")

    assert (nothing.code, nothing.out, "no message waits" in nothing.err) == (0, "", True)
    heading, line, _ = every.out.splitlines()
    assert heading == "service\tid\tmessage\ttype\tbrand\tattempt\tdue\twhy"
    parts = line.split("\t")
    assert (parts[0], parts[2:6]) == ("orchestrator", [MESSAGE, "cycle.start", "acme", "2"])
    assert line.endswith("OSError: no route")
    assert every.code == 1
    assert (unheard.code, "research" in unheard.err, "no message waits" in unheard.err) == (1, True, False)
    assert all(name in every.err for name in ("research", "publisher", "social", "monitor"))
    assert [len(json.loads(each.out)["items"]) for each in (first, second)] == [1, 1]
    assert json.loads(second.out)["next"] == {}
    assert (without.code, "--service" in without.err) == (2, True)
    assert other.out == ""


async def put(database: Database, count: int) -> list[str]:
    """Has messages wait at the orchestrator for an hour; returns the ids of the waits."""
    ids = sorted(str(uuid4()) for _ in range(count))
    async with database.connection() as connection:
        await connection.executemany(
            """
            insert into outbox (id, exchange, routing_key, event_id, type, body, headers, deliver_at, due_at)
            values ($1, 'returns', 'orchestrator-commands', $2, 'cycle.start', '{}', '{"attempt": 2}', $3, $3)
            """,
            [(each, uuid4(), datetime.now(UTC) + timedelta(hours=1)) for each in ids],
        )
    return ids


async def test_messages_are_run_now_or_cancelled_by_id_or_by_type(
    retries: Operator, orchestrator_database: Database
) -> None:
    at = ("--service", "orchestrator")
    first, second, *rest = await put(orchestrator_database, 5)
    run = await retries("run-now", first, *at, "--json")
    cancelled = await retries("cancel", second, *at, "--reason", "not needed", "--by", "ann")
    again = await retries("cancel", second, *at, "--reason", "not needed", "--json")
    wary = await retries("cancel", *at, "--type", "cycle.start", "--reason", "not needed")
    every = await retries("cancel", *at, "--type", "cycle.start", "--reason", "x", "--yes", "--json")
    none = await retries("run-now", *at, "--type", "cycle.start", "--yes")
    assert (run.code, json.loads(run.out)) == (0, {"ids": [first], "refused": []})
    assert (cancelled.code, cancelled.out, "1 cancelled" in cancelled.err) == (0, "", True)
    assert (again.code, json.loads(again.out)["refused"][0]["code"]) == (1, "gone")
    assert (wary.code, "Cancel 4 messages of orchestrator?" in wary.err) == (2, True)
    assert sorted(json.loads(every.out)["ids"]) == sorted([first, *rest])
    assert (none.code, "no message of orchestrator" in none.err) == (1, True)
    async with orchestrator_database.connection() as connection:
        rows = await connection.fetch("select exchange, headers ->> 'failure-message' as why from outbox")
    assert {row["exchange"] for row in rows} == {"dead-letters"}
    assert "cancelled by ann: not needed" in {row["why"] for row in rows}

    for wrong in (
        ("run-now", first),
        ("run-now", *at),
        ("run-now", first, *at, "--type", "x"),
        ("cancel", first, *at),
        ("cancel", first, *at, "--reason", " "),
    ):
        assert (await retries(*wrong)).code == 2, wrong


async def test_a_service_of_an_older_version_is_named(retries: Operator) -> None:
    async def authorise(_: Request) -> Caller:
        return SERVICE

    # As its API was before it listed its retries.
    async with serving(new_api("Older", authorise)) as older:
        retries.variables["RESEARCH_URL"] = older
        listed = await retries("list", "--service", "research")
        every = await retries("list", "--json")
    assert (listed.code, "the research service is of an older version" in listed.err) == (1, True)
    assert "no message waits" not in listed.err
    assert (every.code, json.loads(every.out)["items"]) == (1, [])
