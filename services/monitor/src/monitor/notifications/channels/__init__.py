"""Formats of messages, one module for each kind of account, and the meaning of the providers' answers."""

from collections.abc import Mapping
from typing import Final

from monitor.notifications.channels import discord, mail, slack, telegram, webhook
from monitor.notifications.channels.channel import Mail, NotificationChannel, ProviderRequest

CHANNELS: Final[Mapping[str, NotificationChannel]] = {
    each.kind: each
    for each in (telegram.CHANNEL, slack.CHANNEL, discord.CHANNEL, mail.CHANNEL, webhook.CHANNEL)
}
"""Channels by kind of account."""

__all__ = ["CHANNELS", "Mail", "NotificationChannel", "ProviderRequest"]
