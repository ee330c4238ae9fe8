"""Erases a brand: its research, its uploads with their indexed text, and its source settings."""

from typing import Final

from chassis import Connection
from envelope.brand.payloads import BrandErased
from messaging.erasure import Erasures, remove_from
from research import uploads

ERASURES: Final = Erasures("research")


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    return {
        "research": await remove_from(connection, "research", brand),
        "documents": await uploads.remove_all(connection, brand),
        "sources": await remove_from(connection, "brand_sources", brand),
    }


erase: Final = ERASURES.handler(_remove, BrandErased)
