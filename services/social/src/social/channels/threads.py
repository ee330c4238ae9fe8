"""Threads."""

from typing import Final

from social import counting
from social.channels.channel import Channel, Limit

CHANNEL: Final = Channel(
    "threads",
    "Threads",
    (Limit("characters", 500, counting.threads_characters),),
    headline=False,
    points=2,
    bulleted=True,
    hashtags=1,
    opening=1,
    note="Emoji count by their bytes. One hashtag a post.",
    source="https://developers.facebook.com/documentation/threads/posts",
)
