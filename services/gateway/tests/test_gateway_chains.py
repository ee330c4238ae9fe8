"""`GET /v1/chain-calls` of the running service: what was called for a chain, at what cost, and nothing of what was said."""

from typing import Any

import httpx
import pytest

from chassis.http import chain_headers
from chassis.http.chain_headers import ChainContext, incoming, outgoing
from gateway.app import GatewayApp
from gateway.problems import CallProblemError
from tests.fixtures.paid_calls.calls import asked, at_once, costs

CALLS = "/v1/chain-calls"


async def pay(gateway: GatewayApp, about: str, cost: int, chain: ChainContext) -> None:
    with chain_headers.within(chain):
        await gateway.paid_calls.execute(asked(about, maximum=10), costs(cost), at_once)


async def listed(api: httpx.AsyncClient, chain: str, **more: Any) -> dict[str, Any]:
    answer = await api.get(CALLS, params={"correlation_id": chain, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_calls_of_a_chain_are_listed_in_pages_with_what_they_cost(
    gateway: GatewayApp, api: httpx.AsyncClient
) -> None:
    for number in range(3):
        await pay(gateway, f"question {number}", number, ChainContext("chain 1/ä"))
    await pay(gateway, "another chain's", 9, ChainContext("chain-2"))

    first = await listed(api, "chain 1/ä", limit=2)
    second = await listed(api, "chain 1/ä", limit=2, after=first["next"])

    assert (first["calls"], first["spent"]) == (3, 3)
    assert [each["spent"] for each in (*first["items"], *second["items"])] == [0, 1, 2]
    assert second["next"] is None
    (last,) = second["items"]
    assert (last["brand"], last["kind"], last["target"], last["subject"]) == (
        "acme",
        "model",
        "model",
        "a-model",
    )
    assert (last["state"], last["problem"]) == ("settled", None)
    assert last["ended_at"] > last["began_at"]
    assert "an answer" not in str(second)
    assert await listed(api, "nothing") == {"items": [], "next": None, "calls": 0, "spent": 0}


async def test_a_call_that_the_limit_refuses_is_none(gateway: GatewayApp, api: httpx.AsyncClient) -> None:
    with pytest.raises(CallProblemError, match=r"cost\.reached"):
        await pay(gateway, "question", 1, ChainContext("chain-1", 5))
    assert (await listed(api, "chain-1"))["calls"] == 0


async def test_a_request_names_its_chain_in_headers_and_wrong_ones_are_refused(
    api: httpx.AsyncClient,
) -> None:
    for headers in (
        {"Chain-Id": "a" * 201},
        {"Chain-Id": "a%00b"},
        {"Chain-Id": "a", "Chain-Max-Cost": "much"},
        {"Chain-Id": "a", "Chain-Max-Cost": "-1"},
        {"Chain-Id": "a", "Chain-Max-Cost": "1" * 14},
        {"Chain-Max-Cost": "1"},
    ):
        answer = await api.get(CALLS, params={"correlation_id": "a"}, headers=headers)
        assert answer.status_code == 422, headers
        assert "Chain-" in answer.json()["detail"]
    for wrong in ({}, {"correlation_id": ""}, {"correlation_id": "a\x00"}, {"correlation_id": "a" * 201}):
        assert (await api.get(CALLS, params=wrong)).status_code == 422


def test_what_one_side_writes_the_other_reads() -> None:
    assert outgoing() == {}
    for chain in (ChainContext("chain-1"), ChainContext("a b/ü%", 0), ChainContext("x" * 200, 10**12)):
        with chain_headers.within(chain):
            written = outgoing()
        assert incoming(written) == chain
        assert all(value.isascii() for value in written.values())
    assert incoming({}) is None
