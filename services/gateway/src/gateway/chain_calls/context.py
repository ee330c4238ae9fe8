"""Runs each request in the context of the chain that its headers name."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.http import chain_headers
from chassis.http.problem_codes import INVALID_REQUEST
from chassis.http.problems import ProblemResponse


class ChainContext:
    """Middleware; a request whose headers cannot be understood is refused (422)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            chain = chain_headers.incoming(Headers(scope=scope))
        except ValueError as error:
            refused = ProblemResponse.coded(INVALID_REQUEST, str(error))
            await refused(scope, receive, send)
            return
        with chain_headers.within(chain):
            await self._app(scope, receive, send)
