"""Erases a brand: its research, its uploads with their indexed text, and its source settings."""

from typing import Final

from chassis import Connection
from envelope.brand.payloads import BrandErased
from messaging.erasure import ErasedBrands, delete_brand_rows
from research import uploads

ERASURES: Final = ErasedBrands("research")


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    return {
        "research": await delete_brand_rows(connection, "research", brand),
        "documents": await uploads.remove_all(connection, brand),
        "sources": await delete_brand_rows(connection, "brand_sources", brand),
        "imports": await delete_brand_rows(connection, "brand_imports", brand),
    }


erase: Final = ERASURES.handler(_remove, BrandErased)
