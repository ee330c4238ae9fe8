"""The ledger: compares sent messages with their outcomes, and finds those that have none."""

from monitor.ledger.domain import LedgerState
from monitor.ledger.peers import JsonReader, LedgerPeer, RemotePeer
from monitor.ledger.reconciler import EVERY, LedgerReconciler
from monitor.ledger.routes import ledger_routes
from monitor.ledger.store import MissingGroup, missing_by_queue, missing_groups

__all__ = [
    "EVERY",
    "JsonReader",
    "LedgerPeer",
    "LedgerReconciler",
    "LedgerState",
    "MissingGroup",
    "RemotePeer",
    "ledger_routes",
    "missing_by_queue",
    "missing_groups",
]
