"""Slack: an incoming webhook of one channel.

Slack answers `ok` without an id, and a webhook cannot read messages: a message without an answer is in doubt.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from http import HTTPStatus
from itertools import groupby
from typing import Any, Final

import regex

from integrations.networks.slack import SLACK
from receipts import AccountResponse, Step, StepInHand
from receipts.answers import Errors, expect, refuse_by_status, refuse_by_words
from social import counting
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource
from social.channels.fetched import wait_for_publisher
from social.channels.lines import LineKind, lines_of

_SECONDS: Final = 18.0
_MOST_ALT: Final = 2000
_LINK = regex.compile(r"https?://[^\s<>|]+")


def escaped(text: str) -> str:
    """Escapes text for Slack: https://docs.slack.dev/messaging/formatting-message-text#escaping."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    first = next(iter(post.pictures), None)
    blocks: list[dict[str, Any]] = [{"type": "rich_text", "elements": list(_elements(post))}]
    picture = None
    if first is not None:
        alt = (first.alt or post.title)[:_MOST_ALT]
        picture = {"type": "image", "image_url": first.url, "alt_text": alt}
    # Its text is what notifications say; the blocks are what is read.
    return {"text": escaped(post.text), "blocks": blocks, "picture": picture}


def _elements(post: ComposedPost) -> Iterator[dict[str, Any]]:
    """Rich text elements, so that a text contains no markup and no mentions: quotations, lists, and sections between them."""
    lines = lines_of(post.text, post.title)
    for kind, group in groupby(lines, key=lambda each: _ELEMENTS.get(each[0], "rich_text_section")):
        if kind == "rich_text_list":
            items = [{"type": "rich_text_section", "elements": list(_linked(line))} for _, line in group]
            yield {"type": kind, "style": "bullet", "elements": items}
        else:
            # A section has a text; a blank line between two other elements is one, too.
            yield {"type": kind, "elements": list(_texts(group)) or list(_plain("\n"))}


_ELEMENTS: Final = {LineKind.QUOTATION: "rich_text_quote", LineKind.ITEM: "rich_text_list"}


def _texts(lines: Iterable[tuple[LineKind, str]]) -> Iterator[dict[str, Any]]:
    for number, (kind, line) in enumerate(lines):
        if number:
            yield from _plain("\n")
        if kind is LineKind.HEADLINE:
            yield {"type": "text", "text": line, "style": {"bold": True}}
        else:
            yield from _linked(line)


def _linked(text: str) -> Iterator[dict[str, Any]]:
    end = 0
    for found in _LINK.finditer(text):
        yield from _plain(text[end : found.start()])
        yield {"type": "link", "url": found[0]}
        end = found.end()
    yield from _plain(text[end:])


def _plain(text: str) -> Iterator[dict[str, Any]]:
    if text:
        yield {"type": "text", "text": text}


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    return (Step("post", partial(_post, pictures), seconds=_SECONDS),)


async def _post(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    text, blocks, picture = (work.prepared[each] for each in ("text", "blocks", "picture"))
    body = {"text": text, "blocks": blocks, "unfurl_links": picture is None, "unfurl_media": False}
    if picture is not None:
        await wait_for_publisher(pictures, picture["image_url"])
        answer = await work.account.request("POST", "/", json=body | {"blocks": [*blocks, picture]})
        if not _is_about_blocks(answer):
            expect(answer, errors=_ERRORS)
            return {}
        # Slack posts nothing at all if it cannot fetch a picture. While the publisher is away, the post waits for its picture.
        await wait_for_publisher(pictures, picture["image_url"])
    answer = await work.account.request("POST", "/", json=body)
    expect(answer, errors=_ERRORS)
    return {}


def _is_about_blocks(answer: AccountResponse) -> bool:
    return answer.status == HTTPStatus.BAD_REQUEST and answer.text.strip().startswith("invalid_blocks")


_ERRORS: Final[Errors] = {
    HTTPStatus.BAD_REQUEST: refuse_by_words("Slack does not take it", {"msg_too_long": "text_too_long"}),
    **refuse_by_status("Slack", {403: "forbidden", 404: "needs_reconnecting", 410: "needs_reconnecting"}),
}

CHANNEL: Final = Channel(
    SLACK,
    (counting.utf16_units,),
    sending=ChannelSender(prepare, steps),
)
