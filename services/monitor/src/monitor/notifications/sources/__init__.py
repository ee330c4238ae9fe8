"""Notification sources: each reports the current conditions and recent events of one place."""

from monitor.notifications.sources.brands import BrandsSource
from monitor.notifications.sources.dead_letters import DeadLettersSource
from monitor.notifications.sources.gateway import AccountsSource, BudgetsSource, dollars
from monitor.notifications.sources.receipts import ReceiptsSource
from monitor.notifications.sources.routes import RoutesSource
from monitor.notifications.sources.source import NotificationSource

__all__ = [
    "AccountsSource",
    "BrandsSource",
    "BudgetsSource",
    "DeadLettersSource",
    "NotificationSource",
    "ReceiptsSource",
    "RoutesSource",
    "dollars",
]
