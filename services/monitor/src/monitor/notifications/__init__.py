"""Notifications: polls services for conditions that need attention, and sends messages about them."""

from monitor.notifications.brand_activity import BrandActivityClient
from monitor.notifications.domain import NotificationKind
from monitor.notifications.gateway import NotifierGateway
from monitor.notifications.notifier import Notifier
from monitor.notifications.poller import NotificationPoller
from monitor.notifications.post_activity import PostActivityClient
from monitor.notifications.retention import enforce_retention
from monitor.notifications.routes import notification_routes
from monitor.notifications.sources import (
    AccountsSource,
    BrandsSource,
    BudgetsSource,
    DeadLettersSource,
    NotificationSource,
    ReceiptsSource,
    RoutesSource,
)
from monitor.notifications.store import erase, open_by_kind, routes_by_state
from monitor.notifications.summary import SummaryComposer

__all__ = [
    "AccountsSource",
    "BrandActivityClient",
    "BrandsSource",
    "BudgetsSource",
    "DeadLettersSource",
    "NotificationKind",
    "NotificationPoller",
    "NotificationSource",
    "Notifier",
    "NotifierGateway",
    "PostActivityClient",
    "ReceiptsSource",
    "RoutesSource",
    "SummaryComposer",
    "enforce_retention",
    "erase",
    "notification_routes",
    "open_by_kind",
    "routes_by_state",
]
