"""A signed webhook by Standard Webhooks: `{type, timestamp, data}`; its `webhook-id` is the same in every attempt."""

from collections.abc import Sequence
from typing import Final

from monitor.notifications.channels.channel import NotificationChannel, ProviderRequest
from monitor.notifications.message import Message


def form(message: Message, _: Sequence[str]) -> ProviderRequest:
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
    return ProviderRequest("/", document, headers={"webhook-id": f"msg_{message.id}"})


CHANNEL: Final = NotificationChannel(form)
