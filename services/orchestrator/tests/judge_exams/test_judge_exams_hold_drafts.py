"""Which drafts wait because of their judge, on the way that each article takes."""

from typing import Any

import pytest
import structlog

from envelope import new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import BrandSettings
from messaging import Context, Database
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.brands import upsert_brand
from orchestrator.judge_exams import judge_reasons, load_passed_judges
from orchestrator.judge_exams.approval import find_standings
from tests.fixtures.models.judges import passed_exam
from tests.fixtures.models.model_writing import MessageOf, chat_with, sources, written
from tests.fixtures.models.scripted_model import ScriptedModel
from writing import ArticleSource
from writing.article import ArticleJudge, ModelDraftCounts
from writing.model.writer import ModelWriter


def draft(*judges: tuple[str, str], confirmed: int | None = 3) -> ModelDraftCounts:
    """Judges are (name, models, parted by a slash)."""
    named = tuple(ArticleJudge(name, tuple(models.split("/"))) for name, models in judges)
    return ModelDraftCounts(10, 1, 0.1, confirmed=confirmed, judges=named)


@pytest.mark.parametrize(
    ("given", "waits"),
    [
        (draft(("judge", "good")), False),
        (draft(("judge", "bad")), True),
        (draft(("judge", "new")), True),
        (draft(("judge", "good/new")), True),
        (draft(("other", "good")), True),
        (draft(("judge", "bad"), ("second", "good")), False),
        (draft(("judge", "bad"), confirmed=0), False),
        (draft(confirmed=None), False),
        (draft(), True),
        (None, False),
    ],
)
async def test_a_draft_waits_unless_a_judge_that_passed_stands_for_it(
    orchestrator_database: Database, given: ModelDraftCounts | None, *, waits: bool
) -> None:
    async with orchestrator_database.transaction() as tx:
        await passed_exam(tx.connection, "judge", "good")
        await passed_exam(tx.connection, "judge", "bad", state="failed")
        await passed_exam(tx.connection, "second", "good")
        passed = await load_passed_judges(tx.connection, [given])
    reasons = judge_reasons(given, passed)
    assert bool(reasons) is waits


async def test_another_model_behind_the_name_is_unexamined_until_the_former_is_back(
    orchestrator_database: Database,
) -> None:
    async with orchestrator_database.transaction() as tx:
        await passed_exam(tx.connection, "judge", "good")
        for model, has_passed in (("good", True), ("new", False), ("good", True)):
            await load_passed_judges(tx.connection, [draft(("judge", model))])
            standing = (await find_standings(tx.connection, ["judge"]))["judge"]
            assert (standing.examined, standing.model, standing.has_passed) == ("good", model, has_passed)
        await passed_exam(tx.connection, "judge", "good", state="failed")
        assert not (await find_standings(tx.connection, ["judge"]))["judge"].has_passed


@pytest.mark.extended
async def test_a_brand_that_approves_nothing_sees_what_rests_on_an_unexamined_judge(
    orchestrator_database: Database, model: ScriptedModel, message_of: MessageOf
) -> None:
    async def fetch(*_: Any) -> tuple[ArticleSource, ...]:
        return sources()

    chat = chat_with(model.url)
    workflow = ContentWorkflow(
        orchestrator_database, fetch, {"model": lambda desk: ModelWriter(chat, desk, 32_768, chat)}
    )
    context = Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())
    told = []
    for slug in ("unexamined", "examined"):
        brand = BrandSettings(name="The Daily Grind", writer="model", approval="nothing")
        async with orchestrator_database.transaction() as tx:
            await upsert_brand(tx.connection, slug, brand)
            if slug == "examined":
                await passed_exam(tx.connection, "default", model.model)
        content_id = new_event_id()
        command = ContentGenerate(
            brand_slug=slug, content_id=content_id, research_id=new_event_id(), keyword="cold brew"
        )
        told.append((await written(orchestrator_database, workflow, message_of(command), context)).held_for)

    (why,), nothing = told
    assert "stand on the word of a judge that has not passed an exam, default (scripted-1)" in why
    assert "`brandctl providers exam default`" in why
    assert nothing == ()


@pytest.mark.extended
async def test_what_an_unexamined_judge_confirms_must_keep_to_the_words_of_its_passages(
    orchestrator_database: Database, model: ScriptedModel, message_of: MessageOf
) -> None:
    async def fetch(*_: Any) -> tuple[ArticleSource, ...]:
        return sources()

    chat = chat_with(model.url)
    workflow = ContentWorkflow(
        orchestrator_database, fetch, {"model": lambda desk: ModelWriter(chat, desk, 32_768, chat)}
    )
    context = Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())
    lost = {}
    for slug, state in (("none", None), ("failed", "failed"), ("passed", "passed")):
        async with orchestrator_database.transaction() as tx:
            await upsert_brand(tx.connection, slug, BrandSettings(name="The Daily Grind", writer="model"))
            if state is not None:
                await passed_exam(tx.connection, "default", model.model, state=state)
        command = ContentGenerate(
            brand_slug=slug, content_id=new_event_id(), research_id=new_event_id(), keyword="cold brew"
        )
        with structlog.testing.capture_logs() as logs:
            await written(orchestrator_database, workflow, message_of(command), context)
        (counted,) = [each["measures"] for each in logs if "measures" in each]
        lost[slug] = counted["dropped"]

    assert lost["none"] == lost["failed"] > lost["passed"]
