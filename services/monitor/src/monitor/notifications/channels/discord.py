"""Discord's webhooks, https://discord.com/developers/docs/resources/webhook#execute-webhook: at most 10 embeds, 6000 characters in all."""

import re
from collections.abc import Sequence
from typing import Any, Final

from monitor.notifications.channels.channel import NotificationChannel, ProviderRequest
from monitor.notifications.message import Message, MessageItem, cut

_MOST_EMBEDS: Final = 10
_MOST_CHARACTERS: Final = 5500
"""Below the limit of 6000, since Discord may count differently."""
_COLOURS: Final = {"critical": 0xC0392B, "warning": 0xE67E22, "info": 0x2E86C1}
_MARKS: Final = re.compile(r"([\\*_~`|>\[\]()#@<-])")


def form(message: Message, _: Sequence[str]) -> ProviderRequest:
    title = cut(message.title, 250)
    text = "\n\n".join(map(_escaped, message.paragraphs))
    size, left_out = len(title) + len(text), message.more
    embeds: list[dict[str, Any]] = [{"description": cut(text, 4000)}] if text else []
    for line in message.lines:
        embed = _embed(line)
        length = len(embed["title"]) + len(embed.get("description", ""))
        if len(embeds) >= _MOST_EMBEDS - 1 or size + length > _MOST_CHARACTERS:
            left_out += 1
            continue
        embeds.append(embed)
        size += length
    if left_out:
        embeds.append({"description": f"… and {left_out} more: `brandctl notifications list`"})
    body = {"content": f"**{_escaped(title)}**", "embeds": embeds, "allowed_mentions": {"parse": []}}
    return ProviderRequest("/", body, query={"wait": "true"})


def _embed(line: MessageItem) -> dict[str, Any]:
    parts = line.parts(
        detail=lambda text: _escaped(cut(text, 500)),
        command=lambda text: f"`{cut(text, 300).replace('`', '')}`",
        link=lambda text: cut(text, 500),
    )
    embed: dict[str, Any] = {
        "title": _escaped(cut(line.headline, 120)),
        "color": _COLOURS.get(line.severity, 0),
    }
    return embed | ({"description": "\n".join(parts)} if parts else {})


def _escaped(text: str) -> str:
    """The text with its Markdown escaped; `allowed_mentions` disables mentions."""
    return _MARKS.sub(r"\\\1", text)


CHANNEL: Final = NotificationChannel(form)
