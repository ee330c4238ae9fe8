"""Durable steps, the content workflow on top of them, and the client that reads research."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import structlog
from pydantic import TypeAdapter

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from messaging import Context, Database, RetryLater, Unprocessable
from orchestrator import content_store, store
from orchestrator.article import Passage, Source
from orchestrator.clients.research import MAX_BYTES, ResearchClient, retry_after
from orchestrator.handlers import ContentWorkflow
from orchestrator.workflow import Workflow

NUMBER = TypeAdapter(int)
RESEARCH = UUID(int=5)
KEY = "test-service-key-0123456789"
MessageOf = Callable[..., DomainMessage[Any]]

SENTENCES = [
    "Cold brew is coffee that was steeped in cold water for many hours.",
    "Cold brew tastes milder than hot coffee because fewer acids dissolve in cold water.",
    "A ratio of one part coffee to eight parts water suits most cold brew recipes.",
    "Coarse grounds are easier to filter from cold brew than fine grounds are.",
    "Twelve to eighteen hours in the refrigerator are enough for a strong cold brew.",
    "Cold brew keeps for about a week when it is stored in a closed bottle.",
]


def sources() -> tuple[Source, ...]:
    return tuple(
        Source(
            n=number,
            title=f"Notes on cold brew {number}",
            passages=(Passage(heading="Cold brew", text=" ".join(SENTENCES[number - 1 :: 2]), score=3.0),),
            path=f"notes-{number}.md",
        )
        for number in (1, 2)
    )


class Calls:
    """A step's work that counts how often it is done, and waits when told to."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.count = 0
        self.begun = asyncio.Event()
        self.held = False

    async def __call__(self, *_: Any) -> Any:
        self.count += 1
        self.begun.set()
        if self.held:
            await asyncio.Event().wait()
        return self.result


async def test_a_cancelled_workflow_goes_on_at_its_next_step(orchestrator_database: Database) -> None:
    workflow_id = new_event_id()
    first, second = Calls(1), Calls(2)
    second.held = True

    async def run() -> int:
        workflow = await Workflow.resume(orchestrator_database, workflow_id)
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


_KILLED = """
import asyncio, sys
from uuid import UUID
from pydantic import TypeAdapter
from messaging import Database
from chassis.database.pool import Connections
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.workflow import Workflow

async def main(url, workflow_id):
    connections = Connections(url, name="to be killed", size=2)
    await connections.open()
    database = Database(connections, Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none")), "orchestrator")
    workflow = await Workflow.resume(database, UUID(workflow_id))
    async def first():
        return 41
    await workflow.step("first", TypeAdapter(int), first)
    async def second():
        print("second has begun", flush=True)
        await asyncio.Event().wait()
    await workflow.step("second", TypeAdapter(int), second)

asyncio.run(main(*sys.argv[1:]))
"""


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
    first, second = Calls(1), Calls(2)

    async with orchestrator_database_at(orchestrator_url) as database:
        workflow = await Workflow.resume(database, workflow_id)
        assert await workflow.step("first", NUMBER, first) == 41
        assert await workflow.step("second", NUMBER, second) == 2

    assert (first.count, second.count) == (0, 1)


async def test_replicas_agree_on_one_result(orchestrator_database: Database) -> None:
    workflow_id = new_event_id()
    workflows = [await Workflow.resume(orchestrator_database, workflow_id) for _ in range(4)]

    results = await asyncio.gather(
        *(workflow.step("step", NUMBER, Calls(number)) for number, workflow in enumerate(workflows))
    )

    assert len(set(results)) == 1
    assert (
        await (await Workflow.resume(orchestrator_database, workflow_id)).step("step", NUMBER, Calls(9))
        == results[0]
    )


async def test_a_step_is_finished_by_one_transaction_that_commits(orchestrator_database: Database) -> None:
    workflow = await Workflow.resume(orchestrator_database, new_event_id())

    async def finish() -> bool:
        async with orchestrator_database.transaction() as tx:
            return "store" in await workflow.finish(tx.connection, "store")

    with suppress(ZeroDivisionError):
        async with orchestrator_database.transaction() as tx:
            assert await workflow.finish(tx.connection, "store")
            raise ZeroDivisionError
    assert sorted(await asyncio.gather(finish(), finish(), finish())) == [False, False, True]


async def test_a_step_that_raises_leaves_no_result(orchestrator_database: Database) -> None:
    workflow = await Workflow.resume(orchestrator_database, new_event_id())

    async def fail() -> int:
        raise RetryLater("not now")

    with pytest.raises(RetryLater):
        await workflow.step("step", NUMBER, fail)
    assert await workflow.step("step", NUMBER, Calls(1)) == 1


@pytest.fixture
async def command(orchestrator_database: Database, message_of: MessageOf) -> DomainMessage[ContentGenerate]:
    async with orchestrator_database.transaction() as tx:
        await store.upsert_brand(
            tx.connection,
            slug="daily-grind",
            name="The Daily Grind",
            description="",
            language="en",
            channels=("feed",),
            target="site",
        )
    return message_of(
        ContentGenerate(
            brand_slug="daily-grind", content_id=new_event_id(), research_id=RESEARCH, keyword="cold brew"
        ),
        "correlation",
    )


