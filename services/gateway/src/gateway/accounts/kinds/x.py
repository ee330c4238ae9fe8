"""X, https://docs.x.com/x-api. Access tokens last two hours; the refresh token changes at each use.

Posts cost money, and more with a link. X makes links of bare host names, too.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccountTransport,
    AllowedRequest,
    KindContext,
    KindSettings,
    RemoteRequest,
    RemoteResponse,
    ask_account,
    time_until,
)
from gateway.accounts.oauth.login import OAuthKind
from gateway.money import micros

_LINK: Final = re.compile(r"://|[\w-]\.[^\W\d_]{2,}")
"""Matches more than X turns into links, never less."""
_POSTS: Final = "/2/tweets"
_Dollars = Annotated[Decimal, Field(ge=0, le=100)]


class XSettings(KindSettings):
    price: _Dollars = Decimal("0.015")
    """Price of a post, in dollars."""
    price_with_link: _Dollars = Decimal("0.20")
    """Price of a post with a link."""


class X(OAuthKind):
    name: ClassVar = "x"
    settings: ClassVar = XSettings
    base: ClassVar = "https://api.x.com"
    authorize_url: ClassVar = "https://x.com/i/oauth2/authorize"
    token_url: ClassVar = "https://api.x.com/2/oauth2/token"  # noqa: S105
    scopes: ClassVar[Sequence[str]] = (
        "tweet.read",
        "tweet.write",
        "users.read",
        "media.write",
        "offline.access",
    )
    secret_in_form: ClassVar = False
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        AllowedRequest("POST", _POSTS, {}),
        AllowedRequest("GET", "/2/tweets/{id}"),
        AllowedRequest("GET", "/2/users/me", {"user.fields": ".+"}),
        AllowedRequest("GET", "/2/users/{id}/tweets", most_bytes=LISTING_BYTES),
        AllowedRequest("POST", "/2/media/upload", {}),
        AllowedRequest("POST", "/2/media/metadata", {}),
    )

    def pause(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
            return None  # X counts the remainder for each path.
        return time_until(answer.headers.get("x-rate-limit-reset"), now) or super().pause(answer, now)

    def cost(self, context: KindContext, request: RemoteRequest) -> int:
        if (request.method, request.path) != ("POST", _POSTS):
            return 0
        text: Any = request.document.get("text") if isinstance(request.document, dict) else None
        has_link = isinstance(text, str) and _LINK.search(text) is not None
        return micros(context.settings.price_with_link if has_link else context.settings.price)

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        answer = await ask_account(self, transport, context, RemoteRequest("GET", "/2/users/me"))
        name = str(answer.member("data", "username") or "")
        facts = {"id": str(answer.member("data", "id") or ""), "username": name}
        return AccountCheck(
            f"@{name}" if name else None,
            facts,
            context.credentials.scopes or None,
            context.credentials.ends_at,
        )
