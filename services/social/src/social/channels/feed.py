"""The built-in feed, which shows link and hashtags separately from the text."""

from typing import Final

from social import counting
from social.channels.channel import Channel, TextLimit

FEED: Final = "feed"

CHANNEL: Final = Channel(
    FEED, "Feed", (TextLimit("characters", 1000, counting.grapheme_count),), False, 3, True, 2
)
