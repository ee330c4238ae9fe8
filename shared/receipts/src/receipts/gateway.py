"""The gateway, through which all effects are sent; it holds the credentials and refuses late requests."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import urlencode
from uuid import UUID

from pydantic import SecretStr

from chassis.http.client import Reply, retry_after
from chassis.http.outgoing import BROKEN, NOT_CONNECTED, Origin, header, reason_of
from chassis.http.problem_codes import BLANK
from chassis.http.spans import client_span
from receipts.accounts import IDENTITY, AccountClient, AccountResponse
from receipts.errors import (
    FencedOffError,
    GatewayAway,
    NotSent,
    OtherIdentity,
    Refused,
    UnderWay,
    UnknownOutcome,
)

_CONNECT_SECONDS: Final = 10.0
"""A process that the machine holds up for seconds does not take the other side for away."""
_MORE_SECONDS: Final = 3.0
"""Extra time for the gateway's own answer."""
_LISTING_SECONDS: Final = 10.0
_MAIL_SECONDS: Final = 30.0
"""As the gateway has it by default."""
_IDENTITY_HEADER: Final = "X-Account-Identity"
_IDENTITY_PAUSE: Final = timedelta(seconds=10)
_NOTHING_DONE: Final = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.TOO_MANY_REQUESTS,
}
"""Refusals of the gateway itself without a `type`; an operator must correct the cause there."""
_REFUSED: Final = {
    "account.not_connected": "not_connected",
    "account.needs_reconnecting": "needs_reconnecting",
    "account.request_not_allowed": "request_not_allowed",
}
"""The gateway's `type` → the reason that channels and targets report."""


@dataclass(frozen=True, slots=True)
class AccountSummary:
    """An account that a brand may use, without its secrets."""

    name: str
    kind: str
    label: str
    """Its name for people: `@acme@mastodon.social`."""
    state: str
    """`ok`, `expiring`, `needs_reconnecting` or `unchecked`."""
    scopes: tuple[str, ...] = ()
    expires_at: datetime | None = None
    detail: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """The provider's facts about it: its `id` there, and others of its kind."""
    identities: tuple[str, ...] = ()
    """Identities of the connected user, the best first; empty from older gateways."""


class ReceiptsGateway(Protocol):
    """The part of the gateway's interface that receipts use."""

    def account(self, name: str, brand: str) -> AccountClient: ...

    async def identities(self, account: str, brand: str) -> Sequence[str]: ...

    async def close(self, receipt_id: UUID, fence: int, *, account: str, brand: str) -> None: ...


