"""Bluesky: a PDS with one account.

Documented: https://docs.bsky.app/docs/api/ (com.atproto.repo.putRecord, getRecord, uploadBlob, com.atproto.server.*). Seen on a PDS
0.5.35: the same record under the same key is 200 with the same cid, a missing one 400 `RecordNotFound`, an expired token 400
`ExpiredToken`, a text too long 400 `InvalidRequest`, and a picture over 2,000,000 bytes is refused with the record.
"""

import base64
import hashlib
import json
import time
from typing import Any, Final

import regex

from fakes.serving.cases import ChannelCase, EffectPlace
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

_POSTS: Final = "app.bsky.feed.post"
_TID: Final = regex.compile(r"[234567abcdefghij][234567a-z]{12}")
_MOST_GRAPHEMES, _MOST_BYTES, _MOST_PICTURE = 300, 3000, 2_000_000


class FakeBluesky(Fake):
    """Sign in as `handle` with `password`, or ask with the access token `token` that stands for a session.

    `has_app_view`: the PDS asks one about `app.bsky.*`, as bsky.social does.
    """

    def __init__(
        self,
        handle: str = "acme.example",
        password: str = "abcd-efgh-ijkl-mnop",
        *,
        has_app_view: bool = True,
    ) -> None:
        super().__init__()
        self.has_app_view = has_app_view
        self.received: dict[str, dict[str, int]] = {}
        self.handle, self.password = handle, password
        self.did = "did:plc:abcdefghijklmnopqrstuvwx"
        self.token = _jwt("access")
        self.records: dict[str, dict[str, Any]] = {}
        self.blobs: dict[str, int] = {}

    @route("POST", "/xrpc/com.atproto.server.createSession")
    def create_session(self, request: Request) -> Reply:
        body = request.json()
        if (body.get("identifier"), body.get("password")) not in {
            (self.handle, self.password),
            (self.did, self.password),
        }:
            return as_json(
                {"error": "AuthenticationRequired", "message": "Invalid identifier or password"}, 401
            )
        self.token = _jwt("access")
        return self._session()

    @route("POST", "/xrpc/com.atproto.server.refreshSession")
    def refresh_session(self, request: Request) -> Reply:
        self.token = _jwt("access")
        return self._session() if request.bearer else self.expired(request)

    def _session(self) -> Reply:
        tokens = {"accessJwt": self.token, "refreshJwt": _jwt("refresh")}
        return as_json(tokens | {"did": self.did, "handle": self.handle, "active": True})

    @route("GET", "/xrpc/com.atproto.server.getSession")
    def get_session(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        return as_json({"did": self.did, "handle": self.handle, "active": True})

    @route("POST", "/xrpc/com.atproto.repo.uploadBlob")
    def upload(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        name = _cid(request.body)
        self.blobs[name] = len(request.body)
        blob = {
            "$type": "blob",
            "ref": {"$link": name},
            "mimeType": request.media_type,
            "size": len(request.body),
        }
        return as_json({"blob": blob})

    @route("POST", "/xrpc/com.atproto.repo.putRecord")
    def put(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        body = request.json()
        record, key = body.get("record", {}), str(body.get("rkey", ""))
        if body.get("repo") not in {self.did, self.handle}:
            return as_json({"error": "AccountNotFound", "message": "Could not find repo"}, 403)
        if (problem := self._problem(key, record)) is not None:
            return _invalid(problem)
        before = self.records.get(key)
        self.records[key] = record
        uri = f"at://{self.did}/{_POSTS}/{key}"
        if before is None:
            more = {
                "facets": record.get("facets", []),
                "embed": record.get("embed"),
                "langs": record.get("langs"),
            }
            url = f"https://bsky.app/profile/{self.handle}/post/{key}"
            self.accept(AcceptedItem(uri, self.handle, record["text"], url=url, more=more))
        return as_json({"uri": uri, "cid": _cid(json.dumps(record).encode()), "validationStatus": "valid"})

    def _problem(self, key: str, record: Any) -> str | None:
        text = record.get("text")
        if not _TID.fullmatch(key):
            return "rkey: Invalid TID"
        if record.get("$type") != _POSTS or not isinstance(text, str) or not record.get("createdAt"):
            return "Invalid app.bsky.feed.post record"
        if len(regex.findall(r"\X", text)) > _MOST_GRAPHEMES:
            return f"grapheme too big (maximum {_MOST_GRAPHEMES}) at $.record.text"
        if len(text.encode()) > _MOST_BYTES:
            return f"string too big (maximum {_MOST_BYTES}) at $.record.text"
        for blob in _blobs(record.get("embed")):
            size = self.blobs.get(blob)
            if size is None:
                return f"Could not find blob: {blob}"
            if size > _MOST_PICTURE:
                return f"This file is too large. It is {size} but the maximum size is {_MOST_PICTURE}."
        return None

    @route("GET", "/xrpc/com.atproto.repo.getRecord")
    def get(self, request: Request) -> Reply:
        record = self.records.get(request.query.get("rkey", ""))
        if record is None:
            return as_json({"error": "RecordNotFound", "message": "Could not locate record"}, 400)
        uri = f"at://{self.did}/{_POSTS}/{request.query['rkey']}"
        return as_json({"uri": uri, "cid": _cid(json.dumps(record).encode()), "value": record})

    @route("GET", "/xrpc/app.bsky.feed.getPosts")
    def get_posts(self, request: Request) -> Reply:
        """Answers like the app view, which the PDS queries; the fake reads one `uris`."""
        if request.bearer != self.token:
            return self.expired(request)
        if not self.has_app_view:
            problem = "No service configured for app.bsky.feed.getPosts"
            return as_json({"error": "InvalidRequest", "message": problem}, 400)
        uri = request.query.get("uris", "")
        record = self.records.get(uri.rpartition("/")[2])
        if record is None:
            return as_json({"posts": []})
        none = dict.fromkeys(("likeCount", "repostCount", "replyCount", "quoteCount"), 0)
        author = {"did": self.did, "handle": self.handle}
        view = {"uri": uri, "cid": _cid(json.dumps(record).encode()), "author": author, "record": record}
        return as_json({"posts": [view | none | self.received.get(uri, {})]})

    def receive(self, uri: str, *, likes: int, reposts: int, replies: int, quotes: int) -> None:
        """As if people had done that so often with a post until now."""
        counts = (likes, reposts, replies, quotes)
        names = ("likeCount", "repostCount", "replyCount", "quoteCount")
        self.received[uri] = dict(zip(names, counts, strict=True))

    def limited(self, request: Request) -> Reply:
        headers = {"ratelimit-limit": "3000", "ratelimit-remaining": "0", "retry-after": "2"}
        headers["ratelimit-reset"] = str(int(self.now().timestamp()) + 2)
        return as_json({"error": "RateLimitExceeded", "message": "Rate Limit Exceeded"}, 429, headers)

    def expired(self, request: Request) -> Reply:
        return as_json({"error": "ExpiredToken", "message": "Token has expired"}, 400)

    def failed(self, request: Request, status: int) -> Reply:
        return as_json({"error": "InternalServerError", "message": "Internal Server Error"}, status)


def _invalid(problem: str) -> Reply:
    return as_json(
        {"error": "InvalidRequest", "message": f"Invalid app.bsky.feed.post record: {problem}"}, 400
    )


def _cid(data: bytes) -> str:
    return "bafkrei" + hashlib.sha256(data).hexdigest()[:52]


def _jwt(scope: str) -> str:
    claims = {"scope": f"com.atproto.{scope}", "exp": int(time.time()) + 7200, "jti": time.monotonic_ns()}
    parts = ({"typ": "at+jwt", "alg": "HS256"}, claims)
    encoded = (base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts)
    return ".".join((*encoded, "c2lnbmF0dXJl"))


def _blobs(embed: Any) -> list[str]:
    """The names of all blobs in it."""
    if isinstance(embed, dict):
        if embed.get("$type") == "blob":
            return [embed["ref"]["$link"]]
        return [name for value in embed.values() for name in _blobs(value)]
    return [name for value in embed for name in _blobs(value)] if isinstance(embed, list) else []


CASES: Final = (
    ChannelCase(
        "bluesky",
        FakeBluesky,
        ("POST /xrpc/com.atproto.repo.uploadBlob", "POST /xrpc/com.atproto.repo.putRecord"),
    ),
)
PLACE: Final = EffectPlace(
    "bluesky",
    FakeBluesky,
    lambda bluesky: {"identifier": bluesky.handle, "password": bluesky.password},
    lambda bluesky: {"url": bluesky.url},
)
