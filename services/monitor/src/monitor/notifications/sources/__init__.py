"""What is looked at: each place tells what is so there, and what has happened of late."""

from monitor.notifications.sources.brands import Brands
from monitor.notifications.sources.dead_letters import DeadLetters
from monitor.notifications.sources.gateway import Accounts, Budgets, dollars
from monitor.notifications.sources.receipts import Receipts
from monitor.notifications.sources.routes import Routes
from monitor.notifications.sources.source import Source

__all__ = ["Accounts", "Brands", "Budgets", "DeadLetters", "Receipts", "Routes", "Source", "dollars"]
