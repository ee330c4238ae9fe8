"""No strange request causes a failure, and every answer is in the document."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx
import pytest

from chassis.testing.strange_requests import FuzzTarget, ask_strangely
from envelope import DomainMessage
from messaging import DeadLetter


@pytest.mark.extended
async def test_nothing_that_is_asked_makes_the_monitor_fail(
    api: httpx.AsyncClient,
    record: Callable[..., Awaitable[list[UUID]]],
    new_death: Callable[..., DomainMessage[DeadLetter]],
) -> None:
    ids = [str(each) for each in await record(new_death(b"garbage"), *(new_death() for _ in range(30)))]
    document = (await api.get("/openapi.json")).json()
    now = (await api.get("/v1/dead-letters")).json()["now"]
    target = FuzzTarget(
        str(api.base_url),
        [*document["paths"], "/docs", "/v1/{x}"],
        known={"dead_letter_id": ids, "before": ids, "state": ["open", "resolved"], "limit": ["1", "200"]},
        bodies=[
            {"queue": "publisher-commands", "type": "content.publish", "until": now, "limit": 1},
            {"ids": ids[:2], "limit": 2},
            {"reason": "not needed"},
            {"key_id": "0123456789AB"},
            {
                "address": "bob@acme.example",
                "language": "de",
                "url": f"https://console.acme.example/invitations/{'a' * 43}",
                "name": "Bob",
                "inviter": "Ada",
            },
        ],
        key=api.headers["X-Service-Key"],
        document=document,
    )
    answered = await ask_strangely(target, count=300)
    assert {200, 202, 401, 404, 405, 409, 422} <= set(answered)
