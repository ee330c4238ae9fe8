"""The servers that every other test relies on."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import aio_pika
import asyncpg
import httpx
import pytest

from tests.fixtures.servers import new_folder


@pytest.mark.parametrize("_run", range(2))
async def test_every_test_has_a_vhost_of_its_own_with_the_topology(
    rabbitmq_url: str, rabbitmq_api: httpx.Client, _run: int
) -> None:
    vhost = rabbitmq_url.rpartition("/")[2]
    queues = {queue["name"] for queue in rabbitmq_api.get(f"/api/queues/{vhost}").json()}
    assert {"research-commands", "research-commands-dlq", "orchestrator-events"} <= queues
    async with await aio_pika.connect(rabbitmq_url) as connection, connection.channel() as channel:
        queue = await channel.get_queue("research-commands")
        assert queue.declaration_result.message_count == 0
        await channel.default_exchange.publish(aio_pika.Message(b"{}"), "research-commands")


@pytest.mark.parametrize("_run", range(2))
async def test_a_vhost_that_a_test_has_changed_is_no_other_tests(
    rabbitmq_url: str, rabbitmq_api: httpx.Client, _run: int
) -> None:
    vhost = rabbitmq_url.rpartition("/")[2]
    described = rabbitmq_api.get(f"/api/definitions/{vhost}").json()
    assert "left" not in {queue["name"] for queue in described["queues"]}
    async with await aio_pika.connect(rabbitmq_url) as connection, connection.channel() as channel:
        await channel.declare_queue("left", durable=True)


@pytest.mark.parametrize("_run", range(2))
async def test_every_test_has_an_empty_database_of_its_own(database_url: str, _run: int) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("create table note (text text)")
        assert not await connection.fetchval("select rolsuper from pg_roles where rolname = current_user")
    finally:
        await connection.close()


async def test_a_migrated_database_has_the_inbox_and_outbox(
    make_database: Callable[[], Awaitable[str]],
) -> None:
    connection = await asyncpg.connect(await make_database())
    try:
        assert await connection.fetchval("select count(*) from outbox") == 0
        assert await connection.fetchval("select count(*) from processed_events") == 0
    finally:
        await connection.close()


def test_a_run_removes_what_killed_ones_left_and_nothing_of_those_beside_it(
    tmp_path: Path,
) -> None:
    killed = tmp_path / "brand-engine-tests-killed"
    killed.mkdir()
    (killed / "lock").touch()
    with ExitStack() as one, ExitStack() as another:
        beside = new_folder(one, tmp_path)
        new_folder(another, tmp_path)
        assert beside.is_dir()
        assert not killed.exists()
    assert list(tmp_path.iterdir()) == []
