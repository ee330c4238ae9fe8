"""The channels, one module each. A new channel needs a module and a line below.

Each module has a `CHANNEL` with the rules of its texts and, under `sending`, the way posts go out. Modules outside this folder
use this list only.
"""

from typing import Final

from social.channels import (
    bluesky,
    discord,
    feed,
    instagram,
    linkedin,
    mastodon,
    slack,
    telegram,
    threads,
    webhook,
    x,
)
from social.channels.channel import (
    Channel,
    ChannelSender,
    ComposedPost,
    Facet,
    PictureSource,
    Placement,
    PostMetrics,
    PostPicture,
    TextLimit,
)
from social.channels.feed import FEED
from social.channels.lost import mark_uncertain

BUILT_IN: Final = feed.CHANNEL
REMOTE: Final[tuple[Channel, ...]] = tuple(
    each.CHANNEL
    for each in (x, bluesky, mastodon, linkedin, threads, discord, instagram, telegram, slack, webhook)
)
CHANNELS: Final[dict[str, Channel]] = {channel.name: channel for channel in (BUILT_IN, *REMOTE)}

__all__ = [
    "BUILT_IN",
    "CHANNELS",
    "FEED",
    "REMOTE",
    "Channel",
    "ChannelSender",
    "ComposedPost",
    "Facet",
    "PictureSource",
    "Placement",
    "PostMetrics",
    "PostPicture",
    "TextLimit",
    "mark_uncertain",
]
