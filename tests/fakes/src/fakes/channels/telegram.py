"""Telegram: `api.telegram.org`, a bot that posts to a channel as its administrator.

Documented: https://core.telegram.org/bots/api (making requests, sendMessage, sendPhoto, ResponseParameters, HTML style)
"""

import html
import re
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from fakes.serving.cases import ChannelCase, EffectPlace, nothing
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

_TAG: Final = re.compile(r"<(/?)([a-z-]+)(?:\s[^<>]*)?>|<")
_TAGS: Final = frozenset(
    {
        "b",
        "strong",
        "i",
        "em",
        "u",
        "ins",
        "s",
        "strike",
        "del",
        "a",
        "code",
        "pre",
        "blockquote",
        "tg-spoiler",
    }
)
_MOST_TEXT: Final = 4096
_MOST_CAPTION: Final = 1024


class FakeTelegram(Fake):
    """A bot cannot look up its posts to a channel: the API has no route for it."""

    def __init__(self, token: str = "7000000001:AAtelegram-token", chat: str = "@acme_coffee") -> None:
        super().__init__()
        self.token = token
        self.chat = chat
        self.is_member = True
        self.can_fetch: Callable[[str], bool] = lambda _: True
        """Whether a picture can be fetched from an address."""
        self.unfetched: dict[str, bool] = {}
        self._ids = count(41)

    @route("POST", "/bot{token}/sendMessage")
    def send_message(self, request: Request, token: str) -> Reply:
        return self._sent(request, token, "text", _MOST_TEXT)

    @route("POST", "/bot{token}/sendPhoto")
    def send_photo(self, request: Request, token: str) -> Reply:
        return self._sent(request, token, "caption", _MOST_CAPTION)

    @route("GET", "/bot{token}/getMe")
    def get_me(self, request: Request, token: str) -> Reply:
        if token != self.token:
            return self.expired(request)
        me = {"id": 7000000001, "is_bot": True, "first_name": "Acme", "username": "acme_bot"}
        return _ok(me)

    @route("GET", "/bot{token}/getChat")
    def get_chat(self, request: Request, token: str) -> Reply:
        if token != self.token:
            return self.expired(request)
        return _ok(self._chat()) if request.query.get("chat_id") == self.chat else _chat_not_found()

    def _sent(self, request: Request, token: str, field: str, most: int) -> Reply:
        if token != self.token:
            return self.expired(request)
        data = _data(request)
        if str(data.get("chat_id", "")) != self.chat:
            return _chat_not_found()
        if not self.is_member:
            return _error(403, "Forbidden: bot is not a member of the channel chat")
        text = str(data.get(field, ""))
        if data.get("parse_mode") == "HTML" and (problem := _problem_with(text)) is not None:
            return _error(400, f"Bad Request: can't parse entities: {problem}")
        seen = html.unescape(_TAG.sub("", text)) if data.get("parse_mode") == "HTML" else text
        if field == "text" and not seen:
            return _error(400, "Bad Request: message text is empty")
        if len(seen.encode("utf-16-le")) // 2 > most:
            return _error(400, f"Bad Request: message {'' if field == 'text' else 'caption '}is too long")
        photo = data.get("photo", b"")
        if field == "caption" and isinstance(photo, str):
            # It fetches what has an address, and remembers for days what it could not fetch.
            if not photo.startswith("http"):
                return _error(400, "Bad Request: wrong file identifier/HTTP URL specified")
            if not self.unfetched.get(photo, self.can_fetch(photo)):
                self.unfetched[photo] = False
                return _error(400, "Bad Request: failed to get HTTP URL content")
        number = next(self._ids)
        name = self.chat.removeprefix("@")
        self.accept(
            AcceptedItem(
                str(number),
                self.chat,
                seen,
                url=f"https://t.me/{name}/{number}",
                more={
                    "pictures": [photo] if field == "caption" else [],
                    "preview": data.get("link_preview_options"),
                },
            )
        )
        message = {
            "message_id": number,
            "chat": self._chat(),
            "date": int(self.now().timestamp()),
            field: seen,
        }
        return _ok(message)

    def _chat(self) -> dict[str, Any]:
        return {
            "id": -1001000000001,
            "title": "Acme",
            "type": "channel",
            "username": self.chat.removeprefix("@"),
        }

    def limited(self, request: Request) -> Reply:
        told = {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 3"}
        return as_json(told | {"parameters": {"retry_after": 3}}, 429)

    def expired(self, request: Request) -> Reply:
        return _error(401, "Unauthorized")

    def failed(self, request: Request, status: int) -> Reply:
        return _error(status, "Internal Server Error")

    def unknown(self, request: Request) -> Reply:
        return _error(404, "Not Found")


def _problem_with(text: str) -> str | None:
    open_tags: list[str] = []
    for found in _TAG.finditer(text):
        slash, name = found[1], found[2]
        if name not in _TAGS:
            return (
                f'Unsupported start tag "{name or ""}" at byte offset {len(text[: found.start()].encode())}'
            )
        if not slash:
            open_tags.append(name)
        elif not open_tags or open_tags.pop() != name:
            return f"Unmatched end tag at byte offset {len(text[: found.start()].encode())}"
    return f'Can\'t find end tag corresponding to start tag "{open_tags[-1]}"' if open_tags else None


def _data(request: Request) -> dict[str, Any]:
    """Parameters, wherever they stand; files as bytes."""
    if request.media_type == "application/json":
        found: dict[str, Any] = request.json()
        return found
    if parts := request.parts():
        return {part.name: part.data if part.filename else part.text for part in parts}
    return dict(request.form())


def _ok(result: Any) -> Reply:
    return as_json({"ok": True, "result": result})


def _error(status: int, description: str) -> Reply:
    return as_json({"ok": False, "error_code": status, "description": description}, status)


def _chat_not_found() -> Reply:
    return _error(400, "Bad Request: chat not found")


def _case(request: str, **more: Any) -> ChannelCase:
    return ChannelCase(
        "telegram",
        FakeTelegram,
        (request,),
        frozenset({request}),
        headers=nothing,
        facts=lambda telegram: {"chat": telegram.chat},
        settings={"chat": "@acme_coffee"},
        credentials=lambda telegram: {"token": telegram.token},
        path=lambda telegram: f"/bot{telegram.token}",
        **more,
    )


CASES: Final = (
    _case("POST *"),
    _case("POST */sendPhoto", placement="none", variant="with a picture"),
)
PLACE: Final = EffectPlace(
    "telegram",
    FakeTelegram,
    lambda telegram: {"token": telegram.token},
    lambda telegram: {"api_url": telegram.url, "chat": telegram.chat},
)
