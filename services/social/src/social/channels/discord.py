"""Discord: a webhook of one channel.

A webhook finds messages by id only, and the id is in the answer: a message without an answer is in doubt.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import regex

from integrations.networks.discord import DISCORD
from receipts import Part, Step, StepInHand
from receipts.answers import expect, refuse_by_status
from social import counting
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource
from social.channels.lines import LineKind, lines_of
from social.channels.uploads import bytes_of, picture_of, unseen

_SECONDS: Final = 18.0
_MOST_ALT: Final = 1024
_SUPPRESS_EMBEDS: Final = 1 << 2
_ENDINGS: Final = {"image/jpeg": "jpg", "image/webp": "webp"}

# Markdown, as https://support.discord.com/hc/articles/210298617 describes it; an address stays as it is.
_MARKS = regex.compile(r"(?<address>https?://\S+)|[\\*_~`|<\[]|^(?:#{1,3}|-#|>)(?=\s)", regex.MULTILINE)


def escaped(text: str) -> str:
    """The text with Discord's Markdown escaped."""
    return _MARKS.sub(lambda found: found["address"] or f"\\{found[0]}", text)


_MARKUP: Final = {
    LineKind.HEADLINE: "**{}**",
    LineKind.QUOTATION: "> {}",
    LineKind.ITEM: "- {}",
    LineKind.TEXT: "{}",
}


def formatted(text: str, title: str = "") -> str:
    """The text with our own Markdown, and that of the text escaped."""
    return "\n".join(_MARKUP[kind].format(escaped(line)) for kind, line in lines_of(text, title))


def _units(text: str) -> int:
    return counting.utf16_units(formatted(text))


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    content = formatted(post.text, post.title)
    # The marks of the headline are not counted before: it is known here alone.
    if any(counting.utf16_units(content) > limit.maximum for limit in DISCORD.limits):
        content = formatted(post.text)
    return {"content": content, "picture": picture_of(post)}


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    return (Step("post", partial(_post, pictures), seconds=_SECONDS),)


async def _post(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    guild = (await work.account.facts()).get("guild_id")
    picture = work.prepared["picture"]
    data = None if picture is None else await unseen(bytes_of(pictures, picture))
    # Nobody is called by a post of ours, whatever its text says.
    body: dict[str, Any] = {"content": work.prepared["content"], "allowed_mentions": {"parse": []}}
    if picture is None or data is None:
        answer = await work.account.request("POST", "/", query={"wait": "true"}, json=body)
    else:
        name = f"cover.{_ENDINGS.get(picture['media_type'], 'png')}"
        described = {"id": 0, "filename": name, "description": picture["alt"][:_MOST_ALT]}
        # The link's own preview would show the same picture again, without a word for those who do not see it.
        body |= {"attachments": [described], "flags": _SUPPRESS_EMBEDS}
        parts = [
            Part("payload_json", json.dumps(body), "application/json"),
            Part("files[0]", data, picture["media_type"], name),
        ]
        answer = await work.account.request("POST", "/", query={"wait": "true"}, parts=parts)
    message = expect(answer, errors=_ERRORS).json
    made = {"id": str(message["id"])}
    if guild is None:
        return made
    return made | {"url": f"https://discord.com/channels/{guild}/{message['channel_id']}/{message['id']}"}


_ERRORS: Final = refuse_by_status(
    "Discord", {401: "needs_reconnecting", 403: "forbidden", 404: "needs_reconnecting"}
)

CHANNEL: Final = Channel(
    DISCORD,
    (_units,),
    sending=ChannelSender(prepare, steps),
)
