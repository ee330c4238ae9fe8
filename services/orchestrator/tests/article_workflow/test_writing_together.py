"""What commands that come at the same time share: how they begin, what they are compared with, and how they are stored."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from threading import Event, get_ident
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import TypeAdapter

from chassis.database.pool import kept_plans
from chassis.testing import eventually
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import BrandSettings
from messaging import Context, Database, Unprocessable, WaitFor
from messaging.testing import write_records
from orchestrator.article_workflow import ContentWorkflow, handlers
from orchestrator.article_workflow.approval import load_subject_histories
from orchestrator.article_workflow.durable import ClaimBatcher, DeliveredCommand, WritingCommand
from orchestrator.article_workflow.siblings import SiblingArticles
from orchestrator.article_workflow.store import NewContent, insert_contents, mark_published
from orchestrator.article_workflow.versions import insert_version, set_current_version, text_of
from orchestrator.brands import upsert_brand
from orchestrator.subjects.keys import key_of
from tests.fixtures.kilns import SOURCES
from tests.fixtures.orchestrator.article_workflow import (
    RESEARCH,
    CountedCalls,
    MessageOf,
    TitleWriter,
    published_at,
    sent_by,
)
from writing import Article, ArticleSource, StatelessWriter
from writing.computing import ComputeThread
from writing.judging import SiblingArticle

TEXT = TypeAdapter(str)
HOUR = timedelta(hours=1)
BRAND = "daily-grind"


async def titled(keyword: str) -> Article:
    return await TitleWriter().write(keyword=keyword, sources=SOURCES, brand_name="", language="en")


async def store(database: Database, *keywords: str, **others: Any) -> list[UUID]:
    new = [
        NewContent(
            new_event_id(),
            BRAND,
            keyword,
            RESEARCH,
            await titled(keyword),
            SOURCES[:1],
            fingerprint=frozenset({1, 2, number}),
            **others,
        )
        for number, keyword in enumerate(keywords, 3)
    ]
    async with database.transaction() as tx:
        await insert_contents(tx.connection, new)
    return [each.content_id for each in new]


def asked(
    command: DomainMessage[ContentGenerate], *, content_id: UUID | None = None, **changed: Any
) -> WritingCommand:
    payload = command.payload
    about = DeliveredCommand(content_id or new_event_id(), new_event_id(), revision=None, attempt=1)
    begins = WritingCommand(about, payload.brand_slug, command.timestamp, about.content_id)
    return replace(begins, **changed)


async def begin(openings: ClaimBatcher, *commands: WritingCommand) -> list[Any]:
    return await asyncio.gather(*(openings.claim(each) for each in commands), return_exceptions=True)


async def test_commands_that_begin_together_are_each_told_what_is_their_own(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    good, stranger, late, twin = (asked(command) for _ in range(4))
    stranger = replace(stranger, brand_slug="nobody")
    twin = asked(command, content_id=good.command.content_id)
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "insert into deleted_articles (content_id, brand_slug, address, deleted_by, reason)"
            " values ($1, $2, 'kiln', 'ann', 'no')",
            late.command.content_id,
            BRAND,
        )

    begun = await begin(ClaimBatcher(orchestrator_database, HOUR), good, stranger, late, twin)

    assert (begun[0].brand.slug, begun[0].steps_id) == (BRAND, good.command.event_id)
    assert (begun[1].brand, begun[1].steps_id, begun[1].late) == (None, None, False)
    assert (begun[2].late, begun[2].steps_id) == (True, None)
    assert isinstance(begun[3], WaitFor)
    async with orchestrator_database.connection() as connection:
        rows = await connection.fetch("select content_id, event_id, starts from writings")
    assert [tuple(row) for row in rows] == [(good.command.content_id, good.command.event_id, 1)]


async def test_one_that_cannot_begin_keeps_no_other_from_it(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    good, bad, other = (asked(command) for _ in range(3))
    bad = replace(bad, command=replace(bad.command, attempt=2**40))

    begun = await begin(ClaimBatcher(orchestrator_database, HOUR), good, bad, other)

    assert [getattr(each, "steps_id", None) for each in begun] == [
        good.command.event_id,
        None,
        other.command.event_id,
    ]
    assert isinstance(begun[1], Exception)


async def test_who_begins_again_finds_the_steps_that_are_done(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    openings, one, new = ClaimBatcher(orchestrator_database, HOUR), asked(command), asked(command)
    first = openings.workflow(one, await openings.claim(one))
    await first.step("small", TEXT, CountedCalls("x"))
    await first.step("large", TEXT, CountedCalls("y" * 70_000))

    again, fresh = await begin(openings, one, new)

    assert openings.workflow(one, again).has("small")
    assert await openings.workflow(one, again).step("large", TEXT, CountedCalls("z")) == "y" * 70_000
    assert not openings.workflow(new, fresh).has("small")


async def test_an_unknown_brand_is_said_to_be_unknown(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    workflow = ContentWorkflow(
        orchestrator_database, CountedCalls(SOURCES), {"extractive": StatelessWriter(TitleWriter())}
    )
    stranger = message_of(command.payload.model_copy(update={"brand_slug": "nobody"}))

    with pytest.raises(Unprocessable, match="unknown brand 'nobody'"):
        await workflow.generate(stranger, context)


def said(others: Sequence[SiblingArticle]) -> list[tuple[str, str | None, set[int]]]:
    return [(each.title, each.published_url, set(each.fingerprint)) for each in others]


async def test_what_is_remembered_of_articles_is_what_they_say_now(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    oven, kiln, glaze = await store(orchestrator_database, "oven") + await store(
        orchestrator_database, "kiln", "glaze"
    )
    others = SiblingArticles(orchestrator_database)
    assert sorted(said(await others.load(BRAND))) == [
        ("glaze", None, {1, 2, 4}),
        ("kiln", None, {1, 2, 3}),
        ("oven", None, {1, 2, 3}),
    ]

    async with orchestrator_database.transaction() as tx:
        # One is published, one says something else, one is taken down, one is new.
        await mark_published(tx.connection, [published_at(oven, "http://site.test/oven")])
        anew = await titled("kilns")
        text = text_of(replace(anew, key_points=(), label=None), (), ())
        number = await insert_version(tx.connection, kiln, text, made_by="ann", why="better")
        await set_current_version(tx.connection, kiln, number, text, frozenset({7}))
        await tx.connection.execute("update content set held_for = '{no}' where content_id = $1", glaze)
    await store(orchestrator_database, "clay")

    expected = [("clay", None, {1, 2, 3}), ("kilns", None, {7}), ("oven", "http://site.test/oven", {1, 2, 3})]
    assert sorted(said(await others.load(BRAND)), key=str) == sorted(expected, key=str)
    async with orchestrator_database.connection() as connection:
        await connection.execute("delete from content where content_id = $1", oven)
    assert sorted(said(await others.load(BRAND)), key=str) == sorted(expected[:2], key=str)
    assert sorted(said(await SiblingArticles(orchestrator_database).load(BRAND)), key=str) == sorted(
        expected[:2], key=str
    )


async def test_others_of_several_brands_are_told_apart(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    await store(orchestrator_database, "oven")
    others = SiblingArticles(orchestrator_database)

    ours, theirs = await asyncio.gather(others.load(BRAND), others.load("another"))

    assert ([each.title for each in ours], list(theirs)) == (["oven"], [])


class Explaining:
    """A connection that keeps the plan for any values of the last query that takes two lists of texts."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.plan = ""

    async def fetch(self, sql: str, *values: Any) -> Any:
        if len(values) == 2:
            await self._connection.execute(f"prepare looked (text[], text[]) as {sql}")
            self.plan = await self._connection.fetchval("explain (format json) execute looked ('{a}', '{b}')")
        return await self._connection.fetch(sql, *values)


