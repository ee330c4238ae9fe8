"""Connecting accounts, and asking them. Credentials come in and are never given back."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Header, HTTPException, Path, Query
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from chassis.http.api import UNKNOWN, View, needs, refusal, router
from chassis.http.callers import Scope
from gateway.accounts.asking import READ_AT_ONCE, AskingAccounts, Wanted
from gateway.accounts.domain import ALL_BRANDS, Account
from gateway.accounts.health import Health
from gateway.accounts.kind import Answer
from gateway.accounts.kinds import KINDS
from gateway.accounts.mail import Mailing
from gateway.accounts.registry import Registry, checked_settings, identities, not_connected
from gateway.accounts.requests import AccountAnswer, AccountRequest, Closing, MailAnswer, MailRequest
from gateway.accounts.store import Connecting, ErasedAccount
from gateway.problems import NO_KEYS, ProblemError
from gateway.requests import BRAND_PATTERN, Brand

REQUESTS: Final = "/v1/accounts/{name}/requests"
FENCES: Final = "/v1/accounts/{name}/fences"
MAIL: Final = "/v1/accounts/{name}/mail"
ROTATE: Final = "/v1/accounts/{name}/rotate"
CHECK: Final = "/v1/accounts/{name}/check"
MAX_REQUEST_BYTES: Final = 16_000_000
"""Of a picture in base64, and some."""
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=63)]
KindName = Literal[
    "bluesky",
    "devto",
    "discord",
    "ghost",
    "indexnow",
    "instagram",
    "linkedin",
    "mastodon",
    "slack",
    "smtp",
    "telegram",
    "threads",
    "webhook",
    "wordpress",
    "x",
]
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
    **refusal(HTTPStatus.PAYMENT_REQUIRED, "There is no money for it now; again after `Retry-After`."),
    **refusal(HTTPStatus.TOO_MANY_REQUESTS, "Its turn does not come in time; again after `Retry-After`."),
}


class AccountView(View):
    """An account, without its credentials."""

    name: str
    kind: str
    brands: list[str]
    """Slugs of those that may use it; `*`: all, and operators."""
    label: str | None
    """What people call it there: `@acme`."""
    state: Literal["ok", "expiring", "needs_reconnecting", "unchecked"]
    detail: str | None
    """Why, in plain words."""
    facts: dict[str, str]
    """What its own side says of it and is no secret: ids and addresses that requests are made of."""
    identities: list[str]
    """What stands for the user as whom it is connected: `user:…`, the same after each reconnection, if that is known; and
    `connection:…`, of this connection alone."""
    scopes: list[str]
    expires_at: datetime | None
    """When its access ends, unless somebody connects it again before."""
    checked_at: datetime | None
    connected_at: datetime
    settings: dict[str, Any]

    @classmethod
    def of(cls, account: Account) -> Self:
        return cls(
            name=account.name,
            kind=account.kind,
            brands=list(account.brands),
            label=account.label,
            state=account.state_at(datetime.now(UTC)).value,
            detail=account.detail,
            facts=dict(account.facts),
            identities=identities(account),
            scopes=list(account.scopes),
            expires_at=account.expires_at,
            checked_at=account.checked_at,
            connected_at=account.connected_at,
            settings=dict(account.settings),
        )


class AccountList(View):
    items: list[AccountView]


class ErasedAccountView(View):
    """An account that an erasure took from its brand. Nothing is sent with it."""

    erasure_id: UUID
    brand: str
    name: str
    kind: str
    erased_at: datetime
    forgotten_at: datetime
    """When it is deleted with its credentials."""

    @classmethod
    def of(cls, account: ErasedAccount) -> Self:
        return cls(
            erasure_id=account.erasure_id,
            brand=account.brand,
            name=account.name,
            kind=account.kind,
            erased_at=account.erased_at,
            forgotten_at=account.forgotten_at,
        )


class ErasedAccounts(View):
    items: list[ErasedAccountView]


class Restored(View):
    """What an undone erasure gave back."""

    erasure_id: UUID
    restored: list[str]
    """Names of the accounts that are connected again."""
    name_taken: list[str]
    """Names of those that stay away, because another account is called so now."""


class ConnectAccount(BaseModel):
    """What an operator connects."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    kind: KindName
    brands: Brands
    settings: dict[str, Any] = {}
    credentials: dict[Annotated[str, StringConstraints(max_length=50)], SecretStr] | None = None
    """Left out: those that it has are kept, if kind and address stay as they are."""


class Connected(View):
    """What was connected."""

    name: str
    secret: str | None
    """Of a webhook, for the receiver to check signatures with; shown this once."""


class Erasing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    brand: Brand


class Erased(View):
    """What went with a brand."""

    erasure_id: UUID
    brand_slug: str
    removed: dict[str, int]
    """`accounts` with their credentials; `shared_accounts` that other brands go on using."""


