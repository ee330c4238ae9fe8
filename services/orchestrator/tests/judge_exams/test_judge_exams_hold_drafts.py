"""Which drafts wait because of their judge, on the way that each article takes."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import pytest
import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import BrandSettings
from messaging import Context, Database, WaitFor
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.article_workflow.store import StoredContent
from orchestrator.brands import upsert_brand
from orchestrator.judge_exams import judge_reasons, load_passed_judges
from orchestrator.judge_exams.approval import find_standings
from tests.fixtures.models.judges import passed_exam
from tests.fixtures.models.model_writing import MessageOf, chat_with, gateway_says, sources, written
from tests.fixtures.models.scripted_model import ScriptedModel
from writing import ArticleSource
from writing.article import ArticleJudge, ModelDraftCounts
from writing.model.writer import ModelWriter

WRITTEN: Final = BrandSettings(name="The Daily Grind", writer="model")
WriteFor: TypeAlias = Callable[[str, BrandSettings, str | None], Awaitable[StoredContent]]


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


@pytest.fixture
def write_for(orchestrator_database: Database, model: ScriptedModel, message_of: MessageOf) -> WriteFor:
    """Writes the article of a brand, or goes on with it, with a judge that agrees to everything."""

    async def fetch(*_: Any) -> tuple[ArticleSource, ...]:
        return sources()

    chat = chat_with(model.url)
    workflow = ContentWorkflow(
        orchestrator_database, fetch, {"model": lambda desk: ModelWriter(chat, desk, 32_768, chat)}
    )
    context = Context(queue="orchestrator-commands", attempt=1, log=structlog.get_logger())
    commands: dict[str, DomainMessage[ContentGenerate]] = {}

    async def write(slug: str, brand: BrandSettings, exam: str | None) -> StoredContent:
        async with orchestrator_database.transaction() as tx:
            await upsert_brand(tx.connection, slug, brand)
            if exam is not None:
                await passed_exam(tx.connection, "default", model.model, state=exam)
        if slug not in commands:
            commands[slug] = message_of(
                ContentGenerate(
                    brand_slug=slug,
                    content_id=new_event_id(),
                    research_id=new_event_id(),
                    keyword="cold brew",
                )
            )
        return await written(orchestrator_database, workflow, commands[slug], context)

    return write


@pytest.mark.extended
async def test_a_brand_that_approves_nothing_sees_what_rests_on_an_unexamined_judge(
    write_for: WriteFor,
) -> None:
    brand = BrandSettings(name="The Daily Grind", writer="model", approval="nothing")
    (why,) = (await write_for("unexamined", brand, None)).held_for
    assert "stand on the word of a judge that has not passed an exam, default (scripted-1)" in why
    assert "`brandctl providers exam default`" in why
    assert (await write_for("examined", brand, "passed")).held_for == ()


async def dropped(article: Awaitable[StoredContent]) -> float:
    """The share of the sentences of an article that were lost."""
    with structlog.testing.capture_logs() as logs:
        await article
    (counted,) = [each["measures"] for each in logs if "measures" in each]
    return float(counted["dropped"])


@pytest.mark.extended
async def test_what_an_unexamined_judge_confirms_must_keep_to_the_words_of_its_passages(
    write_for: WriteFor,
) -> None:
    unexamined, failed, passed = [
        await dropped(write_for(f"brand-{n}", WRITTEN, exam))
        for n, exam in enumerate((None, "failed", "passed"))
    ]

    assert unexamined == failed > passed


@pytest.mark.extended
async def test_an_article_that_was_begun_before_the_judge_passed_keeps_its_rules(
    write_for: WriteFor, model: ScriptedModel
) -> None:
    """Stored answers of the model are about what these rules refused."""
    model.replies["Front"] = [gateway_says("budget.exhausted", 402, transient=True, after=80_000)]
    with pytest.raises(WaitFor):
        await write_for("begun", WRITTEN, None)

    begun = await dropped(write_for("begun", WRITTEN, "passed"))

    assert begun > await dropped(write_for("later", WRITTEN, "passed"))
