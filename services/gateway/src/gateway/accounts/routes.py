"""Routes that connect accounts and send requests to them. No route returns credentials."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from chassis.http.api import UNKNOWN, View, needs, refusal, router
from chassis.http.callers import Scope
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from gateway.accounts.caller import READ_AT_ONCE, AccountCall, AccountCaller
from gateway.accounts.domain import ALL_BRANDS, ConnectedAccount
from gateway.accounts.health import AccountHealthChecker
from gateway.accounts.kind import RemoteResponse
from gateway.accounts.kinds import KINDS
from gateway.accounts.mail import AccountMailer
from gateway.accounts.registry import AccountRegistry, checked_settings, identities, not_connected
from gateway.accounts.requests import AccountAnswer, AccountRequest, FenceRequest, MailAnswer, MailRequest
from gateway.accounts.store import AccountSetup
from gateway.problems import NO_KEYS, CallProblemError
from gateway.requests import BRAND_PATTERN, Brand
from integrations.account_kinds import AccountKindName

REQUESTS: Final = "/v1/accounts/{name}/requests"
FENCES: Final = "/v1/accounts/{name}/fences"
MAIL: Final = "/v1/accounts/{name}/mail"
ROTATE: Final = "/v1/accounts/{name}/rotate"
CHECK: Final = "/v1/accounts/{name}/check"
MAX_REQUEST_BYTES: Final = 16_000_000
"""Fits a picture in base64, with its fields."""
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=63)]
Brands = Annotated[
    list[Annotated[str, StringConstraints(pattern=rf"{BRAND_PATTERN}|^\*$", max_length=63)]],
    Field(min_length=1, max_length=1000),
]

Identity = Annotated[
    str | None,
    Header(
        pattern="^(user|connection):[0-9a-f]{32}$",
        description="One of the account's `identities`: nothing is sent unless it is connected so.",
    ),
]

FROM_ACCOUNTS: Final = {
    **refusal(
        HTTPStatus.CONFLICT, "Whoever asks has been replaced, or what was sent before may still arrive."
    ),
    **refusal(
        HTTPStatus.FAILED_DEPENDENCY,
        "There is no such account, it has to be connected again, or nobody knows what became of the request.",
    ),
    **refusal(HTTPStatus.PAYMENT_REQUIRED, "The budget does not suffice now; retry after `Retry-After`."),
    **refusal(HTTPStatus.TOO_MANY_REQUESTS, "Its turn does not come in time; again after `Retry-After`."),
}


class AccountView(View):
    """An account, without its credentials."""

    name: str
    kind: str
    brands: list[str]
    """Slugs of the brands that may use it; `*`: all, and operators."""
    label: str | None
    """Its name at the provider: `@acme`."""
    state: Literal["ok", "expiring", "needs_reconnecting", "unchecked"]
    detail: str | None
    """Why, in plain words."""
    facts: dict[str, str]
    """Public facts from the provider: ids and addresses that requests are built from."""
    identities: list[str]
    """Identities of the connected user: `user:…` survives reconnection, if the user is known; `connection:…` stands
    for this connection alone.
    """
    scopes: list[str]
    expires_at: datetime | None
    """When its access ends, unless it is connected again before."""
    checked_at: datetime | None
    connected_at: datetime
    settings: dict[str, Any]

    @classmethod
    def of(cls, account: ConnectedAccount) -> Self:
        given = {name: getattr(account, name) for name in cls.model_fields.keys() - {"state", "identities"}}
        return cls(**given, state=account.state_at(datetime.now(UTC)).value, identities=identities(account))


class AccountList(View):
    items: list[AccountView]


class ErasedAccountView(View):
    """An account that an erasure took from its brand. Nothing is sent with it."""

    model_config = ConfigDict(from_attributes=True)

    erasure_id: UUID
    brand: str
    name: str
    kind: str
    erased_at: datetime
    forgotten_at: datetime
    """When it is deleted with its credentials."""


class ErasedAccountList(View):
    items: list[ErasedAccountView]


class RestoredAccountsView(View):
    """The accounts that an undone erasure restored."""

    erasure_id: UUID
    restored: list[str]
    """Names of the restored accounts."""
    name_taken: list[str]
    """Names that another account has taken; these accounts are not restored."""


class ConnectAccount(BaseModel):
    """The account to connect."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    kind: AccountKindName
    brands: Brands
    settings: dict[str, Any] = {}
    credentials: dict[Annotated[str, StringConstraints(max_length=50)], SecretStr] | None = None
    """If left out, the present ones stay, provided kind and address do not change."""


