"""The HTTP API for the other services: what they may ask of the outside."""

from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI

from chassis import Connections
from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from gateway import problem_codes
from gateway.accounts import Apps, AskingAccounts, Authorizing, Health, Mailing, Registry
from gateway.accounts.login_routes import BEGIN, COMPLETE, login_routes
from gateway.accounts.routes import (
    CHECK,
    FENCES,
    MAIL,
    MAX_REQUEST_BYTES,
    REQUESTS,
    ROTATE,
    account_routes,
    asking_routes,
    erasure_routes,
)
from gateway.calls.routes import spend_routes
from gateway.credentials import Accounts
from gateway.credentials.routes import provider_routes
from gateway.model import Writing
from gateway.model.routes import COMPLETIONS, MAX_BODY_BYTES, chat_routes
from gateway.money import Spending
from gateway.pages import Reader, page_routes
from gateway.problems import ProblemError, answer_problem
from gateway.providers import KINDS
from gateway.search import Searching
from gateway.search.routes import SEARCH, search_routes

DESCRIPTION: Final = "The one door to the outside, for the services of this system alone."


@dataclass(frozen=True, slots=True)
class ConnectedAccounts:
    """Accounts of brands."""

    registry: Registry
    apps: Apps
    asking: AskingAccounts
    mailing: Mailing
    authorizing: Authorizing
    health: Health


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the routes are about."""

    connections: Connections
    spending: Spending
    accounts: Accounts
    searching: Searching
    writing: Writing
    reader: Reader | None
    """None: no pages are read."""
    connected: ConnectedAccounts


def create_api(authorise: Authorise, rooms: Rooms) -> FastAPI:
    """The application; each room's routes are included here."""
    app = api(
        "Brand Engine: gateway",
        authorise,
        larger_bodies={COMPLETIONS: MAX_BODY_BYTES, REQUESTS: MAX_REQUEST_BYTES},
        codes=problem_codes.ALL,
        description=DESCRIPTION,
    )
    app.add_exception_handler(ProblemError, answer_problem)
    connected = rooms.connected
    add_routes(
        app,
        search_routes(rooms.searching),
        chat_routes(rooms.writing),
        provider_routes(rooms.accounts, KINDS, [connected.registry.seal_anew, connected.apps.seal_anew]),
        account_routes(connected.registry, connected.health),
        asking_routes(connected.asking, connected.mailing),
        erasure_routes(connected.registry),
        *login_routes(connected.registry, connected.apps, connected.authorizing, connected.health),
        spend_routes(rooms.connections, rooms.spending),
        page_routes(rooms.reader),
    )
    # They ask others over the network, under no transaction; what they cost is in the ledger.
    keep_audit_log(
        app,
        rooms.connections,
        changes_nothing=[COMPLETIONS, SEARCH, REQUESTS, MAIL, FENCES, CHECK, COMPLETE],
        shown_once=["/v1/accounts/{name}", ROTATE, BEGIN],
    )
    return app
