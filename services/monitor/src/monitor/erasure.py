"""Erasing a brand: the dead letters of its messages, what was noticed of it, and who was told."""

from collections.abc import Sequence
from typing import Final

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import BrandErased, DeadLettersErase
from messaging import Transaction
from monitor import dead_letters, notifications
from monitor.erased import ERASURES


async def erase(commands: Sequence[DomainMessage[DeadLettersErase]], tx: Transaction) -> None:
    """Removes all there is of a brand, and says so."""
    # The order comes first, as for whoever records deaths.
    await dead_letters.lock_exclusive(tx.connection)
    await _erase(commands, tx)


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    return {
        "dead_letters": await dead_letters.remove(connection, brand),
        **await notifications.erase(connection, brand),
    }


_erase: Final = ERASURES.handler(_remove, BrandErased)
