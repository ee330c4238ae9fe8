"""A finished step is never repeated, even if others are cancelled, killed or running at the same time."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from pydantic import TypeAdapter

from envelope import new_event_id
from messaging import Database, RetryLater
from orchestrator.article_workflow.durable.workflow import DurableWorkflow
from tests.fixtures.orchestrator.article_workflow import CountedCalls

NUMBER = TypeAdapter(int)
_KILLED = """
import asyncio, sys
from uuid import UUID
from pydantic import TypeAdapter
from envelope.brand import CATALOGUE
from messaging import Database
from chassis.database.pool import Connections
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.article_workflow.durable.workflow import DurableWorkflow
from tests.fixtures.kilns import SOURCES

async def main(url, workflow_id):
    connections = Connections(url, name="to be killed", size=2)
    await connections.open()
    database = Database(connections, Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none")), "orchestrator", CATALOGUE)
    workflow = await DurableWorkflow.resume(database, UUID(workflow_id))
    async def first():
        return 41
    await workflow.step("first", TypeAdapter(int), first)
    async def second():
        print("second has begun", flush=True)
        await asyncio.Event().wait()
    await workflow.step("second", TypeAdapter(int), second)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_cancelled_workflow_goes_on_at_its_next_step(orchestrator_database: Database) -> None:
    workflow_id = new_event_id()
    first, second = CountedCalls(1), CountedCalls(2)
    second.held = True

    async def run() -> int:
        workflow = await DurableWorkflow.resume(orchestrator_database, workflow_id)
        return await workflow.step("first", NUMBER, first) + await workflow.step("second", NUMBER, second)

    killed = asyncio.create_task(run())
    await second.begun.wait()
    killed.cancel()
    with suppress(asyncio.CancelledError):
        await killed
    second.held = False

    assert await run() == 3
    assert await run() == 3
    assert (first.count, second.count) == (1, 2)


@pytest.mark.extended
async def test_a_killed_process_leaves_its_finished_steps_to_the_next(
    orchestrator_url: str, orchestrator_database_at: Callable[[str], Any]
) -> None:
    workflow_id = new_event_id()
    process = subprocess.Popen(  # noqa: ASYNC220  (it blocks on purpose)
        [sys.executable, "-c", _KILLED, orchestrator_url, str(workflow_id)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "second has begun\n"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    first, second = CountedCalls(1), CountedCalls(2)

    async with orchestrator_database_at(orchestrator_url) as database:
        workflow = await DurableWorkflow.resume(database, workflow_id)
        assert await workflow.step("first", NUMBER, first) == 41
        assert await workflow.step("second", NUMBER, second) == 2

    assert (first.count, second.count) == (0, 1)


async def test_replicas_agree_on_one_result(orchestrator_database: Database) -> None:
    workflow_id = new_event_id()
    workflows = [await DurableWorkflow.resume(orchestrator_database, workflow_id) for _ in range(4)]

    results = await asyncio.gather(
        *(workflow.step("step", NUMBER, CountedCalls(number)) for number, workflow in enumerate(workflows))
    )

    assert len(set(results)) == 1
    assert (
        await (await DurableWorkflow.resume(orchestrator_database, workflow_id)).step(
            "step", NUMBER, CountedCalls(9)
        )
        == results[0]
    )


async def test_a_step_is_finished_by_one_transaction_that_commits(orchestrator_database: Database) -> None:
    workflow = await DurableWorkflow.resume(orchestrator_database, new_event_id())

    async def finish() -> bool:
        async with orchestrator_database.transaction() as tx:
            return "store" in await workflow.finish(tx.connection, "store")

    with suppress(ZeroDivisionError):
        async with orchestrator_database.transaction() as tx:
            assert await workflow.finish(tx.connection, "store")
            raise ZeroDivisionError
    assert sorted(await asyncio.gather(finish(), finish(), finish())) == [False, False, True]


async def test_a_step_that_raises_leaves_no_result(orchestrator_database: Database) -> None:
    workflow = await DurableWorkflow.resume(orchestrator_database, new_event_id())

    async def fail() -> int:
        raise RetryLater("not now")

    with pytest.raises(RetryLater):
        await workflow.step("step", NUMBER, fail)
    assert await workflow.step("step", NUMBER, CountedCalls(1)) == 1
