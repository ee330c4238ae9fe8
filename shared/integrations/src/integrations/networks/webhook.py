"""Any receiver of signed messages, https://www.standardwebhooks.com."""

from typing import Final

from integrations.account import Account
from integrations.networks.network import Network, TextLimit

WEBHOOK_ACCOUNT: Final = Account(
    kind="webhook",
    secret="secret",
    needs_secret=False,
    address_example="https://hooks.acme.example/posts",
    can_be_checked=False,
)
WEBHOOK: Final = Network(
    name="webhook",
    title="Webhook",
    position=10,
    limits=(TextLimit("characters", 10000),),
    limits_source="https://www.standardwebhooks.com",
    note="The link and the pictures stand beside the text, in fields of their own.",
    points=3,
    hashtags=3,
    drafted=False,
    placements=("none", "in_text"),
    errors={
        "needs_reconnecting": "the receiver does not take our messages: connect the account again with the secret that it expects",
        "refused": "the receiver refuses the message: see what it expects, then try again",
        "limit": "the receiver has been asked too often",
        "unreachable": "the receiver cannot be reached",
        "no_answer": "the receiver gave no answer, or none that is whole",
    },
    lost_post="sent again: the receiver knows its id",
    page="webhook-channel.md",
)
