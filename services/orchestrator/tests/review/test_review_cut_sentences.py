"""Sentences that the checks cut from a model's draft: an editor sees them, and may keep one in their own name."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from chassis.http.problem_codes import RefusalError
from orchestrator.article_workflow.text_checks import TextChecks
from writing import Article
from writing.article import ArticleEvidence, CitedPassage, CutPlace, CutSentence, KeptSentence

MADE = "How this was made: written by a language model (m-1) from 1 sources; a program kept only sentences that hold."
ARTICLE = Article(
    title="Cold brew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="Cold brew steeps for twelve hours. [1] It tastes mild. [1]",
    word_count=9,
    key_points=("It tastes mild.",),
    cited=(1,),
    label=f"{MADE} No person has reviewed it.",
    evidence=ArticleEvidence(
        (
            KeptSentence("Cold brew steeps for twelve hours.", "", (1,), ("s1p1",), "held", "rules"),
            KeptSentence("It tastes mild.", "", (1,), ("s1p1",), "confirmed", "judge-1"),
        ),
        (
            CutSentence(
                "It keeps for a month.",
                "",
                ("s1p1",),
                "not_said",
                "a second reader found that its passages do not say it",
                "It keeps for two weeks.",
                "Cold brew steeps for twelve hours.",
                CutPlace.BEHIND,
            ),
            CutSentence(
                "It tastes mild.", "", ("s1p1",), "repeated", "it says again what was said before", ""
            ),
            CutSentence("Store it cold.", "Storage", ("s1p1",), "section", "too few others hold", ""),
        ),
        {"s1p1": CitedPassage(1, ("Coffee",), "Steep it for twelve hours. It keeps for two weeks.")},
    ),
)
KEPT = "Cold brew steeps for twelve hours. [1] It keeps for a month. It tastes mild. [1]\n"
SENTENCE = "One sentence that the program had left out stands in the editor's own name."


@pytest.fixture
async def draft(make_waiting: Any) -> Any:
    return await make_waiting(article=ARTICLE)


async def key(api: httpx.AsyncClient, name: str, **more: Any) -> dict[str, str]:
    asked = {"name": name, "scopes": ["read", "review"], **more}
    made = (await api.post("/v1/keys", json=asked)).raise_for_status().json()
    return {"Authorization": f"Bearer {made['key']}"}


async def keep(draft: Any, caller: dict[str, str] | None = None, **body: Any) -> httpx.Response:
    """Asks as a key, or as the service."""
    path = f"/v1/drafts/{draft.content_id}/keep"
    asked = {"version": 1, "number": 1, **body}
    if caller is None:
        return await draft.api.post(path, json=asked)
    async with httpx.AsyncClient(base_url=draft.api.base_url, headers=caller) as client:
        return await client.post(path, json=asked)


async def evidence(draft: Any, **query: Any) -> dict[str, Any]:
    return (await draft.api.get(f"/v1/content/{draft.content_id}/evidence", params=query)).json()


async def test_an_editor_sees_what_was_cut_where_it_stood_why_and_what_the_sources_say(draft: Any) -> None:
    cuts = (await draft.draft())["cuts"]

    assert cuts[0] == {
        "number": 1,
        "text": "It keeps for a month.",
        "heading": "",
        "after": "Cold brew steeps for twelve hours.",
        "passages": ["s1p1"],
        "sources": [1],
        "reason": "not_said",
        "problem": "a second reader found that its passages do not say it",
        "nearest": "It keeps for two weeks.",
        "kept_by": None,
        "kept_at": None,
    }
    assert [(each["number"], each["heading"]) for each in cuts] == [(1, ""), (2, ""), (3, "Storage")]
    assert (await evidence(draft))["cuts"] == cuts


async def test_a_kept_sentence_stands_at_its_place_in_the_name_of_the_editor(draft: Any) -> None:
    ann = await key(draft.api, "ann")
    kept = await keep(draft, ann, comment="we measured it")
    again = await keep(draft, ann, comment="we measured it")
    later = await keep(draft, ann, version=2)

    assert (kept.status_code, kept.json()["version"], kept.json()["made_by"]) == (200, 2, "ann")
    assert kept.json()["state"] == "waiting"
    assert again.json() == kept.json() == later.json(), "pressed twice, it is kept once"
    version = (await draft.api.get(f"/v1/content/{draft.content_id}/versions/2")).json()
    assert (version["body_markdown"], version["why"]) == (KEPT, "we measured it")
    found = await evidence(draft)
    assert [(each["text"], each["verdict"], each["given_by"]) for each in found["sentences"]] == [
        ("Cold brew steeps for twelve hours.", "held", "rules"),
        ("It keeps for a month.", "kept", "ann"),
        ("It tastes mild.", "confirmed", "judge-1"),
    ]
    cut = (await draft.draft())["cuts"][0]
    assert (cut["kept_by"], cut["kept_at"], cut["reason"]) == (
        "ann",
        found["cuts"][0]["kept_at"],
        "not_said",
    )
    assert cut["kept_at"] is not None
    before = await evidence(draft, version=1)
    assert [each["kept_by"] for each in before["cuts"]] == [None, None, None]


async def test_the_page_says_how_many_sentences_stand_in_the_editors_name(draft: Any) -> None:
    await keep(draft)
    assert (await draft.article())["label"] == f"{MADE} A person has edited it. {SENTENCE}"
    await keep(draft, version=2, number=3)
    await draft.decide("approve", version=3)

    article = await draft.article()
    assert article["label"] == (
        f"{MADE} A person has edited it. 2 sentences that the program had left out stand in the editor's own name."
    )
    assert article["body_markdown"] == f"{KEPT}\nStore it cold.\n"


async def test_an_edit_keeps_and_drops_sentences_alike(draft: Any) -> None:
    await draft.decide("edit", version=1, body_markdown=KEPT)
    assert (await evidence(draft))["cuts"][0]["kept_by"] == "service"

    await draft.decide("edit", version=2, title="Colder brew")
    assert (await draft.article())["label"].endswith(SENTENCE)

    await draft.decide("edit", version=3, body_markdown=ARTICLE.body_markdown)
    assert (await draft.article())["label"] == f"{MADE} A person has edited it."
    found = await evidence(draft)
    assert ([each["verdict"] for each in found["sentences"]], found["cuts"][0]["kept_by"]) == (
        ["held", "confirmed"],
        None,
    )
    assert (await keep(draft, version=4)).json()["version"] == 5


async def test_of_two_editors_at_once_one_hears_of_the_other(draft: Any) -> None:
    names = [await key(draft.api, name) for name in ("ann", "bob")]
    answers = await asyncio.gather(*(keep(draft, name) for name in names))

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    winner = next(answer for answer in answers if answer.status_code == 200).json()["made_by"]
    (loser,) = {"ann", "bob"} - {winner}
    told = next(answer for answer in answers if answer.status_code == 409).json()["detail"]
    assert told.startswith(f"version 2 was made by {winner} on ")
    late = await keep(draft, names[["ann", "bob"].index(loser)], version=2)
    assert (late.status_code, late.json()["detail"]) == (409, f"{winner} keeps this sentence already")


async def test_a_published_article_gets_it_after_an_approval(make_waiting: Any) -> None:
    published = await make_waiting(held_for=(), article=ARTICLE)
    kept = (await keep(published)).json()
    assert (kept["state"], kept["stands"], kept["version"]) == ("correction", 1, 2)
    assert (await evidence(published))["version"] == 1
    assert (await published.draft())["cuts"][0]["kept_by"] == "service", "the newest version is reviewed"
    assert (await evidence(published, version=2))["cuts"][0]["kept_by"] == "service"


@pytest.mark.extended
@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"number": 4}, 404, "the checks cut 3 sentences from this article, and 4 is none of them"),
        ({"number": 2}, 422, "has this very sentence already"),
        ({"number": 0}, 422, "number"),
        ({"version": 2}, 404, "there is no version 2"),
        ({"text": "x"}, 422, "not a field"),
    ],
)
async def test_what_cannot_be_kept_is_refused(
    draft: Any, body: dict[str, Any], status: int, told: str
) -> None:
    answer = await keep(draft, **body)
    assert (answer.status_code, told in json.dumps(answer.json())) == (status, True)
    assert (await draft.draft())["version"] == 1


async def test_only_who_may_review_the_brand_keeps_sentences(draft: Any) -> None:
    (await draft.api.put("/v1/brands/other", json={"name": "Other"})).raise_for_status()
    reader = await keep(draft, await key(draft.api, "reader", scopes=["read", "operate"]))
    other = await keep(draft, await key(draft.api, "other", brands=["other"]))
    assert (reader.status_code, other.status_code) == (403, 404)
    assert (await keep(draft, {})).status_code == 401


async def test_a_sentence_that_no_page_may_have_cannot_be_kept(make_waiting: Any) -> None:
    assert ARTICLE.evidence is not None
    hidden = replace(ARTICLE.evidence.cuts[0], text="It keeps \u202efor a month.")
    long = replace(ARTICLE, body_markdown="x" * 99_990, evidence=replace(ARTICLE.evidence, cuts=(hidden,)))
    draft = await make_waiting(article=long)
    answer = await keep(draft)
    assert (answer.status_code, answer.json()["code"]) == (422, "unusable_text")


async def test_who_kept_a_sentence_goes_with_the_article(draft: Any) -> None:
    await keep(draft, await key(draft.api, "ann-the-editor"))
    await draft.decide("delete", reason="It was about a person.")
    async with draft.database.connection() as connection:
        for table in ("content", "content_versions", "decisions"):
            found = await connection.fetchval(
                f"select count(*) from {table} as t where t::text like '%ann-the-editor%'"
            )
            assert found == 0


async def test_each_sentence_of_a_version_has_its_verdict_also_those_that_a_person_changed(
    draft: Any,
) -> None:
    body = "Cold brew steeps for thirty hours. [1] It tastes mild. [1]"
    (await draft.decide("edit", version=1, body_markdown=body)).raise_for_status()
    path = f"/v1/content/{draft.content_id}/sentences"
    first = (await draft.api.get(path, params={"version": 1})).json()
    second = (await draft.api.get(path)).json()

    assert [each["verdict"] for each in first["blocks"][0]["sentences"]] == ["held", "confirmed"]
    assert (first["carried"], first["total"], first["version"]) == (2, 2, 1)
    assert first["passages"]["s1p1"]["text"] == "Steep it for twelve hours. It keeps for two weeks."
    assert [each["verdict"] for each in second["blocks"][0]["sentences"]] == ["unsupported", "confirmed"]
    assert (second["carried"], second["total"], second["version"]) == (1, 2, 2)
    assert (await draft.api.get(path, params={"version": 9})).status_code == 404


async def test_a_text_that_is_typed_is_checked_and_nothing_is_stored(draft: Any) -> None:
    path = f"/v1/content/{draft.content_id}/check"
    body = "Cold brew steeps for thirty hours. [1] It tastes mild. [1] It keeps for two weeks. [1]\n"
    answer = await draft.api.post(path, json={"body_markdown": body, "version": 1})

    found = answer.json()
    assert (answer.status_code, found["carried"], found["total"], found["version"]) == (200, 2, 3, 1)
    (sentence,) = found["to_look_at"]
    assert (sentence["text"], sentence["verdict"]) == ("Cold brew steeps for thirty hours.", "unsupported")
    assert body[sentence["start"] : sentence["end"]] == sentence["text"]
    assert (await draft.draft())["version"] == 1
    (await draft.api.put("/v1/brands/other", json={"name": "Other"})).raise_for_status()
    reader = await key(draft.api, "reader", scopes=["read"])
    of_another = await key(draft.api, "other", scopes=["read"], brands=["other"])
    async with httpx.AsyncClient(base_url=draft.api.base_url) as client:
        statuses = [
            (await client.post(path, json={"body_markdown": text}, headers=caller)).status_code
            for caller, text in ((reader, body), (of_another, body), ({}, body), (reader, "x" * 100_001))
        ]
    assert statuses == [200, 404, 401, 422]
    assert (await draft.api.post(path, json={"body_markdown": body, "version": 9})).status_code == 404
    log = (await draft.api.get("/v1/audit-log")).json()["items"]
    assert not [each for each in log if each["operation"].endswith("/check")]


async def test_of_many_texts_at_once_one_is_checked_at_a_time_and_too_many_are_refused(draft: Any) -> None:
    checks = TextChecks(draft.database, most_waiting=3)
    text = " ".join(f"Brewer {at} steeps tea for {at} hours. [1]" for at in range(40))
    answers = await asyncio.gather(
        *(
            checks.check(caller, draft.content_id, None, text)
            for caller in ("ann", "ann", "ann", "bob", "cid")
        ),
        return_exceptions=True,
    )
    refused = [each for each in answers if isinstance(each, RefusalError)]
    assert [isinstance(each, RefusalError) for each in answers] == [False, False, True, False, True]
    assert {each.status_code for each in refused} == {429}
    assert (await checks.check("ann", draft.content_id, None, text)) is not None, "it goes on afterwards"
