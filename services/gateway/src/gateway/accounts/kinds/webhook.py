"""Sends signed messages to any system, https://www.standardwebhooks.com: articles, posts and notifications.

Each account has its own secrets. During a rotation, both the old and the new one sign.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, Field, SecretStr

from chassis import WebAddress
from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    KindSettings,
    RemoteRequest,
    RemoteResponse,
    WireRequest,
    headers_of,
    with_headers,
)

_PREFIX: Final = "whsec_"
_BYTES: Final = range(24, 65)


class WebhookSettings(KindSettings):
    url: WebAddress
    """Where messages are sent; redirects are not followed."""


def new_secret() -> SecretStr:
    return SecretStr(_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode())


def _checked(secret: SecretStr) -> SecretStr:
    try:
        known = len(_bytes_of(secret)) in _BYTES
    except (ValueError, binascii.Error):
        known = False
    if not known:
        raise ValueError(
            "is no signing secret: `whsec_` and 24 to 64 bytes in base64; leave it out, and one is made"
        )
    return secret


def _bytes_of(secret: SecretStr) -> bytes:
    text = secret.get_secret_value()
    if not text.startswith(_PREFIX):
        raise ValueError(_PREFIX)
    return base64.b64decode(text.removeprefix(_PREFIX), validate=True)


class WebhookCredentials(AccountCredentials):
    secret: Annotated[SecretStr, AfterValidator(_checked)] = Field(default_factory=new_secret)
    previous: Annotated[SecretStr, AfterValidator(_checked)] | None = None
    """The previous secret, which signs too until the next rotation."""

    def rotated(self) -> "WebhookCredentials":
        return WebhookCredentials(secret=new_secret(), previous=self.secret)


class Webhook(AccountKind):
    name: ClassVar = "webhook"
    user_facts: ClassVar = ()
    settings: ClassVar = WebhookSettings
    credentials: ClassVar = WebhookCredentials
    headers: ClassVar = frozenset({"webhook-id"})
    needed_headers: ClassVar = headers
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (AllowedRequest("POST", "/", {}),)

    def outgoing(
        self, context: KindContext, request: RemoteRequest, ask: AllowedRequest | None
    ) -> WireRequest:
        url = self.url(context)
        given = WireRequest("POST", url, url, (), headers_of(request), request.body)
        return self.authorise(given, context)

    def url(self, context: KindContext, ask: AllowedRequest | None = None) -> str:
        return str(context.settings.url)

    def authorise(self, given: WireRequest, context: KindContext) -> WireRequest:
        name = next((value for key, value in given.headers.items() if key.lower() == "webhook-id"), "")
        signed = f"{name}.{int(context.now.timestamp())}.".encode() + given.body
        signatures = [
            f"v1,{base64.b64encode(hmac.new(_bytes_of(each), signed, hashlib.sha256).digest()).decode()}"
            for each in (context.credentials.secret, context.credentials.previous)
            if each is not None
        ]
        return with_headers(
            given,
            {
                "webhook-timestamp": str(int(context.now.timestamp())),
                "webhook-signature": " ".join(signatures),
            },
        )

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        if answer.status == HTTPStatus.GONE:
            return "the receiver answered 410 Gone: it wants no more messages; connect it again if that was a mistake"
        return None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        """Sends nothing: a receiver has no read request."""
        return AccountCheck(None, {})
