"""Mastodon: a server with one account.

Documented: https://docs.joinmastodon.org/methods/statuses/#create (Idempotency-Key), /methods/media/#v2, /methods/instance/,
/methods/accounts/#statuses, /api/rate-limits/. Servers of other makes ignore the key (seen on snac): `keeps_keys=False`.
"""

import html
import re
from datetime import timedelta
from typing import Any, Final

from fakes.serving.cases import ITS_OWN, ChannelCase, EffectPlace
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

_LINK: Final = re.compile(r"https?://[^\s<]+")
_LINK_COUNTS: Final = 23


class FakeMastodon(Fake):
    """Bearer `token`, of the account `user_id`. `room`: characters of a post."""

    def __init__(self, token: str = "mastodon-token", *, room: int = 500, keeps_keys: bool = True) -> None:
        super().__init__()
        self.token = token
        self.user_id = "1"
        self.room = room
        self.keeps_keys = keeps_keys
        self.by_key: dict[str, dict[str, Any]] = {}
        self.statuses: list[dict[str, Any]] = []
        self.media: dict[str, str | None] = {}

    @route("POST", "/api/v1/statuses")
    def post(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        body: dict[str, Any] = (
            request.json() if request.media_type == "application/json" else dict(request.form())
        )
        text, key = str(body.get("status", "")), request.headers.get("idempotency-key")
        if self.keeps_keys and key and key in self.by_key:
            return as_json(self.by_key[key])
        if (problem := self._problem(text, body.get("media_ids", []))) is not None:
            return as_json({"error": f"Validation failed: {problem}"}, 422)
        status = self._made(text, body)
        if key:
            self.by_key[key] = status
        return as_json(status)

    def _problem(self, text: str, media: list[str]) -> str | None:
        if not text.strip() and not media:
            return "Text can't be blank"
        if len(_LINK.sub("x" * _LINK_COUNTS, text)) > self.room:
            return f"Text character limit of {self.room} exceeded"
        if any(each not in self.media for each in media):
            return "Media attachments not found"
        return None

    def _made(self, text: str, body: dict[str, Any]) -> dict[str, Any]:
        number = str(len(self.statuses) + 1)
        status = {
            "id": number,
            "uri": f"{self.url}/users/acme/statuses/{number}",
            "url": f"{self.url}/@acme/{number}",
            "created_at": self.now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "visibility": body.get("visibility", "public"),
            "language": body.get("language"),
            "content": _as_html(text),
            "replies_count": 0,
            "reblogs_count": 0,
            "favourites_count": 0,
        }
        self.statuses.insert(0, status)
        alternatives = [self.media[each] for each in body.get("media_ids", [])]
        more = {"alternatives": alternatives, "language": body.get("language")}
        self.accept(AcceptedItem(number, "acme", text, url=status["url"], more=more))
        return status

    @route("GET", "/api/v1/statuses/{number}")
    def show(self, request: Request, number: str) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        found = next((each for each in self.statuses if each["id"] == number), None)
        return as_json({"error": "Record not found"}, 404) if found is None else as_json(found)

    def receive(self, number: str, *, likes: int, shares: int, replies: int) -> None:
        """As if people had done that so often with a post until now."""
        [status] = (each for each in self.statuses if each["id"] == number)
        status |= {"favourites_count": likes, "reblogs_count": shares, "replies_count": replies}

    @route("POST", "/api/v2/media")
    def upload(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        parts = {part.name: part for part in request.parts()}
        if "file" not in parts or not parts["file"].data:
            return as_json({"error": "Validation failed: File can't be blank"}, 422)
        number = str(1000 + len(self.media))
        self.media[number] = parts["description"].text if "description" in parts else None
        return as_json({"id": number, "type": "image", "description": self.media[number]})

    @route("GET", "/api/v1/accounts/verify_credentials")
    def me(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        return as_json({"id": self.user_id, "username": "acme", "acct": "acme", "url": f"{self.url}/@acme"})

    @route("GET", "/api/v1/accounts/{account}/statuses")
    def list_posts(self, request: Request, account: str) -> Reply:
        if account != self.user_id:
            return as_json({"error": "Record not found"}, 404)
        below = int(request.query.get("max_id", "1000000"))
        older = [each for each in self.statuses if int(each["id"]) < below]
        return as_json(older[: min(int(request.query.get("limit", "20")), 40)])

    @route("GET", "/api/v2/instance")
    def instance(self, request: Request) -> Reply:
        return as_json({"version": "4.5.0", "configuration": {"statuses": {"max_characters": self.room}}})

    def limited(self, request: Request) -> Reply:
        reset = self.now() + timedelta(seconds=2)
        headers = {
            "x-ratelimit-limit": "300",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-reset": reset.isoformat().replace("+00:00", "Z"),
        }
        return as_json({"error": "Too many requests"}, 429, headers)

    def expired(self, request: Request) -> Reply:
        return as_json({"error": "The access token is invalid"}, 401)


def _as_html(text: str) -> str:
    """The text as a server returns it: URLs in pieces, some of them hidden."""

    def linked(found: re.Match[str]) -> str:
        address = found[0]
        scheme, _, rest = address.partition("://")
        return (
            f'<a href="{address}" rel="nofollow"><span class="invisible">{scheme}://</span>'
            f'<span class="ellipsis">{rest[:30]}</span><span class="invisible">{rest[30:]}</span></a>'
        )

    paragraphs = html.escape(text).split("\n\n")
    return "".join(f"<p>{_LINK.sub(linked, each).replace(chr(10), '<br />')}</p>" for each in paragraphs)


CASES: Final = (
    ChannelCase(
        "mastodon",
        FakeMastodon,
        ("GET /api/v2/instance", "POST /api/v2/media", "POST /api/v1/statuses"),
        settings=ITS_OWN,
        variant="that keeps keys",
    ),
    ChannelCase(
        "mastodon",
        lambda: FakeMastodon(keeps_keys=False),
        ("POST /api/v1/statuses",),
        settings=ITS_OWN,
        variant="that keeps none",
    ),
)
PLACE: Final = EffectPlace(
    "mastodon",
    FakeMastodon,
    lambda mastodon: {"token": mastodon.token},
    lambda mastodon: {"url": mastodon.url},
)
