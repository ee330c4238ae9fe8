"""Ghost's Admin API, https://ghost.org/docs/admin-api/. Each request gets a token signed with an integration's key."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, SecretStr

from chassis import WebAddress
from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccessRefused,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    KindSettings,
    NoAnswer,
    RemoteRequest,
    RemoteResponse,
    WireRequest,
    with_headers,
)

_KEY: Final = re.compile(r"[0-9a-f]{20,40}:(?:[0-9a-f]{2}){16,64}")
_GOOD_FOR: Final = 240
"""Seconds; Ghost accepts at most 300."""
_API: Final = "/ghost/api/admin"


class GhostSettings(KindSettings):
    url: WebAddress
    """Address of the site, or of its admin pages if these are elsewhere: `https://blog.example.org`."""


def _key(key: SecretStr) -> SecretStr:
    if not _KEY.fullmatch(key.get_secret_value()):
        raise ValueError("is no Admin API key: it looks like 64f…:8a1…, of Settings → Integrations")
    return key


class GhostCredentials(AccountCredentials):
    key: Annotated[SecretStr, AfterValidator(_key)]

    def secrets(self) -> tuple[str, ...]:
        return (self.key.get_secret_value(), self.key.get_secret_value().partition(":")[2])


class Ghost(AccountKind):
    name: ClassVar = "ghost"
    user_facts: ClassVar = ()
    settings: ClassVar = GhostSettings
    credentials: ClassVar = GhostCredentials
    headers: ClassVar = frozenset({"accept-version"})
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        AllowedRequest("GET", f"{_API}/posts/", most_bytes=LISTING_BYTES),
        AllowedRequest("POST", f"{_API}/posts/"),
        AllowedRequest("GET", f"{_API}/posts/{{id}}/"),
        AllowedRequest("PUT", f"{_API}/posts/{{id}}/"),
        AllowedRequest("GET", f"{_API}/posts/slug/{{slug}}/"),
        AllowedRequest("GET", f"{_API}/tags/"),
        AllowedRequest("GET", f"{_API}/tags/slug/{{slug}}/"),
        AllowedRequest("GET", f"{_API}/site/", {}),
        AllowedRequest("POST", f"{_API}/images/upload/", {}),
    )

    def authorise(self, given: WireRequest, context: KindContext) -> WireRequest:
        token = _token(context.credentials.key.get_secret_value(), int(context.now.timestamp()))
        return with_headers(
            given, {"Accept-Version": "v5.0", **given.headers, "Authorization": f"Ghost {token}"}
        )

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        # Missing or unknown credentials get 401 or 403; a deleted key is unknown.
        if answer.status == 401 and answer.member("errors") is not None:  # noqa: PLR2004
            return "Ghost does not know the key: copy the Admin API key of its integration and connect again"
        return None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        # `site/` needs no credentials; this one does.
        request = RemoteRequest("GET", f"{_API}/posts/", (("limit", "1"), ("fields", "id")))
        answer = await transport(self.outgoing(context, request, None))
        if answer.status in {401, 403}:
            raise AccessRefused(
                "Ghost does not know the key: copy the Admin API key of its integration and connect again"
            )
        if answer.status != 200 or not isinstance(answer.member("posts"), list):  # noqa: PLR2004
            raise NoAnswer(f"it answered {answer.status}, and not as Ghost does: check the address")
        request = RemoteRequest("GET", f"{_API}/site/")
        site = await transport(self.outgoing(context, request, None))
        title = site.member("site", "title")
        facts = {"url": context.settings.url}
        if isinstance(version := site.member("site", "version"), str):
            facts["version"] = version
        return AccountCheck(str(title) if title else None, facts)


def _token(key: str, now: int) -> str:
    """A JSON web token, HS256. The secret is hexadecimal; its decoded bytes sign."""
    name, _, secret = key.partition(":")
    header = {"alg": "HS256", "kid": name, "typ": "JWT"}
    # A little earlier: the provider's clock may be behind.
    claims = {"iat": now - 5, "exp": now - 5 + _GOOD_FOR, "aud": "/admin/"}
    signed = f"{_part(header)}.{_part(claims)}"
    signature = hmac.new(bytes.fromhex(secret), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_encoded(signature)}"


def _part(value: dict[str, Any]) -> str:
    return _encoded(json.dumps(value, separators=(",", ":")).encode())


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
