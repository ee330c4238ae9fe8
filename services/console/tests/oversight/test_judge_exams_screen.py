"""Exams of judges: what one costs, how far it is, what came of it, and who may begin one. Beside a real orchestrator."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from chassis.testing import running
from console.providers.exams import judge_lines
from orchestrator.app import build as build_orchestrator
from orchestrator.settings import Settings as OrchestratorSettings

EXAMS = "/providers/exams"
JUDGE = "judge <b>1</b>"
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'
ESTIMATE = {
    "version": "1",
    "questions": 4,
    "sentences": 10,
    "tokens_read": 1_000_001,
    "tokens_written": 2_000_000,
    "seconds": 90,
}


@pytest.fixture
async def orchestrator_url(orchestrator_database_url: str, broker_urls: dict[str, str]) -> AsyncIterator[str]:
    """With a model that judges, at an address at which nobody answers."""
    settings = {
        "database_url": orchestrator_database_url,
        "rabbitmq_url": broker_urls["orchestrator"],
        "service_key": "test-service-key-0123456789",
        "http_port": 0,
        "model_url": "http://127.0.0.1:9/v1",
        "model_name": JUDGE,
        "model_judge": True,
    }
    async with running(build_orchestrator(OrchestratorSettings.model_validate(settings))) as app:
        yield f"http://127.0.0.1:{app.port}"


def test_the_cost_is_that_of_the_provider_rounded_up_to_a_cent() -> None:
    judge = {"name": "small-1", "has_passed": False, "advice": "", "exam": None}
    told = {"items": [judge], "at_gateway": True, "estimate": ESTIMATE, "bar": None}
    prices = {"model": "small-1", "read_price": "0.25", "written_price": "2"}
    (line,) = judge_lines(told, [{"name": "model", "settings": prices}])
    assert (line.cost, line.is_connected, line.state) == (4_260_000, True, "none")
    (free,) = judge_lines(told, [{"name": "small-1", "settings": {"read_price": "0", "written_price": ""}}])
    assert free.cost == 0
    (alone,) = judge_lines(told, [{"name": "search", "settings": {"url": "https://x.example"}}])
    assert (alone.cost, alone.is_connected) == (None, False)
    (unknown,) = judge_lines(told, None)
    assert (unknown.cost, unknown.is_connected) == (None, True)


def test_the_lies_that_were_believed_most_come_first() -> None:
    kinds = {f"kind{number}": {"kept": number % 4, "total": 9} for number in range(8)}
    exam = {
        "state": "failed",
        "questions": 3,
        "answered": 3,
        "result": {"kinds": kinds},
    }
    judge = {"name": "small-1", "has_passed": False, "advice": "", "exam": exam}
    (line,) = judge_lines({"items": [judge], "at_gateway": False, "estimate": None, "bar": None}, [])
    assert [each[0] for each in line.believed] == ["kind3", "kind7", "kind2", "kind6", "kind1"]
    assert (line.percent, line.tone, line.cost) == (100, "bad", None)


@pytest.mark.extended
async def test_the_price_comes_first_and_an_exam_begins_once(
    console: Any, person: httpx.AsyncClient, orchestrator_database_url: str
) -> None:
    assert f'href="{EXAMS}"' in (await person.get("/providers")).text
    shown = (await person.get(EXAMS)).text
    assert "Never examined" in shown
    assert "Articles that rest on its word wait for a person." in shown
    assert "at its provider&#39;s price." in shown
    assert "Begin the exam of judge &lt;b&gt;1&lt;/b&gt;" in shown
    begun = [await person.post(f"{EXAMS}/begin", data={"once": "e1", "judge": JUDGE}) for _ in range(2)]
    assert {each.headers["location"] for each in begun} == {EXAMS}
    exam = (await console.orchestrator.list_judges())["items"][0]["exam"]
    assert (exam["begun_by"], exam["state"]) == ("ada", "running")
    under_way = (await person.get(EXAMS)).text
    assert "Exam under way" in under_way
    assert f"0 of {exam['questions']} questions are answered." in under_way
    assert "Begin the exam" not in under_way

    connection = await asyncpg.connect(orchestrator_database_url)
    try:
        await connection.execute(
            "update judge_exams set state = 'failed', ended_at = now(), problem = $1, waits_for = null",
            HOSTILE,
        )
    finally:
        await connection.close()
    ended = (await person.get(EXAMS)).text
    assert "It ended without a result: &lt;script&gt;" in ended
    assert "Examine judge &lt;b&gt;1&lt;/b&gt; again" in ended
    unknown = await person.post(f"{EXAMS}/begin", data={"once": "e2", "judge": "nobody <i>"})
    assert (unknown.status_code, 'role="alert"' in unknown.text, "<i>" in unknown.text) == (404, True, False)
    assert (await person.get(f"{EXAMS}/begin")).headers["location"] == EXAMS


@pytest.mark.extended
async def test_who_may_not_run_the_installation_begins_none(console: Any, acme: None, another: Any) -> None:
    async with another("editor") as eve:
        assert (await eve.get(EXAMS)).status_code == 403
        assert (await eve.post(f"{EXAMS}/begin", data={"once": "x", "judge": JUDGE})).status_code == 403
    link = await console.invite("Olga", "operator", ["acme"])
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as olga:
        await olga.post(link, data={"name": "Olga", "password": "correct horse battery staple"})
        assert "for people who may see all of them" in (await olga.get(EXAMS)).text
        refused = await olga.post(f"{EXAMS}/begin", data={"once": "x", "judge": JUDGE})
        assert refused.status_code == 403
    assert (await console.orchestrator.list_judges())["items"][0]["exam"] is None


@pytest.mark.extended
@pytest.mark.parametrize("width", [360, 1280])
async def test_a_person_begins_an_exam_in_a_browser(
    console: Any, signed_in: Page, page_checks: Any, width: int
) -> None:
    page = signed_in
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(console.url + EXAMS)
    assert await page_checks.accessibility(page) == []
    async with page.expect_navigation():
        await page.get_by_role("button", name="Begin the exam of").click()
    assert "Exam under way" in await page.inner_text("main")
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page_checks.accessibility(page) == []
