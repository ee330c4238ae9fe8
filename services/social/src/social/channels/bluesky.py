"""Bluesky, and other servers of the AT protocol."""

from typing import Final

from social import counting
from social.channels.channel import Channel, Limit

CHANNEL: Final = Channel(
    "bluesky",
    "Bluesky",
    (
        Limit("graphemes", 300, counting.grapheme_count),
        Limit("bytes", 3000, counting.utf8_bytes),
    ),
    headline=False,
    points=1,
    bulleted=False,
    hashtags=2,
    opening=1,
    source="https://github.com/bluesky-social/atproto/blob/main/lexicons/app/bsky/feed/post.json",
)
