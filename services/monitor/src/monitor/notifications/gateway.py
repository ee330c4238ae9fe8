"""Client of the gateway, which sends messages through its accounts and keeps their credentials."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from chassis.http.client import PassingError, Peer, Reply, UnusableAnswerError
from monitor.notifications.channels import Mail, NotificationChannel, ProviderRequest
from monitor.notifications.peer_clients import PeerClient

_SECONDS: Final = 20.0
"""Time for the provider's answer."""
_PATIENCE: Final = 15.0
"""Further time in the gateway's queue."""
_LATER: Final = frozenset({"limit.reached", "call.under_way"})
_PERMANENT: Final = frozenset(
    {"account.not_connected", "account.needs_reconnecting", "account.request_not_allowed"}
)
_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
_LONGEST_REASON: Final = 500


class DeliveryPostponedError(Exception):
    """The gateway is unreachable or limits the rate, so that nothing was sent; retry after `after`."""

    def __init__(self, reason: str, after: timedelta = timedelta(minutes=1)) -> None:
        super().__init__(reason)
        self.after = after


class DeliveryFailedError(Exception):
    """Sending failed, or its outcome is unknown; a retry may succeed."""


class NotificationRefusedError(Exception):
    """The account or its provider refuses the message for good; the text says what to do."""


@dataclass(frozen=True, slots=True)
class NotifierAccount:
    """An account, as the gateway lists it."""

    name: str
    kind: str
    brands: tuple[str, ...]
    state: str
    label: str | None
    detail: str | None
    expires_at: str | None
    chats: tuple[str, ...] = ()
    """The chats that a bot may write to, the default first."""

    def may_be_used_by(self, brand: str | None) -> bool:
        return "*" in self.brands or (brand is not None and brand in self.brands)


class NotifierGateway(PeerClient):
    def __init__(self, peer: Peer) -> None:
        super().__init__(peer, seconds=_SECONDS + _PATIENCE)

    async def accounts(self) -> dict[str, NotifierAccount]:
        """The accounts by name.

        Raises:
            chassis.http.client.PassingError: the gateway does not answer.
            chassis.http.client.UnusableAnswerError: its answer is invalid.
        """
        document = await self.read("/v1/accounts", "the accounts")
        return {
            each["name"]: NotifierAccount(
                each["name"],
                each["kind"],
                tuple(each["brands"]),
                each["state"],
                each.get("label"),
                each.get("detail"),
                each.get("expires_at"),
                tuple(filter(None, [each["settings"].get("chat"), *each["settings"].get("also", ())])),
            )
            for each in document["items"]
        }

    async def spend(self, since: date | None = None) -> Mapping[str, Any]:
        """Spending and budgets, as `GET /v1/spend` returns them."""
        path = "/v1/spend" if since is None else f"/v1/spend?since={since}"
        return await self.read(path, "spending")

    async def send(
        self,
        channel: NotificationChannel,
        account: NotifierAccount,
        brand: str | None,
        form: ProviderRequest | Mail,
        *,
        seconds: float | None = None,
    ) -> str | None:
        """Sends a message through an account within `seconds`, by default 20; returns a remark on a partial success, or None.

        Raises:
            DeliveryPostponedError: nothing was sent.
            DeliveryFailedError: sending failed for a reason that may pass.
            NotificationRefusedError: the message is refused for good.
        """
        path = f"/v1/accounts/{quote(account.name, safe='')}"
        seconds = seconds or _SECONDS
        body: dict[str, Any] = {} if brand is None else {"brand": brand}
        match form:
            case ProviderRequest():
                body |= {"method": "POST", "path": form.path, "json": dict(form.json), "seconds": seconds}
                body |= {"query": dict(form.query), "headers": dict(form.headers)}
                path += "/requests"
            case Mail():
                body |= {"to": list(form.to), "subject": form.subject, "text": form.text}
                body |= {"html": form.html, "message_id": form.message_id, "seconds": seconds}
                path += "/mail"
        try:
            reply = await self._http.ask("POST", path, json=body)
        except PassingError as error:
            raise DeliveryPostponedError(_short(str(error)), error.after or timedelta(minutes=1)) from error
        except UnusableAnswerError as error:
            raise DeliveryFailedError(_short(str(error))) from error
        _check_gateway(reply)
        if isinstance(form, Mail):
            return _of_mail(reply.document)
        _check_answer(channel, account.kind, reply.document)
        return None


def _check_gateway(reply: Reply) -> None:
    """Raises the error that a refusal by the gateway itself means."""
    if reply.status < HTTPStatus.BAD_REQUEST:
        return
    document = reply.document
    detail = _short(str(document.get("detail") or f"the gateway answered {reply.status}"))
    if reply.problem in _LATER:
        raise DeliveryPostponedError(detail, _until(document.get("retry_at"), reply.after))
    if reply.problem in _PERMANENT or reply.status in {HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}:
        raise NotificationRefusedError(detail)
    raise DeliveryFailedError(detail)


def _check_answer(channel: NotificationChannel, kind: str, answer: Mapping[str, Any]) -> None:
    """Raises the error that the provider's answer means; the gateway passes it on unchanged."""
    status = int(answer.get("status", 0))
    said = _short(_reason(answer))
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        if (refused := channel.refused(answer.get("json"))) is not None:
            raise NotificationRefusedError(_short(refused))
        return
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise DeliveryPostponedError(f"too many requests: {said}", _until(answer.get("retry_at"), None))
    if status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise DeliveryFailedError(f"{kind} answered {status}: {said}")
    raise NotificationRefusedError(f"{kind} answered {status}: {said}")


def _reason(answer: Mapping[str, Any]) -> str:
    """The provider's reason: from JSON (Telegram, Discord) or plain text (Slack)."""
    document = answer.get("json")
    if isinstance(document, dict):
        for name in ("description", "message", "detail", "error"):
            if isinstance(document.get(name), str):
                return str(document[name])
    return str(answer.get("text") or "no reason given")


def _of_mail(answer: Mapping[str, Any]) -> str | None:
    """The refused addresses, if the server accepted others; else None."""
    refused = answer.get("refused")
    if not refused:
        return None
    if isinstance(refused, dict):
        return _short("; ".join(f"{address}: {why}" for address, why in refused.items()))
    return _short(str(refused))


def _until(moment: object, after: timedelta | None) -> timedelta:
    if isinstance(moment, str):
        try:
            return max(datetime.fromisoformat(moment) - datetime.now(UTC), timedelta(seconds=1))
        except (ValueError, TypeError):
            pass
    return after or timedelta(minutes=1)


def _short(text: str) -> str:
    return text[:_LONGEST_REASON]