class ConnectedAccountView(View):
    """The connected account."""

    name: str
    secret: str | None
    """The secret of a webhook, with which the receiver checks signatures; shown once."""


class EraseAccounts(BaseModel):
    model_config = ConfigDict(extra="forbid")

    brand: Brand


class AccountErasureView(View):
    """The accounts that an erasure took from a brand."""

    erasure_id: UUID
    brand_slug: str
    removed: dict[str, int]
    """`accounts`: deleted with their credentials; `shared_accounts`: kept by other brands."""


def account_routes(registry: AccountRegistry, health: AccountHealthChecker) -> APIRouter:
    """Routes that manage accounts, for operators; services may list them."""
    routes = router("/accounts", tags=["Accounts"])

    @routes.get("", dependencies=[needs(Scope.READ)], summary="What is connected")
    async def list_accounts(brand: Annotated[Brand | None, Query()] = None) -> AccountList:
        """Lists the accounts that a brand may use."""
        return AccountList(items=[AccountView.of(each) for each in await registry.described(brand)])

    @routes.get("/{name}", dependencies=[needs(Scope.OPERATE)], summary="One of them", responses=UNKNOWN)
    async def get_account(name: Annotated[Name, Path()]) -> AccountView:
        return await view(registry, name)

    @routes.put(
        "/{name}",
        dependencies=[needs(Scope.ADMIN)],
        summary="Connect an account, or change it",
        responses=NO_KEYS,
    )
    async def connect_account(name: Annotated[Name, Path()], request: ConnectAccount) -> ConnectedAccountView:
        kind = KINDS[request.kind]
        given = None if request.credentials is None else _visible(request.credentials)
        try:
            settings = checked_settings(kind, request.settings)
            connecting = AccountSetup(name, request.kind, brands_of(request.brands), settings)
            credentials = await registry.connect(connecting, given)
        except ValueError as error:
            raise RefusalError(INVALID_REQUEST, str(error)) from None
        made = getattr(credentials, "secret", None) if given is None or "secret" not in given else None
        return ConnectedAccountView(
            name=name, secret=made.get_secret_value() if isinstance(made, SecretStr) else None
        )

    @routes.delete(
        "/{name}",
        dependencies=[needs(Scope.ADMIN)],
        status_code=HTTPStatus.NO_CONTENT,
        summary="Forget an account and its credentials",
        responses=UNKNOWN,
    )
    async def disconnect_account(name: Annotated[Name, Path()]) -> None:
        await registry.disconnect(name)

    @routes.post(
        "/{name}/rotate",
        dependencies=[needs(Scope.ADMIN)],
        summary="Give a webhook another signing secret",
        responses={**UNKNOWN, **NO_KEYS},
    )
    async def rotate_account_secret(name: Annotated[Name, Path()]) -> ConnectedAccountView:
        """Both secrets sign until the next rotation, so the receiver can change over in between."""
        return ConnectedAccountView(name=name, secret=(await registry.rotate(name)).get_secret_value())

    @routes.post(
        "/{name}/check",
        dependencies=[needs(Scope.OPERATE)],
        summary="Look whether an account works",
        responses={**UNKNOWN, **NO_KEYS},
    )
    async def check_account(name: Annotated[Name, Path()]) -> AccountView:
        await view(registry, name)
        await health.check(name)
        return await view(registry, name)

    return routes


