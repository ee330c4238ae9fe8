"""Discord: a webhook of one channel."""

from typing import Final

from integrations.account import Account
from integrations.networks.network import Network, TextLimit

DISCORD_ACCOUNT: Final = Account(kind="discord", secret="url", api="https://discord.com")
DISCORD: Final = Network(
    name="discord",
    title="Discord",
    position=6,
    limits=(TextLimit("characters", 2000),),
    limits_source="https://discord.com/developers/docs/resources/webhook#execute-webhook",
    note="Counted as sent to the API, where Markdown carries a backslash.",
    headline=True,
    points=3,
    hashtags=0,
    opening=2,
    invites=True,
    errors={
        "needs_reconnecting": "the webhook was deleted, or its address has changed: make one in the channel's settings, and connect it",
        "forbidden": "Discord does not let this webhook post there",
    },
    lost_post="in doubt",
)
