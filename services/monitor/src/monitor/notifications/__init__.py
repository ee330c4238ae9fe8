"""Notifications: what wants somebody's eye is noticed, and told where people are."""

from monitor.notifications.domain import Kind
from monitor.notifications.gateway import Gateway
from monitor.notifications.noticing import Noticing
from monitor.notifications.orchestrator import Orchestrator
from monitor.notifications.posts import Posts
from monitor.notifications.retention import keep_log
from monitor.notifications.routes import notification_routes
from monitor.notifications.sources import Accounts, Brands, Budgets, DeadLetters, Receipts, Routes, Source
from monitor.notifications.store import erase, open_by_kind, routes_by_state
from monitor.notifications.summary import Summaries
from monitor.notifications.telling import Telling

__all__ = [
    "Accounts",
    "Brands",
    "Budgets",
    "DeadLetters",
    "Gateway",
    "Kind",
    "Noticing",
    "Orchestrator",
    "Posts",
    "Receipts",
    "Routes",
    "Source",
    "Summaries",
    "Telling",
    "erase",
    "keep_log",
    "notification_routes",
    "open_by_kind",
    "routes_by_state",
]
