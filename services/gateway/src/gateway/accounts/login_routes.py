"""Connecting accounts by logging in with their providers."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, HTTPException, Path
from pydantic import BaseModel, ConfigDict, SecretStr, StringConstraints
from starlette.requests import Request

from chassis import Connection, WebAddress
from chassis.http.api import MayAdminister, View, needs, refusal, router
from chassis.http.audit import log as audit_log
from chassis.http.callers import Caller, Scope
from gateway.accounts.authorizing import Authorizing, redirects_allowed
from gateway.accounts.health import Health
from gateway.accounts.kinds import KINDS
from gateway.accounts.oauth import Apps
from gateway.accounts.registry import Registry, checked_settings
from gateway.accounts.routes import AccountView, Brands, Name, brands_of, view
from gateway.accounts.store import Connecting
from gateway.problems import NO_KEYS

LoginKind = Literal["instagram", "linkedin", "threads", "x"]
COMPLETE: Final = "/v1/accounts/{name}/authorizations/complete"
BEGIN: Final = "/v1/accounts/{name}/authorizations"
_NOT_NOW: Final = refusal(
    HTTPStatus.FAILED_DEPENDENCY, "Nobody can log in so; `type` and `detail` say why and what to do."
)
_Text = Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=4000)]


class AppRequest(BaseModel):
    """What a provider knows this installation by."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    client_id: Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=300)]
    client_secret: SecretStr | None = None
    """Left out for an app that has none."""
    authorize_url: WebAddress | None = None
    """Another place to log in than the provider's own, for tests."""
    token_url: WebAddress | None = None
    scopes: list[Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=100)]] | None = None
    """What is asked for; left out: what posting takes."""


class AppView(View):
    """An app, without its secret."""

    kind: str
    client_id: str | None
    has_secret: bool
    scopes: list[str] | None = None
    """What is asked for; null: what posting takes."""
    connected_at: datetime | None


class BeginLogin(BaseModel):
    """The account that is to be connected by it."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    kind: LoginKind
    brands: Brands
    settings: dict[str, Any] = {}
    redirect_uri: Annotated[str, StringConstraints(max_length=1000)]
    """Where the provider sends the browser back to: on this machine, or encrypted."""


class LoginView(View):
    model_config = ConfigDict(from_attributes=True)

    authorize_url: str
    """Where somebody logs in."""
    state: str
    """Comes back with the code; good once."""
    expires_at: datetime


class CompleteLogin(BaseModel):
    """What came back."""

    model_config = ConfigDict(extra="forbid")

    code: _Text
    state: _Text


def login_routes(registry: Registry, apps: Apps, authorizing: Authorizing, health: Health) -> list[APIRouter]:
    return [_app_routes(apps), _account_routes(registry, authorizing, health)]


def _app_routes(apps: Apps) -> APIRouter:
    routes = router("/account-apps", tags=["Accounts"])

    @routes.get("/{kind}", dependencies=[needs(Scope.OPERATE)], summary="What a provider knows us by")
    async def read_app(kind: Annotated[LoginKind, Path()]) -> AppView:
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
    async def put_app(kind: Annotated[LoginKind, Path()], request: AppRequest) -> None:
        secret = request.client_secret
        if secret is not None and not all("!" <= char <= "~" for char in secret.get_secret_value() or " "):
            raise HTTPException(
                HTTPStatus.UNPROCESSABLE_ENTITY, "client_secret: must be visible ASCII characters"
            )
        settings = request.model_dump(
            mode="json", include={"authorize_url", "token_url", "scopes"}, exclude_none=True
        )
        await apps.put(kind, request.client_id, secret, settings)

    return routes


def _account_routes(registry: Registry, authorizing: Authorizing, health: Health) -> APIRouter:
    routes = router("/accounts", tags=["Accounts"])

    @routes.post(
        "/{name}/authorizations",
        dependencies=[needs(Scope.ADMIN)],
        status_code=HTTPStatus.CREATED,
        summary="Begin to log in with a provider",
        responses={**NO_KEYS, **_NOT_NOW},
    )
    async def begin(name: Annotated[Name, Path()], request: BeginLogin) -> LoginView:
        if not redirects_allowed(request.redirect_uri):
            raise HTTPException(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"redirect_uri: '{request.redirect_uri}' must lead to this machine (http://127.0.0.1:8976/callback) or begin with"
                " https://, with a host and without a user, a fragment, white space or a backslash",
            )
        try:
            settings = checked_settings(KINDS[request.kind], request.settings)
        except ValueError as error:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
        given = Connecting(name, request.kind, brands_of(request.brands), settings)
        return LoginView.model_validate(await authorizing.begin(given, request.redirect_uri))

    @routes.post(
        "/{name}/authorizations/complete",
        summary="Connect the account with what came back",
        responses={**NO_KEYS, **_NOT_NOW},
    )
    async def complete(
        caller: MayAdminister, name: Annotated[Name, Path()], body: CompleteLogin, request: Request
    ) -> AccountView:
        async def note(connection: Connection) -> None:
            await audit_log.write(connection, _change(caller, name, request))

        await authorizing.complete(name, body.code, body.state, note)
        await health.look(name)
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
