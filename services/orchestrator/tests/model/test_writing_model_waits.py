"""Articles that wait for a model say why, continue where they were, and ask nothing twice."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from messaging import Context, Database, Unprocessable, WaitFor
from orchestrator.article_workflow import ContentWorkflow
from tests.fixtures.models.model_writing import (
    CALLS,
    MessageOf,
    chat_with,
    gateway_says,
    sources,
    workflow_of,
    written,
)
from tests.fixtures.models.scripted_model import ScriptedModel
from writing import ArticleSource


async def test_what_waits_says_why_until_it_goes_on(
    orchestrator_database: Database,
    model: ScriptedModel,
    message: DomainMessage[ContentGenerate],
    context: Context,
) -> None:
    model.replies["Outline"] = [gateway_says("budget.exhausted", 402, transient=True, after=80_000)]
    workflow = workflow_of(orchestrator_database, chat_with(model.url))

    with pytest.raises(WaitFor):
        await workflow.generate(message, context)
    assert await waits(orchestrator_database) == [
        ("waits for the model's budget: what budget.exhausted means, and what to do", True)
    ]
    await written(orchestrator_database, workflow, message, context)
    assert await waits(orchestrator_database) == []
    assert [asked.shape for asked in model.asked].count("Brief") == 1


async def waits(database: Database) -> list[tuple[str, bool]]:
    """Why, and whether for less than a minute: a cap may be raised."""
    async with database.connection() as connection:
        rows = await connection.fetch("select reason, until - now() as left from writing_waits")
    return [(row["reason"], row["left"] < timedelta(minutes=1)) for row in rows]


@pytest.mark.extended
async def test_one_that_all_others_wait_for_does_a_step_at_a_time(
    orchestrator_database: Database, model: ScriptedModel, message: DomainMessage[ContentGenerate]
) -> None:
    workflow = workflow_of(orchestrator_database, chat_with(model.url))
    alone = Context("orchestrator-commands", 1, structlog.get_logger(), alone=True)
    steps, record = 0, None
    while record is None:
        before = len(model.asked)
        with suppress(WaitFor):
            record = await workflow.generate(message, alone)
        assert len(model.asked) <= before + 1
        steps += 1
    assert steps >= CALLS
    assert len(model.asked) == len({asked.key for asked in model.asked})


@pytest.mark.extended
async def test_the_same_is_asked_again_though_others_of_the_brand_were_published_meanwhile(
    orchestrator_database: Database,
    model: ScriptedModel,
    message: DomainMessage[ContentGenerate],
    message_of: MessageOf,
    context: Context,
) -> None:
    """A key is good for one question: another under the same key is refused by the gateway, and a new key is paid for."""
    workflow = workflow_of(orchestrator_database, chat_with(model.url))
    model.replies["Brief"] = [gateway_says("limit.reached", 429, transient=True, after=1)]
    with pytest.raises(WaitFor):
        await workflow.generate(message, context)
    other = message_of(message.payload.model_copy(update={"content_id": new_event_id()}))
    await written(orchestrator_database, workflow, other, context)

    content = await written(orchestrator_database, workflow, message, context)
    assert content.held_for  # it is a copy of the other
    first, again = (asked for asked in model.asked if asked.key.startswith(f"{message.event_id}:model:brief"))
    assert (first.key, first.messages) == (again.key, again.messages)


async def test_a_brand_whose_model_was_taken_away_is_told_so(
    orchestrator_database: Database,
    model: ScriptedModel,
    message: DomainMessage[ContentGenerate],
    context: Context,
) -> None:
    async def fetch(*_: Any) -> tuple[ArticleSource, ...]:
        return sources()

    with pytest.raises(Unprocessable, match=r"no model is configured.*MODEL_URL.*replay"):
        await ContentWorkflow(orchestrator_database, fetch, {}).generate(message, context)
