"""Errors of a server or the gateway, and their consequences for the command."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from messaging import RetryLater, Unprocessable, WaitFor
from tests.fixtures.models.model_writing import chat_with, gateway_says
from tests.fixtures.models.scripted_model import ModelReply, ScriptedModel
from writing.model.answers import Brief, json_schema
from writing.model.chat import ChatRequest

QUESTION = ChatRequest(
    "daily-grind",
    "1:brief",
    ({"role": "system", "content": ""}, {"role": "user", "content": "Data (JSON):\n{}"}),
    json_schema(Brief),
    100,
)


@pytest.mark.parametrize(
    ("reply", "raised", "says"),
    [
        (
            ModelReply(
                status=402,
                headers={"Retry-After": "90000", "Content-Type": "application/problem+json"},
                body={"type": "budget.exhausted", "detail": "the month's budget of 5 dollars is spent"},
            ),
            WaitFor("the model's budget", "", after=timedelta(seconds=45)),
            "the budget for the model is spent: the month's budget of 5 dollars is spent",
        ),
        (
            ModelReply(status=429, headers={"Retry-After": "7"}, body={}),
            WaitFor("model", "", after=timedelta(seconds=7)),
            "429",
        ),
        (
            ModelReply(status=429, body={"error": {"code": "insufficient_quota", "message": "no credit"}}),
            Unprocessable(""),
            "no credit left; top it up",
        ),
        (
            ModelReply(
                status=400,
                body={
                    "error": {
                        "code": 400,
                        "message": "request (9000 tokens) exceeds the available context size (4096 tokens)",
                        "type": "exceed_context_size_error",
                        "n_prompt_tokens": 9000,
                        "n_ctx": 4096,
                    }
                },
            ),
            Unprocessable(""),
            "MODEL_CONTEXT_TOKENS",
        ),
        (
            ModelReply(status=404, body={"error": {"message": "no such model"}}),
            Unprocessable(""),
            "no such model.*MODEL_NAME",
        ),
        (ModelReply(status=401, body={}), WaitFor("model", ""), "refuses our key"),
        (ModelReply(status=503, body={}), WaitFor("model", ""), "503"),
        (ModelReply(status=500, body={"error": {"message": "boom"}}), RetryLater(""), "boom"),
        (ModelReply(body=["no", "completion"]), RetryLater(""), "no chat completion"),
    ],
    ids=["402", "429", "no credit", "context", "unknown model", "key", "away", "failed", "no completion"],
)
async def test_what_the_server_says_instead_of_an_answer(
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    reply: ModelReply,
    raised: RetryLater | Unprocessable,
    says: str,
) -> None:
    monkeypatch.setattr(model, "reply", lambda _: reply)
    with pytest.raises(type(raised), match=says) as caught:
        await chat_with(model.url).complete(QUESTION)

    assert type(caught.value) is type(raised)
    if isinstance(raised, WaitFor) and isinstance(caught.value, WaitFor):
        assert caught.value.dependency == raised.dependency
        if raised.after is not None and caught.value.after is not None:
            assert raised.after - timedelta(minutes=1) < caught.value.after <= raised.after


COMPLETION = b'{"choices": [{"message": {"content": "{}"}}], "model": "m"}'


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<!doctype html><title>Sign in</title>", "no chat completion: <!doctype html>"),
        (
            b'data: {"choices": [{"delta": {"content": "{}"}}]}\n\ndata: [DONE]\n\n',
            "no chat completion: data:",
        ),
        (b'{"choices": []}', "no chat completion"),
        (b'{"choices": [{"message": null}]}', "no chat completion"),
        (b'{"choices": [{"message": {"content": ["a part"]}}]}', "no chat completion"),
        (COMPLETION.replace(b"{}", b"x" * 10_000_000), "larger than 2097152 bytes"),
        (COMPLETION[:-20], "no chat completion"),
        (COMPLETION.replace(b"{}", b"\xff\xfe"), "no chat completion"),
        (b"[" * 100_000, "no chat completion"),
        (b"", "no chat completion"),
    ],
    ids=["page", "stream", "no choices", "no message", "parts", "10 MB", "cut", "bytes", "deep", "nothing"],
)
async def test_an_answer_that_is_none_is_an_attempt_that_failed(
    model: ScriptedModel, body: bytes, says: str
) -> None:
    model.replies["Brief"] = [ModelReply(raw=body)]
    chat = chat_with(model.url)

    with pytest.raises(RetryLater, match=says) as caught:
        await chat.complete(QUESTION)

    assert type(caught.value) is RetryLater
    # The next attempt is free to succeed.
    assert (await chat.complete(QUESTION)).finish_reason == "stop"


async def test_what_a_database_cannot_store_is_left_out_of_an_answer(model: ScriptedModel) -> None:
    document = {"choices": [{"message": {"content": "a\0b", "refusal": "\0no"}}], "model": "m\0"}
    model.replies["Brief"] = [ModelReply(body=document)]

    answer = await chat_with(model.url).complete(QUESTION)

    assert (answer.content, answer.refusal, answer.model) == ("ab", "no", "m")


@pytest.mark.parametrize(
    ("reply", "waits_for", "after"),
    [
        (gateway_says("limit.reached", 429, transient=True, after=15), "the model's limits", 15),
        (gateway_says("provider.limited", 429, transient=True, after=40), "the model's limits", 40),
        (gateway_says("provider.away", 503, transient=True, after=30), "the model's provider", 30),
        (gateway_says("call.under_way", 503, transient=True, after=15), "the same call to the model", 15),
        (gateway_says("budget.exhausted", 402, transient=True, after=80_000), "the model's budget", 45),
        (gateway_says("budget.set_aside", 402, transient=True, after=30), "the model's budget", 30),
        (gateway_says("spending.stopped", 402, transient=True, after=600), "the model's budget", 45),
    ],
    ids=lambda each: each.body["type"] if isinstance(each, ModelReply) else "",
)
async def test_what_the_gateway_says_of_one_brand_or_call_holds_up_no_other(
    model: ScriptedModel, reply: ModelReply, waits_for: str, after: int
) -> None:
    chat = chat_with(model.url)
    model.replies["Brief"] = [reply]

    with pytest.raises(WaitFor, match="and what to do") as caught:
        await chat.complete(QUESTION)

    assert (caught.value.dependency, caught.value.after) == (waits_for, timedelta(seconds=after))
    # The next command is not kept from asking.
    assert (await chat.complete(QUESTION)).finish_reason == "stop"


async def test_a_provider_that_fails_for_everybody_is_an_outage(model: ScriptedModel) -> None:
    chat = chat_with(model.url)
    model.replies["Brief"] = [gateway_says("provider.failing", 503, transient=True, after=60)]

    for _ in range(3):
        with pytest.raises(WaitFor) as caught:
            await chat.complete(QUESTION)
        assert caught.value.dependency == "model"
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        ("budget.too_small", 422),
        ("provider.not_connected", 424),
        ("provider.key_refused", 424),
        ("provider.quota_exhausted", 424),
        ("credentials.sealed", 424),
        ("request.too_many_tokens", 422),
        ("model.context_too_long", 422),
    ],
)
async def test_what_an_operator_has_to_put_right_says_so(
    model: ScriptedModel, problem: str, status: int
) -> None:
    model.replies["Brief"] = [gateway_says(problem, status, transient=False)]

    with pytest.raises(Unprocessable, match=r"and what to do.*then replay"):
        await chat_with(model.url).complete(QUESTION)


async def test_what_was_paid_for_in_vain_is_not_asked_for_without_end(model: ScriptedModel) -> None:
    model.replies["Brief"] = [gateway_says("provider.no_answer", 424, transient=True, after=30)]

    with pytest.raises(RetryLater) as caught:
        await chat_with(model.url).complete(QUESTION)
    assert not isinstance(caught.value, WaitFor)


async def test_a_question_that_takes_too_long_is_a_failure_of_its_own(model: ScriptedModel) -> None:
    chat = chat_with(model.url, timeout_seconds=1.0)
    model.seconds = 2.0

    with pytest.raises(RetryLater, match="in time") as caught:
        await chat.complete(QUESTION)
    assert not isinstance(caught.value, WaitFor)


async def test_a_server_that_is_not_there_is_an_outage(free_port: Callable[[], int]) -> None:
    chat = chat_with(f"http://127.0.0.1:{free_port()}/v1")

    with pytest.raises(WaitFor, match="does not answer"):
        await chat.complete(QUESTION)
