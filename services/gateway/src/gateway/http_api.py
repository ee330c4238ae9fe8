"""The HTTP API through which the other services reach the internet."""

from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI

from chassis import Connections
from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from chassis.http.introspection import ReplicaQuotas
from gateway import problem_codes
from gateway.accounts import (
    AccountCaller,
    AccountHandovers,
    AccountHealthChecker,
    AccountMailer,
    AccountRegistry,
    LoginFlow,
    OAuthApps,
)
from gateway.accounts.handover_routes import HANDOVER_BODIES, handover_routes
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
from gateway.chain_calls.context import ChainContext
from gateway.chain_calls.routes import chain_routes
from gateway.credentials import ProviderAccounts
from gateway.credentials.routes import provider_routes
from gateway.model import ChatCompletions
from gateway.model.routes import COMPLETIONS, MAX_BODY_BYTES, chat_routes
from gateway.money import SpendingControl
from gateway.operator_keys import describe_keys
from gateway.pages import PageReader, page_routes
from gateway.problems import CallProblemError, answer_problem
from gateway.provider_checks import CHECK_PROVIDER, check_routes
from gateway.providers import KINDS, ProviderHttpClient
from gateway.search import WebSearch
from gateway.search.routes import SEARCH, search_routes
from gateway.sign_in import EXCHANGE, SignInExchange, sign_in_routes

DESCRIPTION: Final = "Sends all requests to the internet; only this system's services may use it. Operators manage what it uses."


@dataclass(frozen=True, slots=True)
class AccountServices:
    """Parts for the routes of brands' accounts."""

    registry: AccountRegistry
    apps: OAuthApps
    asking: AccountCaller
    mailer: AccountMailer
    login_flow: LoginFlow
    health: AccountHealthChecker
    handovers: AccountHandovers


@dataclass(frozen=True, slots=True)
class ApiServices:
    """Parts for all routes."""

    connections: Connections
    spending: SpendingControl
    accounts: ProviderAccounts
    http: ProviderHttpClient
    web_search: WebSearch
    completions: ChatCompletions
    reader: PageReader | None
    """None: reading pages is switched off."""
    connected: AccountServices
    sign_in: SignInExchange


def create_api(authorise: Authorise, services: ApiServices) -> FastAPI:
    """Creates the application with all routes."""
    app = api(
        "Brand Engine: gateway",
        authorise,
        takes_api_keys=True,
        quotas=ReplicaQuotas(),
        larger_bodies={COMPLETIONS: MAX_BODY_BYTES, REQUESTS: MAX_REQUEST_BYTES} | HANDOVER_BODIES,
        codes=problem_codes.ALL,
        description=DESCRIPTION,
    )
    describe_keys(app)
    app.add_middleware(ChainContext)
    app.add_exception_handler(CallProblemError, answer_problem)
    connected = services.connected
    add_routes(
        app,
        search_routes(services.web_search),
        chat_routes(services.completions),
        provider_routes(
            services.accounts,
            KINDS,
            services.http.check_address,
            [
                connected.registry.reseal,
                connected.apps.reseal,
                connected.handovers.reseal,
                services.sign_in.reseal,
            ],
        ),
        check_routes(services.accounts, services.completions, services.web_search),
        account_routes(connected.registry, connected.health),
        asking_routes(connected.asking, connected.mailer),
        erasure_routes(connected.registry),
        handover_routes(connected.handovers),
        *login_routes(connected.registry, connected.apps, connected.login_flow, connected.health),
        spend_routes(services.connections, services.spending),
        chain_routes(services.connections),
        page_routes(services.reader),
        sign_in_routes(services.sign_in),
    )
    # These change nothing here; the ledger records their cost.
    keep_audit_log(
        app,
        services.connections,
        changes_nothing=[
            COMPLETIONS,
            SEARCH,
            REQUESTS,
            MAIL,
            FENCES,
            CHECK,
            CHECK_PROVIDER,
            COMPLETE,
            EXCHANGE,
        ],
        shown_once=["/v1/accounts/{name}", ROTATE, BEGIN, EXCHANGE],
    )
    return app
