"""`brandctl ledger` as a process of its own, beside the monitor's API and its database."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from monitor.dead_letters import DeadLetterOperations
from monitor.http_api import create_api
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"
LOST, WAITING = UUID(int=7), UUID(int=8)


@pytest.fixture
async def monitor_database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    connections = Connections(await make_database("monitor"), name="monitor test", size=4)
    await connections.open()
    yield Database(
        connections, Relay(connections, Publisher("amqp://127.0.0.1:1/", name="none")), "monitor", CATALOGUE
    )
    await connections.close()


@pytest.fixture
async def ledger(monitor_database: Database, tmp_path: Path) -> AsyncIterator[Operator]:
    app = create_api(monitor_database, DeadLetterOperations(monitor_database), ServiceKey(SecretStr(KEY)))
    async with serving(app) as origin:
        yield Operator(tmp_path, {"MONITOR_URL": origin, "SERVICE_KEY": KEY}, "ledger")


async def count(database: Database, accepted: int, done: int) -> None:
    async with database.connection() as connection:
        await connection.execute(
            """
            insert into ledger_counts (hour, sender, queue, accepted, done)
            values (date_trunc('hour', now(), 'UTC'), 'orchestrator', 'research-commands', $1, $2)
            on conflict (hour, sender, queue) do update set accepted = excluded.accepted, done = excluded.done
            """,
            accepted,
            done,
        )


async def insert(database: Database, message: UUID, state: str, place: str) -> None:
    async with database.connection() as connection:
        await connection.execute(
            """
            insert into ledger_messages (event_id, queue, sender, type, correlation_id, sent_at, state, place, known_at, missing_since)
            values ($1, 'research-commands', 'orchestrator', 'research.requested', 'chain-1', now(), $2, $3, now(),
                    case when $2 = 'missing' then now() end)
            """,
            message,
            state,
            place,
        )


async def test_counts_are_told_and_a_missing_message_is_an_error(
    ledger: Operator, monitor_database: Database
) -> None:
    await count(monitor_database, 12_403, 12_403)
    calm = await ledger()
    await count(monitor_database, 12_405, 12_403)
    await insert(monitor_database, WAITING, "under_way", "retry")
    under_way = await ledger()
    await insert(monitor_database, LOST, "missing", "queue")
    missing = await ledger()
    only = await ledger("--state", "missing", "--json")
    assert calm.code == 0
    assert "12,403 accepted · 12,403 done · 0 under way · 0 missing" in calm.err
    assert "every message that was counted is done" in calm.err
    assert under_way.code == 0
    assert "waits in research for its next attempt" in under_way.out
    assert missing.code == 1
    assert "confirmed it into the queue research-commands" in missing.out
    assert "missing: 1 message" in missing.err
    assert [each["message_id"] for each in json.loads(only.out)["messages"]] == [str(LOST)]


async def test_missing_messages_are_closed_and_others_are_named(
    ledger: Operator, monitor_database: Database
) -> None:
    await count(monitor_database, 2, 1)
    await insert(monitor_database, LOST, "missing", "queue")
    command = ledger.of("close-missing")
    closed = await command(str(LOST), "--reason", "a purge", "--by", "Otto")
    again = await command(str(LOST), str(WAITING), "--reason", "a purge")
    shown = await ledger()
    assert closed.code == 0
    assert "closed: 1 message" in closed.err
    assert again.code == 1
    assert f"not missing, or closed before: {LOST}, {WAITING}" in again.err
    assert shown.code == 0
    assert "1 closed" in shown.err
    assert "closed by Otto: a purge" in shown.out


async def test_services_that_are_away_or_record_nothing_are_named(
    ledger: Operator, monitor_database: Database
) -> None:
    async with monitor_database.connection() as connection:
        await connection.execute(
            "insert into ledger_services values ('social', now(), 'social does not answer', true), ('research', null, null, false)"
        )
    told = (await ledger()).err
    assert "social has not answered since" in told
    assert "research does not record what it sends (MESSAGE_LEDGER)" in told
