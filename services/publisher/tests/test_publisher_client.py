"""Reading an article over real HTTP: the contract, and everything that can go wrong with it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from chassis.http.client import UnavailableError
from messaging import Dependency, RetryLater, Unprocessable, WaitFor
from publisher.orchestrator_client import Fetched, OrchestratorClient, Unchanged

KEY = "test-service-key-0123456789"


@pytest.fixture
async def client(orchestrator: Any) -> AsyncIterator[OrchestratorClient]:
    async with client_of(orchestrator.url) as client:
        yield client


def client_of(url: str, *, key: str = KEY, timeout_seconds: float = 30.0) -> OrchestratorClient:
    return OrchestratorClient(
        url,
        SecretStr(key),
        timeout_seconds=timeout_seconds,
        max_bytes=100_000,
        orchestrator=Dependency("orchestrator", outages=(UnavailableError,)),
    )


async def test_an_article_is_read_with_its_entity_tag(orchestrator: Any, client: OrchestratorClient) -> None:
    content_id = orchestrator.add(title="Cold brew")
    fetched = await client.article(content_id)
    assert isinstance(fetched, Fetched)
    assert fetched.article.title == "Cold brew"
    assert fetched.etag
    assert isinstance(await client.article(content_id, known_etag=fetched.etag), Unchanged)
    orchestrator.documents[content_id]["title"] = "Colder brew"
    again = await client.article(content_id, known_etag=fetched.etag)
    assert isinstance(again, Fetched)
    assert again.article.title == "Colder brew"


@pytest.mark.parametrize("has_lists", [True, False])
async def test_articles_wanted_at_the_same_time_are_read_together(
    orchestrator: Any, client: OrchestratorClient, has_lists: bool
) -> None:
    orchestrator.has_lists = has_lists
    ids = [orchestrator.add(title=f"Cold brew {number}") for number in range(3)]
    *articles, unknown = await asyncio.gather(
        *(client.article(each) for each in (*ids, uuid4())), return_exceptions=True
    )
    assert [each.article.title for each in articles] == ["Cold brew 0", "Cold brew 1", "Cold brew 2"]
    assert isinstance(unknown, RetryLater)
    assert orchestrator.lists == ([4] if has_lists else [])
    for content_id, fetched in zip(ids, articles, strict=True):
        assert isinstance(await client.article(content_id, known_etag=fetched.etag), Unchanged)


async def test_a_wrong_key_is_retried_and_says_what_to_set(orchestrator: Any) -> None:
    content_id = orchestrator.add()
    async with client_of(orchestrator.url, key="another-key-0123456789") as client:
        with pytest.raises(RetryLater, match="give both services the same key"):
            await client.article(content_id)
    assert orchestrator.statuses == [401]


async def test_unknown_content_is_retried(client: OrchestratorClient) -> None:
    with pytest.raises(RetryLater, match="does not know content"):
        await client.article(uuid4())


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_passing_errors_are_retried_when_the_server_says(
    orchestrator: Any, client: OrchestratorClient, status: int
) -> None:
    orchestrator.answer = lambda _: JSONResponse({"detail": "later"}, status, headers={"Retry-After": "7"})
    with pytest.raises(RetryLater, match=str(status)) as caught:
        await client.article(uuid4())
    assert caught.value.after == timedelta(seconds=7)


@pytest.mark.parametrize("status", [204, 304, 400, 405, 422])
async def test_other_answers_will_not_get_better(
    orchestrator: Any, client: OrchestratorClient, status: int
) -> None:
    orchestrator.answer = lambda _: Response(status_code=status)
    with pytest.raises(Unprocessable, match=str(status)):
        await client.article(uuid4())


async def test_a_redirect_is_not_followed_with_the_key(orchestrator: Any, client: OrchestratorClient) -> None:
    orchestrator.answer = lambda _: RedirectResponse("http://127.0.0.1:1/elsewhere", 307)
    with pytest.raises(Unprocessable, match="307"):
        await client.article(uuid4())


@pytest.mark.parametrize(
    ("status", "outage"), [(503, True), (429, True), (401, True), (500, False), (404, False)]
)
async def test_an_outage_costs_no_attempt_and_other_failures_do(
    orchestrator: Any, client: OrchestratorClient, status: int, outage: bool
) -> None:
    orchestrator.answer = lambda _: Response(status_code=status)
    with pytest.raises(RetryLater) as raised:
        await client.article(uuid4())
    assert isinstance(raised.value, WaitFor) is outage


async def test_nobody_listening_is_waited_for(free_port: Callable[[], int]) -> None:
    async with client_of(f"http://127.0.0.1:{free_port()}") as client:
        with pytest.raises(WaitFor, match="nothing answers at this port"):
            await client.article(uuid4())


@pytest.mark.extended
async def test_a_server_that_trickles_is_given_up(orchestrator: Any) -> None:
    async def trickle() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.1)  # the slowness under test: each pause is shorter than the read timeout

    orchestrator.answer = lambda _: StreamingResponse(trickle(), media_type="application/json")
    async with client_of(orchestrator.url, timeout_seconds=2.0) as client, asyncio.timeout(60):
        with pytest.raises(RetryLater, match="does not answer in time"):
            await client.article(uuid4())


async def test_an_endless_answer_is_cut_off(orchestrator: Any, client: OrchestratorClient) -> None:
    async def very_long() -> AsyncIterator[bytes]:
        for _ in range(1_000):
            yield b"x" * 50_000
            await asyncio.sleep(0)

    orchestrator.answer = lambda _: StreamingResponse(very_long(), media_type="application/json")
    with pytest.raises(Unprocessable, match="larger than 100000 bytes"):
        await client.article(uuid4())


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b"{}", b"\xff\xfe"])
async def test_an_answer_of_another_shape_is_not_retried(
    orchestrator: Any, client: OrchestratorClient, body: bytes
) -> None:
    orchestrator.answer = lambda _: Response(body, media_type="application/json")
    with pytest.raises(Unprocessable, match="does not follow the contract"):
        await client.article(uuid4())


async def test_the_answer_must_be_about_the_content_that_was_asked_for(
    orchestrator: Any, client: OrchestratorClient
) -> None:
    other = orchestrator.documents[orchestrator.add()]
    orchestrator.answer = lambda _: Response(json.dumps(other), media_type="application/json")
    with pytest.raises(Unprocessable, match="the orchestrator sent"):
        await client.article(uuid4())
