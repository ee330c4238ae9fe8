"""What API keys open at the gateway: the management of providers, accounts and money, and nothing that goes outside."""

from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import compile_path

from chassis.http.callers import SERVICE, Authorise, Caller, Scope
from chassis.http.problem_codes import FORBIDDEN, RefusalError

OPENED_BY_API_KEYS: Final = frozenset(
    {
        "GET /v1/providers",
        "GET /v1/providers/{name}",
        "PUT /v1/providers/{name}",
        "DELETE /v1/providers/{name}",
        "POST /v1/providers/{name}/check",
        "GET /v1/accounts",
        "GET /v1/accounts/{name}",
        "PUT /v1/accounts/{name}",
        "DELETE /v1/accounts/{name}",
        "POST /v1/accounts/{name}/rotate",
        "POST /v1/accounts/{name}/check",
        "POST /v1/accounts/{name}/authorizations",
        "POST /v1/accounts/{name}/authorizations/complete",
        "GET /v1/account-apps/{kind}",
        "PUT /v1/account-apps/{kind}",
        "GET /v1/spend",
        "GET /v1/spend/calls",
        "GET /v1/spend/days",
        "GET /v1/chain-calls",
        "PUT /v1/spend/caps/{scope}",
        "POST /v1/spend/stop",
        "POST /v1/spend/resume",
        "GET /v1/audit-log",
    }
)
"""Routes for keys with the scope that each needs. Posts, mail, searches, pages and models are for services alone:
there nobody's key could go around a review, or spend money on anything but articles. The check of a provider has a text of its own."""

SIGN_IN: Final = Caller("sign-in", frozenset({Scope.READ}), key_id="sign-in", per_minute=120)
"""Whoever signs in: the console has no key for it, and the code that it hands over is worth nothing twice."""
OPEN_WITHOUT_A_KEY: Final = frozenset({"GET /v1/sign-in", "POST /v1/sign-in"})


def describe_keys(app: FastAPI) -> None:
    """Has the document of the API say which keys open each route."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        document = describe()
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                route = f"{method.upper()} {path}"
                if route not in OPENED_BY_API_KEYS:
                    keys = [each for each in operation["security"] if "ApiKey" not in each]
                    # An empty requirement is one that a request without a key meets.
                    operation["security"] = [{}, *keys] if route in OPEN_WITHOUT_A_KEY else keys
        return document

    app.openapi = openapi  # type: ignore[method-assign]


class OperatorKeys:
    """Authorises as `authorise` does, and restricts API keys to `OPENED_BY_API_KEYS`. Signing in needs no key.

    A key that is bound to brands opens nothing: accounts and providers are shared by brands, and name each other's.
    """

    def __init__(self, authorise: Authorise) -> None:
        self._authorise = authorise
        split = (each.split(" ", 1) for each in OPENED_BY_API_KEYS)
        self._routes = [(method, compile_path(path)[0]) for method, path in split]

    async def __call__(self, request: Request) -> Caller:
        """Returns the caller. Raises RefusalError: 401 and 503 as `authorise`, 403 for what an API key does not open."""
        is_open = f"{request.method} {request.url.path}" in OPEN_WITHOUT_A_KEY
        if is_open and not any(map(request.headers.get, ("x-service-key", "authorization"))):
            return SIGN_IN
        caller = await self._authorise(request)
        if caller is SERVICE:
            return caller
        if caller.brands is not None:
            raise RefusalError(
                FORBIDDEN,
                "the gateway is shared by all brands, so a key that is bound to some opens nothing here",
            )
        path = request.url.path
        if not any(method == request.method and route.match(path) for method, route in self._routes):
            raise RefusalError(FORBIDDEN, "only services may do this; API keys do not open it")
        return caller
