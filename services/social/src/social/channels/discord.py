"""Discord."""

from typing import Final

from social import counting
from social.channels.channel import READ, Channel, Limit

CHANNEL: Final = Channel(
    "discord",
    "Discord",
    (Limit("characters", 2000, counting.utf16_units),),
    headline=True,
    points=4,
    bulleted=True,
    hashtags=0,
    opening=2,
    invitation=READ,
    source="https://discord.com/developers/docs/resources/webhook#execute-webhook",
)
