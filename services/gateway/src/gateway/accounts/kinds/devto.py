"""DEV (dev.to) and other Forems, https://developers.forem.com/api/v1."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    RemoteRequest,
    WireRequest,
    ask_account,
    with_headers,
)


class DevToCredentials(AccountCredentials):
    key: SecretStr
    """From Settings → Extensions → DEV Community API Keys."""


class DevTo(AccountKind):
    name: ClassVar = "devto"
    credentials: ClassVar = DevToCredentials
    base: ClassVar = "https://dev.to"
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        AllowedRequest("POST", "/api/articles", {}),
        AllowedRequest("PUT", "/api/articles/{id}", {}),
        AllowedRequest("PUT", "/api/articles/{id}/unpublish", {}),
        AllowedRequest("GET", "/api/articles/{id}", {}),
        AllowedRequest("GET", "/api/articles/me", {"page": "[0-9]+", "per_page": "[0-9]+"}),
        AllowedRequest(
            "GET",
            "/api/articles/me/{which}",
            {"page": "[0-9]+", "per_page": "[0-9]+"},
            most_bytes=LISTING_BYTES,
        ),
        AllowedRequest("GET", "/api/articles/{user}/{slug}", {}),
        AllowedRequest("GET", "/api/users/me", {}),
    )

    def authorise(self, given: WireRequest, context: KindContext) -> WireRequest:
        key = context.credentials.key.get_secret_value()
        return with_headers(given, {"api-key": key, "Accept": "application/vnd.forem.api-v1+json"})

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        answer = await ask_account(self, transport, context, RemoteRequest("GET", "/api/users/me"))
        name = str(answer.member("username") or "")
        return AccountCheck(
            f"@{name}" if name else None, {"id": str(answer.member("id") or ""), "username": name}
        )
