"""The HTTP API over real HTTP, on a real database."""

import json
from dataclasses import asdict
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envelope import new_event_id
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from writing import Article, ArticleSource
from writing.article import ArticleEvidence, CitedPassage, CutSentence, KeptSentence
from writing.quality.measures import Measure

BRAND = {"name": "The Daily Grind", "description": "Home coffee.", "channels": ["feed"]}


@pytest.fixture
async def brand(api: httpx.AsyncClient) -> str:
    (await api.put("/v1/brands/daily-grind", json=BRAND)).raise_for_status()
    return "daily-grind"


async def refused(response: httpx.Response, status: int) -> str:
    assert response.status_code == status, response.text
    body = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert set(body) - {"errors"} == {"type", "title", "status", "code", "detail"}
    assert body["status"] == status
    assert body["type"] in {"about:blank", f"urn:brand-engine:problem:{body['code']}"}
    assert isinstance(body["detail"], str)
    return body["detail"]


async def test_a_brand_is_created_once_and_replaced_after_that(api: httpx.AsyncClient) -> None:
    created = await api.put("/v1/brands/daily-grind", json=BRAND)
    again = await api.put("/v1/brands/daily-grind", json=BRAND)
    wishes = {"tone": "Plain.", "audience": "Beginners.", "words": 800}
    changed = await api.put("/v1/brands/daily-grind", json=BRAND | {"name": "New", "channels": []} | wishes)
    read = await api.get("/v1/brands/daily-grind")

    assert (created.status_code, created.headers["location"]) == (201, "/v1/brands/daily-grind")
    assert (again.status_code, again.json()) == (200, created.json())
    assert changed.json()["channels"] == []
    assert [created.json()[wish] for wish in wishes] == ["", "", None]
    assert {wish: changed.json()[wish] for wish in wishes} == wishes
    assert changed.json()["created_at"] == created.json()["created_at"]
    assert read.json() == changed.json()
    assert read.headers["etag"] == changed.headers["etag"] != created.headers["etag"]


async def test_keywords_become_a_cycle_with_one_request_each(
    api: httpx.AsyncClient, brand: str, orchestrator_database: Database
) -> None:
    keywords = ["cold brew", " Cold  Brew ", "pour over"]
    response = await api.post(f"/v1/brands/{brand}/research", json={"keywords": keywords, "priority": "high"})

    accepted = response.json()
    assert response.status_code == 202
    assert accepted["total"] == 2
    assert response.headers["location"] == f"/v1/cycles/{accepted['cycle_id']}"
    cycle = (await api.get(response.headers["location"])).json()
    assert {
        name: cycle[name] for name in ("pending", "processing", "completed", "failed", "total", "percent")
    } == {
        "pending": 2,
        "processing": 0,
        "completed": 0,
        "failed": 0,
        "total": 2,
        "percent": 0,
    }
    assert cycle["state"] == "running"
    assert cycle["keywords"][0] == {
        "keyword": "cold brew",
        "distinct": False,
        "state": "queued",
        "reason": None,
        "waits": None,
        "waits_until": None,
        "content_id": None,
        "published_url": None,
        "has_standing_article": False,
        "posts": [],
        "placements": [],
    }
    async with orchestrator_database.connection() as connection:
        bodies = [json.loads(row["body"]) for row in await connection.fetch("select body from outbox")]
    assert {body["correlation_id"] for body in bodies} == {accepted["correlation_id"]}
    assert sorted(body["payload"]["keyword"] for body in bodies) == ["cold brew", "pour over"]
    assert {body["payload"]["priority"] for body in bodies} == {"high"}


