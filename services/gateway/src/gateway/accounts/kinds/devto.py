"""DEV (dev.to) and other Forems, https://developers.forem.com/api/v1."""

from typing import ClassVar

from pydantic import SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccountCredentials,
    AccountKind,
    AllowedRequest,
    KindContext,
    RemoteRequest,
    RemoteResponse,
)
from integrations.sites.devto import DEVTO_ACCOUNT


class DevToCredentials(AccountCredentials):
    key: SecretStr
    """From Settings → Extensions → DEV Community API Keys."""

    @property
    def authorization(self) -> dict[str, str]:
        return {"api-key": self.key.get_secret_value(), "Accept": "application/vnd.forem.api-v1+json"}


class DevToAccount(AccountKind):
    account: ClassVar = DEVTO_ACCOUNT
    credentials: ClassVar = DevToCredentials
    check_request: ClassVar = RemoteRequest("GET", "/api/users/me")
    allowed_requests: ClassVar = (
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

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        facts = {"id": answer.text("id"), "username": answer.text("username")}
        return AccountCheck.of_handle(facts["username"], facts)
