"""Routes that connect accounts by OAuth log-ins."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, SecretStr, StringConstraints
from starlette.requests import Request

from chassis import Connection, WebAddress
from chassis.http.api import MayAdminister, View, needs, refusal, router
from chassis.http.audit import log as audit_log
from chassis.http.callers import Caller, Scope
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from gateway.accounts.health import AccountHealthChecker
from gateway.accounts.kinds import KINDS
from gateway.accounts.login_flow import LoginFlow, redirects_allowed
from gateway.accounts.oauth import OAuthApps
from gateway.accounts.registry import AccountRegistry, checked_settings
from gateway.accounts.routes import AccountView, Brands, Name, brands_of, view
from gateway.accounts.store import AccountSetup
from gateway.problems import NO_KEYS
from integrations.account_kinds import LoginKindName

COMPLETE: Final = "/v1/accounts/{name}/authorizations/complete"
BEGIN: Final = "/v1/accounts/{name}/authorizations"
_NOT_NOW: Final = refusal(
    HTTPStatus.FAILED_DEPENDENCY, "Nobody can log in so; `type` and `detail` say why and what to do."
)
_Text = Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=4000)]


class AppRequest(BaseModel):
    """The OAuth app that represents this installation at a provider."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    client_id: Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=300)]
    client_secret: SecretStr | None = None
    """Leave out for an app without a secret."""
    authorize_url: WebAddress | None = None
    """Replaces the provider's log-in address, for tests."""
    token_url: WebAddress | None = None
    scopes: list[Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=100)]] | None = None
    """Scopes to request; by default those needed for posting."""


class AppView(View):
    """An OAuth app, without its secret."""

    kind: str
    client_id: str | None
    has_secret: bool
    scopes: list[str] | None = None
    """Requested scopes; null: those needed for posting."""
    connected_at: datetime | None


class BeginLogin(BaseModel):
    """The account to connect."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    kind: LoginKindName
    brands: Brands
    settings: dict[str, Any] = {}
    redirect_uri: Annotated[str, StringConstraints(max_length=1000)]
    """The provider redirects the browser there: HTTPS, or a port of this machine."""


class LoginView(View):
    model_config = ConfigDict(from_attributes=True)

    authorize_url: str
    """The provider's log-in page."""
    state: str
    """The provider returns it with the code; valid once."""
    expires_at: datetime


class CompleteLogin(BaseModel):
    """The parameters of the provider's redirect."""

    model_config = ConfigDict(extra="forbid")

    code: _Text
    state: _Text


def login_routes(
    registry: AccountRegistry, apps: OAuthApps, login_flow: LoginFlow, health: AccountHealthChecker
) -> list[APIRouter]:
    return [_app_routes(apps), _account_routes(registry, login_flow, health)]


def _app_routes(apps: OAuthApps) -> APIRouter:
    routes = router("/account-apps", tags=["Accounts"])

    @routes.get("/{kind}", dependencies=[needs(Scope.OPERATE)], summary="What a provider knows us by")
    async def get_account_app(kind: Annotated[LoginKindName, Path()]) -> AppView:
        found = await apps.find(kind)
        if found is None:
            return AppView(kind=kind, client_id=None, has_secret=False, connected_at=None)
        return AppView(
            kind=kind,
            client_id=found.client_id,
            has_secret=found.secret is not None,
            scopes=found.settings.get("scopes"),
            connected_at=found.connected_at,
        )

    @routes.put(
        "/{kind}",
        dependencies=[needs(Scope.ADMIN)],
        status_code=HTTPStatus.NO_CONTENT,
        summary="Say what a provider knows us by",
        responses=NO_KEYS,
    )
    async def set_account_app(kind: Annotated[LoginKindName, Path()], request: AppRequest) -> None:
        secret = request.client_secret
        if secret is not None and not all("!" <= char <= "~" for char in secret.get_secret_value() or " "):
            raise RefusalError(INVALID_REQUEST, "client_secret: must be visible ASCII characters")
        settings = request.model_dump(
            mode="json", include={"authorize_url", "token_url", "scopes"}, exclude_none=True
        )
        await apps.put(kind, request.client_id, secret, settings)

    return routes


def _account_routes(
    registry: AccountRegistry, login_flow: LoginFlow, health: AccountHealthChecker
) -> APIRouter:
    routes = router("/accounts", tags=["Accounts"])

    @routes.post(
        "/{name}/authorizations",
        dependencies=[needs(Scope.ADMIN)],
        status_code=HTTPStatus.CREATED,
        summary="Begin to log in with a provider",
        responses={**NO_KEYS, **_NOT_NOW},
    )
    async def begin_account_login(name: Annotated[Name, Path()], request: BeginLogin) -> LoginView:
        if not redirects_allowed(request.redirect_uri):
            raise RefusalError(
                INVALID_REQUEST,
                f"redirect_uri: '{request.redirect_uri}' must lead to this machine (http://127.0.0.1:8976/callback) or begin with"
                " https://, with a host and without a user, a fragment, white space or a backslash",
            )
        try:
            settings = checked_settings(KINDS[request.kind], request.settings)
        except ValueError as error:
            raise RefusalError(INVALID_REQUEST, str(error)) from None
        given = AccountSetup(name, request.kind, brands_of(request.brands), settings)
        return LoginView.model_validate(await login_flow.begin(given, request.redirect_uri))

    @routes.post(
        "/{name}/authorizations/complete",
        summary="Connect the account with what came back",
        responses={**NO_KEYS, **_NOT_NOW},
    )
    async def complete_account_login(
        caller: MayAdminister, name: Annotated[Name, Path()], body: CompleteLogin, request: Request
    ) -> AccountView:
        async def note(connection: Connection) -> None:
            await audit_log.write(connection, _change(caller, name, request))

        await login_flow.complete(name, body.code, body.state, note)
        await health.check(name)
        return await view(registry, name)

    return routes


def _change(caller: Caller, name: str, request: Request) -> audit_log.Change:
    return audit_log.Change(
        caller=caller.name,
        key_id=caller.key_id,
        operation=f"POST {COMPLETE}",
        path=f"/v1/accounts/{name}/authorizations/complete",
        address=request.client.host if request.client else None,
        brand=None,
        correlation_id=None,
        before=None,
        after={"name": name},
    )