async def test_an_unchanged_cycle_is_not_sent_again(api: httpx.AsyncClient, brand: str) -> None:
    accepted = await api.post(f"/v1/brands/{brand}/research", json={"keywords": ["tea"]})
    first = await api.get(accepted.headers["location"])

    etag = first.headers["etag"]
    for known in (etag, f'"other", W/{etag}', "*"):
        same = await api.get(accepted.headers["location"], headers={"If-None-Match": known})
        assert (same.status_code, same.content) == (304, b"")
    other = await api.get(accepted.headers["location"], headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


async def test_an_idempotency_key_begins_one_cycle(
    api: httpx.AsyncClient, brand: str, orchestrator_database: Database
) -> None:
    url, key = f"/v1/brands/{brand}/research", {"Idempotency-Key": "campaign 1"}
    first = await api.post(url, json={"keywords": ["tea", "TEA"]}, headers=key)
    again = await api.post(url, json={"keywords": ["tea", "TEA"]}, headers=key)
    other = await api.post(url, json={"keywords": ["coffee"]}, headers=key)
    bad = await api.post(url, json={"keywords": ["tea"]}, headers={"Idempotency-Key": "x" * 201})

    assert (again.status_code, again.json()) == (202, first.json())
    assert "used for another request" in await refused(other, 422)
    assert "Idempotency-Key" in await refused(bad, 422)
    async with orchestrator_database.connection() as connection:
        assert await connection.fetchval("select count(*) from outbox") == 1


async def test_a_thousand_long_keywords_are_taken_in_one_request(api: httpx.AsyncClient, brand: str) -> None:
    keywords = [f"{number:04}{'😀' * 195}" for number in range(1000)]
    body = json.dumps({"keywords": keywords})
    assert len(body) > 2_000_000

    response = await api.post(f"/v1/brands/{brand}/research", content=body)

    assert response.json()["total"] == 1000


@pytest.mark.extended
@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({"keywords": []}, "at least one keyword"),
        ({"keywords": ["tea", "  "]}, "keywords[1]: is blank"),
        ({"keywords": ["\u200b"]}, "no letter or digit"),
        ({"keywords": ["a" * 201]}, "201 characters, the limit is 200"),
        ({"keywords": [f"{number}" for number in range(10_001)]}, "10,001 entries, the limit is 10,000"),
        ({"keywords": ["a\x00b"]}, "control character"),
        ({"keywords": ["a\nb"]}, "control character"),
        ({"keywords": "tea"}, "keywords: must be a list"),
        ({"keywords": [1]}, "keywords[0]: must be a string"),
        ({"keywords": ["tea"], "priority": "urgent"}, "'high', 'normal' or 'low'"),
        ({"keywords": ["tea"], "colour": 1}, "colour: is not a field"),
        ({}, "keywords: is missing"),
        ([], "must be a JSON object"),
        (None, "JSON object"),
    ],
)
async def test_unusable_keywords_are_refused_with_a_sentence(
    api: httpx.AsyncClient, brand: str, body: Any, hint: str
) -> None:
    response = await api.post(f"/v1/brands/{brand}/research", json=body)

    assert hint in await refused(response, 422)


@pytest.mark.extended
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"keywords": ["\\ud800"]}',
        b"[" * 100_000,
        b'{"keywords": [NaN]}',
        b"null",
        b"0",
    ],
)
async def test_bodies_that_are_no_json_are_refused(api: httpx.AsyncClient, brand: str, body: bytes) -> None:
    await refused(await api.post(f"/v1/brands/{brand}/research", content=body), 422)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"name": " "}, "name"),
        ({"name": "a\x00"}, "control character"),
        ({"language": "English!"}, "language"),
        ({"channels": ["Feed"]}, "channels[0]"),
        ({"channels": ["feed"] * 21}, "20"),
        ({"target": ""}, "target"),
        ({"description": "\x00"}, "control character"),
        ({"naem": "x"}, "naem"),
        ({"tone": "x" * 301}, "300"),
        ({"audience": "x" * 301}, "300"),
        ({"words": 249}, "250"),
    ],
)
async def test_unusable_brands_are_refused_with_a_sentence(
    api: httpx.AsyncClient, changes: dict[str, Any], hint: str
) -> None:
    assert hint in await refused(await api.put("/v1/brands/daily-grind", json=BRAND | changes), 422)


