"""A request that is for one user reaches no other, and lists that are too long are read as far as they go."""

import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from gateway.accounts.kind import leading_items
from services.gateway.tests.accounts.test_account_requests import ask, connect, effect, post
from tests.fixtures.accounts.other_side import OtherSide


async def identities(api: httpx.AsyncClient) -> list[str]:
    (account,) = (await api.get("/v1/accounts", params={"brand": "acme"})).json()["items"]
    told: list[str] = account["identities"]
    return told


async def _connected_as(api: httpx.AsyncClient, other: OtherSide, user: str) -> list[str]:
    other.answer("GET /api/v1/accounts/verify_credentials", {"id": user, "acct": f"user{user}"})
    await connect(api, other)
    await api.post("/v1/accounts/acme/check")
    return await identities(api)


async def test_a_request_for_one_user_reaches_no_other(api: httpx.AsyncClient, other: OtherSide) -> None:
    other.answer("POST /api/v1/statuses", {"id": "1"})
    ann = await _connected_as(api, other, "1")
    bob = await _connected_as(api, other, "2")
    assert ann[0].startswith("user:")
    assert not set(ann) & set(bob)
    body = post(effect=effect(uuid4(), 1))
    url = "/v1/accounts/acme/requests"
    for identity in ann:
        refused = await api.post(url, json=body, headers={"X-Account-Identity": identity})
        assert (refused.status_code, refused.json()["type"]) == (424, "account.other_identity")
        assert refused.json()["transient"] is True
    assert [each.path for each in other.came if each.method == "POST"] == []
    for identity in bob:
        sent = await api.post(url, json=body, headers={"X-Account-Identity": identity})
        assert sent.status_code == 200


@pytest.mark.extended
async def test_the_same_user_connected_again_is_known(api: httpx.AsyncClient, other: OtherSide) -> None:
    before = await _connected_as(api, other, "1")
    again = await _connected_as(api, other, "1")
    assert before[0] == again[0]
    assert before[1] != again[1]


async def test_whom_an_account_is_connected_as_is_not_known_before_it_is_looked_at(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    other.answer("GET /api/v1/accounts/verify_credentials", {"error": "later"})
    await connect(api, other)
    (only,) = await identities(api)
    assert only.startswith("connection:")


async def test_a_list_that_is_too_long_is_given_as_far_as_it_is_whole(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    await connect(api, other)
    statuses = [
        {
            "id": str(number),
            "visibility": "direct" if number % 2 else "public",
            "content": "secret" if number % 2 else "x" * 9_999,
        }
        for number in range(1_000)
    ]
    other.answer("GET /api/v1/accounts/7/statuses", statuses)
    body = {"brand": "acme", "method": "GET", "path": "/api/v1/accounts/7/statuses"}
    told = (await ask(api, body)).json()
    assert told["truncated"] is True
    assert (told["json"], told["text"]) == (None, None)
    ids = [int(each["id"]) for each in told["whole_items"]]
    # What is addressed to somebody is hidden in what is cut off, too.
    assert ids == list(range(0, len(ids) * 2, 2))
    assert 700 < 2 * len(ids) < 1_000


@pytest.mark.parametrize(
    ("body", "items"),
    [
        ('[{"a": 1}, {"b": [2, "]"]}, {"c', [{"a": 1}, {"b": [2, "]"]}]),
        ("[1, 23", [1]),
        ("[1, 23]", [1, 23]),
        ("[]", []),
        ("[", []),
        ('{"data": [1', None),
        ('[{"é', []),
    ],
)
def test_the_whole_items_of_a_list_that_was_cut_off(body: str, items: Any) -> None:
    assert leading_items(body.encode()) == items


def test_a_list_that_was_cut_within_a_character_has_its_whole_items() -> None:
    body = json.dumps(["a", "é"], ensure_ascii=False).encode()
    assert leading_items(body[: body.index("é".encode()) + 1]) == ["a"]
