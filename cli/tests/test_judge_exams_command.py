"""`brandctl providers connect` and `exam`, beside a real gateway and an orchestrator with a judge: price, caps, result."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.http.client import UnavailableError
from chassis.testing import serving
from messaging import Database, Dependency
from orchestrator.api import http_api
from orchestrator.article_workflow.model_chat import ChatClient
from orchestrator.judge_exams.examiner import JudgeExaminer
from tests.fixtures.commands.brandctl import Operator
from tests.fixtures.gateways import KEY, gateway_before
from tests.fixtures.models import scripted_model
from tests.fixtures.models.judges import honest_judge, judge_that_believes
from tests.fixtures.models.scripted_model import ScriptedModel
from tests.fixtures.sites import Names

PRICES = ("--read-price", "0.25", "--written-price", "2")
A_QUESTION = 450
"""Micro-dollars, for the tokens that `judges.answered` tells of."""


@dataclass(frozen=True)
class Installation:
    gateway: httpx.AsyncClient
    model: ScriptedModel
    examiner: JudgeExaminer
    database: Database
    brandctl: Operator
    """Of `providers`."""

    async def connect(self, model: str, *options: str) -> str:
        ended = await self.brandctl(
            "connect", "model", "--url", self.model.url, "--model", model, *PRICES, "--no-key", *options
        )
        assert ended.code == 0, ended.told
        return ended.err

    async def examine(self) -> None:
        while await self.examiner.ask_next() is not None:
            pass

    async def ledger(self) -> list[dict[str, Any]]:
        calls = (await self.gateway.get("/v1/spend/calls", params={"limit": 200})).json()["items"]
        assert isinstance(calls, list)
        return calls


@pytest.fixture
async def installation(
    make_database: Callable[[str], Awaitable[str]], orchestrator_database: Database, tmp_path: Path
) -> AsyncIterator[Installation]:
    with scripted_model.serving() as model:
        async with gateway_before(Names(), await make_database("gateway"), model_fresh_hours=1) as gateway:
            chat = ChatClient(
                f"{gateway.base_url}/v1",
                SecretStr(KEY),
                model="model",
                timeout_seconds=20,
                dependency=Dependency("model", outages=(UnavailableError,)),
            )
            examiner = JudgeExaminer(
                orchestrator_database, {"model": chat}, max_tokens=4_096, lease=timedelta(minutes=5)
            )
            app = http_api(
                orchestrator_database,
                ServiceKey(SecretStr(KEY)),
                judges=["model"],
                exam=examiner.plan,
                judges_at_gateway=True,
            )
            async with serving(app) as url:
                variables = {
                    "GATEWAY_URL": str(gateway.base_url),
                    "ORCHESTRATOR_URL": url,
                    "SERVICE_KEY": KEY,
                }
                brandctl = Operator(tmp_path, variables, "providers")
                yield Installation(gateway, model, examiner, orchestrator_database, brandctl)
            await chat.aclose()


@pytest.mark.extended
async def test_connecting_a_judge_says_the_price_and_examines_it(installation: Installation) -> None:
    installation.model.judging = honest_judge
    told = await installation.connect("scripted-1")
    price, remark, follow = told.splitlines()
    plan = installation.examiner.plan
    most = (plan.tokens_read * 0.25 + plan.tokens_written * 2) / 1_000_000
    assert f"asks about 200 sentences in {plan.questions} questions" in price
    assert f"It costs up to {most:.2f} dollars, counted for the brand judge-exams" in price
    assert f"takes about {plan.seconds / 60:.0f} minutes" in price
    assert (remark, "is under way" in follow) == ("model is connected", True)
    assert "until it has passed the exam that is under way" in (await installation.brandctl("list")).err

    await installation.examine()

    shown = await installation.brandctl("exam")
    headings, row = (line.split("\t") for line in shown.out.splitlines())
    cells = dict(zip(headings, row, strict=True))
    questions = plan.questions
    spent = f"{questions * A_QUESTION / 1_000_000:.6f}".rstrip("0")
    assert (cells["judge"], cells["model"], cells["exam"]) == ("model", "scripted-1", "passed")
    assert (cells["true kept"], cells["lies kept"], cells["precision"]) == (
        "100 of 100",
        "0 of 100",
        "100.0%",
    )
    assert (cells["answered"], cells["spent"]) == (f"{questions} of {questions}", spent)
    assert "at most 2% of the lies and at least 90% of the true sentences" in shown.err
    assert "articles may be published on its word" in shown.err
    calls = await installation.ledger()
    assert {(each["brand"], each["spent"]) for each in calls} == {("judge-exams", A_QUESTION)}
    assert len(calls) == len(installation.model.asked) == questions
    assert "judges articles" not in (await installation.brandctl("list")).err


@pytest.mark.extended
async def test_one_that_stays_below_the_bar_is_shown_with_the_lies_that_it_believed(
    installation: Installation,
) -> None:
    installation.model.judging = judge_that_believes(lambda kind: kind in {"unit", "hedge"})
    assert "wait for a person until `brandctl providers exam model`" in await installation.connect(
        "scripted-1", "--no-exam"
    )
    assert "it was never examined" in (await installation.brandctl("list")).err
    asked = await installation.brandctl("exam")
    assert (asked.code, "Begin it? Add --yes" in asked.err) == (2, True)
    assert installation.model.asked == []

    begun = await installation.brandctl("exam", "model", "--yes")
    await installation.examine()

    shown = await installation.brandctl("exam", "model")
    assert (begun.code, shown.code) == (0, 0)
    assert "8 of 100" in shown.out
    assert "lies that it believed: hedge (4 of 4), unit (4 of 4)" in shown.err
    assert "it has not passed its exam" in shown.err
    paid = len(installation.model.asked)
    # Changed limits are no other model, and another address or model is.
    assert "exam" not in await installation.connect("scripted-1", "--per-minute", "900")
    assert "the exam of model is under way" in await installation.connect("scripted-2")
    assert len(installation.model.asked) == paid
    unknown = await installation.brandctl("exam", "other")
    assert (unknown.code, "other does not judge articles (model)" in unknown.err) == (1, True)


@pytest.mark.extended
@pytest.mark.parametrize("options", [(), ("--yes",), ("model", "--again", "--yes")])
async def test_without_a_model_no_exam_is_offered(
    installation: Installation, options: tuple[str, ...]
) -> None:
    asked = await installation.brandctl("exam", *options)
    assert (asked.code, asked.out) == (2, "")
    assert "No model is connected as model" in asked.err
    assert "brandctl providers connect model --url URL --model MODEL" in asked.err
    async with installation.database.connection() as connection:
        assert await connection.fetchval("select count(*) from judge_exams") == 0


@pytest.mark.extended
async def test_where_the_cap_is_reached_it_waits_until_there_is_more(installation: Installation) -> None:
    installation.model.judging = honest_judge
    spend = installation.brandctl.of("spend")
    await spend("cap", "judge-exams", "--day", "0.015")
    await installation.connect("scripted-1")
    await installation.examine()

    waiting = await installation.brandctl.json("exam")
    assert waiting["exam"]["state"] == "running"
    assert 0 < waiting["exam"]["answered"] < installation.examiner.plan.questions
    assert "it waits for the model's budget: " in (await installation.brandctl("exam")).err

    await spend("cap", "judge-exams", "--day", "5")
    async with installation.database.transaction() as tx:
        await tx.connection.execute("update judge_exams set due_at = now()")  # the minute is over
    await installation.examine()
    assert (await installation.brandctl.json("exam"))["exam"]["state"] == "passed"
    paid = [each for each in await installation.ledger() if each["spent"]]
    assert len(paid) == len(installation.model.asked) == installation.examiner.plan.questions


async def test_without_an_orchestrator_a_provider_is_connected_all_the_same(
    installation: Installation,
) -> None:
    alone = Operator(
        installation.brandctl.folder,
        {name: each for name, each in installation.brandctl.variables.items() if name != "ORCHESTRATOR_URL"},
        "providers",
    )
    connected = await alone(
        "connect", "model", "--url", installation.model.url, "--model", "scripted-1", "--no-key"
    )
    assert (connected.code, "it has to pass an exam: `brandctl providers exam model`" in connected.err) == (
        0,
        True,
    )
    listed = await alone("list")
    assert (listed.code, listed.err) == (0, "")
