"""Whoever takes signed messages, https://www.standardwebhooks.com: articles, posts and notifications for any system.

Each account has secrets of its own. While one takes the place of another, a message is signed with both.
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
from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    Answer,
    Ask,
    Credentials,
    Exchange,
    Kind,
    KindSettings,
    Outgoing,
    Own,
    Request,
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


class WebhookCredentials(Credentials):
    secret: Annotated[SecretStr, AfterValidator(_checked)] = Field(default_factory=new_secret)
    previous: Annotated[SecretStr, AfterValidator(_checked)] | None = None
    """The one before, which signs too until the next rotation."""

    def rotated(self) -> "WebhookCredentials":
        return WebhookCredentials(secret=new_secret(), previous=self.secret)


class Webhook(Kind):
    name: ClassVar = "webhook"
    user_facts: ClassVar = ()
    settings: ClassVar = WebhookSettings
    credentials: ClassVar = WebhookCredentials
    headers: ClassVar = frozenset({"webhook-id"})
    needed_headers: ClassVar = headers
    asks: ClassVar[Sequence[Ask]] = (Ask("POST", "/", {}),)

    def outgoing(self, own: Own, request: Request, ask: Ask | None) -> Outgoing:
        url = self.url(own)
        given = Outgoing("POST", url, url, (), headers_of(request), request.body)
        return self.authorised(given, own)

    def url(self, own: Own, ask: Ask | None = None) -> str:
        return str(own.settings.url)

    def authorised(self, given: Outgoing, own: Own) -> Outgoing:
        name = next((value for key, value in given.headers.items() if key.lower() == "webhook-id"), "")
        signed = f"{name}.{int(own.now.timestamp())}.".encode() + given.body
        signatures = [
            f"v1,{base64.b64encode(hmac.new(_bytes_of(each), signed, hashlib.sha256).digest()).decode()}"
            for each in (own.credentials.secret, own.credentials.previous)
            if each is not None
        ]
        return with_headers(
            given,
            {"webhook-timestamp": str(int(own.now.timestamp())), "webhook-signature": " ".join(signatures)},
        )

    def refused(self, answer: Answer) -> str | None:
        if answer.status == HTTPStatus.GONE:
            return "the receiver answered 410 Gone: it wants no more messages; connect it again if that was a mistake"
        return None

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        """Nothing is sent: a receiver expects messages, not questions."""
        return Looked(None, {})
