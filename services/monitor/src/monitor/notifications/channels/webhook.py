"""A signed webhook by Standard Webhooks: `{type, timestamp, data}`; its `webhook-id` is the same in every attempt."""

from collections.abc import Sequence
from typing import Final

from monitor.notifications.channels.asking import Ask, Channel
from monitor.notifications.message import Message


def form(message: Message, _: Sequence[str]) -> Ask:
    document = {
        "type": f"notification.{message.purpose}",
        "timestamp": message.made_at.isoformat(),
        "data": {
            "id": str(message.id),
            "title": message.title,
            "paragraphs": list(message.paragraphs),
            "items": [dict(line.item) for line in message.lines],
            "more": message.more,
        },
    }
    return Ask("/", document, headers={"webhook-id": f"msg_{message.id}"})


CHANNEL: Final = Channel("webhook", form)
