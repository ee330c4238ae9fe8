"""Exams of judges over the real protocol: what passes, what is paid once, what waits, and what ends without a result."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.requests import Request

from chassis.http.callers import SERVICE, Caller
from chassis.http.client import UnavailableError
from chassis.testing import eventually, serving
from messaging import Database, Dependency
from orchestrator.api import http_api
from orchestrator.article_workflow.model_chat import ChatClient
from orchestrator.judge_exams.examiner import MOST_ATTEMPTS, JudgeExaminer
from tests.fixtures.models.judges import SPENT, answered, honest_judge, judge_that_believes
from tests.fixtures.models.model_writing import gateway_says
from tests.fixtures.models.scripted_model import ModelReply, ModelRequest, ScriptedModel, judge_agreement


def examiner_of(database: Database, model: ScriptedModel) -> JudgeExaminer:
    away = Dependency("judge", outages=(UnavailableError,), shortest_pause=0.01)
    chat = ChatClient(model.url, SecretStr("k" * 20), model="judge", timeout_seconds=20, dependency=away)
    return JudgeExaminer(database, {"judge": chat}, max_tokens=4_096, lease=timedelta(minutes=5))


@pytest.fixture
def examiner(orchestrator_database: Database, model: ScriptedModel) -> JudgeExaminer:
    return examiner_of(orchestrator_database, model)


@pytest.fixture
async def judges(
    orchestrator_database: Database, examiner: JudgeExaminer
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API of a service with one judge."""

    async def authorise(_: Request) -> Caller:
        return SERVICE

    app = http_api(orchestrator_database, authorise, judges=["judge"], exam=examiner.plan)
    async with serving(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client


async def begin(judges: httpx.AsyncClient, *, again: bool = False) -> httpx.Response:
    return await judges.post("/v1/judges/exams", json={"judge": "judge", "again": again})


async def run(examiner: JudgeExaminer) -> None:
    """Works until nothing is due."""
    while await examiner.ask_next() is not None:
        pass


async def judge_of(judges: httpx.AsyncClient) -> dict[str, Any]:
    (judge,) = (await judges.get("/v1/judges")).json()["items"]
    assert isinstance(judge, dict)
    return judge


async def end_pauses(database: Database) -> None:
    """As if what is waited for were over, and leases of dead replicas, too."""
    async with database.transaction() as tx:
        await tx.connection.execute("update judge_exams set due_at = now(), claimed_until = null")


@pytest.mark.extended
async def test_an_honest_judge_passes_and_each_question_is_paid_once(
    judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = honest_judge
    told = (await judges.get("/v1/judges")).json()
    assert (told["estimate"]["sentences"], told["items"][0]["exam"]) == (200, None)
    assert "never examined" in told["items"][0]["advice"]

    begun = await begin(judges)
    await run(examiner)

    judge = await judge_of(judges)
    exam, questions = judge["exam"], told["estimate"]["questions"]
    assert (begun.status_code, begun.json()["state"]) == (201, "running")
    assert (judge["has_passed"], exam["state"], exam["model"]) == (True, "passed", "scripted-1")
    assert (exam["result"]["precision"], exam["result"]["recall"], exam["result"]["unread"]) == (1.0, 1.0, 0)
    assert exam["result"]["lies"] == {"kept": 0, "total": 100}
    assert len(exam["result"]["kinds"]) == 25
    assert (exam["answered"], exam["spent"], exam["tokens_read"]) == (
        questions,
        questions * SPENT,
        questions * 1000,
    )
    assert len(model.asked) == len({asked.key for asked in model.asked}) == questions
    assert {asked.headers["X-Brand"] for asked in model.asked} == {"judge-exams"}
    assert {asked.model for asked in model.asked} == {"judge"}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("judging", "kinds"),
    [
        (judge_agreement, 25),
        (judge_that_believes(lambda kind: kind == "unit"), 1),
    ],
)
async def test_one_that_believes_lies_does_not_pass(
    judges: httpx.AsyncClient,
    examiner: JudgeExaminer,
    model: ScriptedModel,
    judging: Callable[[ModelRequest], Any],
    kinds: int,
) -> None:
    model.judging = judging
    await begin(judges)
    await run(examiner)

    judge = await judge_of(judges)
    believed = [kind for kind, each in judge["exam"]["result"]["kinds"].items() if each["kept"]]
    assert (judge["has_passed"], judge["exam"]["state"], len(believed)) == (False, "failed", kinds)
    assert judge["exam"]["result"]["recall"] == 1.0
    assert "has not passed its exam" in judge["advice"]


async def test_nonsense_ends_an_exam_with_a_reason_before_all_is_paid(
    judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = lambda _: answered("<html>Looks good to me!</html>")
    await begin(judges)
    await run(examiner)

    exam = (await judge_of(judges))["exam"]
    assert (exam["state"], exam["result"]) == ("failed", None)
    assert (
        "3 of its answers cannot be used; the last one: the model's answer to “question 3”" in exam["problem"]
    )
    assert len(model.asked) == 6  # each once more, with what was wrong


@pytest.mark.extended
async def test_one_that_is_killed_goes_on_and_pays_nothing_twice(
    orchestrator_database: Database, judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = honest_judge
    await begin(judges)
    await examiner.ask_next()
    await examiner.ask_next()
    model.seconds = 2.0
    dying = asyncio.create_task(examiner.ask_next())
    await eventually(lambda: len(model.asked) == 3)
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    model.seconds = 0.0
    other = examiner_of(orchestrator_database, model)
    assert await other.ask_next() is None  # the lease of the dead one
    await end_pauses(orchestrator_database)
    await run(other)

    exam = (await judge_of(judges))["exam"]
    keys = [asked.key for asked in model.asked]
    assert exam["state"] == "passed"
    assert len(keys) == exam["questions"] + 1
    assert keys[2] == keys[3]  # by which the gateway knows it
    assert len(set(keys)) == exam["questions"]


@pytest.mark.extended
async def test_of_two_replicas_one_asks_at_a_time(
    orchestrator_database: Database, judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = honest_judge
    model.seconds = 0.01
    await begin(judges)
    replicas = [examiner, examiner_of(orchestrator_database, model)]

    async def work(replica: JudgeExaminer) -> None:
        while (await judge_of(judges))["exam"]["state"] == "running":
            await replica.ask_next()

    await asyncio.gather(*map(work, replicas))

    exam = (await judge_of(judges))["exam"]
    assert (exam["state"], model.most_at_once) == ("passed", 1)
    assert len(model.asked) == exam["questions"]


@pytest.mark.extended
async def test_without_budget_it_waits_and_says_so_and_goes_on(
    orchestrator_database: Database, judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = honest_judge
    await begin(judges)
    await examiner.ask_next()
    model.replies["SecondReading"] = [gateway_says("budget.exhausted", 402, transient=True, after=80_000)]
    await run(examiner)

    exam = (await judge_of(judges))["exam"]
    assert (exam["state"], exam["answered"]) == ("running", 1)
    assert exam["waits_for"] == "the model's budget: what budget.exhausted means, and what to do"
    async with orchestrator_database.connection() as connection:
        left = await connection.fetchval("select due_at - now() from judge_exams")
    assert left < timedelta(minutes=1)  # a cap may be raised
    await end_pauses(orchestrator_database)
    await run(examiner)
    exam = (await judge_of(judges))["exam"]
    assert (exam["state"], exam["waits_for"]) == ("passed", None)
    assert len({asked.key for asked in model.asked}) == len(model.asked) - 1


async def test_a_question_that_fails_again_and_again_ends_it(
    orchestrator_database: Database, judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = lambda _: ModelReply(status=500, body={"error": {"message": "out of memory"}})
    await begin(judges)
    for _ in range(MOST_ATTEMPTS):
        await run(examiner)
        await end_pauses(orchestrator_database)

    exam = (await judge_of(judges))["exam"]
    assert exam["state"] == "failed"
    assert f"asked {MOST_ATTEMPTS} times in vain" in exam["problem"]
    assert "out of memory" in exam["problem"]
    assert len(model.asked) == MOST_ATTEMPTS


async def test_what_no_attempt_changes_ends_it_at_once(
    judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = lambda _: gateway_says("provider.not_connected", 424, transient=False)
    await begin(judges)
    await run(examiner)

    exam = (await judge_of(judges))["exam"]
    assert exam["problem"] == (
        "the gateway rejects the call to the model: what provider.not_connected means, and what to do"
        " (provider.not_connected)"
    )


async def test_answers_of_two_models_are_no_exam_of_either(
    judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = honest_judge
    await begin(judges)
    await examiner.ask_next()
    model.judging = lambda _: answered('{"readings": []}', model="scripted-2")
    await run(examiner)

    exam = (await judge_of(judges))["exam"]
    assert (exam["state"], exam["result"]) == ("failed", None)
    assert "several models, scripted-1 and scripted-2" in exam["problem"]


@pytest.mark.extended
async def test_an_exam_that_runs_is_not_begun_twice_unless_again(
    judges: httpx.AsyncClient, examiner: JudgeExaminer, model: ScriptedModel
) -> None:
    model.judging = honest_judge
    first = await begin(judges)
    await examiner.ask_next()
    same = await begin(judges)
    another = await begin(judges, again=True)
    await run(examiner)

    assert (same.status_code, same.json()["exam_id"]) == (200, first.json()["exam_id"])
    assert (another.status_code, another.json()["answered"]) == (201, 0)
    exam = (await judge_of(judges))["exam"]
    assert (exam["exam_id"], exam["state"]) == (another.json()["exam_id"], "passed")
    unknown = await judges.post("/v1/judges/exams", json={"judge": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_judge")


async def test_questions_of_a_version_that_is_gone_end_it(
    orchestrator_database: Database, judges: httpx.AsyncClient, examiner: JudgeExaminer
) -> None:
    await begin(judges)
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute("update judge_exams set version = 'former'")
    assert await examiner.ask_next() is None  # a replica of that version may be there
    async with orchestrator_database.transaction() as tx:
        await tx.connection.execute("update judge_exams set moved_at = now() - interval '2 hours'")
    await run(examiner)

    exam = (await judge_of(judges))["exam"]
    assert (exam["state"], exam["problem"]) == (
        "failed",
        "an upgrade has changed the questions meanwhile; begin it again",
    )
