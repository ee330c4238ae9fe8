"""Every change over the API of a service is a row of its audit log: `chassis.http.audit` wraps every route."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from chassis.http.audit.operations import operation_of
from chassis.http.audit.recording import Audited
from chassis.http.service_key import API_PREFIX
from envelope.brand import DEPLOYED
from tests.architecture.test_every_route_names_its_scope import SERVICES, served_by

READING = {"GET", "HEAD", "OPTIONS"}
CHANGES_NOTHING = {
    "/v1/search": "what it costs is in the ledger, and a transaction must not wait for a provider",
    "/v1/chat/completions": "likewise",
    "/v1/providers/{name}/check": "likewise",
    "/v1/accounts/{name}/requests": "likewise: what services ask of others is in their receipts",
    "/v1/accounts/{name}/fences": "likewise",
    "/v1/accounts/{name}/mail": "likewise",
    "/v1/accounts/{name}/authorizations/complete": "it writes its own row, in the transaction that begins when the provider has answered",
    "/v1/sign-in": "the provider is asked, and the answer has a secret that is kept nowhere",
    "/v1/accounts/{name}/check": "what is learned is the other side's, and a transaction must not wait for it",
    "/v1/content/{content_id}/check": "checks a text that is longer than an address may be, and stores nothing",
    "/v1/posts/{post_id}/count": "counts a text that is longer than an address may be, and stores nothing",
    "/v1/subscriptions/{name}/pull": "readers take thousands of events a minute, and what is left to take is all that changes",
    "/v1/subscriptions/{name}/ack": "likewise",
    "/v1/dead-letters/outcomes": "asks about more ids than an address has room for",
}


def changing(app: FastAPI) -> list[tuple[str, Route]]:
    return [
        (method, route)
        for route in app.router.routes
        if isinstance(route, Route) and route.path.startswith(API_PREFIX)
        for method in sorted((route.methods or set()) - READING)
    ]


@pytest.mark.extended
@pytest.mark.parametrize("service", SERVICES)
def test_every_route_that_changes_something_is_noted(service: str, tmp_path: Path) -> None:
    app = served_by(service, tmp_path)
    if not isinstance(app, FastAPI):
        assert not [route for route in app.routes if getattr(route, "path", "").startswith(API_PREFIX)]
        return
    *around, noting = app.user_middleware
    assert noting.cls is Audited, (
        f"{service}: end `create_api` with `keep_audit_log(app, database)`, innermost: what is answered as before changes nothing"
    )
    assert all(each.cls is not Audited for each in around)
    left_out = set(noting.kwargs["operations"].changes_nothing)
    assert left_out <= set(CHANGES_NOTHING), (
        f"say in CHANGES_NOTHING why {left_out} of {service} changes nothing"
    )
    shown = {path for path, operations in app.openapi()["paths"].items() if "get" in operations}
    for method, route in changing(app):
        if route.path in left_out:
            continue
        about = operation_of(method, route, shown)
        answers = getattr(route, "status_code", None) != 204
        assert about.depth is not None or answers, (
            f"{about.name} of {service} would be noted without a before and after: have GET answer at {route.path}, or have it"
            " answer with what it has made"
        )


def test_changing_routes_are_found(tmp_path: Path) -> None:
    """Or nothing would be said of them above."""
    found = {
        service: len(changing(app))
        for service in SERVICES
        if isinstance(app := served_by(service, tmp_path), FastAPI)
    }
    assert set(found) == set(DEPLOYED)
    assert found["orchestrator"] >= 20
