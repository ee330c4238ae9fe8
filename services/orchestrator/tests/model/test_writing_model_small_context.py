"""What models of a small context are asked: no plan, in fewer words, within bounds that end before their answer is cut off."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from pydantic import SecretStr, TypeAdapter

from chassis.http.client import UnavailableError
from messaging import Dependency
from orchestrator.article_workflow.model_chat import ChatClient
from tests.fixtures.models.scripted_model import ScriptedModel
from writing import ArticleSource, BrandWishes, SourcePassage
from writing.model import prompts
from writing.model.answers import (
    AnswerShape,
    DraftSentence,
    Front,
    MendedSentences,
    SectionDraft,
    json_schema,
)
from writing.model.writer import ModelWriter
from writing.writer import UnsupportedDraftError

SHORTEST_TOKEN = 3
"""Characters, on the average, in English."""
SMALL = 2_048
PASSAGE = SourcePassage(
    None, "Cold brew steeps for twelve hours. It tastes mild. Paper filters hold oil back.", 1.0
)
OTHER_PASSAGE = SourcePassage(
    None, "Hot coffee drips for four minutes. It tastes sharp. Metal filters let fine grounds through.", 0.9
)
SOURCES = tuple(ArticleSource(n=n, title=f"Source {n}", passages=(PASSAGE,)) for n in (1, 2, 3))


class Desk:
    """Keeps nothing: no answer is requested twice here."""

    brand_slug = "acme"
    wishes = BrandWishes(min_sources=3, tone="Friendly", audience="Beginners")
    comment = ""

    async def step(
        self, name: str, result_type: TypeAdapter[Any], work: Callable[[str], Awaitable[Any]]
    ) -> Any:
        return await work(name)

    async def earlier_titles(self) -> tuple[str, ...]:
        return ()

    async def trusts_one_of(self, judges: Any) -> bool:
        return True

    async def find_sources(self, questions: Any) -> tuple[ArticleSource, ...]:
        return ()


def writer(model: ScriptedModel, context_tokens: int) -> ModelWriter:
    away = Dependency("model", outages=(UnavailableError,), shortest_pause=0.01)
    chat = ChatClient(model.url, SecretStr("k" * 20), model="default", timeout_seconds=20, dependency=away)
    return ModelWriter(chat, Desk(), context_tokens)


def longest(schema: dict[str, Any], told: dict[str, Any]) -> Any:
    """The longest document that the schema allows."""
    if reference := told.get("$ref"):
        return longest(schema, schema["$defs"][reference.rpartition("/")[2]])
    match told:
        case {"enum": [*ids]}:
            return max(ids, key=len)
        case {"type": "string", "maxLength": bound}:
            return "x" * bound
        case {"type": "integer", "maximum": bound}:
            return bound
        case {"type": "array", "maxItems": bound, "items": items}:
            return [longest(schema, items)] * bound
        case {"type": "object", "properties": fields}:
            return {name: longest(schema, each) for name, each in fields.items()}
    raise AssertionError(f"without bound: {told}")


@pytest.mark.parametrize("shape", [SectionDraft, MendedSentences, Front])
def test_the_longest_answer_to_a_small_model_is_not_cut_off(shape: type[AnswerShape]) -> None:
    asked = json_schema(shape, passages=("s1p1", "s10p10"), compact=True)["json_schema"]["schema"]

    answer = json.dumps(longest(asked, asked))

    assert len(answer) <= SMALL // 4 * SHORTEST_TOKEN
    shape.model_validate_json(answer)


async def test_a_small_model_is_told_less_and_its_answers_are_bounded(model: ScriptedModel) -> None:
    said = DraftSentence(text="Cold brew steeps for twenty hours. Cold brew steeps for", passages=("s1p1",))
    model.replies["SectionDraft"] = [{"paragraphs": [{"sentences": [said.model_dump()]}]}]

    with pytest.raises(UnsupportedDraftError, match="do not say “twenty”, but “twelve”"):
        await writer(model, SMALL).write(
            keyword="cold brew", sources=SOURCES[:1], brand_name="Acme", language="en"
        )

    assert [asked.shape for asked in model.asked] == ["SectionDraft", "MendedSentences"]
    assert {asked.messages[0]["content"] for asked in model.asked} == {prompts.SHORT_RULES}
    (rejected,) = model.asked[-1].data["sentences"]
    assert rejected["text"] == "Cold brew steeps for twenty hours."
    assert rejected["nearest"] == "Cold brew steeps for twelve hours."


async def test_only_passages_that_were_shown_can_be_cited_and_short_answers_get_less_room(
    model: ScriptedModel,
) -> None:
    planned = {"heading": "Cold brew", "question": "What is it?", "passages": ["s2p1", "s3p1", "s9p9"]}
    model.replies["Outline"] = [{"sections": [planned]}]
    model.replies["SectionDraft"] = [
        {"paragraphs": [{"sentences": [{"text": "Cold brew tastes mild.", "passages": ["s2p1"]}]}]}
    ]

    with pytest.raises(UnsupportedDraftError, match="nothing of the draft"):
        await writer(model, 16_384).write(
            keyword="cold brew", sources=SOURCES, brand_name="Acme", language="en"
        )

    asked = {each.shape: each for each in model.asked}
    assert ids(asked["Outline"].schema, "PlannedSection") == ["s1p1", "s2p1", "s3p1"]
    assert ids(asked["SectionDraft"].schema, "DraftSentence") == ["s2p1", "s3p1"]
    assert asked["Brief"].max_tokens == 2_048
    assert asked["SectionDraft"].max_tokens == 4_096


def ids(schema: Mapping[str, Any], name: str) -> list[str]:
    allowed: list[str] = schema["$defs"][name]["properties"]["passages"]["items"]["enum"]
    return allowed


async def test_what_a_small_model_writes_from_is_planned_without_it(model: ScriptedModel) -> None:
    many = tuple(ArticleSource(n=n, title="T", passages=(PASSAGE, OTHER_PASSAGE)) for n in range(1, 5))
    said = {"text": "Cold brew is tea.", "passages": ["s1p1"]}
    model.replies["SectionDraft"] = [{"paragraphs": [{"sentences": [said]}]}] * 3

    with pytest.raises(UnsupportedDraftError):
        await writer(model, SMALL).write(keyword="cold brew", sources=many, brand_name="Acme", language="en")

    shown = [
        [passage["id"] for passage in asked.data["passages"]]
        for asked in model.asked
        if asked.shape == "SectionDraft"
    ]
    assert shown == [["s1p1", "s2p1", "s3p1"], ["s4p1", "s1p2", "s2p2"], ["s3p2", "s4p2"]]
