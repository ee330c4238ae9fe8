"""Bluesky and every other PDS of the AT protocol, https://docs.bsky.app/docs/api/com-atproto-repo-put-record.

A session is made once and kept: `createSession` may be asked 30 times in five minutes. Its access token is renewed with the
refresh token, which changes by that, and where that fails, with the app password.
"""

import base64
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar, Final

from pydantic import SecretStr

from chassis import WebAddress
from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    AccessRefused,
    Answer,
    Ask,
    Credentials,
    Exchange,
    Kind,
    KindSettings,
    NoAnswer,
    Outgoing,
    Own,
    Request,
    asked,
    json_headers,
    until,
    with_headers,
)

_BEFORE_ITS_END: Final = timedelta(minutes=2)
_POSTS: Final = "app.bsky.feed.post"


class BlueskySettings(KindSettings):
    url: WebAddress = "https://bsky.social"
    """Of the PDS."""


class BlueskyCredentials(Credentials):
    identifier: str
    """The handle or the DID."""
    password: SecretStr
    """An app password, not that of the account."""
    access: SecretStr | None = None
    refresh: SecretStr | None = None


def _own_post(body: Any, settings: Any) -> str | None:
    return (
        None if isinstance(body, dict) and body.get("collection") == _POSTS else f"only {_POSTS} is written"
    )


class Bluesky(Kind):
    name: ClassVar = "bluesky"
    user_facts: ClassVar = ("did",)
    user_settings: ClassVar = ()
    settings: ClassVar = BlueskySettings
    credentials: ClassVar = BlueskyCredentials
    asks: ClassVar[Sequence[Ask]] = (
        Ask("POST", "/xrpc/com.atproto.repo.putRecord", {}, _own_post),
        Ask("POST", "/xrpc/com.atproto.repo.uploadBlob", {}),
        Ask(
            "GET",
            "/xrpc/com.atproto.repo.getRecord",
            {"repo": ".+", "collection": _POSTS, "rkey": ".+", "cid": ".+"},
        ),
        # Of the app view, which the PDS asks in the account's name.
        Ask("GET", "/xrpc/app.bsky.feed.getPosts", {"uris": rf"at://[^/]+/{re.escape(_POSTS)}/[^/]+"}),
        Ask("GET", "/xrpc/com.atproto.identity.resolveHandle", {"handle": ".+"}),
        Ask("GET", "/xrpc/com.atproto.server.getSession", {}),
    )

    def authorised(self, given: Outgoing, own: Own) -> Outgoing:
        assert own.credentials.access is not None, "a session is made before anything is asked"
        return with_headers(given, _bearer(own.credentials.access))

    def pause(self, answer: Answer, now: datetime) -> timedelta | None:
        if answer.status != HTTPStatus.TOO_MANY_REQUESTS and answer.headers.get("ratelimit-remaining") != "0":
            return None
        return until(answer.headers.get("ratelimit-reset"), now) or super().pause(answer, now)

    def is_stale(self, own: Own) -> bool:
        if own.credentials.access is None:
            return True
        ends = _end_of(own.credentials.access.get_secret_value())
        return ends is not None and ends - own.now <= _BEFORE_ITS_END

    def says_stale(self, answer: Answer) -> bool:
        return answer.status == HTTPStatus.UNAUTHORIZED or (
            answer.status == HTTPStatus.BAD_REQUEST
            and answer.member("error") in {"ExpiredToken", "InvalidToken"}
        )

    async def renewed(self, exchange: Exchange, own: Own, app: Any) -> Credentials:
        answer = None
        if own.credentials.refresh is not None:
            answer = await exchange(
                self._session("refreshSession", own, b"", _bearer(own.credentials.refresh))
            )
        if answer is None or answer.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
            login = {
                "identifier": own.credentials.identifier,
                "password": own.credentials.password.get_secret_value(),
            }
            answer = await exchange(
                self._session("createSession", own, json.dumps(login).encode(), json_headers())
            )
        if answer.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
            raise AccessRefused(
                "the app password is refused: make another in Bluesky's settings and connect again"
            )
        access, refresh = answer.member("accessJwt"), answer.member("refreshJwt")
        if answer.status != HTTPStatus.OK or not isinstance(access, str) or not isinstance(refresh, str):
            raise NoAnswer(f"it made no session ({answer.status})")
        new: BlueskyCredentials = own.credentials.model_copy(
            update={"access": SecretStr(access), "refresh": SecretStr(refresh)}
        )
        return new

    def _session(self, method: str, own: Own, body: bytes, headers: dict[str, str]) -> Outgoing:
        url = f"{self.url(own)}/xrpc/com.atproto.server.{method}"
        return Outgoing("POST", url, url, (), headers, body)

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        request = Request("GET", "/xrpc/com.atproto.server.getSession")
        answer = await asked(self, exchange, own, request)
        handle = str(answer.member("handle") or "")
        return Looked(
            f"@{handle}" if handle else None, {"did": str(answer.member("did") or ""), "handle": handle}
        )


def _bearer(token: SecretStr) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.get_secret_value()}"}


def _end_of(token: str) -> datetime | None:
    """`exp` of a JSON web token, which is read and not checked: it is ours to send, not to trust."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return datetime.fromtimestamp(int(claims["exp"]), UTC)
    except (IndexError, ValueError, KeyError, TypeError, OverflowError):
        return None
