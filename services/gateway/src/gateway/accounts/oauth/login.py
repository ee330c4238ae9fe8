"""Base class of kinds with an OAuth 2.0 log-in (RFC 6749; PKCE, RFC 7636), and their tokens."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from pydantic import SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccessRefused,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    KindContext,
    NoAnswer,
    RemoteResponse,
    WireRequest,
    basic_authorization,
    bearer,
)
from gateway.accounts.oauth.apps import OAuthApp
from integrations.account import OAuthLogin

_BEFORE_ITS_END: Final = timedelta(minutes=5)
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_REFUSALS: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class OAuthCredentials(AccountCredentials):
    """Tokens; None means no `refresh` token, or an unknown `expires_at`."""

    access: SecretStr
    refresh: SecretStr | None = None
    expires_at: datetime | None = None
    """End of the access token."""
    got_at: datetime | None = None
    scopes: tuple[str, ...] = ()

    @property
    def authorization(self) -> dict[str, str]:
        return bearer(self.access)

    @property
    def ends_at(self) -> datetime | None:
        """When a new log-in is due; None: never, while the tokens are used."""
        return None if self.refresh is not None else self.expires_at


class OAuthKind(AccountKind):
    """A kind that is connected by a log-in; tokens from elsewhere work, too."""

    credentials: ClassVar[type[AccountCredentials]] = OAuthCredentials

    @property
    def login(self) -> OAuthLogin:
        assert self.account.login is not None
        return self.account.login

    def login_address(self, app: OAuthApp, redirect_uri: str, state: str, verifier: str) -> str:
        """The address of the provider's log-in page."""
        login = self.login
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
        fields = {
            "response_type": "code",
            "client_id": app.client_id,
            "redirect_uri": redirect_uri,
            "scope": login.scope_separator.join(app.settings.get("scopes") or login.scopes),
            "state": state,
        }
        if login.has_pkce:
            fields |= {"code_challenge": challenge.decode(), "code_challenge_method": "S256"}
        return f"{app.settings.get('authorize_url') or login.authorize_url}?{urlencode(fields)}"

    async def exchanged(
        self,
        transport: AccountTransport,
        context: KindContext,
        app: OAuthApp,
        code: str,
        verifier: str,
        redirect_uri: str,
    ) -> OAuthCredentials:
        """Exchanges a code for tokens. `context` has no credentials yet.

        Raises:
            AccessRefused: the provider rejects the code.
            NotSent, NoAnswer: the provider cannot be reached now.
        """
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        if self.login.has_pkce:
            fields["code_verifier"] = verifier
        return await self.token(transport, context, app, fields)

    def is_stale(self, context: KindContext) -> bool:
        credentials = context.credentials
        return (
            credentials.refresh is not None
            and credentials.expires_at is not None
            and credentials.expires_at - context.now <= _BEFORE_ITS_END
        )

    async def renew_credentials(
        self, transport: AccountTransport, context: KindContext, app: Any
    ) -> AccountCredentials:
        if context.credentials.refresh is None:
            raise AccessRefused("the access has expired: connect again")
        if app is None:
            raise AccessRefused(
                f"the app of {self.name} is not known any more: `brandctl accounts app {self.name}`, then connect again"
            )
        old = context.credentials.refresh
        fields = {"grant_type": "refresh_token", "refresh_token": old.get_secret_value()}
        new = await self.token(transport, context, app, fields)
        # A provider without rotation omits it; the old one stays valid.
        return new.model_copy(
            update={"refresh": new.refresh or old, "scopes": new.scopes or context.credentials.scopes}
        )

    async def token(
        self, transport: AccountTransport, context: KindContext, app: OAuthApp, fields: Mapping[str, str]
    ) -> OAuthCredentials:
        """Sends a form to the token endpoint and returns its tokens."""
        url = str(app.settings.get("token_url") or self.token_address(context))
        sent, headers = {**fields, "client_id": app.client_id}, dict(_FORM)
        if app.secret is not None:
            if self.login.secret_in_form:
                sent["client_secret"] = app.secret.get_secret_value()
            else:
                headers |= basic_authorization(app.client_id, app.secret.get_secret_value())
        answer = await transport(WireRequest("POST", url, url, (), headers, urlencode(sent).encode()))
        return tokens(answer, context.now, fields["grant_type"])

    def token_address(self, context: KindContext) -> str:
        """Address of the token endpoint; on `api_url` if that is set."""
        if context.settings.api_url is None:
            return self.login.token_url
        return f"{context.settings.api_url}/{self.login.token_url.split('/', 3)[3]}"

    def says_stale(self, answer: RemoteResponse) -> bool:
        return answer.status == HTTPStatus.UNAUTHORIZED

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        return self.until_end_of_access(await super().check(transport, context), context)

    def until_end_of_access(self, checked: AccountCheck, context: KindContext) -> AccountCheck:
        """The check, with what the tokens say about themselves."""
        credentials = context.credentials
        return replace(checked, scopes=credentials.scopes or None, expires_at=credentials.ends_at)


def tokens(answer: RemoteResponse, now: datetime, asked_for: str) -> OAuthCredentials:
    """Reads the tokens from an answer of a token endpoint.

    Raises:
        AccessRefused: the provider refuses to give tokens.
        NoAnswer: the answer contains neither tokens nor a refusal.
    """
    document = answer.document
    if answer.status in _REFUSALS:
        what = "the refresh token" if asked_for == "refresh_token" else "the code"
        lost = (
            "; where it changes at each use, a new one may have been lost in a crash"
            if "refresh" in what
            else ""
        )
        error = document.get("error") if isinstance(document, dict) else None
        said = f" ({error})" if isinstance(error, str) and len(error) < 60 else ""  # noqa: PLR2004
        raise AccessRefused(f"the provider does not take {what}{said}: connect again{lost}")
    if answer.status != HTTPStatus.OK or not isinstance(document, dict):
        raise NoAnswer(f"its token endpoint answered {answer.status}")
    access, refresh = document.get("access_token"), document.get("refresh_token")
    if not isinstance(access, str) or not access:
        raise NoAnswer("its token endpoint gave no access token")
    seconds = document.get("expires_in")
    scope = document.get("scope")
    listed = scope.replace(",", " ").split() if isinstance(scope, str) else []
    return OAuthCredentials(
        access=SecretStr(access),
        refresh=SecretStr(refresh) if isinstance(refresh, str) and refresh else None,
        expires_at=now + timedelta(seconds=int(seconds)) if isinstance(seconds, int | float) else None,
        got_at=now,
        scopes=tuple(listed),
    )
