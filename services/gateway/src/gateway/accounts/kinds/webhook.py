"""Sends signed messages to any system, https://www.standardwebhooks.com: articles, posts and notifications.

Each account has its own secrets. During a rotation, both the old and the new one sign.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from http import HTTPStatus
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, Field, SecretStr

from gateway.accounts.kind import (
    AccountCredentials,
    AccountKind,
    AddressSettings,
    AllowedRequest,
    KindContext,
    RemoteResponse,
    WireRequest,
    with_headers,
)
from integrations.networks.webhook import WEBHOOK_ACCOUNT

_PREFIX: Final = "whsec_"
_BYTES: Final = range(24, 65)
_MOST_ANSWER: Final = 64_000
"""Bytes of a receiver's answer that are passed on: services read a short JSON of it at most."""


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


class WebhookAccount(AccountKind):
    account: ClassVar = WEBHOOK_ACCOUNT
    user_facts: ClassVar = ()
    settings: ClassVar = AddressSettings
    credentials: ClassVar = WebhookCredentials
    headers: ClassVar = frozenset({"webhook-id"})
    needed_headers: ClassVar = headers
    allowed_requests: ClassVar = (AllowedRequest("POST", "/", {}, most_bytes=_MOST_ANSWER),)

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
