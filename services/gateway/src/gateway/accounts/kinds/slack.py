"""An incoming webhook of a Slack channel, https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.

Its address is the secret. It can only post to that channel.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, SecretStr

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
    WireRequest,
    headers_of,
    json_headers,
)

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


def _webhook(url: SecretStr) -> SecretStr:
    if not _ADDRESS.fullmatch(url.get_secret_value()):
        raise ValueError(
            "is no address of an incoming webhook: it looks like https://hooks.slack.com/services/T…/B…/…"
        )
    return url


class SlackCredentials(AccountCredentials):
    url: Annotated[SecretStr, AfterValidator(_webhook)]

    @property
    def parts(self) -> tuple[str, str]:
        """Host and path; the path is secret."""
        found = _ADDRESS.fullmatch(self.url.get_secret_value())
        assert found is not None
        return found[1], found[2]

    def secrets(self) -> tuple[str, ...]:
        path = self.parts[1]
        return (self.url.get_secret_value(), path, path.rpartition("/")[2])


class Slack(AccountKind):
    name: ClassVar = "slack"
    credentials: ClassVar = SlackCredentials
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (AllowedRequest("POST", "/", {}),)

    def outgoing(
        self, context: KindContext, request: RemoteRequest, ask: AllowedRequest | None
    ) -> WireRequest:
        host, path = context.credentials.parts
        origin = context.settings.api_url or f"https://{host}"
        return WireRequest("POST", f"{origin}{path}", f"{origin}/***", (), headers_of(request), request.body)

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        gone = answer.body.decode(errors="replace").strip() in _GONE
        return _CONNECT_AGAIN if gone or answer.status == HTTPStatus.GONE else None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        """Sends a message without text: a valid address refuses it with another error than an invalid one."""
        request = self.outgoing(context, RemoteRequest("POST", "/", body=b"{}"), None)
        answer = await transport(
            WireRequest("POST", request.url, request.shown, (), json_headers(), request.body)
        )
        if (why := self.refusal_reason(answer)) is not None:
            raise AccessRefused(why)
        if answer.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
            raise AccessRefused(_CONNECT_AGAIN)
        if answer.status != HTTPStatus.BAD_REQUEST:
            raise NoAnswer(f"it answered {answer.status}")
        return AccountCheck(None, {})
