"""`POST /v1/search` of the running service, against Brave's and SearXNG's contracts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from chassis.testing import serving
from tests.fixtures.providers import FakeBrave, FakeSearxng, brave_error

BRAVE_KEY = "brave-key-0123456789abcdef"
Ask = Callable[..., Awaitable[httpx.Response]]


@pytest.fixture
async def brave(api: httpx.AsyncClient) -> AsyncIterator[FakeBrave]:
    fake = FakeBrave({BRAVE_KEY})
    async with serving(fake) as url:
        settings = {"url": url, "price": "0.005", "per_minute": 60_000, "together": 100, "seconds": 5}
        body = {"kind": "brave", "settings": settings, "key": BRAVE_KEY}
        assert (await api.put("/v1/providers/brave", json=body)).status_code == 204
        yield fake


@pytest.fixture
async def searxng(api: httpx.AsyncClient) -> AsyncIterator[FakeSearxng]:
    fake = FakeSearxng()
    async with serving(fake) as url:
        body = {"kind": "searxng", "settings": {"url": url, "per_minute": 60_000, "together": 100}}
        assert (await api.put("/v1/providers/searxng", json=body)).status_code == 204
        yield fake


@pytest.fixture
def ask(api: httpx.AsyncClient) -> Ask:
    async def ask(query: str, *, key: str | None = None, **more: Any) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key else {}
        return await api.post("/v1/search", json={"query": query, "brand": "acme"} | more, headers=headers)

    return ask


async def spent(api: httpx.AsyncClient) -> int:
    scopes = (await api.get("/v1/spend", params={"brand": "acme"})).json()["scopes"]
    assert scopes[0]["day"]["reserved"] == 0
    return int(scopes[0]["day"]["spent"])


@pytest.mark.extended
async def test_brave_is_asked_as_documented_and_its_results_are_plain(brave: FakeBrave, ask: Ask) -> None:
    answer = (await ask("  kaffee  mahlen ", count=2, language="pt-BR", freshness="month")).json()
    (request,) = brave.requests
    assert request.headers["user-agent"].startswith("BrandEngine")
    assert dict(request.query_params) == {
        "q": "kaffee mahlen",
        "count": "2",
        "text_decorations": "false",
        "freshness": "pm",
        "search_lang": "pt-br",
    }
    assert request.headers["X-Subscription-Token"] == BRAVE_KEY
    assert "traceparent" not in request.headers
    assert (answer["provider"], answer["spent"], answer["kept"]) == ("brave", 5000, False)
    assert answer["results"][0] == {
        "title": "kaffee mahlen & more 0",
        "url": "https://example.org/0",
        "description": "It's described.",
        "date": "2026-03-04",
        "language": "en",
    }


async def test_searxng_gives_the_same_shape_free_of_charge(
    searxng: FakeSearxng, ask: Ask, api: httpx.AsyncClient
) -> None:
    answer = (await ask("grind size", count=3, language="en", freshness="year")).json()
    assert dict(searxng.requests[0].query_params) == {
        "q": "grind size",
        "format": "json",
        "language": "en",
        "time_range": "year",
    }
    assert (answer["provider"], answer["spent"], len(answer["results"])) == ("searxng", 0, 3)
    assert (answer["results"][0]["date"], answer["results"][1]["date"]) == (None, "2026-03-04")
    assert await spent(api) == 0


async def test_brave_comes_first_and_a_name_chooses(brave: FakeBrave, searxng: FakeSearxng, ask: Ask) -> None:
    assert (await ask("a")).json()["provider"] == "brave"
    assert (await ask("a", provider="searxng")).json()["provider"] == "searxng"
    refused = await ask("a", provider="nobody")
    assert (refused.status_code, refused.json()["type"]) == (424, "provider.not_connected")
    assert "brandctl providers connect" in refused.json()["detail"]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("answer", "status", "kind", "transient", "retry_after"),
    [
        (brave_error(422, "SUBSCRIPTION_TOKEN_INVALID"), 424, "provider.key_refused", False, None),
        (
            brave_error(
                429,
                "RATE_LIMITED",
                {"X-RateLimit-Limit": "1, 2000", "X-RateLimit-Remaining": "0, 1000", "X-RateLimit-Reset": "2, 1419704"},
            ),
            429,
            "provider.limited",
            True,
            2,
        ),
        (brave_error(429, "QUOTA_LIMITED"), 424, "provider.quota_exhausted", False, None),
        (brave_error(422, "VALIDATION"), 422, "provider.refused_request", False, None),
        (
            JSONResponse({"type": "ErrorResponse", "errors": [{"code": "RATE_LIMITED", "detail": "x"}]}, 429),
            429,
            "provider.limited",
            True,
            1,
        ),
        (Response(status_code=503, headers={"Retry-After": "7"}), 503, "provider.away", True, 7),
        (Response("<html>", 502), 503, "provider.away", True, 30),
        (Response(status_code=302, headers={"Location": "http://169.254.169.254/"}), 424, "provider.unusable_answer", False, None),
    ],
)  # fmt: skip
async def test_errors_of_brave_are_told_apart_and_cost_nothing(
    answer: Response,
    status: int,
    kind: str,
    transient: bool,
    retry_after: int | None,
    brave: FakeBrave,
    ask: Ask,
    api: httpx.AsyncClient,
) -> None:
    brave.next_answers = [answer]
    refused = await ask("a")
    told = refused.json()
    assert (refused.status_code, told["type"], told["transient"]) == (status, kind, transient)
    assert refused.headers.get("Retry-After") == (None if retry_after is None else str(retry_after))
    assert BRAVE_KEY not in refused.text
    assert await spent(api) == 0


async def test_no_list_of_results_is_no_empty_list(brave: FakeBrave, ask: Ask) -> None:
    brave.next_answers = [
        JSONResponse({"type": "search", "query": {"original": "a"}}),
        JSONResponse({"type": "search", "web": {"results": []}}),
    ]
    refused = await ask("a")
    assert (refused.status_code, refused.json()["type"]) == (424, "provider.unusable_answer")
    found = await ask("b")
    assert (found.status_code, found.json()["results"]) == (200, [])


async def test_nothing_found_because_no_engine_answered_is_asked_again_later(
    searxng: FakeSearxng, ask: Ask
) -> None:
    searxng.next_answers = [
        JSONResponse({"results": [], "unresponsive_engines": [["google", "CAPTCHA"], ["bing", "timeout"]]}),
        Response(status_code=403),
    ]
    refused = await ask("a")
    assert (refused.status_code, refused.json()["type"], refused.json()["transient"]) == (
        429,
        "provider.limited",
        True,
    )
    assert "google CAPTCHA, bing timeout" in refused.json()["detail"]


async def test_searxng_without_json_says_what_to_switch_on(searxng: FakeSearxng, ask: Ask) -> None:
    searxng.next_answers = [Response(status_code=403)]
    refused = await ask("a")
    assert (refused.status_code, refused.json()["transient"]) == (422, False)
    assert "formats" in refused.json()["detail"]


async def test_a_search_that_cannot_be_asked_is_refused_before_it_costs(brave: FakeBrave, ask: Ask) -> None:
    for query in (" ", "x" * 401, "w " * 51, "a\x00b"):
        assert (await ask(query)).status_code == 422
    for wrong in ({"count": 21}, {"language": "english"}, {"freshness": "hour"}, {"brand": "*"}):
        assert (await ask("a", **wrong)).status_code == 422
    assert not brave.requests


async def test_the_same_command_five_times_pays_once(
    brave: FakeBrave, ask: Ask, api: httpx.AsyncClient
) -> None:
    answers = await asyncio.gather(*(ask("moka pot", key="event-1/search") for _ in range(5)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["call_id"] for answer in answers}) == 1
    assert len(brave.requests) == 1
    assert await spent(api) == 5000
    other = await ask("another question", key="event-1/search")
    assert (other.status_code, other.json()["type"]) == (422, "key.used")


@pytest.mark.extended
async def test_a_full_cap_says_when_the_next_day_begins(
    brave: FakeBrave, ask: Ask, api: httpx.AsyncClient
) -> None:
    await api.put("/v1/spend/caps/acme", json={"day": "0.01"})
    answers = await asyncio.gather(*(ask(f"question {number}") for number in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 402, 402, 402, 402]
    refused = await ask("one more")
    assert refused.json()["type"] == "budget.exhausted"
    assert refused.json()["retry_at"].endswith("T00:00:00+00:00")
    assert 0 < int(refused.headers["Retry-After"]) <= 86_400
    assert (await spent(api), len(brave.requests)) == (10_000, 2)


async def test_a_provider_that_breaks_off_counts_as_paid(
    brave: FakeBrave, ask: Ask, api: httpx.AsyncClient
) -> None:
    brave.next_answers = [Response("cut off", headers={"Content-Length": "100"})]
    refused = await ask("a")
    assert (refused.status_code, refused.json()["type"]) == (424, "provider.no_answer")
    assert await spent(api) == 5000


async def test_an_answer_that_is_too_large_is_not_read_to_its_end(brave: FakeBrave, ask: Ask) -> None:
    brave.next_answers = [Response(b"x" * 5_000_000), Response(b"x", headers={"Content-Encoding": "gzip"})]
    assert [(await ask(text)).json()["type"] for text in ("a", "b")] == ["provider.unusable_answer"] * 2
