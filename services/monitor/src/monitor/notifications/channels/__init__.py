"""How a message reads in each kind of account, one file each, and what its answers mean."""

from collections.abc import Mapping
from typing import Final

from monitor.notifications.channels import discord, mail, slack, telegram, webhook
from monitor.notifications.channels.asking import Ask, Channel, Mail

CHANNELS: Final[Mapping[str, Channel]] = {
    each.kind: each
    for each in (telegram.CHANNEL, slack.CHANNEL, discord.CHANNEL, mail.CHANNEL, webhook.CHANNEL)
}
"""By the kind of the account."""

__all__ = ["CHANNELS", "Ask", "Channel", "Mail"]
