"""Telegram: a bot posts to a channel as its administrator.

A bot cannot read its posts: a post without an answer is in doubt.
"""

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from integrations.networks.telegram import TELEGRAM
from receipts import AccountResponse, NotSent, Part, Refused, Step, StepInHand
from receipts.answers import Errors, expect, quote_answer, refuse_by_status, refuse_by_words
from social import counting
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource
from social.channels.lines import BULLET, LineKind, lines_of
from social.channels.uploads import bytes_of, unseen

_SECONDS: Final = 18.0
_MOST_CAPTION: Final = 1024


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    link = post.link if post.placement == "in_text" else None
    first = next(iter(post.pictures), None)
    if first and not link and counting.utf16_units(post.text) <= _MOST_CAPTION:
        shown = {"photo": first.url, "caption": _marked_up(post)}
        return {"method": "sendPhoto", "json": {**shown, "parse_mode": "HTML"}}
    # The preview of the link shows the page's picture, and leaves room for four times the text.
    preview = {"url": link, "prefer_large_media": True} if link else {"is_disabled": True}
    said = {"text": _marked_up(post), "parse_mode": "HTML", "link_preview_options": preview}
    return {"method": "sendMessage", "json": said}


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    return (Step("post", partial(_post, pictures), seconds=_SECONDS),)


async def _post(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    chat = (await work.account.facts()).get("chat")
    if not chat:
        raise Refused(
            "no_chat", f"it is not known to which channel: brandctl accounts check {work.account.name}"
        )
    answer = await _asked(pictures, work, {"chat_id": chat, **work.prepared["json"]})
    message = expect(answer, errors=_ERRORS).json["result"]
    return {"id": str(message["message_id"]), "url": _address(message)}


async def _asked(pictures: PictureSource, work: StepInHand, body: Mapping[str, Any]) -> AccountResponse:
    """Sends a message. The picture's bytes go with it: an address that Telegram could not fetch once stays unread for days."""
    if work.prepared["method"] == "sendMessage":
        return await work.account.request("POST", "/sendMessage", json=body)
    data = await unseen(bytes_of(pictures, {"url": body["photo"]}))
    if data is None:
        said = {"text": body["caption"], "link_preview_options": {"is_disabled": True}}
        rest = {name: body[name] for name in ("chat_id", "parse_mode")}
        return await work.account.request("POST", "/sendMessage", json=rest | said)
    fields = [Part(name, body[name]) for name in ("chat_id", "caption", "parse_mode")]
    name = PurePosixPath(urlsplit(body["photo"]).path).name or "picture"
    media_type = guess_type(name)[0] or "application/octet-stream"
    return await work.account.request(
        "POST", "/sendPhoto", parts=[*fields, Part("photo", data, media_type, name)]
    )


def _address(message: Mapping[str, Any]) -> str:
    chat = message["chat"]
    # Those of a private channel open for its members.
    place = chat.get("username") or f"c/{str(chat['id']).removeprefix('-100')}"
    return f"https://t.me/{place}/{message['message_id']}"


_MARKUP: Final = {
    LineKind.HEADLINE: "<b>{}</b>",
    LineKind.QUOTATION: "<blockquote>{}</blockquote>",
    LineKind.ITEM: f"{BULLET}{{}}",
    LineKind.TEXT: "{}",
}


def _marked_up(post: ComposedPost) -> str:
    """The text as HTML: https://core.telegram.org/bots/api#html-style."""
    return "\n".join(
        _MARKUP[kind].format(html.escape(line, quote=False)) for kind, line in lines_of(post.text, post.title)
    )


# -- what Telegram says ------------------------------------------------------------------------------------------------


def _limited(answer: AccountResponse) -> NotSent:
    told = answer.json.get("parameters", {}) if isinstance(answer.json, dict) else {}
    seconds = told.get("retry_after", 60)
    retry_at = datetime.now(UTC) + timedelta(seconds=seconds if isinstance(seconds, int) else 60)
    return NotSent("limit", f"Telegram takes no more for now{quote_answer(answer)}", retry_at)


_ERRORS: Final[Errors] = {
    HTTPStatus.BAD_REQUEST: refuse_by_words(
        "Telegram does not take it",
        {
            "chat not found": "no_chat",
            "too long": "text_too_long",
            "PHOTO_INVALID": "picture",
            "IMAGE_PROCESS_FAILED": "picture",
            "not enough rights": "forbidden",
        },
    ),
    **refuse_by_status("Telegram", {401: "needs_reconnecting", 403: "forbidden", 404: "needs_reconnecting"}),
    HTTPStatus.TOO_MANY_REQUESTS: _limited,
}

CHANNEL: Final = Channel(
    TELEGRAM,
    (counting.utf16_units,),
    sending=ChannelSender(prepare, steps),
)
