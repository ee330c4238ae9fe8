"""Durable steps, and the content workflow on top of them."""

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import structlog
from pydantic import TypeAdapter

from chassis.observing.metrics import Families
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate, ContentPublished
from messaging import Context, Database, Record, RetryLater, Unprocessable
from orchestrator.brands import upsert_brand
from orchestrator.removal import insert_deleted
from orchestrator.writing import Article, ContentWorkflow, Passage, Source, Writer
from orchestrator.writing.domain import free_slug
from orchestrator.writing.durable.workflow import Workflow
from orchestrator.writing.extractive import ExtractiveWriter
from orchestrator.writing.extractive.composer import EXTRACTIVE_LABEL
from orchestrator.writing.store import StoredContent, find_content, insert_content, mark_published
from tests.fixtures.kilns import SOURCES

NUMBER = TypeAdapter(int)
RESEARCH = UUID(int=5)
MessageOf = Callable[..., DomainMessage[Any]]


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


class HeldWriter:
    """Begins to write, and never ends."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def write(self, **_: Any) -> Article:
        self.begun.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody lets it go on")


class TitleWriter:
    """Has nothing to say but the title of the last source, which is too little for an article."""

    async def write(
        self, *, keyword: str, sources: Sequence[Source], brand_name: str, language: str
    ) -> Article:
        last = sources[-1]
        text = f"{brand_name} on {keyword} ({language}): {last.title}."
        return Article(
            title=keyword,
            slug=f"{keyword.replace(' ', '-')}-by-title",
            meta_description=text,
            body_markdown=f"{text} [{last.n}]\n",
            word_count=len(text.split()),
            key_points=(text,),
            cited=(last.n,),
            label="Titles only",
        )


class UnwillingWriter:
    def __init__(self, refusal: Exception) -> None:
        self._refusal = refusal

    async def write(self, **_: Any) -> Article:
        raise self._refusal


def workflow_of(database: Database, fetch: Calls, writer: Writer | None = None) -> ContentWorkflow:
    chosen = writer or ExtractiveWriter()
    return ContentWorkflow(database, fetch, {"extractive": lambda _: chosen})


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
from envelope.brand import CATALOGUE
from messaging import Database
from chassis.database.pool import Connections
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.writing.durable.workflow import Workflow
from tests.fixtures.kilns import SOURCES

async def main(url, workflow_id):
    connections = Connections(url, name="to be killed", size=2)
    await connections.open()
    database = Database(connections, Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none")), "orchestrator", CATALOGUE)
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
        await upsert_brand(
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
            brand_slug="daily-grind", content_id=new_event_id(), research_id=RESEARCH, keyword="kiln"
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
        record = await workflow_of(orchestrator_database, Calls(SOURCES)).generate(command, context)
        async with orchestrator_database.transaction() as tx:
            await record(tx)

    await asyncio.gather(run(), run())
    await run()

    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
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
) -> None:
    fetch = Calls(SOURCES)
    writer = HeldWriter()
    killed = asyncio.create_task(workflow_of(orchestrator_database, fetch, writer).generate(command, context))
    await writer.begun.wait()
    killed.cancel()
    with suppress(asyncio.CancelledError):
        await killed

    await workflow_of(orchestrator_database, fetch).generate(command, context)

    assert fetch.count == 1


async def test_any_writer_can_be_handed_to_the_workflow(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    workflow = workflow_of(orchestrator_database, Calls(SOURCES), TitleWriter())

    record = await workflow.generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await record(tx)

    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
        sent = [json.loads(row["body"]) for row in await connection.fetch("select body from outbox")]
    assert content is not None
    assert content.body_markdown == "The Daily Grind on kiln (en): Power. [5]\n"
    assert (content.word_count, content.label) == (7, "Titles only")
    assert [source["n"] for source in content.sources] == [5]
    assert [(body["type"], body["payload"]["reason"]) for body in sent] == [
        ("content.refused", "needs_review")
    ]


def published_at(content_id: UUID, url: str) -> ContentPublished:
    return ContentPublished(brand_slug="daily-grind", content_id=content_id, published_url=url)


async def end(
    database: Database, workflow: ContentWorkflow, message: DomainMessage[ContentGenerate], context: Context
) -> StoredContent | None:
    """The article as it is stored, once what follows from the command is committed."""
    record = await workflow.generate(message, context)
    async with database.transaction() as tx:
        await record(tx)
    async with database.connection() as connection:
        return await find_content(connection, message.payload.content_id)


async def test_an_article_that_was_deleted_is_not_written_anew(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    calls = Calls(SOURCES)
    workflow = workflow_of(orchestrator_database, calls)
    under_way = await workflow.generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await insert_deleted(
            tx.connection,
            command.payload.content_id,
            command.payload.brand_slug,
            address="kiln",
            published_url=None,
            by="ann",
            reason="wrong",
        )
        await tx.connection.execute("delete from workflow_steps")
    async with orchestrator_database.transaction() as tx:
        await under_way(tx)
    assert await end(orchestrator_database, workflow, command, context) is None
    assert await sent_by(orchestrator_database) == []


async def sent_by(database: Database) -> list[tuple[str, Any]]:
    async with database.connection() as connection:
        rows = await connection.fetch("select type, body from outbox order by event_id")
    return [(row["type"], json.loads(row["body"])["payload"]) for row in rows]


async def test_a_sound_article_is_stored_with_its_measures(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    content = await end(
        orchestrator_database, workflow_of(orchestrator_database, Calls(SOURCES)), command, context
    )

    assert content is not None
    assert (content.slug, content.held_for) == ("kiln", ())
    measures = {each.name: each for each in content.measures}
    assert [each.problem for each in measures.values()] == [None] * len(measures)
    assert measures["words"].value == content.word_count
    assert (measures["sources"].value, measures["likeness"].shown) == (5, "the brand's first article")
    assert "dropped" not in measures


async def test_a_draft_below_a_bound_is_kept_and_not_announced_however_often_it_comes(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    workflow = workflow_of(orchestrator_database, Calls(SOURCES), TitleWriter())

    content = await end(orchestrator_database, workflow, command, context)
    again = command.model_copy(update={"event_id": new_event_id()})

    assert await end(orchestrator_database, workflow, again, context) == content
    assert content is not None
    assert content.held_for == ("7 words, of at least 250", "1 independent sources, of at least 3")
    assert await sent_by(orchestrator_database) == [
        (
            "content.refused",
            {
                "brand_slug": "daily-grind",
                "content_id": str(command.payload.content_id),
                "keyword": "kiln",
                "reason": "needs_review",
                "detail": "; ".join(content.held_for),
            },
        )
    ]


async def test_a_draft_that_waits_keeps_its_address_and_its_words_from_no_other(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    class Held(ExtractiveWriter):
        async def write(self, **given: Any) -> Article:
            return replace(await super().write(**given), title="")

    held = await end(
        orchestrator_database, workflow_of(orchestrator_database, Calls(SOURCES), Held()), command, context
    )
    other = message_of(command.payload.model_copy(update={"content_id": new_event_id()}))
    content = await end(
        orchestrator_database, workflow_of(orchestrator_database, Calls(SOURCES)), other, context
    )

    assert held is not None
    assert held.held_for == ("it has no title",)
    assert content is not None
    assert (content.slug, content.held_for) == ("kiln", ())


async def test_what_the_brand_has_said_already_ends_with_the_article_that_says_it(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    workflow = workflow_of(orchestrator_database, Calls(SOURCES))
    first = await end(orchestrator_database, workflow, command, context)
    assert first is not None
    address = "http://site.test/sites/daily-grind/kiln"
    async with orchestrator_database.transaction() as tx:
        await mark_published(tx.connection, [published_at(first.content_id, address)])
        # As an article of before there were fingerprints.
        await tx.connection.execute("update content set fingerprint = null, measures = '[]'")
    other = message_of(
        command.payload.model_copy(update={"content_id": new_event_id(), "keyword": "kilns"}), "other"
    )

    content = await end(orchestrator_database, workflow, other, context)

    assert content is None
    kind, payload = (await sent_by(orchestrator_database))[-1]
    assert (kind, payload["reason"], payload["standing_id"]) == (
        "content.refused",
        "near_duplicate",
        str(first.content_id),
    )
    assert payload["detail"] == f"100% of it stands in “{first.title}” already ({address})"


async def test_what_misses_another_bound_too_waits_for_a_person(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    class Untitled(ExtractiveWriter):
        async def write(self, **given: Any) -> Article:
            return replace(await super().write(**given), title="")

    first = await end(
        orchestrator_database, workflow_of(orchestrator_database, Calls(SOURCES)), command, context
    )
    assert first is not None
    async with orchestrator_database.transaction() as tx:
        await mark_published(
            tx.connection, [published_at(first.content_id, "http://site.test/sites/daily-grind/kiln")]
        )
    other = message_of(
        command.payload.model_copy(update={"content_id": new_event_id(), "keyword": "kilns"}), "other"
    )

    content = await end(
        orchestrator_database, workflow_of(orchestrator_database, Calls(SOURCES), Untitled()), other, context
    )

    assert content is not None
    assert len(content.held_for) == 2


async def test_of_two_near_duplicates_written_at_the_same_time_one_waits(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    both = [
        command,
        *(message_of(command.payload.model_copy(update={"content_id": new_event_id()})) for _ in "ab"),
    ]
    workflow = workflow_of(orchestrator_database, Calls(SOURCES))
    # All are judged before any is stored.
    records = [await workflow.generate(each, context) for each in both]

    async def commit(record: Record) -> None:
        async with orchestrator_database.transaction() as tx:
            await record(tx)

    await asyncio.gather(*map(commit, records))

    outcomes = Counter(kind for kind, _ in await sent_by(orchestrator_database))
    assert outcomes == {"content.generated": 1, "content.refused": 2}


async def test_an_article_is_linked_with_what_the_brand_has_published(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    workflow = workflow_of(orchestrator_database, Calls(SOURCES))
    addresses = {new_event_id(): "http://site.test/sites/daily-grind/kiln-shelves", new_event_id(): None}
    async with orchestrator_database.transaction() as tx:
        for at, content_id in enumerate(addresses):
            shelves = replace(
                await TitleWriter().write(keyword="shelves", sources=SOURCES, brand_name="", language=""),
                slug=f"shelves-{at}",
            )
            await insert_content(
                tx.connection,
                content_id=content_id,
                brand_slug="daily-grind",
                keyword=("kiln shelves", "pyrometric cones")[at],
                research_id=RESEARCH,
                article=shelves,
                sources=(),
            )
        await mark_published(
            tx.connection, [published_at(each, url) for each, url in addresses.items() if url]
        )

    content = await end(orchestrator_database, workflow, command, context)

    assert content is not None
    assert (
        "[Kiln shelves](http://site.test/sites/daily-grind/kiln-shelves) carry the ware"
        in content.body_markdown
    )
    assert content.body_markdown.count("](http") == 1
    assert {each.name: each.value for each in content.measures}["links"] == 1


@pytest.mark.parametrize(
    "refusal", [RetryLater("the writer rests", after=timedelta(seconds=7)), Unprocessable("nothing to say")]
)
async def test_what_a_writer_raises_reaches_the_queue_as_it_is(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    refusal: Exception,
) -> None:
    workflow = workflow_of(orchestrator_database, Calls(SOURCES), UnwillingWriter(refusal))

    with pytest.raises(type(refusal)) as raised:
        await workflow.generate(command, context)

    assert raised.value is refusal


async def test_the_extractive_writer_labels_what_it_writes() -> None:
    article = await ExtractiveWriter().write(
        keyword="kiln", sources=SOURCES, brand_name="The Daily Grind", language="en"
    )

    assert article.label == EXTRACTIVE_LABEL
    assert article.cited == (1, 2, 3, 4, 5)


async def test_sources_that_give_no_article_end_the_keyword_with_a_reason(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    bare = (Source(n=1, title="Menu", passages=(Passage(heading=None, text="Coffee Tea", score=1.0),)),)

    workflow = workflow_of(orchestrator_database, Calls(bare))
    record = await workflow.generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await record(tx)

    (counted,) = workflow.refusals.shown(Families("brand_engine")).collect()
    assert {each.labels["reason"]: each.value for each in counted.samples} == {
        "insufficient_sources": 1,
        "unsupported_draft": 0,
        "needs_review": 0,
        "near_duplicate": 0,
        "not_renewed": 0,
    }
    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
        (sent,) = [json.loads(row["body"]) for row in await connection.fetch("select body from outbox")]
    assert content is None
    assert sent["type"] == "content.refused"
    assert sent["payload"]["content_id"] == str(command.payload.content_id)
    assert sent["payload"]["reason"] == "insufficient_sources"
    assert "kiln" in sent["payload"]["detail"]


async def test_the_day_of_a_source_is_stored_with_the_article(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    record = await workflow_of(orchestrator_database, Calls(SOURCES)).generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await record(tx)

    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
    assert content is not None
    days = {source["n"]: source["published_on"] for source in content.sources}
    assert days == {1: None, 2: "2025-06-01", 3: None, 4: None, 5: None}


async def test_an_unknown_brand_is_said_to_be_one(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    stranger = message_of(command.payload.model_copy(update={"brand_slug": "nobody"}))
    with pytest.raises(Unprocessable, match="unknown brand 'nobody'"):
        await workflow_of(orchestrator_database, Calls(SOURCES)).generate(stranger, context)


def test_a_slug_that_is_taken_gets_the_next_free_number() -> None:
    assert free_slug("cold-brew", set()) == "cold-brew"
    assert free_slug("cold-brew", {"cold-brew", "cold-brew-2", "cold-brew-4"}) == "cold-brew-3"
