"""Each route of each service names the scope of its callers, and the documents show it."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.applications import Starlette

from chassis.http.callers import Scope
from chassis.http.service_key import API_PREFIX
from envelope.brand import DEPLOYED

ROOT = Path(__file__).parents[2]
SERVICES = sorted(path.name for path in (ROOT / "services").iterdir() if (path / "src").is_dir())
SETTINGS = {
    "database_url": "postgresql://nobody@127.0.0.1:1/none",
    "rabbitmq_url": "amqp://nobody@127.0.0.1:1/",
    "service_key": "test-service-key-0123456789",
}
"""Nothing is connected when a service is put together."""


def served_by(service: str, folder: Path) -> Starlette:
    """The application of the service's own composition root."""
    root = importlib.import_module(f"{service}.app")
    settings = importlib.import_module(f"{service}.settings").Settings(**SETTINGS, corpus=folder)
    process: Any = root.GatewayApp(settings) if service == "gateway" else root.build(settings)
    app: Starlette = process._app
    return app


def routes_of(app: Starlette) -> Iterator[tuple[str, str]]:
    """Methods and paths of all routes of the API, also of those that are not in its document."""
    for route in iter_route_contexts(app.router.routes):
        if route.path is not None and route.path.startswith(API_PREFIX):
            yield from ((method.lower(), route.path) for method in route.methods or {"any"})


@pytest.mark.extended
@pytest.mark.parametrize("service", SERVICES)
def test_every_route_names_one_scope(service: str, tmp_path: Path) -> None:
    app = served_by(service, tmp_path)
    document = app.openapi() if isinstance(app, FastAPI) else {"paths": {}}
    for method, path in routes_of(app):
        told = document["paths"].get(path, {}).get(method, {}).get("security", [])
        scopes = [scope for scheme in told for scope in scheme.get("ServiceKey", ())]
        assert len(scopes) == 1, (
            f"{method.upper()} {path} of {service} needs {scopes}; have it need one scope, by an argument `caller: MayRead` "
            "or `dependencies=[needs(Scope.READ)]`, and let the document tell of it"
        )
        assert scopes[0] in set(Scope)


def test_the_routes_are_found(tmp_path: Path) -> None:
    """Or nothing would be said of them above."""
    found = {service: len(list(routes_of(served_by(service, tmp_path)))) for service in SERVICES}
    assert {service for service, count in found.items() if count} == set(DEPLOYED)
    assert found["orchestrator"] >= 7
