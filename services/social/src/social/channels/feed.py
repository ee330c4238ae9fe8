"""The built-in feed, which shows link and hashtags separately from the text."""

from typing import Final

from integrations.networks import Network, TextLimit
from social import counting
from social.channels.channel import Channel

FEED: Final = "feed"

CHANNEL: Final = Channel(
    Network(
        name=FEED,
        title="Feed",
        position=0,
        limits=(TextLimit("characters", 1000),),
        points=3,
        hashtags=2,
    ),
    (counting.grapheme_count,),
)
