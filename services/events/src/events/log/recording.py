"""Stores every event that comes."""

from collections.abc import Sequence
from typing import Any, Final

from envelope import DomainMessage, MessageKind, Payload
from envelope.brand import CATALOGUE
from events.erased import ERASURES, TELLS_OF_ERASURES
from events.log import store
from messaging import Transaction
from messaging.erasure import is_of_erased_brand

PAYLOADS: Final[tuple[type[Payload], ...]] = tuple(
    entry.payload for entry in CATALOGUE.values() if entry.kind is MessageKind.EVENT
)
"""Of all types of events."""
TYPES: Final = tuple(entry.name for entry in CATALOGUE.values() if entry.kind is MessageKind.EVENT)


async def record(messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
    """Stores the events in their order; those from before the erasure of their brand are dropped."""
    brands = {brand for each in messages if (brand := _brand(each)) is not None}
    erased = await ERASURES.erasure_times(tx.connection, brands)
    kept = [
        each
        for each in messages
        if each.type == TELLS_OF_ERASURES
        or (brand := _brand(each)) is None
        or not is_of_erased_brand(brand, each.timestamp, erased)
    ]
    await store.append(tx.connection, kept)


def _brand(message: DomainMessage[Any]) -> str | None:
    return getattr(message.payload, "brand_slug", None)
