"""The process as a whole."""

from collections.abc import Awaitable, Callable

import httpx

from chassis.testing.apps import running
from gateway.app import build
from gateway.settings import Settings

KEY = "test-service-key-0123456789"


async def test_it_starts_with_a_database_and_no_broker(
    make_database: Callable[[str], Awaitable[str]],
) -> None:
    settings = Settings.model_validate(
        {"database_url": await make_database("gateway"), "service_key": KEY, "http_port": 0}
    )
    async with running(build(settings)) as app, httpx.AsyncClient(trust_env=False) as client:
        origin = f"http://127.0.0.1:{app.port}"
        ready = await client.get(f"{origin}/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (200, "ok")
        stranger = await client.get(f"{origin}/v1/anything")
        assert (stranger.status_code, stranger.json()["status"]) == (401, 401)
        known = await client.get(f"{origin}/v1/anything", headers={"X-Service-Key": KEY})
        assert known.status_code == 404
