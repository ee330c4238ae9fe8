"""How a message reads in each kind of account, one file each, and what its answers mean."""

from collections.abc import Mapping
from typing import Final

from monitor.notifications.channels import discord, mail, slack, telegram, webhook
from monitor.notifications.channels.channel import Mail, NotificationChannel, ProviderRequest

CHANNELS: Final[Mapping[str, NotificationChannel]] = {
    each.kind: each
    for each in (telegram.CHANNEL, slack.CHANNEL, discord.CHANNEL, mail.CHANNEL, webhook.CHANNEL)
}
"""By the kind of the account."""

__all__ = ["CHANNELS", "Mail", "NotificationChannel", "ProviderRequest"]
