"""A webhook of a Discord channel, https://discord.com/developers/docs/resources/webhook. Its address is the secret.

The address could also delete or read the webhook; services may do neither.
"""

import json
import math
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    RemoteRequest,
    RemoteResponse,
    WireRequest,
    ask_account,
    headers_of,
)

_ADDRESS: Final = re.compile(
    r"https://(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/([0-9]{5,25})/([A-Za-z0-9_-]{8,120})"
)
_GONE: Final = frozenset({10015, 50027})
"""Unknown webhook; invalid webhook token."""


def _webhook(url: SecretStr) -> SecretStr:
    if not _ADDRESS.fullmatch(url.get_secret_value().rstrip("/")):
        raise ValueError(
            "is no address of a webhook: it looks like https://discord.com/api/webhooks/123…/abc…"
        )
    return url


class DiscordCredentials(AccountCredentials):
    url: Annotated[SecretStr, AfterValidator(_webhook)]
    """The webhook's address: channel settings → Integrations → Webhooks → Copy URL."""

    @property
    def parts(self) -> tuple[str, str]:
        """The webhook's public id and its secret token."""
        found = _ADDRESS.fullmatch(self.url.get_secret_value().rstrip("/"))
        assert found is not None
        return found[1], found[2]

    def secrets(self) -> tuple[str, ...]:
        return (self.url.get_secret_value(), self.parts[1])


def _mentions_nobody(body: Any, settings: Any) -> str | None:
    message = body
    if isinstance(body, dict) and "payload_json" in body:  # With a file.
        try:
            message = json.loads(body["payload_json"])
        except ValueError:
            message = None
    allowed = message.get("allowed_mentions") if isinstance(message, dict) else None
    return None if allowed == {"parse": []} else 'allowed_mentions must be {"parse": []}'


class Discord(AccountKind):
    name: ClassVar = "discord"
    user_facts: ClassVar = ("channel_id",)
    credentials: ClassVar = DiscordCredentials
    base: ClassVar = "https://discord.com"
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        AllowedRequest("POST", "/", {"wait": "true|false", "thread_id": "[0-9]+"}, _mentions_nobody),
        AllowedRequest("GET", "/messages/{id}", {}),
    )

    def outgoing(
        self, context: KindContext, request: RemoteRequest, ask: AllowedRequest | None
    ) -> WireRequest:
        name, token = context.credentials.parts
        origin, rest = f"{self.url(context)}/api/v10/webhooks/{name}", request.path.rstrip("/")
        return WireRequest(
            request.method,
            f"{origin}/{token}{rest}",
            f"{origin}/***{rest}",
            request.query,
            headers_of(request),
            request.body,
        )

    def pause(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            after = answer.member("retry_after")
            if isinstance(after, int | float):
                return timedelta(seconds=max(math.ceil(after), 1))
        elif answer.headers.get("x-ratelimit-remaining") == "0":
            after = answer.headers.get("x-ratelimit-reset-after", "")
            if re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", after):
                return timedelta(seconds=float(after))
        return super().pause(answer, now)

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        if answer.status in {401, 403, 404} and answer.member("code") in _GONE:
            return "Discord does not know the webhook any more: make another in the channel's settings and connect again"
        return None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        answer = await ask_account(self, transport, context, RemoteRequest("GET", "/"))
        name = answer.member("name")
        facts = {key: str(answer.member(key) or "") for key in ("channel_id", "guild_id")}
        return AccountCheck(str(name) if name else None, {"id": context.credentials.parts[0], **facts})