async def test_what_was_planned_for_a_small_table_does_not_read_a_large_one_whole(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    await store(orchestrator_database, "oven", subject_key=key_of("oven", "en"))
    named = (BRAND, key_of("oven", "en"))

    with kept_plans():
        async with orchestrator_database.connection() as connection:
            explaining = Explaining(connection)
            stances: Any = await load_subject_histories(explaining, [named])  # type: ignore[arg-type]

    assert stances[named].has_article
    assert "content_by_subject" in explaining.plan
    assert "Seq Scan" not in explaining.plan


async def test_articles_that_are_stored_together_have_addresses_of_their_own(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "insert into former_addresses (brand_slug, slug, content_id) values ($1, 'glaze-by-title', $2)",
            BRAND,
            new_event_id(),
        )
    ids = await store(orchestrator_database, "oven", "oven", "glaze", "oven")
    draft, *_ = await store(orchestrator_database, "oven", held_for=["look at it", "and here"])

    async with orchestrator_database.connection() as connection:
        rows = await connection.fetch(
            "select content_id, slug, key_points, held_for, fingerprint, sources->0->>'n' as n from content"
        )
        versions = await connection.fetchval("select count(*) from content_versions")
    found = {row["content_id"]: row for row in rows}
    assert [found[each]["slug"] for each in ids] == [
        "oven-by-title",
        "oven-by-title-2",
        "glaze-by-title-2",
        "oven-by-title-3",
    ]
    assert found[draft]["slug"] == f"oven-by-title-{draft}"
    assert found[draft]["held_for"] == ["look at it", "and here"]
    assert found[ids[1]]["key_points"] == list((await titled("oven")).key_points)
    assert (found[ids[1]]["fingerprint"], found[ids[1]]["n"], versions) == ([1, 2, 4], "1", 5)


async def test_of_articles_that_want_one_address_the_oldest_has_it(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    article = await titled("oven")
    ids = [new_event_id() for _ in range(3)]
    new = [NewContent(each, BRAND, "oven", RESEARCH, article, ()) for each in ids]

    async with orchestrator_database.transaction() as tx:
        await insert_contents(tx.connection, new[::-1])

    async with orchestrator_database.connection() as connection:
        rows = await connection.fetch("select slug from content order by content_id")
    assert [row["slug"] for row in rows] == ["oven-by-title", "oven-by-title-2", "oven-by-title-3"]


async def test_what_is_there_already_is_left_as_it_is(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate]
) -> None:
    (there,) = await store(orchestrator_database, "oven")
    again = NewContent(there, BRAND, "kiln", RESEARCH, await titled("kiln"), ())
    new = replace(again, content_id=new_event_id())

    async with orchestrator_database.transaction() as tx:
        await insert_contents(tx.connection, [again, new])

    async with orchestrator_database.connection() as connection:
        rows = await connection.fetch("select content_id, keyword from content")
    assert {tuple(row) for row in rows} == {(there, "oven"), (new.content_id, "kiln")}


class HeldWriter(TitleWriter):
    """Writes once it may go on, and counts what it has begun."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.count = asyncio.Event(), asyncio.Event(), 0

    async def write(self, **asked: Any) -> Article:
        self.count += 1
        self.begun.set()
        await self.go_on.wait()
        return await super().write(**asked)


class CountedPlaces(asyncio.Semaphore):
    """Knows how many have asked for a place."""

    asked = 0

    async def acquire(self) -> Literal[True]:
        self.asked += 1
        return await super().acquire()


class Told:
    """Writes an article of made-up words with the keyword."""

    async def write(
        self, *, keyword: str, sources: Sequence[ArticleSource], brand_name: str, language: str
    ) -> Article:
        words = " ".join(f"{keyword.replace(' ', '')}{number} stands here" for number in range(60))
        return replace(await titled(keyword), body_markdown=f"{words}. [5]\n")


async def test_the_first_article_on_a_subject_is_looked_for_among_those_stored_with_it(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            BRAND,
            BrandSettings(name="The Daily Grind", approval="first"),
        )
    workflow = ContentWorkflow(
        orchestrator_database, CountedCalls(SOURCES), {"extractive": StatelessWriter(Told())}
    )
    commands = [
        message_of(command.payload.model_copy(update={"content_id": new_event_id(), "keyword": keyword}))
        for keyword in ("cold brew", "cold brews", "oven")
    ]

    ended = await asyncio.gather(*(workflow.generate(each, context) for each in commands))
    async with orchestrator_database.transaction() as tx:
        (write,) = {each.write for each in ended}
        await write(tx, [each.row for each in ended])

    sent = await sent_by(orchestrator_database)
    # None is approved yet, so that each is the first of its subject still.
    assert [payload["content_id"] for _, payload in sent] == [
        str(each.payload.content_id) for each in commands
    ]
    assert all("the first article on a keyword" in payload["detail"] for _, payload in sent)


async def test_a_slow_writer_has_only_so_many_places_and_keeps_quick_ones_from_nothing(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third, alone = (
        message_of(command.payload.model_copy(update={"content_id": new_event_id()})) for _ in range(4)
    )
    writer = HeldWriter()
    slow = {"extractive": lambda _: writer}
    workflow = ContentWorkflow(orchestrator_database, CountedCalls(SOURCES), slow, at_once=1)
    monkeypatch.setattr(workflow, "_places", places := CountedPlaces(1))
    one = asyncio.create_task(workflow.generate(first, context))
    await writer.begun.wait()
    other = asyncio.create_task(workflow.generate(second, context))
    await eventually(lambda: places.asked == 2)
    monkeypatch.setattr(handlers, "PATIENCE", 0.0)
    with pytest.raises(WaitFor, match="as many articles as may be"):
        await workflow.generate(third, context)
    # Who is handled alone waits for nobody.
    suspect = asyncio.create_task(workflow.generate(alone, replace(context, alone=True)))
    await eventually(lambda: writer.count == 2)

    async with orchestrator_database.connection() as connection:
        (reason,) = [row["reason"] for row in await connection.fetch("select reason from writing_waits")]
    assert reason.startswith("waits for its next turn at the writers")
    assert not other.done()
    writer.go_on.set()
    for each in await asyncio.gather(one, other, suspect):
        async with orchestrator_database.transaction() as tx:
            await write_records(tx, each)
    assert writer.count == 3
    quick = ContentWorkflow(
        orchestrator_database, CountedCalls(SOURCES), {"extractive": StatelessWriter(Told())}, at_once=1
    )
    assert len(await asyncio.gather(*(quick.generate(each, context) for each in (third,)))) == 1


async def test_what_waits_to_be_computed_is_done_in_one_go_and_fails_alone() -> None:
    computing, begun, go_on = ComputeThread(), Event(), Event()
    threads = []

    def held() -> int:
        begun.set()
        go_on.wait(60)
        threads.append(get_ident())
        return 1

    def bad() -> int:
        threads.append(get_ident())
        raise ZeroDivisionError

    first = asyncio.create_task(computing.do(held))
    await eventually(begun.is_set)
    others = [asyncio.create_task(computing.do(work)) for work in (bad, lambda: 2, lambda: 3)]
    given_up = asyncio.create_task(computing.do(lambda: threads.append(0)))
    await asyncio.sleep(0)
    given_up.cancel()
    go_on.set()

    assert await first == 1
    results = await asyncio.gather(*others, return_exceptions=True)
    assert [type(results[0]), *results[1:]] == [ZeroDivisionError, 2, 3]
    assert await computing.do(lambda: 4) == 4
    assert len(set(threads)) == 1
