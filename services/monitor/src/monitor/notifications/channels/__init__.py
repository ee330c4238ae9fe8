"""Formats of messages, one module for each kind of account, and the meaning of the providers' answers."""

from collections.abc import Mapping
from typing import Final

from integrations.discovery import find_entries
from monitor.notifications.channels.channel import Mail, NotificationChannel, ProviderRequest

CHANNELS: Final[Mapping[str, NotificationChannel]] = dict(find_entries(__name__, NotificationChannel))
"""Channels by kind of account, which is the name of their module."""

__all__ = ["CHANNELS", "Mail", "NotificationChannel", "ProviderRequest"]
