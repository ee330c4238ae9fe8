"""Whatever is asked, nothing fails, and what is answered is in the document."""

import httpx

from chassis.testing.strange_requests import Target, ask_strangely

BRAND = {"name": "Acme", "description": "d", "language": "en", "channels": ["feed"], "target": "site"}


async def test_nothing_that_is_asked_makes_the_orchestrator_fail(api: httpx.AsyncClient) -> None:
    (await api.put("/v1/brands/acme", json=BRAND)).raise_for_status()
    research = {"keywords": ["cold brew", "moka pot"], "priority": "high"}
    cycle = (await api.post("/v1/brands/acme/research", json=research)).json()["cycle_id"]
    document = (await api.get("/openapi.json")).json()
    target = Target(
        str(api.base_url),
        [*document["paths"], "/openapi.json", "/docs", "/docs/assets/{name}", "/v1/{x}", "/{x}"],
        known={"slug": ["acme", "new"], "cycle_id": [cycle], "id": [cycle], "name": ["reference.css"]},
        bodies=[BRAND, research],
        key=api.headers["X-Service-Key"],
        document=document,
    )
    answered = await ask_strangely(target, count=300)
    assert {200, 202, 401, 404, 405, 422} <= set(answered)
