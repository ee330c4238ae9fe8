"""A form acts once, however often it is sent."""

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.testing import running
from console.app import ConsoleApp
from console.pages import FormData, Viewer, once, redirect
from console.settings import Settings

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"


@pytest.mark.extended
async def test_a_double_click_acts_once(service_urls: dict[str, str], console: Any) -> None:
    acts = 0
    routes = APIRouter()

    @routes.post("/acts")
    async def act(request: Request, viewer: Viewer, form: FormData) -> Response:
        async def count() -> Response:
            nonlocal acts
            acts += 1
            return redirect(request, f"/acted/{acts}")

        return await once(request, viewer, form, count)

    settings = {"database_url": console.database_url, "service_key": KEY, "http_port": 0, **service_urls}
    app = ConsoleApp(Settings.model_validate(settings))
    app.pages.include_router(routes)
    async with running(app):
        url = f"http://127.0.0.1:{app.port}"
        async with httpx.AsyncClient(
            base_url=url, headers={"Origin": url}, timeout=60, trust_env=False
        ) as person:
            link = (await console.invite("Ada")).replace(console.url, url)
            await person.post(link, data={"name": "Ada", "password": PASSWORD})
            sent = await asyncio.gather(*(person.post("/acts", data={"once": "one"}) for _ in range(5)))
            again = await person.post("/acts", data={"once": "two"})
    assert {(answer.status_code, answer.headers["location"]) for answer in sent} == {(303, "/acted/1")}
    assert again.headers["location"] == "/acted/2"
