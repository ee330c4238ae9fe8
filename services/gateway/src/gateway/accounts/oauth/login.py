"""Kinds where somebody logs in with the provider (OAuth 2.0, RFC 6749; PKCE, RFC 7636), and the tokens that come of it."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from pydantic import SecretStr

from gateway.accounts.kind import (
    AccessRefused,
    Answer,
    Credentials,
    Exchange,
    Kind,
    NoAnswer,
    Outgoing,
    Own,
    basic,
)
from gateway.accounts.oauth.apps import App

_BEFORE_ITS_END: Final = timedelta(minutes=5)
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_REFUSALS: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class OAuthCredentials(Credentials):
    """Tokens; `refresh` is None where there is none, `expires_at` where nobody knows."""

    access: SecretStr
    refresh: SecretStr | None = None
    expires_at: datetime | None = None
    """Of the access token."""
    got_at: datetime | None = None
    scopes: tuple[str, ...] = ()

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.access.get_secret_value()}"}

    @property
    def ends_at(self) -> datetime | None:
        """When somebody has to log in again; None: not as long as it is used."""
        return None if self.refresh is not None else self.expires_at


class OAuthKind(Kind):
    """One that is connected by logging in; a token that was got elsewhere will do as well."""

    credentials: ClassVar[type[Credentials]] = OAuthCredentials
    authorize_url: ClassVar[str]
    token_url: ClassVar[str]
    scopes: ClassVar[Sequence[str]]
    scopes_between: ClassVar[str] = " "
    has_pkce: ClassVar[bool] = True
    secret_in_form: ClassVar[bool] = True
    """The app's secret goes among the fields; else as basic authentication."""

    def login_address(self, app: App, redirect_uri: str, state: str, verifier: str) -> str:
        """Where somebody's browser is sent."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
        fields = {
            "response_type": "code",
            "client_id": app.client_id,
            "redirect_uri": redirect_uri,
            "scope": self.scopes_between.join(app.settings.get("scopes") or self.scopes),
            "state": state,
        }
        if self.has_pkce:
            fields |= {"code_challenge": challenge.decode(), "code_challenge_method": "S256"}
        return f"{app.settings.get('authorize_url') or self.authorize_url}?{urlencode(fields)}"

    async def exchanged(
        self, exchange: Exchange, own: Own, app: App, code: str, verifier: str, redirect_uri: str
    ) -> OAuthCredentials:
        """The tokens for a code. Of `own` there are no credentials yet.

        Raises:
            AccessRefused: the provider does not take the code.
            NotSent, NoAnswer: it cannot be asked now.
        """
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        if self.has_pkce:
            fields["code_verifier"] = verifier
        return await self.token(exchange, own, app, fields)

    def is_stale(self, own: Own) -> bool:
        credentials = own.credentials
        return (
            credentials.refresh is not None
            and credentials.expires_at is not None
            and credentials.expires_at - own.now <= _BEFORE_ITS_END
        )

    async def renewed(self, exchange: Exchange, own: Own, app: Any) -> Credentials:
        if own.credentials.refresh is None:
            raise AccessRefused("the access has expired: connect again")
        if app is None:
            raise AccessRefused(
                f"the app of {self.name} is not known any more: `brandctl accounts app {self.name}`, then connect again"
            )
        old = own.credentials.refresh
        fields = {"grant_type": "refresh_token", "refresh_token": old.get_secret_value()}
        new = await self.token(exchange, own, app, fields)
        # Who does not rotate says nothing of it, and the old one goes on.
        return new.model_copy(
            update={"refresh": new.refresh or old, "scopes": new.scopes or own.credentials.scopes}
        )

    async def token(
        self, exchange: Exchange, own: Own, app: App, fields: Mapping[str, str]
    ) -> OAuthCredentials:
        """What the token endpoint gives."""
        url = str(app.settings.get("token_url") or self.token_address(own))
        sent, headers = {**fields, "client_id": app.client_id}, dict(_FORM)
        if app.secret is not None:
            if self.secret_in_form:
                sent["client_secret"] = app.secret.get_secret_value()
            else:
                headers |= basic(app.client_id, app.secret.get_secret_value())
        answer = await exchange(Outgoing("POST", url, url, (), headers, urlencode(sent).encode()))
        return tokens(answer, own.now, fields["grant_type"])

    def token_address(self, own: Own) -> str:
        """Of the token endpoint; on the same host as all else if that is not the provider's own."""
        if own.settings.api_url is None:
            return self.token_url
        return f"{own.settings.api_url}/{self.token_url.split('/', 3)[3]}"

    def says_stale(self, answer: Answer) -> bool:
        return answer.status == HTTPStatus.UNAUTHORIZED


def tokens(answer: Answer, now: datetime, asked_for: str) -> OAuthCredentials:
    """Those that an answer of a token endpoint has.

    Raises:
        AccessRefused: it says that there are none.
        NoAnswer: it says nothing of the kind.
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
