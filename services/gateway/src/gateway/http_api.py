"""The HTTP API for the other services: what they may ask of the outside."""

from typing import Final

from fastapi import FastAPI

from chassis import Connections
from chassis.http.api import api
from chassis.http.guard import Authorise
from gateway.calls.routes import spend_routes
from gateway.money import Spending
from gateway.pages import Reader, page_routes
from gateway.problems import ProblemError, answer_problem

DESCRIPTION: Final = "The one door to the outside, for the services of this system alone."


def create_api(
    authorise: Authorise, connections: Connections, spending: Spending, reader: Reader | None
) -> FastAPI:
    """The application; each room's routes are included here."""
    app = api("Brand Engine: gateway", authorise, description=DESCRIPTION)
    app.add_exception_handler(ProblemError, answer_problem)
    app.include_router(spend_routes(connections, spending))
    app.include_router(page_routes(reader))
    return app
