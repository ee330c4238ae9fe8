"""Idempotent consumers, transactional outbox, retries and dead letters over RabbitMQ and PostgreSQL.

A service author writes handlers and one `app.py`; see the README beside this package.
"""

from messaging.command_line import command_line
from messaging.errors import (
    BrokerUnavailableError,
    CostReached,
    RetryLater,
    Unprocessable,
    UnroutableError,
    WaitFor,
)
from messaging.flow.dead_letters import DeadLetter
from messaging.flow.dependencies import Dependency
from messaging.flow.handlers import (
    BatchHandler,
    Context,
    GroupedRecord,
    Record,
    SingleHandler,
    on_batch,
    on_each,
)
from messaging.flow.policy import QueuePolicy
from messaging.flow.transactions import Database, Transaction
from messaging.headers import Reason
from messaging.service import Service
from messaging.settings import ServiceSettings
from messaging.storage.server_history import CommitLoss, is_loss_unnoticed, last_commit_loss

__all__ = [
    "BatchHandler",
    "BrokerUnavailableError",
    "CommitLoss",
    "Context",
    "CostReached",
    "Database",
    "DeadLetter",
    "Dependency",
    "GroupedRecord",
    "QueuePolicy",
    "Reason",
    "Record",
    "RetryLater",
    "Service",
    "ServiceSettings",
    "SingleHandler",
    "Transaction",
    "Unprocessable",
    "UnroutableError",
    "WaitFor",
    "command_line",
    "is_loss_unnoticed",
    "last_commit_loss",
    "on_batch",
    "on_each",
]