@pytest.fixture
def context() -> Context:
    return Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())


async def test_two_replicas_write_one_article_and_announce_it_once(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    async def run() -> None:
        record = await ContentWorkflow(orchestrator_database, Calls(sources())).generate(command, context)
        async with orchestrator_database.transaction() as tx:
            await record(tx)

    await asyncio.gather(run(), run())
    await run()

    async with orchestrator_database.connection() as connection:
        content = await content_store.find_content(connection, command.payload.content_id)
        sent = await connection.fetch("select type, correlation_id from outbox")
        steps = await connection.fetch("select step from workflow_steps order by finished_at, step")
    assert content is not None
    assert content.brand_name == "The Daily Grind"
    assert content.word_count > 0
    assert [tuple(row) for row in sent] == [("content.generated", "correlation")]
    assert sorted(row["step"] for row in steps) == ["announce", "fetch_research", "store", "write_article"]
    cited = {source["n"] for source in content.sources}
    assert cited
    assert all(f"[{number}]" in content.body_markdown for number in cited)


async def test_research_is_not_read_again_after_the_writer_was_killed(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetch = Calls(sources())
    workflow = ContentWorkflow(orchestrator_database, fetch)
    writing = Calls(None)
    writing.held = True
    with monkeypatch.context() as patched:
        patched.setattr("orchestrator.handlers._write", writing)
        killed = asyncio.create_task(workflow.generate(command, context))
        await writing.begun.wait()
        killed.cancel()
        with suppress(asyncio.CancelledError):
            await killed

    await workflow.generate(command, context)

    assert fetch.count == 1


async def test_what_cannot_be_written_says_why(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    bare = (Source(n=1, title="Menu", passages=(Passage(heading=None, text="Coffee Tea", score=1.0),)),)
    with pytest.raises(Unprocessable, match="cold brew"):
        await ContentWorkflow(orchestrator_database, Calls(bare)).generate(command, context)

    stranger = message_of(command.payload.model_copy(update={"brand_slug": "nobody"}))
    with pytest.raises(Unprocessable, match="unknown brand 'nobody'"):
        await ContentWorkflow(orchestrator_database, Calls(sources())).generate(stranger, context)


# -- the client ------------------------------------------------------------------------------------------------------


def client(research: Any, timeout: float = 5.0) -> ResearchClient:
    return ResearchClient(research.url, KEY, timeout)


async def test_sources_are_read_with_the_key(research: Any) -> None:
    research.body = json.dumps(
        {
            "research_id": str(RESEARCH),
            "field of a newer version": 1,
            "sources": [
                {
                    "n": 1,
                    "title": "Steeping",
                    "url": None,
                    "path": "steeping.md",
                    "licence": "CC0",
                    "passages": [{"heading": None, "text": "Twelve\x00 hours.", "score": 1.5}],
                }
            ],
        }
    ).encode()

    (source,) = await client(research).fetch(RESEARCH)

    assert research.asked == (f"/v1/research/{RESEARCH}", KEY)
    assert (source.title, source.path, source.licence) == ("Steeping", "steeping.md", "CC0")
    assert source.passages == (Passage(heading=None, text="Twelve hours.", score=1.5),)


@pytest.mark.parametrize(
    ("status", "headers", "after"),
    [
        (500, {}, None),
        (503, {"Retry-After": "7"}, timedelta(seconds=7)),
        (429, {"Retry-After": "1"}, timedelta(seconds=1)),
        (404, {}, None),
        (401, {}, None),
    ],
)
async def test_passing_failures_are_worth_another_attempt(
    research: Any, status: int, headers: dict[str, str], after: timedelta | None
) -> None:
    research.status, research.headers = status, headers

    with pytest.raises(RetryLater, match=str(status)) as raised:
        await client(research).fetch(RESEARCH)

    assert raised.value.after == after


@pytest.mark.parametrize(
    ("status", "body"),
    [(400, b""), (302, b""), (200, b"no json"), (200, b'{"sources": 1}'), (200, b" " * (MAX_BYTES + 1))],
)
async def test_lasting_failures_are_not(research: Any, status: int, body: bytes) -> None:
    research.status, research.body = status, body

    with pytest.raises(Unprocessable):
        await client(research).fetch(RESEARCH)


async def test_silence_and_absence_are_passing_failures(research: Any, free_port: Callable[[], int]) -> None:
    research.silent.clear()
    with pytest.raises(RetryLater, match="does not answer"):
        await client(research, 0.2).fetch(RESEARCH)
    with pytest.raises(RetryLater, match="does not answer"):
        await ResearchClient(f"http://127.0.0.1:{free_port()}", KEY, 5.0).fetch(RESEARCH)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, None),
        ("soon", None),
        ("120", timedelta(minutes=2)),
        ("99999999999", timedelta(days=1)),
        ("Wed, 01 Jul 2026 00:01:00 GMT", timedelta(minutes=1)),
        ("Wed, 01 Jul 2020 00:01:00 GMT", timedelta()),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, wait: timedelta | None) -> None:
    assert retry_after(header, datetime(2026, 7, 1, tzinfo=UTC)) == wait
