"""A judge reads a person's changes after they are saved: questions, consequences, payments and waits."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.requests import Request

from chassis.http.callers import SERVICE, Caller
from chassis.http.client import UnavailableError
from chassis.testing import serving
from envelope.brand.settings import BrandSettings
from messaging import Database, Dependency
from orchestrator.api import http_api
from orchestrator.article_workflow.model_chat import ChatClient
from orchestrator.brands import upsert_brand
from orchestrator.review.edit_reader import MOST_ATTEMPTS, EditReader
from tests.fixtures.models.scripted_model import ModelReply, ScriptedModel
from writing import Article
from writing.article import ArticleEvidence, CitedPassage, KeptSentence

PASSAGE = "Hoover Dam was completed in 1936. It rises 221 metres above the Colorado River. Frank Crowe directed the building for Six Companies."
HELD = "Hoover Dam was completed in 1936."
OTHER_WORDS = "For Six Companies, Frank Crowe was in charge of the building."
NO_WORDS = "Frank Crowe was not in charge of the building for Six Companies."
ARTICLE = Article(
    title="The dam",
    slug="the-dam",
    meta_description="How it was built.",
    body_markdown="It rises 221 metres above the Colorado River. [1]",
    word_count=8,
    key_points=("It rises.",),
    cited=(1,),
    evidence=ArticleEvidence(
        (
            KeptSentence(
                "It rises 221 metres above the Colorado River.", "", (1,), ("s1p1",), "held", "rules"
            ),
        ),
        (),
        {"s1p1": CitedPassage(1, ("The dam",), PASSAGE)},
    ),
)
EDITED = f"{ARTICLE.body_markdown}\n\n{OTHER_WORDS} [1] {NO_WORDS} [1]\n"


def reader_of(database: Database, model: ScriptedModel) -> EditReader:
    away = Dependency("judge", outages=(UnavailableError,), shortest_pause=0.01)
    chat = ChatClient(model.url, SecretStr("k" * 20), model="judge", timeout_seconds=20, dependency=away)
    return EditReader(database, [chat], max_tokens=4_096, room=24_000, lease=timedelta(minutes=5))


@pytest.fixture
async def judged_api(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API of a service with a judge."""

    async def authorise(_: Request) -> Caller:
        return SERVICE

    app = http_api(orchestrator_database, authorise, judges=["judge"])
    async with serving(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        yield client


@pytest.fixture
async def draft(make_waiting: Any, orchestrator_database: Database) -> Any:
    draft = await make_waiting(article=ARTICLE)
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(tx.connection, "acme", BrandSettings(name="Acme", writer="model"))
    return draft


async def edit(api: httpx.AsyncClient, draft: Any, version: int = 1, body: str = EDITED) -> None:
    path = f"/v1/drafts/{draft.content_id}/edit"
    (await api.post(path, json={"version": version, "body_markdown": body})).raise_for_status()


async def verdicts(draft: Any) -> dict[str, tuple[str, str]]:
    found = (await draft.api.get(f"/v1/content/{draft.content_id}/sentences")).json()
    return {
        each["text"]: (each["verdict"], each["given_by"])
        for block in found["blocks"]
        for each in block["sentences"]
    }


async def reading(draft: Any) -> dict[str, Any] | None:
    found: dict[str, Any] | None = (await draft.draft())["reading"]
    return found


@pytest.mark.extended
async def test_what_a_person_changed_is_read_after_saving_and_only_what_might_hold_is_asked(
    draft: Any, judged_api: httpx.AsyncClient, model: ScriptedModel
) -> None:
    await edit(judged_api, draft)
    await edit(judged_api, draft)  # the same again
    assert (await verdicts(draft))[OTHER_WORDS] == ("unsupported", "rules")
    assert await reading(draft) == {"state": "waiting", "waits_for": None, "problem": None}

    reader = reader_of(draft.database, model)
    assert await reader.read_next() is not None
    assert await reader.read_next() is None

    (asked,) = model.asked
    assert [each["text"] for each in asked.data["sentences"]] == [OTHER_WORDS]
    assert asked.headers["X-Brand"] == "acme"
    found = await verdicts(draft)
    assert (found[OTHER_WORDS], found[NO_WORDS]) == (("confirmed", "scripted-1"), ("unsupported", "rules"))
    assert await reading(draft) == {"state": "done", "waits_for": None, "problem": None}
    # What was read once is not paid for again.
    await edit(judged_api, draft, 2, f"{EDITED}\n{HELD} [1]\n")
    await reader.read_next()
    assert len(model.asked) == 1, "a sentence that stands in the passage word for word needs nobody"
    assert (await verdicts(draft))[OTHER_WORDS] == ("confirmed", "scripted-1")


async def test_what_the_judge_refuses_is_marked_and_may_be_published(
    draft: Any, judged_api: httpx.AsyncClient, model: ScriptedModel
) -> None:
    refused = {"number": 1, "claims": [], "why": "directed only until 1935", "finding": "says_more"}
    model.replies["SecondReading"] = [{"readings": [refused]}]
    await edit(judged_api, draft)
    await reader_of(draft.database, model).read_next()

    found = (await draft.api.get(f"/v1/content/{draft.content_id}/sentences")).json()
    (sentence,) = [
        each for block in found["blocks"] for each in block["sentences"] if each["text"] == OTHER_WORDS
    ]
    assert (sentence["verdict"], sentence["given_by"]) == ("unsupported", "scripted-1")
    assert "directed only until 1935" in sentence["problem"]
    (await draft.decide("approve", version=2)).raise_for_status()


@pytest.mark.extended
async def test_a_judge_that_is_away_is_waited_for_and_one_that_fails_leaves_the_rules_verdicts(
    draft: Any, judged_api: httpx.AsyncClient, model: ScriptedModel
) -> None:
    model.replies["SecondReading"] = [ModelReply(status=503), *[ModelReply(raw=b"?")] * MOST_ATTEMPTS]
    reader = reader_of(draft.database, model)
    await edit(judged_api, draft)
    await reader.read_next()
    waits = await reading(draft)
    assert waits is not None
    assert (waits["state"], bool(waits["waits_for"])) == ("waiting", True)
    for _ in range(MOST_ATTEMPTS):
        async with draft.database.transaction() as tx:
            await tx.connection.execute("update edit_readings set due_at = now()")
        await reader.read_next()
    ended = await reading(draft)
    assert ended is not None
    assert (ended["state"], "in vain" in (ended["problem"] or "")) == ("failed", True)
    assert (await verdicts(draft))[OTHER_WORDS] == ("unsupported", "rules")


async def test_without_a_judge_or_for_a_brand_of_digests_nothing_is_asked(
    draft: Any, judged_api: httpx.AsyncClient, model: ScriptedModel, make_waiting: Any
) -> None:
    await edit(draft.api, draft)
    digest = await make_waiting("the dam again", article=replace(ARTICLE, slug="again"))
    await edit(judged_api, digest)
    assert (await reading(draft), await reading(digest)) == (None, None)
    assert await reader_of(draft.database, model).read_next() is None
    assert model.asked == []
