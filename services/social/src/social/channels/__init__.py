"""The channels, one module each; a new module needs no registration.

Each module has a `CHANNEL`: the facts about its network, from `integrations`, and the way posts go out. Modules outside this
folder use this list only.
"""

from typing import Final

from integrations.discovery import find_entries
from integrations.networks import Placement
from social.channels.channel import (
    Channel,
    ChannelSender,
    ComposedPost,
    Facet,
    PictureSource,
    PostMetrics,
    PostPicture,
)
from social.channels.feed import FEED
from social.channels.lost import mark_uncertain

_ALL: Final = sorted(
    (channel for _, channel in find_entries(__name__, Channel)), key=lambda channel: channel.network.position
)
CHANNELS: Final[dict[str, Channel]] = {channel.name: channel for channel in _ALL}
BUILT_IN: Final = CHANNELS[FEED]
REMOTE: Final[tuple[Channel, ...]] = tuple(channel for channel in _ALL if channel is not BUILT_IN)

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
    "mark_uncertain",
]
