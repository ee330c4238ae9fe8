"""Slack: an incoming webhook of one channel."""

from typing import Final

from integrations.account import Account
from integrations.networks.network import Network, TextLimit

SLACK_ACCOUNT: Final = Account(kind="slack", secret="url")
SLACK: Final = Network(
    name="slack",
    title="Slack",
    position=9,
    limits=(TextLimit("characters", 3000),),
    limits_source="https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
    headline=True,
    points=1,
    bulleted=False,
    hashtags=0,
    headings=4,
    opening=2,
    invites=True,
    drafted=False,
    errors={
        "needs_reconnecting": "the webhook was taken back, or its channel is archived or gone: make a new one, and connect it",
        "forbidden": "an administrator of the workspace does not let apps post there",
        "text_too_long": "Slack counts the text longer than it allows; edit the post",
    },
    review="none, except the workspace's own",
    lost_post="in doubt",
)
