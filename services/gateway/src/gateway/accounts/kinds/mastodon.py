"""Mastodon and servers with the same API, https://docs.joinmastodon.org/methods/statuses."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final

from chassis import WebAddress
from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccessRefused,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    KindSettings,
    RemoteRequest,
    RemoteResponse,
    check_response,
    hide_entries,
)

_PUBLIC: Final = frozenset({"public", "unlisted"})


class MastodonSettings(KindSettings):
    url: WebAddress
    """Address of the server: `https://mastodon.social`."""


def _public(body: Any, settings: Any) -> str | None:
    visibility = body.get("visibility", "public") if isinstance(body, dict) else "public"
    return None if visibility in _PUBLIC else "a post that is not public is a message to somebody"


class Mastodon(AccountKind):
    """A token of an application with `write:statuses write:media read:accounts read:statuses`; it does not expire."""

    name: ClassVar = "mastodon"
    settings: ClassVar = MastodonSettings
    headers: ClassVar = frozenset({"idempotency-key"})
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
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

    def pause(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        if answer.status != 429 and answer.headers.get("x-ratelimit-remaining") != "0":  # noqa: PLR2004
            return None
        try:
            reset = datetime.fromisoformat(answer.headers.get("x-ratelimit-reset", ""))
        except ValueError:
            return super().pause(answer, now)
        return max(reset.astimezone(UTC) - now, timedelta(seconds=1))

    def shown(self, request: RemoteRequest, answer: RemoteResponse) -> RemoteResponse:
        """Removes private mentions, which the token can read and no service needs."""
        if request.method != "GET" or not re.search(r"/statuses(/|$)", request.path):
            return answer
        return hide_entries(answer, _is_addressed)

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        request = RemoteRequest("GET", "/api/v1/accounts/verify_credentials")
        answer = await transport(self.outgoing(context, request, None))
        # Mastodon says 401, snac 422; nothing but the token can be wrong in this request.
        if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.UNPROCESSABLE_ENTITY}:
            raise AccessRefused("the server does not know the token: make another there and connect again")
        check_response(self, answer)
        facts = {"id": str(answer.member("id") or ""), "acct": str(answer.member("acct") or "")}
        if isinstance(address := answer.member("url"), str):
            facts["url"] = address
        return AccountCheck(f"@{facts['acct']}" if facts["acct"] else None, facts)


def _is_addressed(status: Any) -> bool:
    return isinstance(status, dict) and status.get("visibility") in {"direct", "private"}
