"""LinkedIn."""

from typing import Final

import regex

from social import counting
from social.channels.channel import READ, Channel, Limit

# https://learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format: an unescaped reserved
# character can end the post there. A # that begins a hashtag is meant as one.
_RESERVED = regex.compile(r"[\\|{}@\[\]()<>*_~]|#(?![\p{L}\p{N}])")


def escaped(text: str) -> str:
    """The text as LinkedIn's API takes it ("little" text format)."""
    return _RESERVED.sub(r"\\\g<0>", text)


def _units(text: str) -> int:
    return counting.utf16_units(escaped(text))


CHANNEL: Final = Channel(
    "linkedin",
    "LinkedIn",
    (Limit("characters", 3000, _units),),
    headline=True,
    points=5,
    bulleted=True,
    hashtags=2,
    opening=3,
    invitation=READ,
    note="Counted as sent to the API, where reserved characters carry a backslash.",
    source="https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api",
    escape=escaped,
)
