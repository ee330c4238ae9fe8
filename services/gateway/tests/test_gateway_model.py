"""`POST /v1/chat/completions` of the running service, against the contract of OpenAI and its dialects."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from statistics import median
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from chassis.testing import eventually, serving
from gateway.app import GatewayApp
from tests.fixtures.providers import FakeModel, model_error

MODEL_KEY = "sk-model-key-0123456789abcdef"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a moka pot?"}]
Ask = Callable[..., Awaitable[httpx.Response]]


@pytest.fixture
async def model(api: httpx.AsyncClient) -> AsyncIterator[FakeModel]:
    """Reads for 0.15 dollars a million tokens, writes for 0.60."""
    fake = FakeModel({MODEL_KEY})
    async with serving(fake) as url:
        settings = {
            "url": f"{url}/v1",
            "model": "small-1",
            "read_price": "0.15",
            "written_price": "0.60",
            "max_tokens": 2000,
            "per_minute": 60_000,
            "together": 100,
            "seconds": 10,
        }
        body = {"kind": "model", "settings": settings, "key": MODEL_KEY}
        assert (await api.put("/v1/providers/drafts", json=body)).status_code == 204
        yield fake


@pytest.fixture
def ask(api: httpx.AsyncClient) -> Ask:
    async def ask(
        text: str | None = None, *, headers: dict[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        messages = MESSAGES if text is None else [{"role": "user", "content": text}]
        body = {"model": "drafts", "messages": messages} | more
        return await api.post(
            "/v1/chat/completions", json=body, headers={"X-Brand": "acme"} | (headers or {})
        )

    return ask


async def spent(api: httpx.AsyncClient) -> int:
    scopes = (await api.get("/v1/spend", params={"brand": "acme"})).json()["scopes"]
    assert scopes[0]["day"]["reserved"] == 0
    return int(scopes[0]["day"]["spent"])


async def test_a_model_is_tried_by_one_word_that_the_brand_pays(
    model: FakeModel, api: httpx.AsyncClient
) -> None:
    async def check(key: str, name: str = "drafts") -> Any:
        return await api.post(
            f"/v1/providers/{name}/check", json={"brand": "acme"}, headers={"Idempotency-Key": key}
        )

    first = await check("one")
    assert first.status_code == 200, first.text
    told = first.json()
    assert (told["works"], told["problem"]) == (True, None)
    assert told["detail"]
    assert told["spent"] == await spent(api) > 0
    # Pressed twice it is one request; tried anew, another.
    assert (await check("one")).json()["works"]
    assert len(model.bodies) == 1
    assert (await check("two")).json()["works"]
    assert len(model.bodies) == 2
    assert model.bodies[0]["max_tokens"] == 64
    unknown = await check("three", "nobody")
    assert (unknown.status_code, unknown.json()["type"]) == (424, "provider.not_connected")

    model.next_answers = [
        model_error(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
    ]
    refused = (await check("four")).json()
    assert (refused["works"], refused["spent"]) == (False, 0)
    assert refused["problem"].startswith("provider.")
    assert "key" in refused["detail"]


async def test_a_model_is_asked_as_documented_and_paid_by_the_token(
    model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "it", "strict": True, "schema": {"type": "object"}},
    }
    answer = await ask(temperature=0.2, max_tokens=500, response_format=schema)
    assert answer.status_code == 200, answer.text
    assert model.bodies == [
        {
            "model": "small-1",
            "max_tokens": 500,
            "messages": MESSAGES,
            "temperature": 0.2,
            "response_format": schema,
        }
    ]
    assert model.requests[0].headers["Authorization"] == f"Bearer {MODEL_KEY}"
    told = answer.json()
    assert (told["object"], told["choices"][0]["message"]["content"]) == ("chat.completion", "Answer 1.")
    # 100 tokens read at 0.15 and 50 written at 0.60 dollars a million.
    assert (told["gateway"]["spent"], told["gateway"]["ending"], told["gateway"]["kept"]) == (
        45,
        "complete",
        False,
    )
    assert await spent(api) == 45
    (entry,) = (await api.get("/v1/spend/calls")).json()["items"]
    assert entry["usage"] == {"tokens_read": 100, "tokens_written": 50}
    # At most: a token for each byte, and 500 written.
    assert 345 < entry["maximum"] < 400


async def test_the_same_request_of_a_brand_is_answered_from_what_is_kept(
    model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    first, again = await ask(), await ask()
    assert again.json()["choices"] == first.json()["choices"]
    assert (again.json()["gateway"]["spent"], again.json()["gateway"]["kept"]) == (0, True)
    for other in ({"temperature": 0.9}, {"headers": {"X-Brand": "other"}}, {"max_tokens": 7}):
        assert not (await ask(**other)).json()["gateway"]["kept"]
    anew = {"Cache-Control": "no-cache", "Idempotency-Key": "event-1/draft"}
    assert [(await ask(headers=anew)).json()["gateway"]["kept"] for _ in range(2)] == [False, True]
    assert not (await ask(headers={"Cache-Control": "no-cache"})).json()["gateway"]["kept"]
    assert await spent(api) == 45 * 5


async def test_five_deliveries_at_once_are_one_call(
    model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    model.delay.clear()
    asking = [asyncio.create_task(ask(headers={"Idempotency-Key": "event-1/outline"})) for _ in range(5)]
    await eventually(lambda: model.requests)
    model.delay.set()
    answers = await asyncio.gather(*asking)
    assert {answer.json()["choices"][0]["message"]["content"] for answer in answers} == {"Answer 1."}
    assert (len(model.requests), await spent(api)) == (1, 45)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("finish_reason", "refusal", "ending"),
    [
        ("stop", None, "complete"),
        ("length", None, "length"),
        ("content_filter", None, "content_filter"),
        ("stop", "I cannot help with that.", "refusal"),
    ],
)
async def test_how_an_answer_ends_is_told_apart_and_paid(
    finish_reason: str, refusal: str | None, ending: str, model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    model.finish_reason, model.refusal = finish_reason, refusal
    answer = await ask()
    assert (answer.status_code, answer.json()["gateway"]["ending"]) == (200, ending)
    assert await spent(api) == 45


@pytest.mark.extended
@pytest.mark.parametrize(
    ("answer", "status", "kind", "code", "transient", "retry_after"),
    [
        (
            model_error(400, "invalid_request_error", "context_length_exceeded", "This model's maximum…"),
            422, "model.context_too_long", "context_length_exceeded", False, None,
        ),
        (
            model_error(400, "exceed_context_size_error", 400, "too long", n_prompt_tokens=5000, n_ctx=4096),
            422, "model.context_too_long", "context_length_exceeded", False, None,
        ),
        (
            model_error(400, "BadRequestError", 400, "This model's maximum context length is 4096 tokens."),
            422, "model.context_too_long", "context_length_exceeded", False, None,
        ),
        (
            model_error(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
            424, "provider.quota_exhausted", "insufficient_quota", False, None,
        ),
        (
            model_error(429, "requests", "rate_limit_exceeded", "Slow down.", {"Retry-After": "20"}),
            429, "provider.limited", "rate_limit_exceeded", True, 20,
        ),
        (
            model_error(
                429, "tokens", "rate_limit_exceeded", "Slow down.",
                {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30s"},
            ),
            429, "provider.limited", "rate_limit_exceeded", True, 90,
        ),
        (
            model_error(401, "invalid_request_error", "invalid_api_key", f"Incorrect API key: {MODEL_KEY}."),
            424, "provider.key_refused", "provider.key_refused", False, None,
        ),
        (
            model_error(400, "invalid_request_error", "content_filter", "Filtered."),
            422, "model.content_filtered", "content_filter", False, None,
        ),
        (
            model_error(400, "invalid_request_error", None, "Unknown parameter."),
            422, "provider.refused_request", "provider.refused_request", False, None,
        ),
        (JSONResponse({"error": "model is loading"}, 503), 503, "provider.away", "provider.away", True, 30),
        (
            JSONResponse({"error": {"message": "x", "type": "server_error"}}, 500),
            503, "provider.away", "provider.away", True, 30,
        ),
    ],
)  # fmt: skip
async def test_errors_are_told_apart_cost_nothing_and_are_said_as_clients_expect(
    answer: Response,
    status: int,
    kind: str,
    code: str,
    transient: bool,
    retry_after: int | None,
    model: FakeModel,
    ask: Ask,
    api: httpx.AsyncClient,
) -> None:
    model.next_answers = [answer]
    refused = await ask()
    told = refused.json()
    assert (refused.status_code, told["type"], told["transient"]) == (status, kind, transient)
    assert (told["error"]["code"], told["error"]["message"]) == (code, told["detail"])
    assert refused.headers.get("Retry-After") == (None if retry_after is None else str(retry_after))
    assert MODEL_KEY not in refused.text
    assert await spent(api) == 0


@pytest.mark.extended
@pytest.mark.parametrize(
    "answer", [JSONResponse({"choices": []}), JSONResponse({"object": "list"}), Response("<html>")]
)
async def test_an_answer_without_a_message_is_no_answer_and_counts_in_full(
    answer: Response, model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    model.next_answers = [answer]
    refused = await ask()
    assert (refused.status_code, refused.json()["type"]) == (424, "provider.unusable_answer")
    (entry,) = (await api.get("/v1/spend/calls")).json()["items"]
    assert entry["spent"] == entry["maximum"] == await spent(api)


@pytest.mark.extended
async def test_an_answer_that_does_not_say_what_it_used_counts_in_full(
    model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    model.usage = None
    assert (await ask()).status_code == 200
    (entry,) = (await api.get("/v1/spend/calls")).json()["items"]
    assert (entry["state"], entry["spent"]) == ("settled", entry["maximum"])


@pytest.mark.extended
@pytest.mark.parametrize(
    "wrong",
    [
        {"stream": True},
        {"n": 2},
        {"tools": []},
        {"max_tokens": 0},
        {"max_tokens": 2001},
        {"max_tokens": 1, "max_completion_tokens": 1},
        {"messages": []},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}
            ]
        },
        {"headers": {"X-Brand": "Not a slug"}},
        {"headers": {"Idempotency-Key": "two words"}},
    ],
)
async def test_what_has_no_bound_on_its_cost_is_not_asked(
    wrong: dict[str, Any], model: FakeModel, ask: Ask
) -> None:
    refused = await ask(**wrong)
    assert (refused.status_code, refused.json()["detail"] != "") == (422, True)
    assert not model.requests


async def test_models_are_listed_and_found_by_either_name(
    model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    listed = (await api.get("/v1/models")).json()["data"]
    assert [(each["id"], each["owned_by"]) for each in listed] == [("drafts", "small-1")]
    assert (await ask(model="small-1")).status_code == 200
    refused = await ask(model="large-1")
    assert (refused.status_code, refused.json()["type"]) == (424, "provider.not_connected")
    assert "drafts, small-1" in refused.json()["detail"]


async def test_a_large_prompt_passes_and_a_cap_below_it_says_so(
    model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    assert (await ask("words " * 100_000)).status_code == 200
    await api.put("/v1/spend/caps/acme", json={"day": "0.01"})
    refused = await ask("others " * 100_000)
    assert (refused.status_code, refused.json()["type"], refused.json()["transient"]) == (
        422,
        "budget.too_small",
        False,
    )
    assert refused.json()["error"]["code"] == "budget.too_small"


async def test_what_costs_more_than_anybody_could_know_is_counted_as_it_is(
    model: FakeModel, ask: Ask, api: httpx.AsyncClient
) -> None:
    model.usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    assert (await ask()).json()["gateway"]["spent"] == await spent(api) == 150_000


@pytest.mark.extended
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "event-1/draft"}])
async def test_a_call_takes_eleven_round_trips_to_the_database_and_a_kept_answer_two(
    headers: dict[str, str], gateway: GatewayApp, model: FakeModel, ask: Ask
) -> None:
    """The account; what is known; a transaction of eight, that locks, reads after each lock, and writes; the end."""
    seen: list[str] = []

    async def trips(number: int) -> int:
        seen.clear()
        key = {name: f"{value}/{number}" for name, value in headers.items()}
        assert (await ask(f"question {number}", headers=key)).status_code == 200
        return len(seen)

    await trips(0)
    # One call after the other has the pool's latest connection; now and then a task in the background has it, too.
    async with gateway.connections.connection() as connection:
        connection.add_query_logger(lambda record: seen.append(record.query))
    assert median([await trips(number) for number in range(1, 6)]) == 11, seen
    assert len(model.requests) == 6
    assert median([await trips(number) for number in range(1, 6)]) == 2, seen
    assert len(model.requests) == 6
