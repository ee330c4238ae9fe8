"""Notifications: polls services for conditions that need attention, and sends messages about them."""

from monitor.notifications.domain import NotificationKind
from monitor.notifications.gateway import NotifierGateway
from monitor.notifications.notifier import Notifier
from monitor.notifications.peer_clients import ActivityClient, PeerClient
from monitor.notifications.poller import NotificationPoller
from monitor.notifications.retention import enforce_retention
from monitor.notifications.routes import notification_routes
from monitor.notifications.sources import NotificationSource
from monitor.notifications.store import erase, open_by_kind, routes_by_state
from monitor.notifications.summary import SummaryComposer

__all__ = [
    "ActivityClient",
    "NotificationKind",
    "NotificationPoller",
    "NotificationSource",
    "Notifier",
    "NotifierGateway",
    "PeerClient",
    "SummaryComposer",
    "enforce_retention",
    "erase",
    "notification_routes",
    "open_by_kind",
    "routes_by_state",
]
