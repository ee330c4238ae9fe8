"""DEV (dev.to) and other Forems, https://developers.forem.com/api/v1."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import SecretStr

from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    LISTING_BYTES,
    Ask,
    Credentials,
    Exchange,
    Kind,
    Outgoing,
    Own,
    Request,
    asked,
    with_headers,
)


class DevToCredentials(Credentials):
    key: SecretStr
    """Of Settings → Extensions → DEV Community API Keys."""


class DevTo(Kind):
    name: ClassVar = "devto"
    credentials: ClassVar = DevToCredentials
    base: ClassVar = "https://dev.to"
    asks: ClassVar[Sequence[Ask]] = (
        Ask("POST", "/api/articles", {}),
        Ask("PUT", "/api/articles/{id}", {}),
        Ask("PUT", "/api/articles/{id}/unpublish", {}),
        Ask("GET", "/api/articles/{id}", {}),
        Ask("GET", "/api/articles/me", {"page": "[0-9]+", "per_page": "[0-9]+"}),
        Ask(
            "GET",
            "/api/articles/me/{which}",
            {"page": "[0-9]+", "per_page": "[0-9]+"},
            most_bytes=LISTING_BYTES,
        ),
        Ask("GET", "/api/articles/{user}/{slug}", {}),
        Ask("GET", "/api/users/me", {}),
    )

    def authorised(self, given: Outgoing, own: Own) -> Outgoing:
        key = own.credentials.key.get_secret_value()
        return with_headers(given, {"api-key": key, "Accept": "application/vnd.forem.api-v1+json"})

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        answer = await asked(self, exchange, own, Request("GET", "/api/users/me"))
        name = str(answer.member("username") or "")
        return Looked(f"@{name}" if name else None, {"id": str(answer.member("id") or ""), "username": name})
