"""No route of any service reads a body before it knows that the caller's key has the scope, and sees the brand."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import Message

from chassis.http.callers import Caller, Scope
from chassis.http.guard import Guard
from tests.architecture.test_every_route_names_its_scope import SERVICES, routes_of, served_by

WITHOUT_SCOPE = Caller("nobody", frozenset())
OF_ANOTHER_BRAND = Caller("neighbour", frozenset(Scope), frozenset({"another-brand"}))


def app_for(caller: Caller, service: str, folder: Path) -> FastAPI | None:
    """The service's application, which takes every request for the caller's; None: it has no API."""
    app = served_by(service, folder)
    if not isinstance(app, FastAPI):
        return None

    async def authorise(_: Request) -> Caller:
        return caller

    guards = [each for each in app.user_middleware if each.cls is Guard]
    assert len(guards) == 1
    guards[0].kwargs.update(authorise=authorise, quotas=None)
    return app


async def status_of(app: FastAPI, method: str, path: str) -> int:
    """The status of a request with a body that must not be read."""
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError(f"{method} {path} reads the body of a caller who may not ask for it")

    async def send(message: Message) -> None:
        sent.append(message)

    head = [(b"content-type", b"text/plain"), (b"content-length", b"12000000")]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
    scope |= {"query_string": b"", "headers": head, "client": ("192.0.2.1", 1), "server": ("192.0.2.2", 80)}
    await app(scope | {"scheme": "http", "http_version": "1.1", "root_path": ""}, receive, send)
    status: int = sent[0]["status"]
    return status


@pytest.mark.parametrize("service", SERVICES)
async def test_without_the_scope_no_route_reads_a_body(service: str, tmp_path: Path) -> None:
    app = app_for(WITHOUT_SCOPE, service, tmp_path)
    for method, path in routes_of(app) if app is not None else ():
        assert app is not None
        assert await status_of(app, method.upper(), re.sub(r"\{[^}]*\}", "x", path)) == 403, path


@pytest.mark.parametrize("service", SERVICES)
async def test_below_another_brand_no_route_reads_a_body(service: str, tmp_path: Path) -> None:
    app = app_for(OF_ANOTHER_BRAND, service, tmp_path)
    for method, path in routes_of(app) if app is not None else ():
        if method in {"post", "put", "patch"} and path.startswith("/v1/brands/{slug}/"):
            assert app is not None
            status = await status_of(app, method.upper(), re.sub(r"\{[^}]*\}", "x", path))
            assert status in {403, 404}, path


@pytest.mark.parametrize("service", SERVICES)
async def test_where_there_is_no_route_no_body_is_read(service: str, tmp_path: Path) -> None:
    if (app := app_for(OF_ANOTHER_BRAND, service, tmp_path)) is not None:
        assert await status_of(app, "POST", "/v1/nothing-like-this") == 404
