"""Bluesky and other PDSs of the AT protocol, https://docs.bsky.app/docs/api/com-atproto-repo-put-record.

The session is kept: `createSession` allows 30 calls in five minutes. The refresh token renews the access token and
changes with each use. If that fails, the app password starts a new session.
"""

import base64
import json
import re
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final

from pydantic import SecretStr

from chassis import WebAddress
from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccessRefused,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AddressSettings,
    AllowedRequest,
    KindContext,
    NoAnswer,
    RemoteRequest,
    RemoteResponse,
    WireRequest,
    bearer,
)
from integrations.networks.bluesky import BLUESKY_ACCOUNT

_BEFORE_ITS_END: Final = timedelta(minutes=2)
_POSTS: Final = "app.bsky.feed.post"
_JSON: Final = {"Content-Type": "application/json"}


class BlueskySettings(AddressSettings):
    url: WebAddress = "https://bsky.social"
    """Address of the PDS."""


class BlueskyCredentials(AccountCredentials):
    identifier: str
    """The handle or the DID."""
    password: SecretStr
    """An app password, not that of the account."""
    access: SecretStr | None = None
    refresh: SecretStr | None = None

    @property
    def authorization(self) -> dict[str, str]:
        assert self.access is not None, "a session is made before anything is asked"
        return bearer(self.access)


def _own_post(body: Any, settings: Any) -> str | None:
    return (
        None if isinstance(body, dict) and body.get("collection") == _POSTS else f"only {_POSTS} is written"
    )


class BlueskyAccount(AccountKind):
    account: ClassVar = BLUESKY_ACCOUNT
    user_facts: ClassVar = ("did",)
    user_settings: ClassVar = ()
    settings: ClassVar = BlueskySettings
    credentials: ClassVar = BlueskyCredentials
    remaining_header: ClassVar = "ratelimit-remaining"
    reset_header: ClassVar = "ratelimit-reset"
    check_request: ClassVar = RemoteRequest("GET", "/xrpc/com.atproto.server.getSession")
    allowed_requests: ClassVar = (
        AllowedRequest("POST", "/xrpc/com.atproto.repo.putRecord", {}, _own_post),
        AllowedRequest("POST", "/xrpc/com.atproto.repo.uploadBlob", {}),
        AllowedRequest(
            "GET",
            "/xrpc/com.atproto.repo.getRecord",
            {"repo": ".+", "collection": _POSTS, "rkey": ".+", "cid": ".+"},
        ),
        # The PDS forwards it to the app view.
        AllowedRequest(
            "GET", "/xrpc/app.bsky.feed.getPosts", {"uris": rf"at://[^/]+/{re.escape(_POSTS)}/[^/]+"}
        ),
        AllowedRequest("GET", "/xrpc/com.atproto.identity.resolveHandle", {"handle": ".+"}),
        AllowedRequest("GET", "/xrpc/com.atproto.server.getSession", {}),
    )

    def is_stale(self, context: KindContext) -> bool:
        if context.credentials.access is None:
            return True
        ends = _end_of(context.credentials.access.get_secret_value())
        return ends is not None and ends - context.now <= _BEFORE_ITS_END

    def says_stale(self, answer: RemoteResponse) -> bool:
        return answer.status == HTTPStatus.UNAUTHORIZED or (
            answer.status == HTTPStatus.BAD_REQUEST
            and answer.member("error") in {"ExpiredToken", "InvalidToken"}
        )

    async def renew_credentials(
        self, transport: AccountTransport, context: KindContext, app: Any
    ) -> AccountCredentials:
        answer = None
        if context.credentials.refresh is not None:
            answer = await transport(
                self._session("refreshSession", context, b"", bearer(context.credentials.refresh))
            )
        if answer is None or answer.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
            login = {
                "identifier": context.credentials.identifier,
                "password": context.credentials.password.get_secret_value(),
            }
            answer = await transport(
                self._session("createSession", context, json.dumps(login).encode(), _JSON)
            )
        if answer.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
            raise AccessRefused(
                "the app password is refused: make another in Bluesky's settings and connect again"
            )
        access, refresh = answer.member("accessJwt"), answer.member("refreshJwt")
        if answer.status != HTTPStatus.OK or not isinstance(access, str) or not isinstance(refresh, str):
            raise NoAnswer(f"it made no session ({answer.status})")
        new: BlueskyCredentials = context.credentials.model_copy(
            update={"access": SecretStr(access), "refresh": SecretStr(refresh)}
        )
        return new

    def _session(
        self, method: str, context: KindContext, body: bytes, headers: dict[str, str]
    ) -> WireRequest:
        url = f"{self.url(context)}/xrpc/com.atproto.server.{method}"
        return WireRequest("POST", url, url, (), headers, body)

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        facts = {"did": answer.text("did"), "handle": answer.text("handle")}
        return AccountCheck.of_handle(facts["handle"], facts)


def _end_of(token: str) -> datetime | None:
    """Returns `exp` of a JSON web token, without a check of its signature: the token is only sent on."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return datetime.fromtimestamp(int(claims["exp"]), UTC)
    except (IndexError, ValueError, KeyError, TypeError, OverflowError):
        return None
