"""A model that really runs, behind the gateway."""

import json
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.real


async def connect(api: httpx.AsyncClient, url: str, **more: Any) -> None:
    settings = {"url": url, "model": "local-model", "read_price": "0.15", "written_price": "0.60"} | more
    answer = await api.put("/v1/providers/model", json={"kind": "model", "settings": settings})
    assert answer.status_code == 204, answer.text


async def write(api: httpx.AsyncClient, text: str, **more: Any) -> httpx.Response:
    body = {"model": "model", "messages": [{"role": "user", "content": text}], "temperature": 0} | more
    return await api.post("/v1/chat/completions", json=body, headers={"X-Brand": "acme"}, timeout=150)


async def test_it_writes_within_its_bound_and_is_paid_by_its_tokens(
    real_model_url: str, api: httpx.AsyncClient
) -> None:
    await connect(api, real_model_url)
    first = await write(api, "Write a long story about a coffee pot.", max_tokens=12)
    told = first.json()
    assert (first.status_code, told["gateway"]["ending"]) == (200, "length"), first.text
    (entry,) = (await api.get("/v1/spend/calls")).json()["items"]
    assert entry["usage"]["tokens_written"] == 12
    price = -(-(entry["usage"]["tokens_read"] * 150_000 + 12 * 600_000) // 1_000_000)
    assert 0 < told["gateway"]["spent"] == entry["spent"] == price <= entry["maximum"]
    again = (await write(api, "Write a long story about a coffee pot.", max_tokens=12)).json()
    assert (again["gateway"]["kept"], again["choices"]) == (True, told["choices"])


async def test_its_json_is_by_schema(real_model_url: str, api: httpx.AsyncClient) -> None:
    await connect(api, real_model_url)
    schema = {
        "type": "object",
        "properties": {"ripe": {"type": "boolean"}},
        "required": ["ripe"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "fruit", "strict": True, "schema": schema}}
    answer = await write(api, "Is a green banana ripe?", max_tokens=40, response_format=wanted)
    written = json.loads(answer.json()["choices"][0]["message"]["content"])
    assert written in ({"ripe": True}, {"ripe": False})


async def test_what_it_cannot_read_is_told_apart_and_free(
    real_model_url: str, api: httpx.AsyncClient
) -> None:
    await connect(api, real_model_url)
    refused = await write(api, "word " * 20_000, max_tokens=1)
    assert (refused.status_code, refused.json()["type"]) == (422, "model.context_too_long"), refused.text
    scopes = (await api.get("/v1/spend", params={"brand": "acme"})).json()["scopes"]
    assert (scopes[0]["day"]["spent"], scopes[0]["day"]["reserved"]) == (0, 0)
