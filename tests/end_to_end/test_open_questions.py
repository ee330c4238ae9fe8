"""Orchestrator and research on a real broker: research searches for an article's open questions, also after an outage."""

import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from chassis.testing import eventually, running
from orchestrator.app import build as build_orchestrator
from orchestrator.settings import Settings as OrchestratorSettings
from research.app import build as build_research
from research.settings import Settings as ResearchSettings
from tests.fixtures.models.scripted_model import ModelReply, ModelRequest, ScriptedModel, serving

KEY = "a-key-for-tests-only"
KEYWORD = "cold brew"
KNOWN = (
    """Cold brew is coffee that was steeped in cold water. Cold brew takes twelve hours at room temperature.
    Fine grounds make cold brew cloudy and bitter. A cloth filter holds the grounds of cold brew back.""",
    """Cold brew tastes milder than hot coffee from a filter. Less acid dissolves while cold brew stands in a jar.
    Most people dilute cold brew with as much water. Milk rounds the bitter notes of cold brew off.""",
    """Dark beans give cold brew a taste of chocolate. Light beans give cold brew a taste of berries.
    One part of beans for cold brew needs eight parts of water. Soft water suits cold brew better than hard water.""",
)
TAP = """Nitro brew is served from a tap under nitrogen. The nitrogen gives nitro brew a foam like that of stout.
    A tap for nitro brew has a plate with small holes. Bars serve nitro brew without ice and without milk."""
QUESTION = "How is nitro brew served from a tap?"


class ReadingModel(ScriptedModel):
    """Writes what its passages say, a section for each, and leaves a question open, once it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    def reply(self, asked: ModelRequest) -> ModelReply:
        if asked.shape == "SecondReading":
            return super().reply(asked)
        return ModelReply(json.dumps(getattr(self, f"_{asked.shape.lower()}")(asked.data)))

    def _brief(self, _: Any) -> dict[str, Any]:
        return {"angle": "What it is.", "questions": ["What is it?"]}

    def _outline(self, data: Any) -> dict[str, Any]:
        assert self.may_go_on.wait(60)
        sections = [
            {"heading": each["text"][:30], "question": "What is it?", "passages": [each["id"]], "words": 100}
            for each in data["passages"]
        ]
        if "open" in data:
            sections.append({"heading": "Nitro brew", "question": QUESTION, "passages": [], "words": 100})
        return {"through_line": "", "sections": sections[:8]}

    def _sectiondraft(self, data: Any) -> dict[str, Any]:
        (passage,) = data["passages"]
        sentences = [f"{each.rstrip('.')}." for each in passage["text"].split(". ")]
        said = [{"text": each, "passages": [passage["id"]]} for each in sentences]
        return {"paragraphs": [{"sentences": said, "exhibit": ""}]}

    def _mendedsentences(self, _: Any) -> dict[str, Any]:
        return {"sentences": []}

    def _editedarticle(self, _: Any) -> dict[str, Any]:
        return {"sections": [{"paragraphs": [{"sentences": [{"text": "-", "of": []}]}]}]}

    def _front(self, _: Any) -> dict[str, Any]:
        return {"title": "Cold brew", "description": KNOWN[0].split(". ")[0] + ".", "key_points": []}


@pytest.mark.extended
async def test_research_that_was_away_answers_the_open_question_of_an_article(
    broker_urls: dict[str, str],
    make_database: Callable[[str], Awaitable[str]],
    free_port: Callable[[], int],
    tmp_path: Path,
) -> None:
    for n, text in enumerate(KNOWN):
        (tmp_path / f"{n}.md").write_text(f"# Coffee {n}\n\n{' '.join(text.split())}\n")
    (tmp_path / "tap.md").write_text(f"# At the bar\n\n{' '.join(TAP.split())}\n")
    research_port, port = free_port(), free_port()
    common = {"service_key": SecretStr(KEY)}
    research_settings = ResearchSettings(
        rabbitmq_url=broker_urls["research"],
        database_url=await make_database("research"),
        http_port=research_port,
        corpus=tmp_path,
        **common,
    )
    with serving(ReadingModel) as model:
        settings = OrchestratorSettings(
            rabbitmq_url=broker_urls["orchestrator"],
            database_url=await make_database("orchestrator"),
            http_port=port,
            research_url=f"http://127.0.0.1:{research_port}",
            model_url=model.url,
            model_context_tokens=32_768,
            **common,
        )
        client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers={"X-Service-Key": KEY}, timeout=60
        )
        async with running(build_orchestrator(settings)), client:
            brand = {"name": "Acme", "writer": "model"}
            (await client.put("/v1/brands/acme", json=brand)).raise_for_status()
            async with running(build_research(research_settings)):
                begun = await client.post("/v1/brands/acme/research", json={"keywords": [KEYWORD]})
                await eventually(lambda: any(each.shape == "Outline" for each in model.asked))
            # The request goes to a queue that nobody reads.
            model.may_go_on.set()
            cycle = f"/v1/cycles/{begun.json()['cycle_id']}"

            async def keyword() -> dict[str, Any]:
                (one,) = (await client.get(cycle)).json()["keywords"]
                return dict(one)

            async def waits() -> bool:
                return "research" in ((await keyword())["waits"] or "")

            await eventually(waits)
            async with running(build_research(research_settings)):
                await eventually(lambda: _ended(keyword))
            content = (await client.get(f"/v1/content/{(await keyword())['content_id']}")).json()

    assert "The nitrogen gives nitro brew a foam like that of stout." in content["body_markdown"]
    assert {each["path"] for each in content["sources"]} == {"0.md", "1.md", "2.md", "tap.md"}
    outlines = [asked.data for asked in model.asked if asked.shape == "Outline"]
    assert [("open" in each, "plan" in each) for each in outlines] == [(True, False), (False, True)]


async def _ended(keyword: Callable[[], Awaitable[dict[str, Any]]]) -> bool:
    state = (await keyword())["state"]
    assert state in {"writing", "needs_review"}, await keyword()
    return bool(state == "needs_review")