@pytest.mark.extended
@pytest.mark.parametrize(
    "slug", ["Daily", "a--b", "-a", "a-", "a_b", "a" * 64, "a%00", "%ff", "a%0A", "%C3%A9"]
)
async def test_bad_slugs_are_refused(api: httpx.AsyncClient, slug: str) -> None:
    assert "slug" in await refused(await api.put(f"/v1/brands/{slug}", json=BRAND), 422)
    assert "slug" in await refused(await api.get(f"/v1/brands/{slug}"), 422)
    assert "slug" in await refused(
        await api.post(f"/v1/brands/{slug}/research", json={"keywords": ["tea"]}), 422
    )


async def test_what_does_not_exist_says_what_to_do(api: httpx.AsyncClient) -> None:
    unknown = "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"
    post = await api.post("/v1/brands/nobody/research", json={"keywords": ["tea"]})

    assert "PUT /v1/brands/nobody" in await refused(post, 404)
    assert "PUT /v1/brands/nobody" in await refused(await api.get("/v1/brands/nobody"), 404)
    assert unknown in await refused(await api.get(f"/v1/cycles/{unknown}"), 404)
    assert unknown in await refused(await api.get(f"/v1/content/{unknown}"), 404)
    assert "UUID" in await refused(await api.get("/v1/cycles/1"), 422)


@pytest.mark.extended
@pytest.mark.parametrize("key", [None, "", "wrong", "é"])
async def test_without_the_key_nothing_is_said_about_the_body(
    api: httpx.AsyncClient, key: str | None
) -> None:
    headers = [] if key is None else [(b"X-Service-Key", key.encode("latin-1"))]
    async with httpx.AsyncClient(base_url=api.base_url) as stranger:
        for method, path in (
            ("POST", "/v1/brands/daily-grind/research"),
            ("PUT", "/v1/brands/!"),
            ("GET", "/v1/cycles/x"),
            ("GET", "/v1/anything"),
        ):
            response = await stranger.request(method, path, content=b"{", headers=headers)
            assert "X-Service-Key" in await refused(response, 401)


async def test_large_bodies_are_refused_announced_or_not(api: httpx.AsyncClient, brand: str) -> None:
    async def chunks() -> Any:
        for _ in range(13):
            yield b" " * 1024 * 1024

    for method, url, size, shown in (
        ("POST", f"/v1/brands/{brand}/research", 12_500_000, "12.5 MB"),
        ("PUT", f"/v1/brands/{brand}", 64_000, "64 kB"),
    ):
        assert shown in await refused(await api.request(method, url, content=chunks()), 413)
        announced = await api.request(method, url, content=b" " * (size + 1))
        assert shown in await refused(announced, 413)


async def test_the_largest_batch_there_can_be_fits(api: httpx.AsyncClient, brand: str) -> None:
    keywords = [f"{number:04}{chr(0x2000B) * 196}" for number in range(1000)]
    body = json.dumps({"keywords": keywords, "priority": "normal"}, indent=4)
    accepted = await api.post(f"/v1/brands/{brand}/research", content=body)
    assert (accepted.status_code, accepted.json()["total"]) == (202, 1000)


@pytest.mark.extended
async def test_many_unknown_fields_are_not_looked_at_one_by_one(api: httpx.AsyncClient, brand: str) -> None:
    body = json.dumps({f"f{number}": 0 for number in range(150_000)})
    answer = await api.post(f"/v1/brands/{brand}/research", content=body)
    assert "more than 25,000 fields and entries" in await refused(answer, 422)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
