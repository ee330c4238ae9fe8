"""`brandctl messages` as a process of its own, beside an orchestrator's API; the other services are away."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from messaging import Database
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"
WAITING = str(UUID(int=7))


def id_at(at: datetime) -> UUID:
    """A UUIDv7 of a time."""
    return UUID(int=int(at.timestamp() * 1000) << 80 | 0x7000_8000_0000_0000_0000)


@pytest.fixture
def messages(api: httpx.AsyncClient, tmp_path: Path) -> Operator:
    away = {
        f"{name}_URL": "http://127.0.0.1:9"
        for name in ("RESEARCH", "PUBLISHER", "SOCIAL", "MONITOR", "EVENTS")
    }
    variables = {"ORCHESTRATOR_URL": str(api.base_url), "SERVICE_KEY": KEY, **away}
    return Operator(tmp_path, variables, "messages")


async def test_messages_are_listed_with_how_far_the_record_reaches(
    messages: Operator, orchestrator_database: Database
) -> None:
    nothing = await messages("list", "--service", "orchestrator")
    made = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            """
            insert into processed_events (event_id, type, queue, outcome, chain)
            values ($1, 'cycle.start', 'orchestrator-commands', 'handled', $1),
                   ($2, 'research.completed', 'brand-events', 'dead', $1)
            """,
            id_at(made),
            id_at(made + timedelta(hours=1)),
        )
        await connection.execute(
            """
            insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at)
            values ($1, 'returns', 'orchestrator-commands', $2, 'cycle.start', 'chain-2', '', $3, now() + interval '1 hour',
                    now() + interval '1 hour')
            """,
            uuid4(),
            WAITING,
            json.dumps({"attempt": 2, "failure-type": "OSError", "failure-message": "no route"}),
        )
    every = await messages("list")
    of_one = ("list", "--service", "orchestrator")
    first = json.loads((await messages(*of_one, "--limit", "1", "--json")).out)
    second = json.loads((await messages(*of_one, "--json", "--after", first["next"]["orchestrator"])).out)
    narrow = [
        json.loads((await messages(*of_one, *options, "--json")).out)["items"]
        for options in (
            ("--state", "dead_lettered"),
            ("--correlation-id", "chain-2"),
            ("--message-id", WAITING),
            ("--type", "cycle.start", "--until", (made + timedelta(minutes=1)).isoformat()),
        )
    ]
    wrong = await messages(*of_one, "--since", "yesterday")
    without = await messages("list", "--after", first["next"]["orchestrator"])

    assert (nothing.code, nothing.out, "no message matches" in nothing.err) == (0, "", True)
    heading, waiting, dead, handled = every.out.splitlines()
    assert heading == "service\tmessage\ttype\tstate\tmade\tended\tdue\twhy"
    assert waiting.split("\t")[:4] == ["orchestrator", WAITING, "cycle.start", "waiting"]
    assert waiting.endswith("OSError: no route")
    assert [line.split("\t")[3] for line in (dead, handled)] == ["dead_lettered", "handled"]
    assert handled.split("\t")[4] == f"{made:%Y-%m-%d %H:%M:%S}"
    assert every.code == 1
    assert all(name in every.err for name in ("research", "publisher", "social", "monitor"))
    assert f"the record of orchestrator reaches back to {made:%Y-%m-%d %H:%M:%S}" in every.err
    assert [len(page["items"]) for page in (first, second)] == [1, 2]
    assert second["next"] == {}
    assert [[each["state"] for each in items] for items in narrow] == [
        ["dead_lettered"],
        ["waiting"],
        ["waiting"],
        ["handled"],
    ]
    assert [each.code for each in (wrong, without)] == [2, 2]


async def test_messages_in_handlers_are_listed_with_their_process(
    messages: Operator, orchestrator_database: Database
) -> None:
    noted = {"event_id": WAITING, "type": "cycle.start", "queue": "q", "attempt": 1, "age": 60}
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            """
            insert into running_messages (process, host, pid, seen_at, messages)
            values ($1, 'host-1', 42, now() - interval '1 hour', $2::text::jsonb)
            """,
            uuid4(),
            json.dumps([noted]),
        )
    found = await messages("running")
    heading, line = found.out.splitlines()
    assert heading == "service\tmessage\ttype\tattempt\tsince\thost\tpid\tprocess"
    fields = line.split("\t")
    assert (fields[:4], fields[5:7]) == (["orchestrator", WAITING, "cycle.start", "1"], ["host-1", "42"])
    assert fields[7].startswith("silent since 20")
    assert found.code == 1
