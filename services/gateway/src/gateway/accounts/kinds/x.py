"""X, https://docs.x.com/x-api. Access tokens last two hours; the refresh token changes at each use.

Posts cost money, and more with a link. X makes links of bare host names, too.
"""

import re
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AllowedRequest,
    KindContext,
    KindSettings,
    RemoteRequest,
    RemoteResponse,
)
from gateway.accounts.oauth.login import OAuthKind
from gateway.money import micros
from integrations.networks.x import X_ACCOUNT

_LINK: Final = re.compile(r"://|[\w-]\.[^\W\d_]{2,}")
"""Matches more than X turns into links, never less."""
_POSTS: Final = "/2/tweets"
_Dollars = Annotated[Decimal, Field(ge=0, le=100)]


class XSettings(KindSettings):
    price: _Dollars = Decimal("0.015")
    """Price of a post, in dollars."""
    price_with_link: _Dollars = Decimal("0.20")
    """Price of a post with a link."""


class XAccount(OAuthKind):
    account: ClassVar = X_ACCOUNT
    settings: ClassVar = XSettings
    reset_header: ClassVar = "x-rate-limit-reset"  # X counts the remainder for each path.
    check_request: ClassVar = RemoteRequest("GET", "/2/users/me")
    allowed_requests: ClassVar = (
        AllowedRequest("POST", _POSTS, {}),
        AllowedRequest("GET", "/2/tweets/{id}"),
        AllowedRequest("GET", "/2/users/me", {"user.fields": ".+"}),
        AllowedRequest("GET", "/2/users/{id}/tweets", most_bytes=LISTING_BYTES),
        AllowedRequest("POST", "/2/media/upload", {}),
        AllowedRequest("POST", "/2/media/metadata", {}),
    )

    def cost(self, context: KindContext, request: RemoteRequest) -> int:
        if (request.method, request.path) != ("POST", _POSTS):
            return 0
        text: Any = request.document.get("text") if isinstance(request.document, dict) else None
        has_link = isinstance(text, str) and _LINK.search(text) is not None
        return micros(context.settings.price_with_link if has_link else context.settings.price)

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        facts = {"id": answer.text("data", "id"), "username": answer.text("data", "username")}
        return AccountCheck.of_handle(facts["username"], facts)