_BODIES = st.one_of(
    st.binary(max_size=200),
    _JSON.map(json.dumps),
    # ensure_ascii writes surrogates as escapes, so they get past the encoding of the request.
    st.fixed_dictionaries(
        {"keywords": st.lists(st.text(st.characters(), max_size=30), max_size=5)},
        optional={"priority": st.sampled_from(["high", "normal", "low"]) | st.text()},
    ).map(json.dumps),
    st.fixed_dictionaries(
        {"name": st.text(max_size=20)},
        optional={
            "description": st.text(),
            "language": st.text(),
            "channels": st.lists(st.text()),
            "target": _JSON,
        },
    ).map(json.dumps),
)


@pytest.mark.extended
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=_BODIES, method=st.sampled_from(["PUT", "POST"]))
def test_no_body_is_too_strange_for_an_answer(fuzz: Any, body: bytes | str, method: str) -> None:
    status = fuzz(method, body)

    assert status in {200, 201, 202, 404, 422}


@pytest.fixture
def fuzz(live_api: httpx.Client) -> Any:
    live_api.put("/v1/brands/fuzzed", json=BRAND).raise_for_status()

    def ask(method: str, body: bytes | str) -> int:
        path = "/v1/brands/fuzzed" if method == "PUT" else "/v1/brands/fuzzed/research"
        return live_api.request(method, path, content=body).status_code

    return ask


async def test_without_a_database_the_client_is_asked_to_come_back(
    api: httpx.AsyncClient, brand: str, orchestrator_database: Database
) -> None:
    await orchestrator_database._connections.close()

    for response in (
        await api.get(f"/v1/brands/{brand}"),
        await api.post(f"/v1/brands/{brand}/research", json={"keywords": ["tea"]}),
    ):
        assert "try again" in await refused(response, 503)
        assert response.headers["retry-after"] == "5"


async def test_a_draft_and_its_measures_can_be_read(
    api: httpx.AsyncClient, brand: str, orchestrator_database: Database
) -> None:
    content_id = new_event_id()
    article = Article(
        title="Cold brew",
        slug="cold-brew",
        meta_description="How to steep it.",
        body_markdown="Cold brew steeps for twelve hours. [1]",
        word_count=6,
        key_points=(),
        cited=(1,),
    )
    short = Measure("words", 6, "6", least=250, problem="6 words, of at least 250")
    async with orchestrator_database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug=brand,
            keyword="cold brew",
            research_id=new_event_id(),
            article=article,
            sources=(),
            measures=(short, Measure("links", 0, "0 to other articles of the brand")),
            held_for=("6 words, of at least 250",),
        )

    score = await api.get(f"/v1/content/{content_id}/score")
    content = await api.get(f"/v1/content/{content_id}")
    again = await api.get(score.url.path, headers={"If-None-Match": score.headers["etag"]})

    assert score.json() == {
        "content_id": str(content_id),
        "brand_slug": "daily-grind",
        "keyword": "cold brew",
        "title": "Cold brew",
        "published_url": None,
        "held_for": ["6 words, of at least 250"],
        "measures": [
            {
                "name": "words",
                "value": 6.0,
                "shown": "6",
                "least": 250.0,
                "most": None,
                "holds": False,
                "problem": "6 words, of at least 250",
            },
            {
                "name": "links",
                "value": 0.0,
                "shown": "0 to other articles of the brand",
                "least": None,
                "most": None,
                "holds": True,
                "problem": None,
            },
        ],
    }
    assert again.status_code == 304
    assert content.json()["held_for"] == ["6 words, of at least 250"]
    assert content.json()["body_markdown"] == article.body_markdown
    missing = await api.get(f"/v1/content/{new_event_id()}/score")
    assert "there is no article" in await refused(missing, 404)


def cold_brew(evidence: ArticleEvidence | None) -> dict[str, Any]:
    """What stores an article of two sentences, which a model wrote if there is evidence."""
    article = Article(
        title="Cold brew",
        slug="cold-brew",
        meta_description="How to steep it.",
        body_markdown="Cold brew steeps for twelve hours. [1]\n\n## Taste\n\nIt tastes mild. [2]",
        word_count=9,
        key_points=(),
        cited=(1, 2),
        evidence=evidence,
    )
    sources = [ArticleSource(n, f"Source {n}", ()) for n in (1, 2)]
    measures = (Measure("dropped", 0.3, "1 of 3 sentences"),) if evidence else ()
    return {"keyword": "cold brew", "article": article, "sources": sources, "measures": measures}


