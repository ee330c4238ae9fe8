"""The gateway's metrics of calls and money for Prometheus."""

import re

import httpx
from starlette.responses import JSONResponse

from chassis.testing import serving
from gateway.app import GatewayApp
from tests.fixtures.providers import FakeModel


async def write(api: httpx.AsyncClient, text: str, brand: str = "acme") -> int:
    body = {"model": "model", "messages": [{"role": "user", "content": text}]}
    return (await api.post("/v1/chat/completions", json=body, headers={"X-Brand": brand})).status_code


async def shown(gateway: GatewayApp, api: httpx.AsyncClient) -> dict[str, float]:
    """Figures by name and labels, without the system's name."""
    await gateway.metrics.sample()
    text = (await api.get("/metrics")).text
    return {
        name: float(value)
        for name, value in re.findall(r"^brand_engine_(\S+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)
    }


async def test_calls_and_money_are_shown_by_provider_and_never_by_brand(
    gateway: GatewayApp, api: httpx.AsyncClient
) -> None:
    async with serving(model := FakeModel()) as url:
        settings = {"url": f"{url}/v1", "model": "m", "read_price": "10", "max_tokens": 10}
        body = {"kind": "model", "settings": settings}
        assert (await api.put("/v1/providers/model", json=body)).status_code == 204
        at_rest = await shown(gateway, api)
        assert at_rest['calls_total{outcome="answered",provider="model"}'] == 0
        assert at_rest['calls_refused_total{problem="budget.exhausted",provider="model"}'] == 0

        assert await write(api, "one") == 200
        model.next_answers = [JSONResponse({"error": {"message": "no"}}, 500) for _ in range(5)]
        assert [await write(api, f"failing {number}") for number in range(5)] == [503] * 5
        await api.put("/v1/spend/caps/acme", json={"day": "0.001"})
        await api.put("/v1/spend/caps/other", json={"day": "5"})
        await api.post("/v1/spend/stop", json={"scope": "idle"})
        assert await write(api, "too much") == 422
        found = await shown(gateway, api)

    assert found['calls_total{outcome="answered",provider="model"}'] == 1
    assert found['calls_total{outcome="provider.away",provider="model"}'] == 5
    assert found['calls_refused_total{problem="budget.too_small",provider="model"}'] == 1
    assert found['spent_dollars_total{provider="model"}'] == 0.001
    assert found['spend_dollars{period="day",state="spent"}'] == 0.001
    assert found['spend_dollars{period="month",state="set_aside"}'] == 0
    assert found['spend_cap_dollars{period="day"}'] == 10
    assert found['brands_near_cap{period="day"}'] == 1
    assert found['brands_near_cap{period="month"}'] == 0
    assert (found['spending_stopped{of="all"}'], found['spending_stopped{of="brands"}']) == (0, 1)
    assert found['provider_closed{provider="model",why="failing"}'] == 1
    assert found['calls_open{provider="model",state="under_way"}'] == 0
    assert not any("acme" in name for name in found)
