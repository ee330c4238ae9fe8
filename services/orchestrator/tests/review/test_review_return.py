"""A draft that is sent back: written again with the comment, and never lost."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import structlog

from envelope import DomainMessage
from messaging import Context, Database
from messaging.testing import write_records
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.review import StalledRewriteReaper, count_drafts
from orchestrator.review.stalled_rewrites import NOTHING_CAME
from tests.fixtures.kilns import SOURCES
from writing import Article, ArticleSource, NoArticleError, Writer, WritingContext
from writing.writer import UnsupportedDraftError

CONTEXT = Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())
COMMENT = "Say when.\nAnd why."


class Heeding:
    """Writes what the comment says."""

    def __init__(self, desk: WritingContext, ending: NoArticleError | None) -> None:
        self._desk = desk
        self._ending = ending

    async def write(self, *, keyword: str, **_: Any) -> Article:
        if self._ending:
            raise self._ending
        text = f"{keyword}: {self._desk.comment} [1]"
        return Article(keyword, "cold-brew", text[:50], text, len(text.split()), (text,), (1,))


def workflow_of(database: Database, ending: NoArticleError | None = None) -> ContentWorkflow:
    async def research(*_: Any) -> tuple[ArticleSource, ...]:
        return SOURCES

    def writer(desk: WritingContext) -> Writer:
        return Heeding(desk, ending)

    return ContentWorkflow(database, research, {"model": writer})


async def write_again(waiting: Any, ending: NoArticleError | None = None) -> DomainMessage[Any]:
    """Carries out the `content.generate` that was sent, twice as brokers may deliver it; returns it."""
    (command,) = await waiting.sent()
    assert command.type == "content.generate"
    for message in (command, replace_event(command)):
        async with waiting.database.transaction() as tx:
            await write_records(tx, await workflow_of(waiting.database, ending).generate(message, CONTEXT))
    return command


def replace_event(message: DomainMessage[Any]) -> DomainMessage[Any]:
    """The same command as a replay brings it."""
    return message.model_copy(update={"event_id": type(message.event_id)(int=message.event_id.int + 1)})


@pytest.fixture
async def written_by_a_model(make_waiting: Callable[..., Any]) -> Any:
    waiting = await make_waiting()
    async with waiting.database.connection() as connection:
        await connection.execute("update brands set writer = 'model'")
    return waiting


async def test_it_is_written_again_with_the_comment_and_waits_as_a_new_version(
    written_by_a_model: Any,
) -> None:
    waiting = written_by_a_model
    answers = [await waiting.decide("return", version=1, comment=COMMENT) for _ in range(2)]
    assert answers[0].status_code == 200, answers[0].text
    assert answers[0].json() == answers[1].json()
    assert (answers[0].json()["state"], answers[0].json()["version"]) == ("returned", 1)

    command = await write_again(waiting)

    assert (command.payload.revision, command.payload.comment) == (2, COMMENT)
    draft = await waiting.draft()
    assert (draft["state"], draft["version"], draft["made_by"]) == ("waiting", 2, "writer")
    assert draft["held_for"][0] == f"it was written again: {COMMENT}"
    article = await waiting.article()
    assert article["body_markdown"] == f"cold brew: {COMMENT} [1]"
    assert (await waiting.api.get(f"/v1/content/{waiting.content_id}/versions/1")).json()[
        "title"
    ] == "Cold brew"
    told = await waiting.sent()
    assert [message.payload.reason for message in told] == ["needs_review"]
    await waiting.handle(*told)
    assert (await waiting.keyword())["state"] == "needs_review"
    approved = await waiting.decide("approve", version=2)
    assert (approved.json()["stands"], (await waiting.article())["slug"]) == (2, "cold-brew")


async def test_where_nothing_comes_of_it_the_draft_waits_as_it_was_and_says_so(
    written_by_a_model: Any,
) -> None:
    waiting = written_by_a_model
    await waiting.decide("return", version=1, comment=COMMENT)
    await write_again(waiting, UnsupportedDraftError("nothing holds"))
    draft = await waiting.draft()
    assert (draft["state"], draft["version"]) == ("waiting", 1)
    assert draft["held_for"] == [
        "it could not be written again (unsupported_draft: nothing holds)",
        "231 words",
    ]


async def test_who_approves_it_meanwhile_has_the_last_word(written_by_a_model: Any) -> None:
    waiting = written_by_a_model
    await waiting.decide("return", version=1, comment=COMMENT)
    (command,) = await waiting.sent()
    refused = await waiting.decide("approve", version=1)
    assert refused.status_code == 409
    assert "was returned by service" in refused.json()["detail"]
    assert (await waiting.decide("approve", version=1, despite_newer=True)).json()["state"] == "approved"
    await waiting.sent()

    async with waiting.database.transaction() as tx:
        await write_records(tx, await workflow_of(waiting.database).generate(command, CONTEXT))

    assert (await waiting.draft())["version"] == 1
    assert await waiting.sent() == []


async def test_only_what_waits_can_be_sent_back_and_only_once(written_by_a_model: Any) -> None:
    waiting = written_by_a_model
    await waiting.decide("return", version=1, comment=COMMENT)
    for what, body in (("return", {"comment": "another"}), ("edit", {"title": "Mine"})):
        refused = await waiting.decide(what, version=1, **body)
        assert refused.status_code == 409
        assert "was returned by service" in refused.json()["detail"]


async def test_a_digest_cannot_be_sent_back(waiting: Any) -> None:
    refused = await waiting.decide("return", version=1, comment=COMMENT)
    assert refused.status_code == 409
    assert "edit or reject the draft" in refused.json()["detail"]
    assert await waiting.sent() == []
    assert (await waiting.draft())["state"] == "waiting"


async def test_a_draft_of_which_nothing_comes_waits_again_after_a_while(written_by_a_model: Any) -> None:
    waiting = written_by_a_model
    await waiting.decide("return", version=1, comment=COMMENT)
    returns = StalledRewriteReaper(waiting.database, after=timedelta(hours=6))
    assert await returns.reset_stalled_rewrites() == 0
    async with waiting.database.connection() as connection:
        await connection.execute("update decisions set made_at = made_at - interval '7 hours'")
        assert (await count_drafts(connection)) == {
            "waiting": 0,
            "scheduled": 0,
            "returned": 1,
            "correction": 0,
        }
    assert [await returns.reset_stalled_rewrites(), await returns.reset_stalled_rewrites()] == [1, 0]

    draft = await waiting.draft()
    assert (draft["state"], draft["version"]) == ("waiting", 1)
    assert draft["held_for"] == [NOTHING_CAME, "231 words"]
    async with waiting.database.connection() as connection:
        assert (await count_drafts(connection)) == {
            "waiting": 1,
            "scheduled": 0,
            "returned": 0,
            "correction": 0,
        }


async def test_its_writing_is_asked_for_again_by_a_person_once_it_stands_still(
    written_by_a_model: Any,
) -> None:
    waiting = written_by_a_model
    await waiting.decide("return", version=1, comment=COMMENT)
    (lost,) = await waiting.sent()
    path = f"/v1/workflows/{waiting.content_id}"
    seen = (await waiting.api.get(path)).json()
    assert (seen["state"], seen["revision"]) == ("running", 2)
    refused = await waiting.api.post(f"{path}/cancel")
    assert (refused.status_code, "despite_newer" in refused.json()["detail"]) == (409, True)
    async with waiting.database.connection() as connection:
        await connection.execute("update decisions set made_at = made_at - interval '2 hours'")
        await connection.execute("update keywords set moved_at = moved_at - interval '2 hours'")

    answer = await waiting.api.post(f"{path}/retry", json={})

    assert (answer.status_code, answer.json()["changed"]) == (200, True), answer.text
    (again,) = await waiting.sent()
    assert again.payload == lost.payload
    for command in (again, lost):
        async with waiting.database.transaction() as tx:
            await write_records(tx, await workflow_of(waiting.database).generate(command, CONTEXT))
    draft = await waiting.draft()
    assert (draft["state"], draft["version"]) == ("waiting", 2)
    assert (await waiting.api.get(path)).json()["state"] == "done"
