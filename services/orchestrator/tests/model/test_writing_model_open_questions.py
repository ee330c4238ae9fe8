"""If an article's outline leaves a question open, research searches for it once; the article continues without an answer, too."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from envelope import DomainMessage
from envelope.brand.payloads import ContentGenerate
from messaging import Context, Database, RetryLater, Unprocessable, WaitFor
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.article_workflow.question_search import PATIENCE
from tests.fixtures.models.model_writing import chat_with, sources, written
from tests.fixtures.models.scripted_model import ModelRequest, ScriptedModel, honest_answer
from writing import ArticleSource, SourcePassage
from writing.model.writer import ModelWriter

QUESTION = "How long does cold brew keep?"
FOUND = ArticleSource(1, "Keeping", (SourcePassage("Keeping", "Cold brew keeps for a week.", 1.0),))


def outline(*, passages: tuple[str, ...] = ()) -> dict[str, Any]:
    """The honest outline, with a section about the question before it."""
    asked = ModelRequest("Outline", "", {}, {}, [], {}, 0, "")
    section = {"heading": "Keeping", "question": QUESTION, "passages": [*passages], "words": 100}
    return {"sections": [section, *honest_answer(asked)["sections"][:-1]]}


class Research:
    """Has the research of the keyword, and answers to questions once `answers` has them."""

    def __init__(self) -> None:
        self.answers: tuple[ArticleSource, ...] | Exception = RetryLater("it does not know it (yet)")
        self.asked: list[UUID] = []

    async def fetch(self, research_id: UUID, _: str) -> tuple[ArticleSource, ...]:
        if research_id == UUID(int=5):
            return sources()
        self.asked.append(research_id)
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers


def workflow_of(database: Database, model: ScriptedModel, research: Research) -> ContentWorkflow:
    chat = chat_with(model.url)
    return ContentWorkflow(
        database, research.fetch, {"model": lambda context: ModelWriter(chat, context, 32_768, chat)}
    )


async def requests(database: Database) -> list[dict[str, Any]]:
    async with database.connection() as connection:
        rows = await connection.fetch("select body from outbox where type = 'research.requested'")
    return [json.loads(row["body"]) for row in rows]


async def test_research_is_asked_once_and_its_answer_is_written_from(
    orchestrator_database: Database,
    model: ScriptedModel,
    message: DomainMessage[ContentGenerate],
    context: Context,
) -> None:
    model.replies["Outline"] = [outline()]
    research = Research()
    workflow = workflow_of(orchestrator_database, model, research)
    for _ in range(2):
        with pytest.raises(WaitFor, match="does not know it") as wait:
            await workflow.generate(message, context)
        assert "the questions that the article leaves open" in wait.value.dependency
    (request,) = await requests(orchestrator_database)
    research.answers = (FOUND,)
    await written(orchestrator_database, workflow, message, context)

    answers_id = str(research.asked[0])
    assert request["payload"]["open_questions"] == {"answers_id": answers_id, "questions": [QUESTION]}
    assert (request["payload"]["keyword"], request["causation_id"]) == ("cold brew", str(message.event_id))
    assert {str(each) for each in research.asked} == {answers_id}
    outlines = [asked for asked in model.asked if asked.shape == "Outline"]
    assert [("open" in each.data, "plan" in each.data) for each in outlines] == [(True, False), (False, True)]
    assert FOUND.passages[0].text in [each["text"] for each in outlines[1].data["passages"]]
    assert len(await requests(orchestrator_database)) == 1


async def test_what_an_article_cites_of_the_answer_is_stored_with_it(
    orchestrator_database: Database,
    model: ScriptedModel,
    message: DomainMessage[ContentGenerate],
    context: Context,
) -> None:
    research = Research()
    research.answers = (FOUND,)
    model.replies["Outline"] = [outline(), outline(passages=("s4p1",))]
    sentence = {"text": "Cold brew keeps for a week.", "passages": ["s4p1"]}
    model.replies["SectionDraft"] = [{"paragraphs": [{"sentences": [sentence]}]}]
    workflow = workflow_of(orchestrator_database, model, research)
    content = await written(orchestrator_database, workflow, message, context)

    assert "Cold brew keeps for a week. [4]" in content.body_markdown
    assert [each["title"] for each in content.sources if each["n"] == 4] == ["Keeping"]


@pytest.mark.extended
@pytest.mark.parametrize("problem", [RetryLater("it is away"), Unprocessable("it makes no sense")])
async def test_an_article_does_without_an_answer_that_does_not_come(
    orchestrator_database: Database,
    model: ScriptedModel,
    message: DomainMessage[ContentGenerate],
    context: Context,
    problem: Exception,
) -> None:
    model.replies["Outline"] = [outline()]
    research = Research()
    workflow = workflow_of(orchestrator_database, model, research)
    with pytest.raises(WaitFor):
        await workflow.generate(message, context)
    research.answers = problem
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update workflow_steps set result = jsonb_set(result, '{at}', to_jsonb(now() - $1::interval))"
            " where step = 'ask_research'",
            PATIENCE + timedelta(seconds=1),
        )
    content = await written(orchestrator_database, workflow, message, context)

    assert content.word_count > 100
    assert [asked.shape for asked in model.asked].count("Outline") == 1
