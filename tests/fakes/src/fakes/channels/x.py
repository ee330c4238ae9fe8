"""X: `api.x.com`, version 2 of its API, on behalf of one user (OAuth 2 with PKCE).

Documented: https://docs.x.com/x-api/posts/creation-of-a-post, https://docs.x.com/x-api/media/upload-media,
https://docs.x.com/x-api/users/get-posts, https://docs.x.com/x-api/fundamentals/rate-limits
"""

import base64
import html
import re
from datetime import timedelta
from itertools import count
from typing import Any, Final

from fakes.serving.cases import ChannelCase, EffectPlace, access, user
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

_LINK: Final = re.compile(r"https?://\S+")
_MOST_WEIGHT: Final = 280
_LINK_WEIGHT: Final = 23
_PICTURES: Final = frozenset(
    {"image/jpeg", "image/png", "image/webp", "image/bmp", "image/tiff", "image/pjpeg"}
)
_MOST_BYTES: Final = 5 * 1024 * 1024


class FakeX(Fake):
    """`compares`: whether a repeated text is refused; X does not document for how long.

    `credits_left`: posts that are still paid for; None: any number.
    """

    def __init__(
        self,
        token: str = "x-token",
        user_id: str = "2244994945",
        username: str = "acme",
        *,
        compares: bool = True,
    ) -> None:
        super().__init__()
        self.token = token
        self.user_id = user_id
        self.username = username
        self.compares = compares
        self.credits_left: int | None = None
        self.media: dict[str, str] = {}
        """Alternative text by id, of pictures that were uploaded; empty: none."""
        self._ids = count(1_990_000_000_000_000_001)

    @route("POST", "/2/tweets")
    def post(self, request: Request) -> Reply:
        if (no := self._refused(request)) is not None:
            return no
        try:
            data = request.json()
        except ValueError:
            return _invalid("body", "", "The request body is no JSON.")
        text = data.get("text", "")
        media = data.get("media", {}).get("media_ids", [])
        answers = data.get("reply", {}).get("in_reply_to_tweet_id")
        if not text and not media:
            return _invalid("text", text, "Requires either text or media.")
        if _weight(text) > _MOST_WEIGHT:
            return _problem(400, "Invalid Request", "Your Tweet text is too long.")
        if unknown := [each for each in media if each not in self.media]:
            return _invalid("media.media_ids", unknown, "Your media IDs are invalid.")
        if answers is not None and not any(each.id == answers for each in self.accepted):
            return _problem(400, "Invalid Request", "The Tweet that you are replying to does not exist.")
        if self.compares and any(
            each.text == text and each.more["answers"] == answers for each in self.accepted
        ):
            return _problem(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content.")
        if self.credits_left is not None:
            self.credits_left -= 1
        made = AcceptedItem(
            str(next(self._ids)),
            self.username,
            text,
            kind="comment" if answers else "post",
            more={
                "answers": answers,
                "pictures": [self.media[each] for each in media],
                "created_at": self.now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            },
        )
        self.accept(made)
        shown = self._shown(made)
        return as_json(
            {"data": {"id": made.id, "text": shown["text"], "edit_history_tweet_ids": [made.id]}},
            201,
            self._rate(),
        )

    @route("GET", "/2/users/me")
    def me(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        return as_json(
            {"data": {"id": self.user_id, "name": self.username.title(), "username": self.username}}
        )

    @route("GET", "/2/users/{user}/tweets")
    def timeline(self, request: Request, user: str) -> Reply:
        """Newest first; addresses in texts as `t.co` has them, and what they stand for in `entities`."""
        if request.bearer != self.token:
            return self.expired(request)
        most = request.query.get("max_results", "10")
        if not most.isdecimal() or not 5 <= int(most) <= 100:
            return _invalid(
                "max_results",
                [most],
                f"The `max_results` query parameter value [{most}] is not between 5 and 100",
            )
        if user != self.user_id:
            return as_json({"meta": {"result_count": 0}})
        fields = {"id", "text", "edit_history_tweet_ids", *request.query.get("tweet.fields", "").split(",")}
        start = request.query.get("start_time", "")
        # A token stands for the post after which its page begins: what comes meanwhile moves nothing.
        after = request.query.get("pagination_token")
        newest = [
            each
            for each in reversed(self.accepted)
            if each.more["created_at"] >= start and (after is None or int(each.id) < int(after))
        ]
        page = newest[: int(most)]
        items = [{key: value for key, value in self._shown(each).items() if key in fields} for each in page]
        # Nothing found: no `data` at all.
        found: dict[str, Any] = {"data": items} if items else {}
        following = {"next_token": page[-1].id} if len(newest) > len(page) else {}
        return as_json(found | {"meta": {"result_count": len(items)} | following}, headers=self._rate())

    @route("POST", "/2/media/upload")
    def upload(self, request: Request) -> Reply:
        """In one request, as multipart form or JSON (base64); invisible, and deleted after a day."""
        if request.bearer != self.token:
            return self.expired(request)
        if parts := {part.name: part for part in request.parts()}:
            data, media_type = parts["media"].data, parts["media"].media_type
            media_type = parts["media_type"].text if "media_type" in parts else media_type
            category = parts["media_category"].text if "media_category" in parts else ""
        else:
            given = request.json()
            data, media_type = base64.b64decode(given["media"]), given.get("media_type", "image/png")
            category = given.get("media_category", "")
        if category != "tweet_image":
            return _invalid("media_category", category, "media_category is required.")
        if media_type not in _PICTURES or len(data) > _MOST_BYTES:
            return _invalid("media", media_type, "The media could not be used.")
        media_id = str(next(self._ids))
        self.media[media_id] = ""
        return as_json(
            {
                "data": {
                    "id": media_id,
                    "media_key": f"3_{media_id}",
                    "expires_after_secs": 86400,
                    "size": len(data),
                }
            }
        )

    @route("POST", "/2/media/metadata")
    def describe(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        given = request.json()
        if given["id"] not in self.media:
            return _invalid("id", given["id"], "The media does not exist.")
        text = given["metadata"]["alt_text"]["text"]
        if len(text) > 1000:
            return _invalid("metadata.alt_text.text", text, "The alternative text is too long.")
        self.media[given["id"]] = text
        return as_json({"data": {"id": given["id"], "associated_metadata": given["metadata"]}})

    def limited(self, request: Request) -> Reply:
        reset = int((self.now() + timedelta(seconds=2)).timestamp())
        return _problem(429, "Too Many Requests", "Too Many Requests", self._rate(0, reset))

    def expired(self, request: Request) -> Reply:
        return _problem(401, "Unauthorized", "Unauthorized")

    def failed(self, request: Request, status: int) -> Reply:
        return _problem(status, "Service Unavailable", "Service Unavailable")

    def _refused(self, request: Request) -> Reply | None:
        if request.bearer != self.token:
            return self.expired(request)
        if self.credits_left == 0:
            kind = "https://api.x.com/2/problems/credits"
            detail = "Your enrolled account does not have any credits to fulfill this request."
            return _problem(402, "CreditsDepleted", detail, kind=kind)
        return None

    def _rate(self, remaining: int = 99, reset: int | None = None) -> dict[str, str]:
        at = reset or int((self.now() + timedelta(minutes=15)).timestamp())
        return {
            "x-rate-limit-limit": "100",
            "x-rate-limit-remaining": str(remaining),
            "x-rate-limit-reset": str(at),
        }

    def _shown(self, post: AcceptedItem) -> dict[str, Any]:
        """As the API tells it: addresses shortened, `&<>` as entities."""
        urls: list[dict[str, str]] = []

        def short(address: str) -> str:
            shown = f"https://t.co/{post.id[-6:]}{len(urls):04}"
            urls.append(
                {"url": shown, "expanded_url": address, "display_url": address.partition("://")[2][:26]}
            )
            return shown

        text = _LINK.sub(lambda found: short(found[0]), post.text)
        if post.more["pictures"]:
            text += " " + short(f"https://x.com/{self.username}/status/{post.id}/photo/1")
        answers = post.more["answers"]
        related = {"referenced_tweets": [{"type": "replied_to", "id": answers}]} if answers else {}
        return (
            related
            | {
                "id": post.id,
                "text": html.escape(text, quote=False),
                "edit_history_tweet_ids": [post.id],
                "author_id": self.user_id,
                "created_at": post.more["created_at"],
                "conversation_id": answers or post.id,
            }
            | ({"entities": {"urls": urls}} if urls else {})
        )


def _weight(text: str) -> int:
    """Roughly: links and ASCII as documented; tests send few other characters."""
    bare = _LINK.sub("", text)
    return len(bare) + sum(ord(each) > 0x10FF for each in bare) + _LINK_WEIGHT * len(_LINK.findall(text))


def _problem(
    status: int, title: str, detail: str, headers: dict[str, str] | None = None, kind: str = "about:blank"
) -> Reply:
    told = {"title": title, "detail": detail, "type": kind, "status": status}
    return as_json(told, status, {"content-type": "application/problem+json"} | (headers or {}))


def _invalid(name: str, value: Any, message: str) -> Reply:
    told = {
        "errors": [{"parameters": {name: [value]}, "message": message}],
        "title": "Invalid Request",
        "detail": "One or more parameters to your request was invalid.",
        "type": "https://api.x.com/2/problems/invalid-request",
    }
    return as_json(told, 400, {"content-type": "application/problem+json"})


CASES: Final = (
    ChannelCase(
        "x",
        lambda: FakeX(compares=False),
        ("POST /2/media/upload", "POST /2/media/metadata", "POST /2/tweets"),
        facts=user,
        credentials=access,
    ),
    ChannelCase("x", FakeX, ("POST /2/tweets 2",), placement="first_comment", variant="with a comment"),
)
PLACE: Final = EffectPlace(
    "x",
    lambda: FakeX(compares=False),
    access,
    lambda x: {"api_url": x.url, "price": "0", "price_with_link": "0"},
)
