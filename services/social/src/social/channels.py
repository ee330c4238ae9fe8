"""The channels and their rules, one line of the table each. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import regex

from social import counting

FEED: Final = "feed"

# https://learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format: an unescaped reserved
# character can end the post there. A # that begins a hashtag is meant as one.
_LINKEDIN_RESERVED = regex.compile(r"[\\|{}@\[\]()<>*_~]|#(?![\p{L}\p{N}])")


def linkedin_escaped(text: str) -> str:
    """The text as LinkedIn's API takes it ("little" text format)."""
    return _LINKEDIN_RESERVED.sub(r"\\\g<0>", text)


def _linkedin_units(text: str) -> int:
    return counting.utf16_units(linkedin_escaped(text))


@dataclass(frozen=True, slots=True)
class Limit:
    unit: str
    maximum: int
    count: Callable[[str], int]

    def holds(self, text: str) -> bool:
        return self.count(text) <= self.maximum


@dataclass(frozen=True, slots=True)
class Channel:
    """`headline`: the title stands above the text. `points`, `hashtags`: at most so many. `bulleted`: points as a list.

    `invitation` stands before the link. `source` says where the limits come from, `note` what a poster should know.
    """

    name: str
    label: str
    limits: tuple[Limit, ...]
    headline: bool
    points: int
    bulleted: bool
    hashtags: int
    invitation: str = ""
    note: str = ""
    source: str = ""
    escape: Callable[[str], str] | None = None


_CHARACTERS = counting.utf16_units
_READ = "Read the article: "

# The page of our own: the link and the hashtags stand beside the text there, not in it.
BUILT_IN: Final = Channel(
    FEED, "Feed", (Limit("characters", 1000, counting.grapheme_count),), False, 3, True, 2
)

REMOTE: Final = (
    Channel(
        "x", "X", (Limit("weighted characters", 280, counting.x_weight),), False, 1, False, 1,
        note="Links count 23, emoji and CJK characters 2.",
        source="https://docs.x.com/fundamentals/counting-characters",
    ),
    Channel(
        "bluesky", "Bluesky",
        (Limit("graphemes", 300, counting.grapheme_count), Limit("bytes", 3000, counting.utf8_bytes)),
        False, 1, False, 2,
        source="https://github.com/bluesky-social/atproto/blob/main/lexicons/app/bsky/feed/post.json",
    ),
    Channel(
        "mastodon", "Mastodon", (Limit("characters", 500, counting.mastodon_characters),), True, 2, True, 2,
        note="Links count 23. A server may allow more than 500.",
        source="https://docs.joinmastodon.org/user/posting/#text",
    ),
    Channel(
        "linkedin", "LinkedIn", (Limit("characters", 3000, _linkedin_units),), True, 5, True, 2, _READ,
        note="Counted as sent to the API, where reserved characters carry a backslash.",
        source="https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api",
        escape=linkedin_escaped,
    ),
    Channel(
        "threads", "Threads", (Limit("characters", 500, counting.threads_characters),), True, 2, True, 1,
        note="Emoji count by their bytes. One hashtag a post.",
        source="https://developers.facebook.com/documentation/threads/posts",
    ),
    Channel(
        "discord", "Discord", (Limit("characters", 2000, _CHARACTERS),), True, 4, True, 0, _READ,
        source="https://discord.com/developers/docs/resources/webhook#execute-webhook",
    ),
    Channel(
        "instagram", "Instagram", (Limit("characters", 2200, _CHARACTERS),), True, 4, True, 3, _READ,
        note="Links in captions cannot be clicked, and a post needs a picture.",
        source="https://developers.facebook.com/docs/instagram-platform/content-publishing",
    ),
    Channel(
        "telegram", "Telegram", (Limit("characters", 4096, _CHARACTERS),), True, 5, True, 2, _READ,
        source="https://core.telegram.org/bots/api#sendmessage",
    ),
)  # fmt: skip

CHANNELS: Final = {channel.name: channel for channel in (BUILT_IN, *REMOTE)}
