"""A webhook of a Discord channel, https://discord.com/developers/docs/resources/webhook. Its address is the secret.

The address could also delete or read the webhook; services may do neither.
"""

import json
import math
import re
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccountCredentials,
    AccountKind,
    AllowedRequest,
    KindContext,
    RemoteRequest,
    RemoteResponse,
    matching,
)
from integrations.networks.discord import DISCORD_ACCOUNT

_ADDRESS: Final = re.compile(
    r"https://(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/([0-9]{5,25})/([A-Za-z0-9_-]{8,120})/*"
)
_GONE: Final = frozenset({10015, 50027})
"""Unknown webhook; invalid webhook token."""


class DiscordCredentials(AccountCredentials):
    url: Annotated[
        SecretStr,
        matching(
            _ADDRESS, "is no address of a webhook: it looks like https://discord.com/api/webhooks/123…/abc…"
        ),
    ]
    """The webhook's address: channel settings → Integrations → Webhooks → Copy URL."""

    @property
    def parts(self) -> tuple[str, str]:
        """The webhook's public id and its secret token."""
        found = _ADDRESS.fullmatch(self.url.get_secret_value())
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


class DiscordAccount(AccountKind):
    account: ClassVar = DISCORD_ACCOUNT
    user_facts: ClassVar = ("channel_id",)
    credentials: ClassVar = DiscordCredentials
    remaining_header: ClassVar = "x-ratelimit-remaining"
    check_request: ClassVar = RemoteRequest("GET", "/")
    allowed_requests: ClassVar = (
        AllowedRequest("POST", "/", {"wait": "true|false", "thread_id": "[0-9]+"}, _mentions_nobody),
        AllowedRequest("GET", "/messages/{id}", {}),
    )

    def secret_path(self, context: KindContext) -> tuple[str, str]:
        name, token = context.credentials.parts
        path = f"/api/v10/webhooks/{name}"
        return f"{path}/{token}", f"{path}/***"

    def time_until_reset(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            after = answer.member("retry_after")
            return timedelta(seconds=max(math.ceil(after), 1)) if isinstance(after, int | float) else None
        after = answer.headers.get("x-ratelimit-reset-after", "")
        return timedelta(seconds=float(after)) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", after) else None

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        if answer.status in {401, 403, 404} and answer.member("code") in _GONE:
            return "Discord does not know the webhook any more: make another in the channel's settings and connect again"
        return None

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        facts = {key: answer.text(key) for key in ("channel_id", "guild_id")}
        return AccountCheck(answer.text("name") or None, {"id": context.credentials.parts[0], **facts})
