"""Mastodon, and servers that speak its API."""

from typing import Final

from social import counting
from social.channels.channel import Channel, Limit

CHANNEL: Final = Channel(
    "mastodon",
    "Mastodon",
    (Limit("characters", 500, counting.mastodon_characters),),
    headline=False,
    points=2,
    bulleted=True,
    hashtags=2,
    opening=2,
    note="Links count 23. A server may allow more than 500.",
    source="https://docs.joinmastodon.org/user/posting/#text",
)
