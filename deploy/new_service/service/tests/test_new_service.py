"""new_service on a real broker and a real database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from new_service.app import build
from new_service.settings import Settings

from chassis.testing import eventually, running

KEY = "a-key-for-tests-only"


@pytest.fixture
async def api(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]]
) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        rabbitmq_url=broker_urls["new_service"],
        database_url=await make_database("new_service"),
        service_key=KEY,
        http_port=0,
    )
    async with running(build(settings)) as service:
        url = f"http://127.0.0.1:{service.port}"
        async with httpx.AsyncClient(base_url=url, headers={"X-Service-Key": KEY}, timeout=60) as client:
            yield client


async def test_a_note_that_was_accepted_is_handled(api: httpx.AsyncClient) -> None:
    accepted = await api.post("/v1/notes", json={"note": "Remember the milk"})
    assert accepted.status_code == 202
    path = f"/v1/notes/{accepted.json()['note_id']}"

    async def handled() -> dict[str, Any] | None:
        answer = await api.get(path)
        return answer.json() if answer.status_code == 200 else None

    assert (await eventually(handled, within=60))["note"] == "Remember the milk"


async def test_a_note_that_nobody_sent_is_unknown(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/notes/01a20c16-1370-744c-b0ec-e5806e313928")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_note")


async def test_nobody_gets_in_without_the_key(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/notes", json={"note": "x"}, headers={"X-Service-Key": "no"})
    assert answer.status_code == 401
