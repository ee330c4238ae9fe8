"""Telegram's sendMessage with parse_mode HTML, https://core.telegram.org/bots/api#sendmessage: at most 4096 characters without tags."""

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from monitor.notifications.channels.channel import NotificationChannel, ProviderRequest
from monitor.notifications.message import Message, MessageItem, cut

_MOST: Final = 4096
_SPARE: Final = 200
"""Room for the line that counts omitted items."""


def form(message: Message, addresses: Sequence[str]) -> ProviderRequest:
    return ProviderRequest(
        "/sendMessage",
        {
            "chat_id": addresses[0],
            "text": _text(message),
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": True},
        },
    )


def _text(message: Message) -> str:
    # Whole blocks only: Telegram refuses a message with a split tag. Escaped text is longer than Telegram counts, never shorter.
    blocks = [f"<b>{_plain(message.title, 300)}</b>", *(_plain(each, 1500) for each in message.paragraphs)]
    left_out = message.more
    size = sum(map(len, blocks))
    for line in message.lines:
        block = _block(line, alone=len(message.lines) == 1)
        if block and size + len(block) + 2 > _MOST - _SPARE:
            left_out += 1
        elif block:
            blocks.append(block)
            size += len(block) + 2
    if left_out:
        blocks.append(f"… and {left_out} more: <code>brandctl notifications list</code>")
    return "\n\n".join(blocks)


def _block(line: MessageItem, *, alone: bool) -> str:
    parts = line.parts(
        detail=lambda text: _plain(text, 500),
        command=lambda text: f"<code>{_plain(text, 200)}</code>",
        link=lambda text: _plain(text, 300),
    )
    return "\n".join(parts if alone else [f"<b>{_plain(line.headline, 300)}</b>", *parts])


def _plain(text: str, most: int) -> str:
    return escape(cut(text, most), quote=False)


def _refused(document: Any) -> str | None:
    if isinstance(document, dict) and document.get("ok") is False:
        return str(document.get("description", "Telegram refused it without a description"))
    return None


CHANNEL: Final = NotificationChannel(form, "a chat: its number, or @name of a channel", 1, _refused)
