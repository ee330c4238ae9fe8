"""Instagram."""

from typing import Final

from social import counting
from social.channels.channel import READ, Channel, Limit

CHANNEL: Final = Channel(
    "instagram",
    "Instagram",
    (Limit("characters", 2200, counting.utf16_units),),
    headline=False,
    points=4,
    bulleted=True,
    hashtags=3,
    opening=3,
    invitation=READ,
    note="Links in captions cannot be clicked, and a post needs a picture.",
    source="https://developers.facebook.com/docs/instagram-platform/content-publishing",
)
