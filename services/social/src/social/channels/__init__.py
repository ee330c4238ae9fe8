"""The channels, one file each. A new one is a file like these, and a line below.

What a post needs of a channel is in its `CHANNEL`: the rules of its texts, and under `sending` how it goes out. Modules outside this
folder know channels by this list alone.
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
    Composed,
    Facet,
    Limit,
    Picture,
    Pictures,
    Placement,
    Reach,
    Sending,
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
    "Composed",
    "Facet",
    "Limit",
    "Picture",
    "Pictures",
    "Placement",
    "Reach",
    "Sending",
    "mark_uncertain",
]
