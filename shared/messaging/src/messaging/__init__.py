"""Idempotent consumers, transactional outbox, retries and dead letters over RabbitMQ and PostgreSQL.

A service author writes handlers and one `app.py`; see the README beside this package.
"""

from messaging.command_line import command_line
from messaging.database import Connection
from messaging.dead_letters import DeadLetter
from messaging.errors import (
    BrokerUnavailableError,
    DatabaseUnavailableError,
    RetryLater,
    Unprocessable,
    UnroutableError,
)
from messaging.failures import Reason
from messaging.handlers import BatchHandler, Context, Record, SingleHandler, on_batch, on_each
from messaging.http import ServiceKey
from messaging.policy import QueuePolicy
from messaging.service import Service
from messaging.settings import ServiceSettings
from messaging.transactions import Database, Transaction

__all__ = [
    "BatchHandler",
    "BrokerUnavailableError",
    "Connection",
    "Context",
    "Database",
    "DatabaseUnavailableError",
    "DeadLetter",
    "QueuePolicy",
    "Reason",
    "Record",
    "RetryLater",
    "Service",
    "ServiceKey",
    "ServiceSettings",
    "SingleHandler",
    "Transaction",
    "Unprocessable",
    "UnroutableError",
    "command_line",
    "on_batch",
    "on_each",
]
