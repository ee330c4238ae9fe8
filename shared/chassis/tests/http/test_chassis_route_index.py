"""The index chooses the route that the framework would choose."""

from itertools import product
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match, Mount, Route

from chassis.http.route_index import RouteIndex

PATHS = (
    "/",
    "/v1/drafts",
    "/v1/drafts/",
    "/v1/drafts/7",
    "/v1/drafts/7.md",
    "/v1/drafts/7/decisions",
    "/v1/drafts/7/decisions/latest",
    "/v1/drafts/counts",
    "/v1/{id}",
    "/v1/files/a/b/c.txt",
    "/v1/files/",
    "/pages/a",
    "/pages",
    "//v1/drafts",
    "v1/drafts",
    "",
)


async def answer(*_: Any) -> None:
    raise NotImplementedError


def routes() -> list[BaseRoute]:
    return [
        Route("/", answer),
        Route("/v1/drafts", answer),
        Route("/v1/drafts", answer, methods=["POST"]),
        # Before the parameter, and after it, where nothing reaches it.
        Route("/v1/drafts/counts", answer),
        Route("/v1/drafts/{id}", answer),
        Route("/v1/drafts/latest", answer),
        Route("/v1/drafts/{id}.{ending}", answer, methods=["PUT"]),
        Route("/v1/drafts/{id}/decisions", answer, methods=["GET", "DELETE"]),
        Route("/v1/{what}/{id}/decisions", answer, methods=["POST"]),
        Route("/v1/files/{place:path}", answer),
        Mount("/pages", Starlette()),
        Route("/{first}/{second}", answer, methods=["PATCH"]),
    ]


def asked(method: str, path: str, **more: Any) -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "headers": [], **more}


def chosen(among: list[BaseRoute], scope: dict[str, Any]) -> tuple[BaseRoute, Any] | None:
    for route in among:
        match, child = route.matches(scope)
        if match is Match.FULL:
            return route, child.get("path_params")
    return None


@pytest.mark.parametrize(("method", "path"), list(product(("GET", "HEAD", "POST", "PUT", "PATCH"), PATHS)))
def test_the_route_is_that_which_all_in_turn_would_give(method: str, path: str) -> None:
    plain = routes()
    index = RouteIndex(indexed := list(plain))

    found = index.find(asked(method, path))

    expected = chosen(plain, asked(method, path))
    assert (found and (found.route, found.child_scope.get("path_params"))) == expected
    assert indexed[0] is index


def test_routes_that_are_added_later_are_found() -> None:
    index = RouteIndex(some := routes())
    assert index.find(asked("GET", "/v1/later")) is None

    some.append(Route("/v1/later", answer, name="later"))

    found = index.find(asked("GET", "/v1/later"))
    assert found is not None
    assert found.route is some[-1]


def test_a_copy_of_a_scope_is_looked_up_anew() -> None:
    index = RouteIndex(routes())
    scope = asked("GET", "/v1/drafts/7")
    assert index.matches(scope)[0] is Match.FULL

    assert index.matches({**scope, "method": "DELETE"})[0] is Match.NONE
    other = index.find({**scope, "path": "/v1/drafts"})
    assert other is not None
    assert other.child_scope["path_params"] == {}


def test_the_path_of_a_mount_is_taken_off() -> None:
    index = RouteIndex(routes())

    assert index.find(asked("GET", "/console/v1/drafts/7", root_path="/console")) is not None
    assert index.find(asked("GET", "/consolev1/drafts/7", root_path="/console")) is None


async def test_a_route_answers_once_and_others_as_before() -> None:
    app = FastAPI()
    RouteIndex(app.router.routes)

    @app.get("/things/{number}")
    async def thing(number: int) -> int:
        return number

    async with AsyncClient(transport=ASGITransport(app=app), base_url="http://here") as client:
        assert (await client.get("/things/7")).json() == 7
        assert (await client.post("/things/7")).status_code == 405
        assert (await client.get("/others")).status_code == 404
    assert "/things/{number}" in app.openapi()["paths"]
