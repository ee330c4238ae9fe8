"""Slack's incoming webhooks with blocks, https://api.slack.com/messaging/webhooks: at most 50 blocks of at most 3000 characters."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from monitor.notifications.channels.channel import NotificationChannel, ProviderRequest
from monitor.notifications.message import Message, MessageItem, cut

_MOST_BLOCKS: Final = 50
_MOST_IN_HEADER: Final = 150
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def form(message: Message, _: Sequence[str]) -> ProviderRequest:
    blocks: list[dict[str, Any]] = [
        {
            "type": "header",
            "text": {"type": "plain_text", "text": cut(message.title, _MOST_IN_HEADER), "emoji": False},
        },
        *(_section(_escaped(each, 2900)) for each in message.paragraphs),
        *(_section(text) for line in message.lines if (text := _text(line, alone=len(message.lines) == 1))),
    ]
    if message.more:
        blocks.append(_section(f"… and {message.more} more: `brandctl notifications list`"))
    return ProviderRequest("/", {"text": _escaped(message.title, 300), "blocks": blocks[:_MOST_BLOCKS]})


def _text(line: MessageItem, *, alone: bool) -> str:
    parts = line.parts(
        detail=lambda text: _escaped(text, 1000),
        command=lambda text: f"`{_escaped(text, 300)}`",
        link=lambda text: _escaped(text, 500),
    )
    return "\n".join(parts if alone else [f"*{_escaped(line.headline, 300)}*", *parts])


def _escaped(text: str, most: int) -> str:
    """Escapes mentions and links (https://api.slack.com/reference/surfaces/formatting#escaping).

    The result has at most `most` characters; a cut never splits an entity.
    """
    pieces = [_ENTITIES.get(character, character) for character in text]
    lengths = list(accumulate(map(len, pieces)))
    if not lengths or lengths[-1] <= most:
        return "".join(pieces)
    return "".join(pieces[: bisect_right(lengths, most - 1)]) + "…"


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


CHANNEL: Final = NotificationChannel(form)
