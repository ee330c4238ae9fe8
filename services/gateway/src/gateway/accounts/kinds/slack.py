"""An incoming webhook of a channel of Slack, https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.

Its address is the secret. It can post to that one channel, and nothing else.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, SecretStr

from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    AccessRefused,
    Answer,
    Ask,
    Credentials,
    Exchange,
    Kind,
    NoAnswer,
    Outgoing,
    Own,
    Request,
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


class SlackCredentials(Credentials):
    url: Annotated[SecretStr, AfterValidator(_webhook)]

    @property
    def parts(self) -> tuple[str, str]:
        """Host and path, of which the path is secret."""
        found = _ADDRESS.fullmatch(self.url.get_secret_value())
        assert found is not None
        return found[1], found[2]

    def secrets(self) -> tuple[str, ...]:
        path = self.parts[1]
        return (self.url.get_secret_value(), path, path.rpartition("/")[2])


class Slack(Kind):
    name: ClassVar = "slack"
    credentials: ClassVar = SlackCredentials
    asks: ClassVar[Sequence[Ask]] = (Ask("POST", "/", {}),)

    def outgoing(self, own: Own, request: Request, ask: Ask | None) -> Outgoing:
        host, path = own.credentials.parts
        origin = own.settings.api_url or f"https://{host}"
        return Outgoing("POST", f"{origin}{path}", f"{origin}/***", (), headers_of(request), request.body)

    def refused(self, answer: Answer) -> str | None:
        gone = answer.body.decode(errors="replace").strip() in _GONE
        return _CONNECT_AGAIN if gone or answer.status == HTTPStatus.GONE else None

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        """A message without a text is refused, by an address that is good in other words than by one that is not."""
        request = self.outgoing(own, Request("POST", "/", body=b"{}"), None)
        answer = await exchange(
            Outgoing("POST", request.url, request.shown, (), json_headers(), request.body)
        )
        if (why := self.refused(answer)) is not None:
            raise AccessRefused(why)
        if answer.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
            raise AccessRefused(_CONNECT_AGAIN)
        if answer.status != HTTPStatus.BAD_REQUEST:
            raise NoAnswer(f"it answered {answer.status}")
        return Looked(None, {})
