"""X."""

from typing import Final

from social import counting
from social.channels.channel import Channel, Limit

CHANNEL: Final = Channel(
    "x",
    "X",
    (Limit("weighted characters", 280, counting.x_weight),),
    headline=False,
    points=1,
    bulleted=False,
    hashtags=1,
    note="Links count 23, emoji and CJK characters 2.",
    source="https://docs.x.com/fundamentals/counting-characters",
)
