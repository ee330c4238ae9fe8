"""The doctor on a real broker and a real database: a sound installation, and one fault at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import aio_pika
import asyncpg
import httpx
import pytest

from brandctl.local import broker_users
from chassis import Connections
from chassis.testing import eventually
from envelope.brand import CATALOGUE
from messaging.broker.publisher import Publisher
from messaging.doctor import Doctor, Finding, Status
from messaging.doctor.database import CLOCK_FAILURE
from messaging.doctor.inspection import inspect
from messaging.testing import Broker
from messaging.topology import DEAD_LETTERS, DELIVERY_LIMIT, RETURNS, describe
from tests.fixtures.databases import Roles

QUEUE = "research-commands"
BROKER = [
    "broker",
    "queues",
    "dead_letter_exchange",
    "publisher_confirms",
    "broker_permissions",
    "broker_alarms",
]
DATABASE = [
    "database",
    "database_clock",
    "database_connections",
    "database_role",
    "replication",
    "migrations",
    "inbox_partitions",
]


@dataclass
class Clinic:
    """The servers of one service, and what its doctor finds there."""

    rabbitmq_url: str
    database_url: str

    @asynccontextmanager
    async def doctor(self, *, clock_ahead: timedelta = timedelta(), size: int = 4) -> AsyncIterator[Doctor]:
        connections = Connections(self.database_url, name="research", size=size)
        publisher = Publisher(self.rabbitmq_url, name="research")
        running = asyncio.create_task(publisher.run())
        try:
            await connections.open()
            yield Doctor(
                connections, publisher, "research", CATALOGUE, now=lambda: datetime.now(UTC) + clock_ahead
            )
        finally:
            running.cancel()
            await asyncio.wait([running])
            await connections.close()

    async def findings(self, *, clock_ahead: timedelta = timedelta()) -> dict[str, Finding]:
        async with self.doctor(clock_ahead=clock_ahead) as doctor:
            await eventually(lambda: _is_ready(doctor))
            return {each.probe: each for each in (await doctor.report()).findings}


async def _is_ready(doctor: Doctor) -> bool:
    return doctor._publisher.ready


@pytest.fixture
async def clinic(
    broker_urls: dict[str, str], make_database: Callable[..., AbstractAsyncContextManager[str]]
) -> Clinic:
    return Clinic(broker_urls["research"], await make_database("research"))


@asynccontextmanager
async def as_administrator(url: str) -> AsyncIterator[aio_pika.abc.AbstractChannel]:
    async with await aio_pika.connect(url, timeout=60) as connection, connection.channel() as channel:
        yield channel


async def test_a_sound_installation_is_all_ok_and_nothing_is_left_behind(
    clinic: Clinic, rabbitmq_url: str, rabbitmq_api_url: str
) -> None:
    async with Broker.connected(rabbitmq_url) as broker:
        # Everything that reaches an exchange with a destination would be seen here, too.
        taps = [
            await broker.tap(exchange) for exchange in describe(CATALOGUE).exchanges if exchange != RETURNS
        ]
        found = await clinic.findings()
        inspected = await inspect(rabbitmq_api_url, broker_users.vhost_of(rabbitmq_url), CATALOGUE)
        left = [await broker.depth(each.name) for each in describe(CATALOGUE).queues]
        left += [await broker.depth(tap) for tap in taps]
    assert list(found) == [*BROKER, *DATABASE]
    assert [each for each in (*found.values(), *inspected) if each.status is not Status.OK] == []
    assert not any(each.advice for each in (*found.values(), *inspected))
    assert sum(left) == 0


async def test_a_dead_letter_exchange_that_was_removed_is_found(
    clinic: Clinic, rabbitmq_url: str, rabbitmq_api_url: str
) -> None:
    async with as_administrator(rabbitmq_url) as channel:
        await channel.exchange_delete(DEAD_LETTERS)
    found = await clinic.findings()
    seen = found["dead_letter_exchange"]
    assert (seen.status, DEAD_LETTERS in seen.found, "messaging topology" in seen.advice) == (
        Status.FAILED,
        True,
        True,
    )
    assert [name for name, each in found.items() if each.status is not Status.OK] == ["dead_letter_exchange"]
    inspected = await inspect(rabbitmq_api_url, broker_users.vhost_of(rabbitmq_url), CATALOGUE)
    assert {each.probe for each in inspected if each.status is Status.FAILED} == {"dead_letter_exchange"}


async def test_a_binding_and_a_dead_letter_queue_that_were_removed_are_found(
    clinic: Clinic, rabbitmq_url: str, rabbitmq_api_url: str
) -> None:
    vhost = broker_users.vhost_of(rabbitmq_url)
    async with as_administrator(rabbitmq_url) as channel:
        queue = await channel.get_queue(f"{QUEUE}-dlq", ensure=False)
        await queue.unbind(DEAD_LETTERS, QUEUE)
        unbound = {each.probe: each for each in await inspect(rabbitmq_api_url, vhost, CATALOGUE)}
        await channel.queue_delete(f"{QUEUE}-dlq")
    assert unbound["dead_letter_exchange"].status is Status.FAILED
    assert f"{QUEUE} to {QUEUE}-dlq" in unbound["dead_letter_exchange"].found
    deleted = {each.probe: each for each in await inspect(rabbitmq_api_url, vhost, CATALOGUE)}
    assert f"{QUEUE}-dlq" in deleted["queue_arguments"].found


@pytest.mark.parametrize("limit", [DELIVERY_LIMIT - 1, 1_000, None])
async def test_a_queue_with_another_delivery_limit_is_found(
    rabbitmq_url: str, rabbitmq_api_url: str, limit: int | None
) -> None:
    arguments = next(queue.arguments for queue in describe(CATALOGUE).queues if queue.name == QUEUE)
    wrong = {name: value for name, value in arguments.items() if name != "x-delivery-limit"}
    async with as_administrator(rabbitmq_url) as channel:
        await channel.queue_delete(QUEUE)
        await channel.declare_queue(
            QUEUE, durable=True, arguments=wrong if limit is None else wrong | {"x-delivery-limit": limit}
        )
    inspected = await inspect(rabbitmq_api_url, broker_users.vhost_of(rabbitmq_url), CATALOGUE)
    failed = [each for each in inspected if each.status is Status.FAILED]
    assert [each.probe for each in failed] == ["queue_arguments"]
    shown = "unset" if limit is None else limit
    assert f"{QUEUE} has x-delivery-limit {shown} instead of {DELIVERY_LIMIT}" in failed[0].found


async def test_a_policy_that_lowers_the_delivery_limit_is_found(
    rabbitmq_url: str, rabbitmq_api_url: str, rabbitmq_api: httpx.Client
) -> None:
    vhost = broker_users.vhost_of(rabbitmq_url)
    policy = {"pattern": f"^{QUEUE}$", "definition": {"delivery-limit": 3}, "apply-to": "queues"}
    rabbitmq_api.put(f"/api/policies/{vhost}/tidy", json=policy).raise_for_status()

    async def failed() -> list[Finding]:
        return [
            each for each in await inspect(rabbitmq_api_url, vhost, CATALOGUE) if each.status is not Status.OK
        ]

    # The broker applies a policy some moments after it has taken it.
    found = await eventually(failed)
    assert [each.probe for each in found] == ["queue_arguments"]
    assert (
        f"{QUEUE} has a delivery limit of 3 by the policy tidy instead of {DELIVERY_LIMIT}" in found[0].found
    )


@pytest.mark.parametrize(
    ("ahead", "status", "text"),
    [
        (CLOCK_FAILURE * 2, Status.FAILED, "ahead of"),
        (-CLOCK_FAILURE * 2, Status.FAILED, "behind"),
        (timedelta(seconds=3), Status.WARNING, "ahead of"),
        (-timedelta(hours=1), Status.FAILED, "3,600"),
    ],
)
async def test_a_clock_that_is_off_is_found(
    clinic: Clinic, ahead: timedelta, status: Status, text: str
) -> None:
    found = await clinic.findings(clock_ahead=ahead)
    assert (found["database_clock"].status, text in found["database_clock"].found) == (status, True)
    assert [name for name, each in found.items() if each.status is not Status.OK] == ["database_clock"]


async def test_a_user_that_may_do_everything_is_a_warning(clinic: Clinic, rabbitmq_url: str) -> None:
    clinic.rabbitmq_url = rabbitmq_url
    found = await clinic.findings()
    assert found["broker_permissions"].status is Status.WARNING
    for what in ("publish to exchanges of others", "publish commands", "declare exchanges"):
        assert what in found["broker_permissions"].found
    assert found["publisher_confirms"].status is Status.OK


async def test_a_user_from_before_the_doctor_has_to_be_renewed(
    clinic: Clinic, rabbitmq_url: str, rabbitmq_api: httpx.Client
) -> None:
    vhost = broker_users.vhost_of(rabbitmq_url)
    topic = {"exchange": RETURNS, "write": f"^({QUEUE})$", "read": "^$"}
    rabbitmq_api.put(f"/api/topic-permissions/{vhost}/{vhost}-research", json=topic).raise_for_status()
    found = (await clinic.findings())["publisher_confirms"]
    assert (found.status, "messaging users" in found.advice) == (Status.WARNING, True)


async def test_a_broker_that_is_away_leaves_the_findings_of_the_database(
    clinic: Clinic, free_port: Callable[[], int]
) -> None:
    clinic.rabbitmq_url = f"amqp://research:secret-password@127.0.0.1:{free_port()}/"
    async with clinic.doctor() as doctor:
        found = {each.probe: each for each in (await doctor.report()).findings}
    assert found["broker"].status is Status.FAILED
    assert "secret-password" not in str(found)
    assert {found[name].status for name in BROKER[1:]} == {Status.SKIPPED}
    assert {found[name].status for name in DATABASE} == {Status.OK}


async def test_missing_migrations_and_partitions_are_found(clinic: Clinic, database_roles: Roles) -> None:
    owner = await asyncpg.connect(database_roles.owner(clinic.database_url))
    try:
        tomorrow = datetime.now(UTC).date() + timedelta(days=1)
        await owner.execute(f"drop table processed_events_{tomorrow:%Y%m%d}")
        soon = (await clinic.findings())["inbox_partitions"]
        await owner.execute(f"drop table processed_events_{datetime.now(UTC):%Y%m%d}")
        last = await owner.fetchval(
            "delete from schema_migrations where name = (select max(name) from schema_migrations) returning name"
        )
        found = await clinic.findings()
    finally:
        await owner.close()
    assert (soon.status, f"{tomorrow}" in soon.found) == (Status.WARNING, True)
    assert found["inbox_partitions"].status is Status.FAILED
    assert found["migrations"] == Finding(
        "migrations", Status.FAILED, f"Missing: {last}.", "Run `python -m research migrate`."
    )


async def test_a_role_with_fewer_connections_than_its_pool_is_a_warning(
    clinic: Clinic, postgres_url: str, database_roles: Roles
) -> None:
    name = clinic.database_url.rpartition("/")[2]
    owner = await asyncpg.connect(database_roles.owner(clinic.database_url))
    try:
        await owner.execute(f'alter database "{name}" connection limit 3')
        found = (await clinic.findings())["database_connections"]
    finally:
        await owner.close()
    assert found.status is Status.WARNING
    assert "The database allows 3 connections; 2 are open" in found.found
    assert "DATABASE_CONNECTIONS" in found.advice


async def test_ten_who_ask_at_once_cost_one_run(clinic: Clinic) -> None:
    async with clinic.doctor() as doctor:
        await eventually(lambda: _is_ready(doctor))
        reports = await asyncio.gather(*(doctor.report() for _ in range(10)))
        assert all(each is reports[0] for each in reports)
        # A caller who leaves does not take the doctor along.
        asking = asyncio.create_task(doctor.report())
        asking.cancel()
        await asyncio.wait([asking])
        assert await doctor.report() is reports[0]


async def test_a_caller_who_takes_an_older_report_gets_the_one_that_is_there(clinic: Clinic) -> None:
    async with clinic.doctor() as doctor:
        await eventually(lambda: _is_ready(doctor))
        first = await doctor.report(max_age=0)
        assert await doctor.report(max_age=3600) is first
        assert await doctor.report(max_age=0) is not first