async def test_what_the_sentences_of_a_model_rest_on_and_which_were_cut_can_be_read(
    api: httpx.AsyncClient, brand: str, orchestrator_database: Database
) -> None:
    content_id = new_event_id()
    kept = KeptSentence("Cold brew steeps for twelve hours.", "", (1,), ("s1p1",), "confirmed", "judge-1")
    changed = KeptSentence("It tastes very mild.", "Taste", (2,), ("s2p1",), "held", "rules")
    cut = CutSentence(
        "It cures headaches.", "Taste", ("s2p1",), "words", "its passages do not say it", "Mild."
    )
    passage = CitedPassage(1, ("Coffee", "Cold brew"), "Steep it for twelve hours.")
    evidence = ArticleEvidence((kept, changed), (cut,), {"s1p1": passage})
    async with orchestrator_database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug=brand,
            research_id=new_event_id(),
            **cold_brew(evidence),
        )

    found = (await api.get(f"/v1/content/{content_id}/evidence")).json()
    missing = await api.get(f"/v1/content/{content_id}/evidence", params={"version": 2})

    assert "there is no version 2" in await refused(missing, 404)
    (told,) = found.pop("cuts")
    assert {"text": cut.text, "heading": cut.heading, "problem": cut.problem}.items() <= told.items()
    # The second sentence reads otherwise by now.
    assert found == {
        "content_id": str(content_id),
        "version": 1,
        "sentences": [json.loads(json.dumps(asdict(kept)))],
        "passages": {"s1p1": json.loads(json.dumps(asdict(passage)))},
    }


async def test_each_paragraph_of_a_digest_rests_on_its_source(
    api: httpx.AsyncClient, brand: str, orchestrator_database: Database
) -> None:
    content_id = new_event_id()
    async with orchestrator_database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug=brand,
            research_id=new_event_id(),
            **cold_brew(None),
        )

    found = (await api.get(f"/v1/content/{content_id}/evidence")).json()

    told = [(each["text"], each["heading"], each["sources"], each["verdict"]) for each in found["sentences"]]
    assert told == [
        ("Cold brew steeps for twelve hours.", "", [1], "quoted"),
        ("It tastes mild.", "Taste", [2], "quoted"),
    ]
    assert (found["cuts"], found["passages"]) == ([], {})
    await refused(await api.get(f"/v1/content/{new_event_id()}/evidence"), 404)


@pytest.mark.extended
async def test_the_openapi_document_tells_all(api: httpx.AsyncClient) -> None:
    document = (await api.get("/openapi.json")).json()

    assert document["components"]["securitySchemes"]["ServiceKey"]["name"] == "X-Service-Key"
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    assert {path for path, _, _ in operations} > {"/v1/brands/{slug}", "/v1/cycles/{cycle_id}", "/v1/drafts"}
    for path, method, operation in operations:
        assert operation["summary"], (path, method)
        assert {"401", "403", "422", "503"} <= set(operation["responses"]), (path, method)
        for status, response in operation["responses"].items():
            assert response["description"], (path, method, status)
            if status in {"401", "403", "404", "409", "413", "415", "422", "503"}:
                schema = response["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": f"#/components/schemas/Problem{status}"}, (path, method, status)
        assert ("413" in operation["responses"]) == ("requestBody" in operation), (path, method)
    assert "HTTPValidationError" not in document["components"]["schemas"]
    cycle = document["components"]["schemas"]["CycleView"]["properties"]
    assert cycle["percent"]["description"].startswith("Ended keywords")
    assert (await api.get("/docs")).status_code == 200