def asking_routes(asking: AccountCaller, mailer: AccountMailer) -> APIRouter:
    """Routes through which services use accounts."""
    routes = router("/accounts", tags=["Accounts"])

    @routes.post(
        "/{name}/requests",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Ask the account's own side",
        responses=FROM_ACCOUNTS,
        response_model_by_alias=True,
    )
    async def send_account_request(
        name: Annotated[Name, Path()], request: AccountRequest, x_account_identity: Identity = None
    ) -> AccountAnswer:
        """Sends the request at most once and returns the answer, including error statuses."""
        wanted = AccountCall(
            name, request.brand, request.request(), request.about(), request.seconds, x_account_identity
        )
        told = await asking.ask(wanted)
        document = await _document(told.answer)
        return AccountAnswer.model_validate(
            {
                "status": told.answer.status,
                "headers": told.answer.headers,
                "json": None if told.answer.truncated else document,
                "text": None if document is not None else told.answer.body.decode(errors="replace"),
                "truncated": told.answer.truncated,
                "whole_items": document if told.answer.truncated else None,
                "retry_at": told.retry_at,
            }
        )

    @routes.post(
        "/{name}/mail",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Hand mail in at a mail server",
        responses=FROM_ACCOUNTS,
    )
    async def send_mail(name: Annotated[Name, Path()], request: MailRequest) -> MailAnswer:
        """A server may refuse some of the addresses. Receivers treat the same `message_id` as the same mail."""
        taken = await mailer.send(name, request.brand, request.mail(), request.seconds)
        return MailAnswer(accepted=list(taken.accepted), refused=taken.refused)

    @routes.post(
        "/{name}/fences",
        dependencies=[needs(Scope.SUBMIT)],
        status_code=HTTPStatus.NO_CONTENT,
        summary="Have nothing sent any more with a lower fence",
        responses=FROM_ACCOUNTS,
    )
    async def close_account_fence(name: Annotated[Name, Path()], request: FenceRequest) -> None:
        await asking.close(name, request.brand, request.receipt_id, request.fence)

    return routes


def erasure_routes(registry: AccountRegistry) -> APIRouter:
    """Routes with which the orchestrator erases a brand."""
    routes = router("/erasures", tags=["Accounts"])

    @routes.put(
        "/{erasure_id}", dependencies=[needs(Scope.ADMIN)], summary="Forget the accounts of an erased brand"
    )
    async def erase_brand_accounts(erasure_id: UUID, request: EraseAccounts) -> AccountErasureView:
        """Deletes the brand's own accounts and removes it from shared ones. A repeated call changes nothing.

        An administrator can undo it for a week; then the accounts are deleted with their credentials.
        """
        removed = await registry.erase(erasure_id, request.brand)
        return AccountErasureView(erasure_id=erasure_id, brand_slug=request.brand, removed=removed)

    @routes.get(
        "",
        dependencies=[needs(Scope.ADMIN)],
        summary="Accounts that erasures took and that can be given back",
    )
    async def list_erased() -> ErasedAccountList:
        return ErasedAccountList(items=list(map(ErasedAccountView.model_validate, await registry.erased())))

    @routes.post(
        "/{erasure_id}/restore",
        dependencies=[needs(Scope.ADMIN)],
        summary="Undo an erasure: give the accounts back",
    )
    async def restore_brand_accounts(erasure_id: UUID) -> RestoredAccountsView:
        """Restores accounts with free names. Disconnect the accounts that hold the other names; a repeated call restores the rest."""
        restored, taken = await registry.restore(erasure_id)
        return RestoredAccountsView(erasure_id=erasure_id, restored=restored, name_taken=taken)

    return routes


def brands_of(given: list[str]) -> list[str]:
    return [ALL_BRANDS] if ALL_BRANDS in given else sorted(set(given))


async def _document(answer: RemoteResponse) -> Any:
    if len(answer.body) <= READ_AT_ONCE:
        return answer.document
    return await asyncio.to_thread(lambda: answer.document)


async def view(registry: AccountRegistry, name: str) -> AccountView:
    for each in await registry.described():
        if each.name == name:
            return AccountView.of(each)
    raise CallProblemError(not_connected(name, HTTPStatus.NOT_FOUND))


def _visible(credentials: Mapping[str, SecretStr]) -> dict[str, str]:
    """Checks a text for use in headers and forms. The error does not quote it."""
    given = {name: value.get_secret_value() for name, value in credentials.items()}
    for name, value in given.items():
        if not 1 <= len(value) <= 4000 or not all(" " <= char <= "~" for char in value):  # noqa: PLR2004
            raise RefusalError(
                INVALID_REQUEST,
                f"credentials.{name}: must be 1 to 4,000 visible ASCII characters",
            )
    return given
