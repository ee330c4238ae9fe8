"""A process's metrics of requests, after it has answered some."""

import platform
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from chassis import App, AppSettings, KeyedSettings
from chassis.database.migrations import migrate, read
from chassis.http.api import api
from chassis.http.service_key import ServiceKey
from chassis.testing import running

Labels = tuple[str, str, str]
KEY = "a-key-for-tests-only"


class ShopSettings(AppSettings, KeyedSettings):
    pass


class Shop(App):
    """Answers well, slowly, badly and not at all."""

    def __init__(self, settings: ShopSettings) -> None:
        super().__init__("shop", settings, system="kiosk")
        app = api("shop", ServiceKey(settings.service_key))
        routes = APIRouter(prefix="/v1")
        routes.add_api_route("/orders/{number}", self.order)
        app.include_router(routes)
        app.add_api_route("/broken", self.broken)
        app.add_api_route("/parts", self.parts)
        self.serve(app)

    async def order(self, number: int) -> dict[str, int]:
        return {"number": number}

    async def broken(self) -> Response:
        raise RuntimeError("on purpose")

    async def parts(self) -> Response:
        return StreamingResponse(iter(["one", "two"]))


class Pages(App):
    """Without FastAPI, as public pages are."""

    def __init__(self, settings: ShopSettings) -> None:
        super().__init__("pages", settings, system="kiosk")
        self.serve(Starlette(routes=[Route("/pages/{name}", self.page)]))

    async def page(self, request: Request) -> Response:
        return PlainTextResponse(request.path_params["name"])


async def settings(database_url: str, folder: Path, **more: str) -> ShopSettings:
    await migrate(database_url, read("shop", folder))
    values = {"database_url": database_url, "service_key": KEY, "http_port": 0, **more}
    return ShopSettings.model_validate(values)


def client_of(app: App) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{app.port}", timeout=60, trust_env=False)


async def counted(client: httpx.AsyncClient) -> dict[Labels, float]:
    """By method, route and status."""
    text = (await client.get("/metrics")).text
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "kiosk_http_request_seconds_count"
    }


@pytest.mark.extended
@pytest.mark.parametrize(
    ("method", "path", "labels"),
    [
        ("GET", "/v1/orders/7", ("GET", "/v1/orders/{number}", "200")),
        ("GET", "/v1/orders/eight", ("GET", "/v1/orders/{number}", "422")),
        ("DELETE", "/v1/orders/7", ("DELETE", "/v1/orders/{number}", "405")),
        ("GET", "/parts", ("GET", "/parts", "200")),
        ("GET", "/broken", ("GET", "/broken", "500")),
        ("GET", "/wp-login.php", ("GET", "none", "404")),
        ("PROPFIND", "/parts", ("other", "/parts", "405")),
    ],
)
async def test_a_request_is_counted_by_method_route_and_status(
    database_url: str, tmp_path: Path, method: str, path: str, labels: Labels
) -> None:
    async with (
        running(Shop(await settings(database_url, tmp_path))) as app,
        client_of(app) as client,
    ):
        for _ in range(2):
            await client.request(method, path, headers={"X-Service-Key": KEY})
        assert await counted(client) == {labels: 2.0}


async def test_a_refusal_before_any_route_is_counted_too(database_url: str, tmp_path: Path) -> None:
    async with (
        running(Shop(await settings(database_url, tmp_path))) as app,
        client_of(app) as client,
    ):
        assert (await client.get("/v1/orders/7")).status_code == 401
        assert await counted(client) == {("GET", "none", "401"): 1.0}


async def test_what_strangers_make_up_becomes_no_label(database_url: str, tmp_path: Path) -> None:
    async with (
        running(Pages(await settings(database_url, tmp_path))) as app,
        client_of(app) as client,
    ):
        for number in range(20):
            # The parser knows methods by name, and lets none through that somebody made up.
            assert (await client.request(f"X{number}", f"/nothing/{number}")).status_code == 400
            await client.request("PROPFIND", f"/nothing/{number}")
            await client.get(f"/pages/{number}")
        assert await counted(client) == {
            ("other", "none", "404"): 20.0,
            ("GET", "/pages/{name}", "200"): 20.0,
        }


async def test_it_tells_what_is_running(database_url: str, tmp_path: Path) -> None:
    async with (
        running(Shop(await settings(database_url, tmp_path, revision="0a1b2c3"))) as app,
        client_of(app) as client,
    ):
        text = (await client.get("/metrics")).text
    python = platform.python_version()
    # It is installed as nothing, so that its version is not known.
    assert f'kiosk_build_info{{python="{python}",revision="0a1b2c3",version="unknown"}} 1.0' in text
