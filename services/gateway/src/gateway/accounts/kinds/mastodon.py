"""Mastodon and those that speak as it does, https://docs.joinmastodon.org/methods/statuses."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final

from chassis import WebAddress
from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccessRefused,
    Answer,
    Ask,
    Exchange,
    Kind,
    KindSettings,
    Own,
    Request,
    good,
    without,
)

_PUBLIC: Final = frozenset({"public", "unlisted"})


class MastodonSettings(KindSettings):
    url: WebAddress
    """Of the server: `https://mastodon.social`."""


def _public(body: Any, settings: Any) -> str | None:
    visibility = body.get("visibility", "public") if isinstance(body, dict) else "public"
    return None if visibility in _PUBLIC else "a post that is not public is a message to somebody"


class Mastodon(Kind):
    """A token of an application with `write:statuses write:media read:accounts read:statuses`; it does not expire."""

    name: ClassVar = "mastodon"
    settings: ClassVar = MastodonSettings
    headers: ClassVar = frozenset({"idempotency-key"})
    asks: ClassVar[Sequence[Ask]] = (
        Ask("POST", "/api/v1/statuses", body=_public),
        Ask("GET", "/api/v1/statuses/{id}", {}),
        Ask("GET", "/api/v1/accounts/{id}/statuses", most_bytes=LISTING_BYTES),
        Ask("GET", "/api/v1/accounts/verify_credentials", {}),
        Ask("POST", "/api/v2/media"),
        Ask("GET", "/api/v1/media/{id}", {}),
        Ask("PUT", "/api/v1/media/{id}"),
        Ask("GET", "/api/v1/instance", {}),
        Ask("GET", "/api/v2/instance", {}),
    )

    def pause(self, answer: Answer, now: datetime) -> timedelta | None:
        if answer.status != 429 and answer.headers.get("x-ratelimit-remaining") != "0":  # noqa: PLR2004
            return None
        try:
            reset = datetime.fromisoformat(answer.headers.get("x-ratelimit-reset", ""))
        except ValueError:
            return super().pause(answer, now)
        return max(reset.astimezone(UTC) - now, timedelta(seconds=1))

    def shown(self, request: Request, answer: Answer) -> Answer:
        """Without what is addressed to somebody: the token can read it, and nobody here has a use for it."""
        if request.method != "GET" or not re.search(r"/statuses(/|$)", request.path):
            return answer
        return without(answer, _is_addressed)

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        request = Request("GET", "/api/v1/accounts/verify_credentials")
        answer = await exchange(self.outgoing(own, request, None))
        # Mastodon says 401, snac 422: there is nothing in this question but the token that one could fail to process.
        if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.UNPROCESSABLE_ENTITY}:
            raise AccessRefused("the server does not know the token: make another there and connect again")
        good(self, answer)
        facts = {"id": str(answer.member("id") or ""), "acct": str(answer.member("acct") or "")}
        if isinstance(address := answer.member("url"), str):
            facts["url"] = address
        return Looked(f"@{facts['acct']}" if facts["acct"] else None, facts)


def _is_addressed(status: Any) -> bool:
    return isinstance(status, dict) and status.get("visibility") in {"direct", "private"}
