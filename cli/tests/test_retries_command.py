"""`brandctl retries` as a process of its own, beside an orchestrator's API; the other services are away."""

import json
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from messaging import Database
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"
MESSAGE = str(UUID(int=7))


@pytest.fixture
def retries(api: httpx.AsyncClient, tmp_path: Path) -> Operator:
    away = {f"{name}_URL": "http://127.0.0.1:9" for name in ("RESEARCH", "PUBLISHER", "SOCIAL", "MONITOR")}
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
    assert heading == "service\tmessage\ttype\tbrand\tattempt\tdue\twhy"
    assert line.split("\t")[:5] == ["orchestrator", MESSAGE, "cycle.start", "acme", "2"]
    assert line.endswith("OSError: no route")
    assert every.code == 1
    assert (unheard.code, "research" in unheard.err, "no message waits" in unheard.err) == (1, True, False)
    assert all(name in every.err for name in ("research", "publisher", "social", "monitor"))
    assert [len(json.loads(each.out)["items"]) for each in (first, second)] == [1, 1]
    assert json.loads(second.out)["next"] == {}
    assert (without.code, "--service" in without.err) == (2, True)
    assert other.out == ""
