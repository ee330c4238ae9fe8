"""Bluesky, and other servers of the AT protocol."""

from typing import Final

from integrations.account import Account
from integrations.networks.network import Network, TextLimit

BLUESKY_ACCOUNT: Final = Account(
    kind="bluesky", secret="password", user="identifier", further_settings={"url": "https://bsky.social"}
)
BLUESKY: Final = Network(
    name="bluesky",
    title="Bluesky",
    position=2,
    limits=(
        TextLimit("graphemes", 300),
        TextLimit("bytes", 3000),
    ),
    limits_source="https://github.com/bluesky-social/atproto/blob/main/lexicons/app/bsky/feed/post.json",
    points=0,
    hashtags=2,
    opening=1,
    has_metrics=True,
    has_facets=True,
    errors={
        "needs_reconnecting": "the app password was withdrawn, or the session has ended: connect the account again",
        "text_too_long": "the text is longer than Bluesky allows: edit the post",
        "refused": "Bluesky refuses the post: edit it, then try again",
        "limit": "Bluesky has been asked too often",
        "unreachable": "Bluesky cannot be reached",
        "no_answer": "Bluesky gave no answer, or none that is whole",
    },
    lost_post="sent again: it is the same post",
)