def account_routes(registry: Registry, health: Health) -> APIRouter:
    """What is connected, for operators and, to look at, for services."""
    routes = router("/accounts", tags=["Accounts"])

    @routes.get("", dependencies=[needs(Scope.READ)], summary="What is connected")
    async def list_accounts(brand: Annotated[Brand | None, Query()] = None) -> AccountList:
        """Of a brand, those that it may use."""
        return AccountList(items=[AccountView.of(each) for each in await registry.described(brand)])

    @routes.get("/{name}", dependencies=[needs(Scope.OPERATE)], summary="One of them", responses=UNKNOWN)
    async def read_account(name: Annotated[Name, Path()]) -> AccountView:
        return await view(registry, name)

    @routes.put(
        "/{name}",
        dependencies=[needs(Scope.ADMIN)],
        summary="Connect an account, or change it",
        responses=NO_KEYS,
    )
    async def connect(name: Annotated[Name, Path()], request: ConnectAccount) -> Connected:
        kind = KINDS[request.kind]
        given = None if request.credentials is None else _visible(request.credentials)
        try:
            settings = checked_settings(kind, request.settings)
            connecting = Connecting(name, request.kind, brands_of(request.brands), settings)
            credentials = await registry.connect(connecting, given)
        except ValueError as error:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
        made = getattr(credentials, "secret", None) if given is None or "secret" not in given else None
        return Connected(name=name, secret=made.get_secret_value() if isinstance(made, SecretStr) else None)

    @routes.delete(
        "/{name}",
        dependencies=[needs(Scope.ADMIN)],
        status_code=HTTPStatus.NO_CONTENT,
        summary="Forget an account and its credentials",
        responses=UNKNOWN,
    )
    async def disconnect(name: Annotated[Name, Path()]) -> None:
        await registry.disconnect(name)

    @routes.post(
        "/{name}/rotate",
        dependencies=[needs(Scope.ADMIN)],
        summary="Give a webhook another signing secret",
        responses={**UNKNOWN, **NO_KEYS},
    )
    async def rotate(name: Annotated[Name, Path()]) -> Connected:
        """Messages are signed with both until the next rotation, so that the receiver can change over in between."""
        return Connected(name=name, secret=(await registry.rotate(name)).get_secret_value())

    @routes.post(
        "/{name}/check",
        dependencies=[needs(Scope.OPERATE)],
        summary="Look whether an account works",
        responses={**UNKNOWN, **NO_KEYS},
    )
    async def check(name: Annotated[Name, Path()]) -> AccountView:
        await view(registry, name)
        await health.look(name)
        return await view(registry, name)

    return routes


def asking_routes(asking: AskingAccounts, mailing: Mailing) -> APIRouter:
    """What services ask of accounts."""
    routes = router("/accounts", tags=["Accounts"])

    @routes.post(
        "/{name}/requests",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Ask the account's own side",
        responses=FROM_ACCOUNTS,
        response_model_by_alias=True,
    )
    async def ask(
        name: Annotated[Name, Path()], request: AccountRequest, x_account_identity: Identity = None
    ) -> AccountAnswer:
        """Sent once, or not at all; whatever is answered is told, with its status."""
        wanted = Wanted(
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
    async def mail(name: Annotated[Name, Path()], request: MailRequest) -> MailAnswer:
        """Of several addresses some may be refused; twice the same `message_id` is the same mail to whoever gets it."""
        taken = await mailing.send(name, request.brand, request.mail(), request.seconds)
        return MailAnswer(accepted=list(taken.accepted), refused=taken.refused)

    @routes.post(
        "/{name}/fences",
        dependencies=[needs(Scope.SUBMIT)],
        status_code=HTTPStatus.NO_CONTENT,
        summary="Have nothing sent any more with a lower fence",
        responses=FROM_ACCOUNTS,
    )
    async def close(name: Annotated[Name, Path()], request: Closing) -> None:
        await asking.close(name, request.brand, request.receipt_id, request.fence)

    return routes


def erasure_routes(registry: Registry) -> APIRouter:
    """What the orchestrator asks when a brand is erased."""
    routes = router("/erasures", tags=["Accounts"])

    @routes.put(
        "/{erasure_id}", dependencies=[needs(Scope.ADMIN)], summary="Forget the accounts of an erased brand"
    )
    async def erase(erasure_id: UUID, request: Erasing) -> Erased:
        """Its own are removed, from others it is taken. Again, it removes nothing and tells the same.

        For a week an administrator can undo it; then they are deleted with their credentials.
        """
        removed = await registry.erase(erasure_id, request.brand)
        return Erased(erasure_id=erasure_id, brand_slug=request.brand, removed=removed)

    @routes.get(
        "",
        dependencies=[needs(Scope.ADMIN)],
        summary="Accounts that erasures took and that can be given back",
    )
    async def list_erased() -> ErasedAccounts:
        return ErasedAccounts(items=[ErasedAccountView.of(each) for each in await registry.erased()])

    @routes.post(
        "/{erasure_id}/restore",
        dependencies=[needs(Scope.ADMIN)],
        summary="Undo an erasure: give the accounts back",
    )
    async def restore(erasure_id: UUID) -> Restored:
        """Those whose name another account has now stay away: disconnect that one first. Again, it gives back what is left."""
        restored, taken = await registry.restore(erasure_id)
        return Restored(erasure_id=erasure_id, restored=restored, name_taken=taken)

    return routes


def brands_of(given: list[str]) -> list[str]:
    return [ALL_BRANDS] if ALL_BRANDS in given else sorted(set(given))


async def _document(answer: Answer) -> Any:
    if len(answer.body) <= READ_AT_ONCE:
        return answer.document
    return await asyncio.to_thread(lambda: answer.document)


async def view(registry: Registry, name: str) -> AccountView:
    for each in await registry.described():
        if each.name == name:
            return AccountView.of(each)
    raise ProblemError(not_connected(name, HTTPStatus.NOT_FOUND))


def _visible(credentials: Mapping[str, SecretStr]) -> dict[str, str]:
    """What is put into headers and forms. What it is must not be told."""
    given = {name: value.get_secret_value() for name, value in credentials.items()}
    for name, value in given.items():
        if not 1 <= len(value) <= 4000 or not all(" " <= char <= "~" for char in value):  # noqa: PLR2004
            raise HTTPException(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"credentials.{name}: must be 1 to 4,000 visible ASCII characters",
            )
    return given
