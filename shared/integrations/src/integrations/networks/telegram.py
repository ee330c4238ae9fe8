"""Telegram: a bot posts to a channel as its administrator."""

from typing import Final

from integrations.account import Account
from integrations.networks.network import Network, TextLimit

TELEGRAM_ACCOUNT: Final = Account(
    kind="telegram",
    secret="token",
    needed_settings={"chat": "@acme_coffee"},
    api="https://api.telegram.org",
)
TELEGRAM: Final = Network(
    name="telegram",
    title="Telegram",
    position=8,
    limits=(TextLimit("characters", 4096),),
    limits_source="https://core.telegram.org/bots/api#sendmessage",
    headline=True,
    points=3,
    hashtags=2,
    headings=4,
    opening=1,
    invites=True,
    errors={
        "needs_reconnecting": "the bot's token is good for nothing any more: get a new one from @BotFather, and connect the account again",
        "no_chat": "the channel was not found: look at its name, and whether the bot is an administrator there",
        "forbidden": "the bot may not post there: make it an administrator of the channel who may post messages",
        "text_too_long": "Telegram counts the text longer than it allows; edit the post",
        "picture": "Telegram does not take the picture: let the post go without one",
    },
    lost_post="in doubt",
)
