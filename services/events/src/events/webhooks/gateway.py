"""The gateway, which has the receivers' addresses and secrets: it signs events and sends them."""

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import UUID

from chassis.http.client import (
    PassingError,
    Peer,
    Reply,
    ServiceClient,
    UnusableAnswerError,
    retry_after,
)
from events.webhooks.domain import MOST_ANSWER, ReceiverAnswer

SECONDS: Final = 15.0
"""Time for the receiver's answer."""
_PATIENCE: Final = 15.0
"""Further time in the gateway's queue."""
_MAX_BYTES: Final = 3_000_000
_KIND: Final = "webhook"
_MEDIA_TYPE: Final = "application/cloudevents+json"
_LATER: Final = frozenset({"limit.reached", "call.under_way"})
_PERMANENT: Final = frozenset(
    {"account.not_connected", "account.needs_reconnecting", "account.request_not_allowed"}
)
_WITH_WISH: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_LONGEST: Final = 500
_AGAIN: Final = timedelta(seconds=30)


class SendingPostponedError(Exception):
    """Nothing was sent, for a reason on this side: the gateway is away, or limits the rate."""

    def __init__(self, problem: str, after: timedelta | None = None) -> None:
        super().__init__(problem[:_LONGEST])
        self.after = _AGAIN if after is None else after


class SendingRefusedError(Exception):
    """The account cannot be used until a person has done something; also the receiver's 410 Gone."""


class UnusableAccountError(Exception):
    """The account cannot be that of a webhook of the brand; the text says why."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """An event to be sent, by one account for one brand."""

    account: str
    brand: str
    event_id: UUID
    body: str


class WebhookGateway:
    def __init__(self, peer: Peer) -> None:
        self._http = ServiceClient(peer, timeout_seconds=SECONDS + _PATIENCE, max_bytes=_MAX_BYTES)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def check_account(self, name: str, brand: str) -> None:
        """Asks whether a brand's webhook can send by this account.

        Raises:
            UnusableAccountError: it cannot.
            SendingPostponedError: the gateway does not answer.
        """
        try:
            reply = await self._http.ask("GET", f"/v1/accounts?{urlencode({'brand': brand})}")
        except (PassingError, UnusableAnswerError) as error:
            raise SendingPostponedError(str(error)) from error
        if reply.status != HTTPStatus.OK:
            raise SendingPostponedError(f"the gateway answered {reply.status}")
        found = next((each for each in reply.document.get("items", ()) if each.get("name") == name), None)
        if found is None:
            raise UnusableAccountError(
                f"account: no account '{name}' is connected for the brand '{brand}'; connect one of the kind webhook for it"
            )
        if found.get("kind") != _KIND:
            raise UnusableAccountError(
                f"account: '{name}' is a {found.get('kind')} account; a webhook needs one of the kind webhook"
            )
        if found.get("state") == "needs_reconnecting":
            raise UnusableAccountError(
                f"account: '{name}' has to be connected again first: {found.get('detail') or 'it was refused'}"
            )

    async def send(self, request: SignedRequest) -> ReceiverAnswer:
        """Sends an event once, and returns what came of it.

        Raises:
            SendingPostponedError: nothing was sent, and the receiver has nothing to do with it.
            SendingRefusedError: nothing can be sent until a person has done something.
        """
        asked = {
            "brand": request.brand,
            "method": "POST",
            "path": "/",
            "headers": {"webhook-id": str(request.event_id)},
            "content": {"type": _MEDIA_TYPE, "base64": base64.b64encode(request.body.encode()).decode()},
            "seconds": SECONDS,
        }
        path = f"/v1/accounts/{quote(request.account, safe='')}/requests"
        try:
            reply = await self._http.ask("POST", path, json=asked)
        except PassingError as error:
            raise SendingPostponedError(str(error), error.after) from error
        except UnusableAnswerError as error:
            return ReceiverAnswer(problem=_short(f"the receiver's answer cannot be read: {error}"))
        if reply.status >= HTTPStatus.BAD_REQUEST:
            return _of_gateway(reply)
        return _of_receiver(reply.document)


def _of_gateway(reply: Reply) -> ReceiverAnswer:
    """What a refusal by the gateway itself means."""
    document = reply.document
    detail = _short(str(document.get("detail") or f"the gateway answered {reply.status}"))
    if reply.problem in _LATER:
        raise SendingPostponedError(detail, _until(document.get("retry_at")) or reply.after)
    if reply.problem in _PERMANENT or reply.status in {HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}:
        raise SendingRefusedError(detail)
    if reply.problem in {"call.not_sent", "call.no_answer"}:
        return ReceiverAnswer(problem=detail)
    raise SendingPostponedError(detail, reply.after)


def _of_receiver(answer: dict[str, Any]) -> ReceiverAnswer:
    status = int(answer.get("status", 0))
    text = answer.get("text")
    if text is None and answer.get("json") is not None:
        text = json.dumps(answer["json"], ensure_ascii=False)
    text = str(text or "")[:MOST_ANSWER].replace("\x00", "\N{REPLACEMENT CHARACTER}")
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return ReceiverAnswer(status, text)
    wish = None
    if status in _WITH_WISH:
        headers = answer.get("headers")
        said = headers.get("retry-after") if isinstance(headers, dict) else None
        wish = _until(answer.get("retry_at")) or retry_after(said, datetime.now(UTC))
    return ReceiverAnswer(status, text, f"the receiver answered {status}", wish)


def _until(moment: object) -> timedelta | None:
    if not isinstance(moment, str):
        return None
    try:
        return max(datetime.fromisoformat(moment) - datetime.now(UTC), timedelta(seconds=1))
    except (ValueError, TypeError):
        return None


def _short(text: str) -> str:
    return text[:_LONGEST]
