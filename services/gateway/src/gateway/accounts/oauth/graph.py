"""What the kinds of Meta's Graph API have in common: tokens for 60 days, which are renewed by themselves while they are good."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final

from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    AccessRefused,
    Answer,
    Ask,
    Credentials,
    Exchange,
    NoAnswer,
    NotSent,
    Outgoing,
    Own,
    Request,
    asked,
)
from gateway.accounts.oauth.apps import App
from gateway.accounts.oauth.login import OAuthCredentials, OAuthKind, tokens

_RENEWED: Final = timedelta(days=30)
"""So long before its end."""
_YOUNGEST: Final = timedelta(hours=24)
"""A younger token is not renewed by the provider."""
_EXPIRED: Final = 190
_LIMITS: Final = frozenset({4, 17, 32, 613, 80002})
_AFTER_A_LIMIT: Final = timedelta(minutes=15)
_FIELD: Final = (
    "alt_text|caption|config|error_message|id|is_reply|media_product_type|media_type|media_url|permalink|quota_duration|quota_total"
    "|quota_usage|replied_to|root_post|shortcode|status|status_code|text|timestamp|user_id|username"
)
FIELDS: Final = rf"(?:{_FIELD})(?:,(?:{_FIELD}))*"
"""Of posts and containers. One thing leads to all others that the token may read, by its field."""
PAGES: Final = {
    "fields": FIELDS,
    "limit": "[0-9]+",
    "after": r"[\w=-]+",
    "since": "[0-9]+",
    "until": "[0-9]+",
}
USER: Final = "/{version:version}/{user:number}"
NODE: Final = "/{version:version}/{node:number}"


class GraphKind(OAuthKind):
    """Instagram and Threads."""

    has_pkce: ClassVar = False
    scopes_between: ClassVar = ","
    short: ClassVar[str]
    """Before `_exchange_token` and `_refresh_token`."""
    version: ClassVar[str]
    me_fields: ClassVar[str]
    asks: ClassVar[Sequence[Ask]]

    async def exchanged(
        self, exchange: Exchange, own: Own, app: App, code: str, verifier: str, redirect_uri: str
    ) -> OAuthCredentials:
        # The first token is good for an hour; it is exchanged for one that lasts.
        short = await super().exchanged(exchange, own, app, code.removesuffix("#_"), verifier, redirect_uri)
        if app.secret is None:
            raise AccessRefused(f"the app of {self.name} has no secret: `brandctl accounts app {self.name}`")
        query = (
            ("grant_type", f"{self.short}_exchange_token"),
            ("client_secret", app.secret.get_secret_value()),
            ("access_token", short.access.get_secret_value()),
        )
        return await self._lasting(exchange, own, "/access_token", query, short.scopes)

    def is_stale(self, own: Own) -> bool:
        credentials = own.credentials
        if credentials.expires_at is None or not own.now < credentials.expires_at <= own.now + _RENEWED:
            return False
        return credentials.got_at is None or own.now - credentials.got_at >= _YOUNGEST

    def says_stale(self, answer: Answer) -> bool:
        return False  # what has ended cannot be renewed here

    async def renewed(self, exchange: Exchange, own: Own, app: Any) -> Credentials:
        token = own.credentials.access.get_secret_value()
        query = (("grant_type", f"{self.short}_refresh_token"), ("access_token", token))
        try:
            return await self._lasting(exchange, own, "/refresh_access_token", query, own.credentials.scopes)
        except (AccessRefused, NotSent, NoAnswer):
            # The old one is good still, and tomorrow is another day.
            return OAuthCredentials.model_validate({**dict(own.credentials), "got_at": own.now})

    async def _lasting(
        self, exchange: Exchange, own: Own, path: str, query: Sequence[tuple[str, str]], scopes: Sequence[str]
    ) -> OAuthCredentials:
        url = f"{self.url(own)}{path}"
        found = tokens(await exchange(Outgoing("GET", url, url, query, {}, b"")), own.now, path)
        return found.model_copy(update={"scopes": tuple(scopes), "refresh": None})

    def refused(self, answer: Answer) -> str | None:
        if answer.status in {400, 401} and answer.member("error", "code") == _EXPIRED:
            return "the access has expired or was taken away: connect again"
        return None

    def pause(self, answer: Answer, now: datetime) -> timedelta | None:
        if (
            answer.status in {400, 403, HTTPStatus.TOO_MANY_REQUESTS}
            and answer.member("error", "code") in _LIMITS
        ):
            return _AFTER_A_LIMIT
        return super().pause(answer, now)

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        request = Request("GET", f"/{self.version}/me", (("fields", self.me_fields),))
        answer = await asked(self, exchange, own, request)
        name = str(answer.member("username") or "")
        found = answer.member("user_id") or answer.member("id")
        facts = {"id": str(found or ""), "username": name}
        return Looked(
            f"@{name}" if name else None, facts, own.credentials.scopes or None, own.credentials.ends_at
        )
