"""Mastodon and servers with the same API, https://docs.joinmastodon.org/methods/statuses."""

import re
from http import HTTPStatus
from typing import Any, ClassVar, Final

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccountKind,
    AddressSettings,
    AllowedRequest,
    KindContext,
    RemoteRequest,
    RemoteResponse,
    hide_entries,
)
from integrations.networks.mastodon import MASTODON_ACCOUNT

_PUBLIC: Final = frozenset({"public", "unlisted"})


def _public(body: Any, settings: Any) -> str | None:
    visibility = body.get("visibility", "public") if isinstance(body, dict) else "public"
    return None if visibility in _PUBLIC else "a post that is not public is a message to somebody"


class MastodonAccount(AccountKind):
    """A token of an application with `write:statuses write:media read:accounts read:statuses`; it does not expire."""

    account: ClassVar = MASTODON_ACCOUNT
    settings: ClassVar = AddressSettings
    headers: ClassVar = frozenset({"idempotency-key"})
    remaining_header: ClassVar = "x-ratelimit-remaining"
    reset_header: ClassVar = "x-ratelimit-reset"
    check_request: ClassVar = RemoteRequest("GET", "/api/v1/accounts/verify_credentials")
    allowed_requests: ClassVar = (
        AllowedRequest("POST", "/api/v1/statuses", body=_public),
        AllowedRequest("GET", "/api/v1/statuses/{id}", {}),
        AllowedRequest("GET", "/api/v1/accounts/{id}/statuses", most_bytes=LISTING_BYTES),
        AllowedRequest("GET", "/api/v1/accounts/verify_credentials", {}),
        AllowedRequest("POST", "/api/v2/media"),
        AllowedRequest("GET", "/api/v1/media/{id}", {}),
        AllowedRequest("PUT", "/api/v1/media/{id}"),
        AllowedRequest("GET", "/api/v1/instance", {}),
        AllowedRequest("GET", "/api/v2/instance", {}),
    )

    def shown(self, request: RemoteRequest, answer: RemoteResponse) -> RemoteResponse:
        """Removes private mentions, which the token can read and no service needs."""
        if request.method != "GET" or not re.search(r"/statuses(/|$)", request.path):
            return answer
        return hide_entries(answer, _is_addressed)

    def check_refusal(self, answer: RemoteResponse) -> str | None:
        # Mastodon says 401, snac 422; nothing but the token can be wrong in this request.
        if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.UNPROCESSABLE_ENTITY}:
            return "the server does not know the token: make another there and connect again"
        return None

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        facts = {"id": answer.text("id"), "acct": answer.text("acct")}
        if isinstance(address := answer.member("url"), str):
            facts["url"] = address
        return AccountCheck.of_handle(facts["acct"], facts)


def _is_addressed(status: Any) -> bool:
    return isinstance(status, dict) and status.get("visibility") in {"direct", "private"}
