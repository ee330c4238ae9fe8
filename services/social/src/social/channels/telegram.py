"""Telegram."""

from typing import Final

from social import counting
from social.channels.channel import READ, Channel, Limit

CHANNEL: Final = Channel(
    "telegram",
    "Telegram",
    (Limit("characters", 4096, counting.utf16_units),),
    headline=True,
    points=5,
    bulleted=True,
    hashtags=2,
    invitation=READ,
    source="https://core.telegram.org/bots/api#sendmessage",
)