class EffectsGateway:
    """A client of the gateway over HTTP; one per process.

    Args:
        url: `GATEWAY_URL`; None: no account is connected, and every request is refused.
        key: the service key for the gateway.
    """

    def __init__(self, url: str | None, key: SecretStr | None) -> None:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if key is not None:
            headers["X-Service-Key"] = key.get_secret_value()
        self._origin = None if url is None else Origin(url, headers, connect_seconds=_CONNECT_SECONDS)

    async def aclose(self) -> None:
        if self._origin is not None:
            await self._origin.aclose()

    def account(self, name: str, brand: str) -> AccountClient:
        """A client for the named account and a brand; a missing account shows with the first request."""
        return AccountClient(name, brand, self._ask, about=self._about)

    async def accounts(self, brand: str) -> tuple[AccountSummary, ...]:
        """The accounts that a brand may use; none without a gateway.

        Raises:
            GatewayAway: it does not answer.
        """
        if self._origin is None:
            return ()
        path = "/v1/accounts"
        try:
            reply = await self._exchange(
                self._origin, "GET", f"{path}?{urlencode({'brand': brand})}", None, _LISTING_SECONDS
            )
        except UnknownOutcome as error:
            raise GatewayAway(error.detail) from error
        if reply.status != HTTPStatus.OK:
            raise GatewayAway(f"the gateway answered {reply.status} at {path}")
        items = reply.document.get("items", ())
        return tuple(_connected(each) for each in items)

    async def _about(self, name: str, brand: str) -> Mapping[str, str]:
        return next((each.facts for each in await self.accounts(brand) if each.name == name), {})

    async def identities(self, account: str, brand: str) -> Sequence[str]:
        """Identities of the account's connected user; empty if unknown or without such an account.

        Raises:
            GatewayAway: it does not answer.
        """
        return next((each.identities for each in await self.accounts(brand) if each.name == account), ())

    async def close(self, receipt_id: UUID, fence: int, *, account: str, brand: str) -> None:
        """Makes the gateway refuse requests with a lower fence from now on.

        Raises:
            UnderWay: a request with a lower fence may still be sent, until the given time.
            FencedOffError: the gateway knows a higher fence.
            GatewayAway: it does not answer.
        """
        if self._origin is None:
            return
        path = f"/v1/accounts/{account}/fences"
        told = {"brand": brand, "receipt_id": str(receipt_id), "fence": fence}
        try:
            reply = await self._exchange(self._origin, "POST", path, told, _LISTING_SECONDS)
        except UnknownOutcome as error:
            # The same again does no harm.
            raise GatewayAway(error.detail) from error
        if HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
            return
        problem = _problem(reply)
        if isinstance(problem, UnderWay | FencedOffError):
            raise problem
        if isinstance(problem, Refused):
            # Nobody can send through an account that is gone.
            return
        raise GatewayAway(str(problem))

    async def send_mail(self, account: str, mail: Mapping[str, Any]) -> dict[str, str]:
        """Hands a mail in at a mail server, once; returns the refused addresses with the server's reasons.

        `mail` is the body of `POST /v1/accounts/{name}/mail`.

        Raises:
            NotSent: certainly nothing went out, for a temporary reason; `mail.later` if the mail server said so.
            Refused: certainly nothing went out; `mail.no_recipient` and `mail.refused` are the mail server's words.
            UnknownOutcome: it may have gone out.
        """
        if self._origin is None:
            raise Refused("not_connected", "no account is connected: the service has no GATEWAY_URL")
        path = f"/v1/accounts/{account}/mail"
        reply = await self._exchange(self._origin, "POST", path, mail, _MAIL_SECONDS + _MORE_SECONDS)
        if reply.status != HTTPStatus.OK:
            raise _problem(reply)
        refused = reply.document.get("refused")
        return {str(who): str(why) for who, why in refused.items()} if isinstance(refused, Mapping) else {}

    async def _ask(self, name: str, asked: Mapping[str, Any], seconds: float) -> AccountResponse:
        if self._origin is None:
            raise Refused("not_connected", "no account is connected: the service has no GATEWAY_URL")
        path = f"/v1/accounts/{name}/requests"
        told = dict(asked)
        # In a header, since a gateway of the version before refuses members that it does not know.
        identity = told.pop(IDENTITY, None)
        headers = {} if identity is None else {_IDENTITY_HEADER: str(identity)}
        reply = await self._exchange(self._origin, "POST", path, told, seconds + _MORE_SECONDS, headers)
        if reply.status != HTTPStatus.OK:
            raise _problem(reply)
        document = reply.document
        try:
            return AccountResponse(
                status=int(document["status"]),
                headers={str(key).lower(): str(value) for key, value in document.get("headers", {}).items()},
                json=document.get("json"),
                text=document.get("text") or "",
                truncated=bool(document.get("truncated")),
                whole_items=document.get("whole_items"),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UnknownOutcome("the gateway's answer cannot be read: it is not as documented") from error

    async def _exchange(
        self,
        origin: Origin,
        method: str,
        path: str,
        told: Mapping[str, Any] | None,
        seconds: float,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Raises GatewayAway if not a byte reached the gateway, and UnknownOutcome if it may have taken the request."""
        url = f"{origin.url}{path}"
        try:
            async with asyncio.timeout(seconds):
                with client_span(method, url) as exchange:
                    async with origin.sent(
                        method, path, {**exchange.headers, **(headers or {})}, told
                    ) as response:
                        exchange.answered(response.status)
                        body = await response.aread()
        except NOT_CONNECTED as error:
            raise GatewayAway(f"the gateway does not answer at {url}: {reason_of(error)}") from error
        except (*BROKEN, TimeoutError) as error:
            raise UnknownOutcome(f"the gateway broke off: {reason_of(error)}") from error
        after = retry_after(header(response, b"retry-after"), datetime.now(UTC))
        return Reply(response.status, body, after)


def _problem(reply: Reply) -> Exception:
    """The exception for a refusal of the gateway."""
    document = reply.document
    kind = reply.problem or BLANK
    detail = str(document.get("detail") or f"the gateway answered {reply.status}")
    at = _retry_at(document, reply.after)
    if kind in _REFUSED:
        return Refused(_REFUSED[kind], detail)
    told: dict[str, Exception] = {
        "limit.reached": NotSent("limit", detail, at or datetime.now(UTC) + timedelta(minutes=1)),
        "mail.later": NotSent("mail.later", detail, at),
        "call.not_sent": NotSent("unreachable", detail, at),
        "call.fenced": FencedOffError(detail),
        "call.under_way": UnderWay(detail, at),
        "call.no_answer": UnknownOutcome(detail),
        "account.other_identity": OtherIdentity(detail, at or datetime.now(UTC) + _IDENTITY_PAUSE),
    }
    return told.get(kind) or _other_problem(kind, reply.status, detail, at, document)


def _other_problem(
    kind: str, status: int, detail: str, at: datetime | None, document: Mapping[str, Any]
) -> Exception:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return UnknownOutcome(detail)
    if kind == BLANK:
        refused = f"the gateway refused: {detail}"
        return GatewayAway(refused, at) if status in _NOTHING_DONE else Refused("request_not_allowed", detail)
    return NotSent(kind, detail, at) if document.get("transient") is True else Refused(kind, detail)


def _retry_at(document: Mapping[str, Any], after: timedelta | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(document["retry_at"])
    except (KeyError, TypeError, ValueError):
        return None if after is None else datetime.now(UTC) + after
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _connected(item: Mapping[str, Any]) -> AccountSummary:
    expires = item.get("expires_at")
    return AccountSummary(
        name=item["name"],
        kind=item["kind"],
        label=item.get("label") or "",
        state=item.get("state") or "unchecked",
        scopes=tuple(item.get("scopes") or ()),
        expires_at=datetime.fromisoformat(expires) if expires else None,
        detail=item.get("detail") or "",
        facts=item.get("facts") or {},
        identities=tuple(item.get("identities") or ()),
    )
