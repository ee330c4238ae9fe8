"""Mastodon, and servers that speak its API."""

from typing import Final

from integrations.account import Account
from integrations.networks.network import Network, TextLimit

MASTODON_ACCOUNT: Final = Account(kind="mastodon", secret="token", address_example="https://mastodon.social")
MASTODON: Final = Network(
    name="mastodon",
    title="Mastodon",
    position=3,
    limits=(TextLimit("characters", 500),),
    limits_source="https://docs.joinmastodon.org/user/posting/#text",
    note="Links count 23. A server may allow more than 500.",
    points=1,
    bulleted=False,
    hashtags=3,
    has_metrics=True,
    errors={
        "needs_reconnecting": "the token has expired or was withdrawn: connect the account again",
        "text_too_long": "the text is longer than this server allows: edit the post",
        "forbidden": "the server does not let this account post: it may be suspended or limited",
        "refused": "the server refuses the post: edit it, then try again",
        "limit": "the server has been asked too often",
        "unreachable": "the server cannot be reached",
        "no_answer": "the server gave no answer, or none that is whole",
    },
    lost_post="looked up",
)
