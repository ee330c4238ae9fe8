"""An incoming webhook of a Slack channel, https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.

Its address is the secret. It can only post to that channel.
"""

import re
from http import HTTPStatus
from typing import Annotated, ClassVar, Final

from pydantic import SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccessRefused,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    NoAnswer,
    RemoteRequest,
    RemoteResponse,
    matching,
)
from integrations.networks.slack import SLACK_ACCOUNT

_ADDRESS: Final = re.compile(
    r"https://(hooks\.slack(?:-gov)?\.com)(/(?:services|workflows|triggers)(?:/[A-Za-z0-9_-]{1,100}){2,4})"
)
_GONE: Final = frozenset(
    {
        "no_service",
        "no_service_id",
        "invalid_token",
        "no_active_hooks",
        "no_team",
        "team_disabled",
        "token_revoked",
    }
)
_CONNECT_AGAIN: Final = (
    "Slack does not take messages at this address any more: make another webhook and connect again"
)


class SlackCredentials(AccountCredentials):
    url: Annotated[
        SecretStr,
        matching(
            _ADDRESS,
            "is no address of an incoming webhook: it looks like https://hooks.slack.com/services/T…/B…/…",
        ),
    ]

    @property
    def parts(self) -> tuple[str, str]:
        """Host and path; the path is secret."""
        found = _ADDRESS.fullmatch(self.url.get_secret_value())
        assert found is not None
        return found[1], found[2]

    def secrets(self) -> tuple[str, ...]:
        path = self.parts[1]
        return (self.url.get_secret_value(), path, path.rpartition("/")[2])


class SlackAccount(AccountKind):
    account: ClassVar = SLACK_ACCOUNT
    credentials: ClassVar = SlackCredentials
    allowed_requests: ClassVar = (AllowedRequest("POST", "/", {}),)

    def url(self, context: KindContext, ask: AllowedRequest | None = None) -> str:
        return context.settings.api_url or f"https://{context.credentials.parts[0]}"

    def secret_path(self, context: KindContext) -> tuple[str, str]:
        return context.credentials.parts[1], "/***"

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        gone = answer.body.decode(errors="replace").strip() in _GONE
        return _CONNECT_AGAIN if gone or answer.status == HTTPStatus.GONE else None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        """Sends a message without text: a valid address refuses it with another error than an invalid one."""
        request = RemoteRequest("POST", "/", body=b"{}", media_type="application/json")
        answer = await transport(self.outgoing(context, request, None))
        if (why := self.refusal_reason(answer)) is not None:
            raise AccessRefused(why)
        if answer.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
            raise AccessRefused(_CONNECT_AGAIN)
        if answer.status != HTTPStatus.BAD_REQUEST:
            raise NoAnswer(f"it answered {answer.status}")
        return AccountCheck(None)
