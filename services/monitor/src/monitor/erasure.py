"""Erases a brand: its dead letters, notifications, notification routes and messages."""

from collections.abc import Sequence
from typing import Final

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import BrandErased, DeadLettersErase
from messaging import Transaction
from monitor import dead_letters, notifications
from monitor.erased import ERASURES


async def erase(commands: Sequence[DomainMessage[DeadLettersErase]], tx: Transaction) -> None:
    """Removes all data of the brands, and publishes `brand.erased`."""
    # This lock comes first, in the same order as in `record`.
    await dead_letters.lock_exclusive(tx.connection)
    await _erase(commands, tx)


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    return {
        "dead_letters": await dead_letters.remove(connection, brand),
        **await notifications.erase(connection, brand),
    }


_erase: Final = ERASURES.handler(_remove, BrandErased)
