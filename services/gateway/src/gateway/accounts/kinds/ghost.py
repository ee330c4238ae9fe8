"""Ghost's Admin API, https://ghost.org/docs/admin-api/: a token is made for each request of the key of a custom integration."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, SecretStr

from chassis import WebAddress
from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccessRefused,
    Answer,
    Ask,
    Credentials,
    Exchange,
    Kind,
    KindSettings,
    NoAnswer,
    Outgoing,
    Own,
    Request,
    with_headers,
)

_KEY: Final = re.compile(r"[0-9a-f]{20,40}:(?:[0-9a-f]{2}){16,64}")
_GOOD_FOR: Final = 240
"""Seconds; Ghost takes no more than 300."""
_API: Final = "/ghost/api/admin"


class GhostSettings(KindSettings):
    url: WebAddress
    """Of the site, or of its admin pages where these are elsewhere: `https://blog.example.org`."""


def _key(key: SecretStr) -> SecretStr:
    if not _KEY.fullmatch(key.get_secret_value()):
        raise ValueError("is no Admin API key: it looks like 64f…:8a1…, of Settings → Integrations")
    return key


class GhostCredentials(Credentials):
    key: Annotated[SecretStr, AfterValidator(_key)]

    def secrets(self) -> tuple[str, ...]:
        return (self.key.get_secret_value(), self.key.get_secret_value().partition(":")[2])


class Ghost(Kind):
    name: ClassVar = "ghost"
    user_facts: ClassVar = ()
    settings: ClassVar = GhostSettings
    credentials: ClassVar = GhostCredentials
    headers: ClassVar = frozenset({"accept-version"})
    asks: ClassVar[Sequence[Ask]] = (
        Ask("GET", f"{_API}/posts/", most_bytes=LISTING_BYTES),
        Ask("POST", f"{_API}/posts/"),
        Ask("GET", f"{_API}/posts/{{id}}/"),
        Ask("PUT", f"{_API}/posts/{{id}}/"),
        Ask("GET", f"{_API}/posts/slug/{{slug}}/"),
        Ask("GET", f"{_API}/tags/"),
        Ask("GET", f"{_API}/tags/slug/{{slug}}/"),
        Ask("GET", f"{_API}/site/", {}),
        Ask("POST", f"{_API}/images/upload/", {}),
    )

    def authorised(self, given: Outgoing, own: Own) -> Outgoing:
        token = _token(own.credentials.key.get_secret_value(), int(own.now.timestamp()))
        return with_headers(
            given, {"Accept-Version": "v5.0", **given.headers, "Authorization": f"Ghost {token}"}
        )

    def refused(self, answer: Answer) -> str | None:
        # Without or with unknown credentials it answers 401 or 403; a key that was deleted is unknown.
        if answer.status == 401 and answer.member("errors") is not None:  # noqa: PLR2004
            return "Ghost does not know the key: copy the Admin API key of its integration and connect again"
        return None

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        # `site/` answers everybody; this one does not.
        request = Request("GET", f"{_API}/posts/", (("limit", "1"), ("fields", "id")))
        answer = await exchange(self.outgoing(own, request, None))
        if answer.status in {401, 403}:
            raise AccessRefused(
                "Ghost does not know the key: copy the Admin API key of its integration and connect again"
            )
        if answer.status != 200 or not isinstance(answer.member("posts"), list):  # noqa: PLR2004
            raise NoAnswer(f"it answered {answer.status}, and not as Ghost does: check the address")
        request = Request("GET", f"{_API}/site/")
        site = await exchange(self.outgoing(own, request, None))
        title = site.member("site", "title")
        facts = {"url": own.settings.url}
        if isinstance(version := site.member("site", "version"), str):
            facts["version"] = version
        return Looked(str(title) if title else None, facts)


def _token(key: str, now: int) -> str:
    """A JSON web token, HS256. The secret is hexadecimal, and signs as the bytes that it stands for."""
    name, _, secret = key.partition(":")
    header = {"alg": "HS256", "kid": name, "typ": "JWT"}
    # A little earlier: the other side's clock may be behind.
    claims = {"iat": now - 5, "exp": now - 5 + _GOOD_FOR, "aud": "/admin/"}
    signed = f"{_part(header)}.{_part(claims)}"
    signature = hmac.new(bytes.fromhex(secret), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_encoded(signature)}"


def _part(value: dict[str, Any]) -> str:
    return _encoded(json.dumps(value, separators=(",", ":")).encode())


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
