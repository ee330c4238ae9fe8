"""Ghost, as its Admin API was seen to answer (6.65): https://ghost.org/docs/admin-api/."""

import base64
import hashlib
import hmac
import json
import re
from datetime import UTC, datetime
from typing import Any, Final

from fakes.serving.cases import EffectPlace
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

API = "/ghost/api/admin"
KEY = "64f0c1d2e3a4b5c6d7e8f901:" + "ab" * 32


class FakeGhost(Fake):
    """`Authorization: Ghost <JWT>` of its key. A post is accepted when readers can see it, and once."""

    def __init__(self, key: str = KEY) -> None:
        super().__init__()
        self.key = key
        self.posts: dict[str, dict[str, Any]] = {}
        self.images: list[str] = []
        self._number = 0

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the gateway puts on requests."""
        return {"Authorization": f"Ghost {ghost_token(self.key)}"}

    def shown(self) -> list[tuple[str, str]]:
        """Title and text of what readers see."""
        public = (each for each in self.posts.values() if each["status"] == "published")
        return [(each["title"], each["lexical"]) for each in public]

    def edit(self, **changes: Any) -> None:
        """As a person does there."""
        next(iter(self.posts.values())).update(changes, updated_at="2027-01-01T00:00:00.000Z")

    @route("GET", f"{API}/posts/")
    def browse(self, request: Request) -> Reply:
        if refusal := self._refused(request):
            return refusal
        found = re.fullmatch(r"slug:\[([a-z0-9,-]+)\]", request.query.get("filter", ""))
        slugs = found[1].split(",") if found else [post["slug"] for post in self.posts.values()]
        return as_json(
            {"posts": [self._shown(post) for post in self.posts.values() if post["slug"] in slugs]}
        )

    @route("POST", f"{API}/posts/")
    def make(self, request: Request) -> Reply:
        if refusal := self._refused(request):
            return refusal
        self._number += 1
        post = {"id": f"{self._number:024x}", "title": "", "lexical": None, "slug": "", "status": "draft"}
        return self._saved(post, request, 201)

    @route("GET", f"{API}/posts/{{post}}/")
    def read(self, request: Request, post: str) -> Reply:
        if refusal := self._refused(request):
            return refusal
        if post not in self.posts:
            return _error("NotFoundError", "Resource not found error, cannot read post.", 404)
        return as_json({"posts": [self._shown(self.posts[post])]})

    @route("PUT", f"{API}/posts/{{post}}/")
    def change(self, request: Request, post: str) -> Reply:
        if refusal := self._refused(request):
            return refusal
        if post not in self.posts:
            return _error("NotFoundError", "Resource not found error, cannot edit post.", 404)
        return self._saved(self.posts[post], request, 200)

    @route("POST", f"{API}/images/upload/")
    def upload(self, request: Request) -> Reply:
        if refusal := self._refused(request):
            return refusal
        parts = {part.name: part for part in request.parts()}
        if "file" not in parts:
            return _error("ValidationError", "Please select an image.", 422)
        if not parts["file"].data.startswith(b"\x89PNG"):
            return _error("UnsupportedMediaTypeError", "The file you uploaded is not a valid image.", 415)
        name = parts["file"].filename or "image.png"
        same = sum(each.startswith(name.removesuffix(".png")) for each in self.images)
        self.images.append(name if not same else f"{name.removesuffix('.png')}-{same}.png")
        url = f"{self.url}/content/images/2026/11/{self.images[-1]}"
        return as_json({"images": [{"url": url, "ref": parts["ref"].text if "ref" in parts else None}]}, 201)

    def _saved(self, post: dict[str, Any], request: Request, status: int) -> Reply:
        try:
            (given,) = request.json()["posts"]
        except ValueError:
            return _error("InternalServerError", "Unexpected token in JSON", 400)
        except (KeyError, TypeError):
            return _error("ValidationError", "No root key ('posts') provided.", 422)
        if status == 200:
            if "updated_at" not in given:
                return _error("ValidationError", "Validation error, cannot edit post.", 422)
            if given["updated_at"] != post["updated_at"]:
                return _error(
                    "UpdateCollisionError",
                    "Saving failed! Someone else is editing this post.",
                    409,
                    "UPDATE_COLLISION",
                )
        if not given.get("title", post["title"]):
            return _error("ValidationError", "Validation error, cannot save post.", 422)
        was_seen = post["status"] == "published"
        post.update(given)
        if given.get("slug"):
            post["slug"] = self._free(given["slug"], post["id"])
        # Of whole seconds, and never twice the same here: what is saved twice within a second is not noticed there.
        self._number += 1
        moment = datetime.fromtimestamp(1_790_000_000 + self._number, UTC)
        post["updated_at"] = f"{moment:%Y-%m-%dT%H:%M:%S}.000Z"
        self.posts[post["id"]] = post
        if post["status"] == "published" and not was_seen:
            self.accept(
                AcceptedItem(
                    post["id"],
                    "integration",
                    _text(post),
                    "article",
                    self._url(post),
                    {"title": post["title"]},
                )
            )
        return as_json({"posts": [self._shown(post)]}, status)

    def _free(self, slug: str, post: str) -> str:
        taken = {each["slug"] for each in self.posts.values() if each["id"] != post}
        number, free = 1, slug
        while free in taken:
            number += 1
            free = f"{slug}-{number}"
        return free

    def _shown(self, post: dict[str, Any]) -> dict[str, Any]:
        return {**post, "url": self._url(post)}

    def _url(self, post: dict[str, Any]) -> str:
        return (
            f"{self.url}/{post['slug']}/" if post["status"] == "published" else f"{self.url}/p/{post['id']}/"
        )

    def expired(self, request: Request) -> Reply:
        return _error("UnauthorizedError", "Invalid token: jwt expired", 401, "INVALID_JWT")

    def failed(self, request: Request, status: int) -> Reply:
        return _error("InternalServerError", "An unexpected error occurred, please try again.", status)

    def unknown(self, request: Request) -> Reply:
        return _error("RequestNotAcceptableError", "Request could not be served", 406)

    def _refused(self, request: Request) -> Reply | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not token:
            return _error("NoPermissionError", "Authorization failed", 403)
        if scheme != "Ghost" or not self._is_signed(token):
            return _error("UnauthorizedError", "Invalid token: invalid signature", 401, "INVALID_JWT")
        return None

    def _is_signed(self, token: str) -> bool:
        key, _, secret = self.key.partition(":")
        try:
            head, body, signature = token.split(".")
            known = json.loads(_decoded(head))["kid"] == key
        except (ValueError, KeyError):
            return False
        made = hmac.new(bytes.fromhex(secret), f"{head}.{body}".encode(), hashlib.sha256).digest()
        return known and hmac.compare_digest(made, _decoded(signature))


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _text(post: dict[str, Any]) -> str:
    try:
        return str(json.loads(post["lexical"])["root"]["children"][0]["html"])
    except (ValueError, KeyError, TypeError, IndexError):
        return ""


def _error(kind: str, message: str, status: int, code: str | None = None) -> Reply:
    error = {"message": message, "context": None, "type": kind, "details": None, "code": code, "id": "fake"}
    return as_json({"errors": [error]}, status)


def ghost_token(key: str) -> str:
    def encoded(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    name, _, secret = key.partition(":")
    now = int(datetime.now(UTC).timestamp())
    head, body = (
        {"alg": "HS256", "kid": name, "typ": "JWT"},
        {"iat": now - 5, "exp": now + 240, "aud": "/admin/"},
    )
    signed = ".".join(encoded(json.dumps(each).encode()) for each in (head, body))
    return f"{signed}.{encoded(hmac.new(bytes.fromhex(secret), signed.encode(), hashlib.sha256).digest())}"


PLACE: Final = EffectPlace(
    "ghost",
    FakeGhost,
    lambda ghost: {"key": ghost.key},
    lambda ghost: {"url": ghost.url},
    takes_articles=True,
)
