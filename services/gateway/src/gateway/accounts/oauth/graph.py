"""Base class for Meta's Graph API: tokens last 60 days and are renewed while valid."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccessRefused,
    AccountCredentials,
    AccountTransport,
    KindContext,
    NoAnswer,
    NotSent,
    RemoteResponse,
    WireRequest,
)
from gateway.accounts.oauth.apps import OAuthApp
from gateway.accounts.oauth.login import OAuthCredentials, OAuthKind, tokens

_RENEWED: Final = timedelta(days=30)
"""A token is renewed this long before its end."""
_YOUNGEST: Final = timedelta(hours=24)
"""The provider renews no younger token."""
_EXPIRED: Final = 190
_LIMITS: Final = frozenset({4, 17, 32, 613, 80002})
_AFTER_A_LIMIT: Final = timedelta(minutes=15)
_FIELD: Final = (
    "alt_text|caption|config|error_message|id|is_reply|media_product_type|media_type|media_url|permalink|quota_duration|quota_total"
    "|quota_usage|replied_to|root_post|shortcode|status|status_code|text|timestamp|user_id|username"
)
FIELDS: Final = rf"(?:{_FIELD})(?:,(?:{_FIELD}))*"
"""Allowed fields of posts and containers. Other fields would lead to everything that the token can read."""
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

    short: ClassVar[str]
    """Prefix of `_exchange_token` and `_refresh_token`."""

    async def exchanged(
        self,
        transport: AccountTransport,
        context: KindContext,
        app: OAuthApp,
        code: str,
        verifier: str,
        redirect_uri: str,
    ) -> OAuthCredentials:
        # The first token lasts an hour; it is exchanged for a long-lived one.
        short = await super().exchanged(
            transport, context, app, code.removesuffix("#_"), verifier, redirect_uri
        )
        if app.secret is None:
            raise AccessRefused(f"the app of {self.name} has no secret: `brandctl accounts app {self.name}`")
        query = (
            ("grant_type", f"{self.short}_exchange_token"),
            ("client_secret", app.secret.get_secret_value()),
            ("access_token", short.access.get_secret_value()),
        )
        return await self._lasting(transport, context, "/access_token", query, short.scopes)

    def is_stale(self, context: KindContext) -> bool:
        credentials = context.credentials
        if (
            credentials.expires_at is None
            or not context.now < credentials.expires_at <= context.now + _RENEWED
        ):
            return False
        return credentials.got_at is None or context.now - credentials.got_at >= _YOUNGEST

    def says_stale(self, answer: RemoteResponse) -> bool:
        return False  # An expired token cannot be renewed here.

    async def renew_credentials(
        self, transport: AccountTransport, context: KindContext, app: Any
    ) -> AccountCredentials:
        token = context.credentials.access.get_secret_value()
        query = (("grant_type", f"{self.short}_refresh_token"), ("access_token", token))
        try:
            return await self._lasting(
                transport, context, "/refresh_access_token", query, context.credentials.scopes
            )
        except (AccessRefused, NotSent, NoAnswer):
            # The old token is still valid; the next attempt follows tomorrow.
            return OAuthCredentials.model_validate({**dict(context.credentials), "got_at": context.now})

    async def _lasting(
        self,
        transport: AccountTransport,
        context: KindContext,
        path: str,
        query: Sequence[tuple[str, str]],
        scopes: Sequence[str],
    ) -> OAuthCredentials:
        url = f"{self.url(context)}{path}"
        found = tokens(await transport(WireRequest("GET", url, url, query, {}, b"")), context.now, path)
        return found.model_copy(update={"scopes": tuple(scopes), "refresh": None})

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        if answer.status in {400, 401} and answer.member("error", "code") == _EXPIRED:
            return "the access has expired or was taken away: connect again"
        return None

    def pause(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        if (
            answer.status in {400, 403, HTTPStatus.TOO_MANY_REQUESTS}
            and answer.member("error", "code") in _LIMITS
        ):
            return _AFTER_A_LIMIT
        return super().pause(answer, now)

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        facts = {"id": answer.text("user_id") or answer.text("id"), "username": answer.text("username")}
        return AccountCheck.of_handle(facts["username"], facts)
