"""X, https://docs.x.com/x-api. Access tokens are good for two hours; the refresh token changes at each use.

Posts cost money: more where X makes a link of anything in the text, and it does so of bare names of hosts too.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    LISTING_BYTES,
    Answer,
    Ask,
    Exchange,
    KindSettings,
    Own,
    Request,
    asked,
    until,
)
from gateway.accounts.oauth.login import OAuthKind
from gateway.money import micros

_LINK: Final = re.compile(r"://|[\w-]\.[^\W\d_]{2,}")
"""More than X takes for one, rather than less."""
_POSTS: Final = "/2/tweets"
_Dollars = Annotated[Decimal, Field(ge=0, le=100)]


class XSettings(KindSettings):
    price: _Dollars = Decimal("0.015")
    """Of a post, in dollars."""
    price_with_link: _Dollars = Decimal("0.20")
    """Of a post that has an address in it."""


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
    asks: ClassVar[Sequence[Ask]] = (
        Ask("POST", _POSTS, {}),
        Ask("GET", "/2/tweets/{id}"),
        Ask("GET", "/2/users/me", {"user.fields": ".+"}),
        Ask("GET", "/2/users/{id}/tweets", most_bytes=LISTING_BYTES),
        Ask("POST", "/2/media/upload", {}),
        Ask("POST", "/2/media/metadata", {}),
    )

    def pause(self, answer: Answer, now: datetime) -> timedelta | None:
        if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
            return None  # what is left is counted for each path apart
        return until(answer.headers.get("x-rate-limit-reset"), now) or super().pause(answer, now)

    def cost(self, own: Own, request: Request) -> int:
        if (request.method, request.path) != ("POST", _POSTS):
            return 0
        text: Any = request.document.get("text") if isinstance(request.document, dict) else None
        has_link = isinstance(text, str) and _LINK.search(text) is not None
        return micros(own.settings.price_with_link if has_link else own.settings.price)

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        answer = await asked(self, exchange, own, Request("GET", "/2/users/me"))
        name = str(answer.member("data", "username") or "")
        facts = {"id": str(answer.member("data", "id") or ""), "username": name}
        return Looked(
            f"@{name}" if name else None, facts, own.credentials.scopes or None, own.credentials.ends_at
        )
