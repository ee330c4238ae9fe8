"""Ghost's Admin API, https://ghost.org/docs/admin-api/. Each request gets a token signed with an integration's key."""

import base64
import hashlib
import hmac
import json
import re
from typing import Annotated, Any, ClassVar, Final

from pydantic import SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccessRefused,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AddressSettings,
    AllowedRequest,
    KindContext,
    NoAnswer,
    RemoteRequest,
    RemoteResponse,
    WireRequest,
    matching,
    with_headers,
)
from integrations.sites.ghost import GHOST_ACCOUNT

_KEY: Final = re.compile(r"[0-9a-f]{20,40}:(?:[0-9a-f]{2}){16,64}")
_GOOD_FOR: Final = 240
"""Seconds; Ghost accepts at most 300."""
_API: Final = "/ghost/api/admin"
_CONNECT_AGAIN: Final = (
    "Ghost does not know the key: copy the Admin API key of its integration and connect again"
)


class GhostCredentials(AccountCredentials):
    key: Annotated[
        SecretStr,
        matching(_KEY, "is no Admin API key: it looks like 64f…:8a1…, of Settings → Integrations"),
    ]

    def secrets(self) -> tuple[str, ...]:
        return (self.key.get_secret_value(), self.key.get_secret_value().partition(":")[2])


class GhostAccount(AccountKind):
    account: ClassVar = GHOST_ACCOUNT
    user_facts: ClassVar = ()
    settings: ClassVar = AddressSettings
    credentials: ClassVar = GhostCredentials
    headers: ClassVar = frozenset({"accept-version"})
    allowed_requests: ClassVar = (
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
            return _CONNECT_AGAIN
        return None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        # `site/` needs no credentials; this one does.
        request = RemoteRequest("GET", f"{_API}/posts/", (("limit", "1"), ("fields", "id")))
        answer = await transport(self.outgoing(context, request, None))
        if answer.status in {401, 403}:
            raise AccessRefused(_CONNECT_AGAIN)
        if answer.status != 200 or not isinstance(answer.member("posts"), list):  # noqa: PLR2004
            raise NoAnswer(f"it answered {answer.status}, and not as Ghost does: check the address")
        request = RemoteRequest("GET", f"{_API}/site/")
        site = await transport(self.outgoing(context, request, None))
        facts = {"url": context.settings.url}
        if isinstance(version := site.member("site", "version"), str):
            facts["version"] = version
        return AccountCheck(site.text("site", "title") or None, facts)


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
