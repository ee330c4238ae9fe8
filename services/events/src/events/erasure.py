"""Erases a brand: its events, webhooks and incoming webhooks. What was erased elsewhere stays told, so that other systems can follow."""

from typing import Final

from chassis import Connection
from envelope.brand.payloads import BrandErased
from events.erased import ERASURES, TELLS_OF_ERASURES
from events.incoming_hooks import store as incoming_hooks
from events.log import store as log
from events.subscriptions import store as subscriptions
from events.webhooks import store as webhooks


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    status = await connection.execute(
        "delete from events where brand_slug = $1 and type <> $2", brand, TELLS_OF_ERASURES
    )
    removed = await webhooks.forget_brand(connection, brand)
    await subscriptions.forget_brand(connection, brand)
    hooks = await incoming_hooks.forget_brand(connection, brand)
    # Last: those who store events of the brand wait from here on.
    await log.forget_brand(connection, brand)
    return (
        {"events": int(status.rpartition(" ")[2])}
        | ({"webhooks": removed} if removed else {})
        | ({"hooks": hooks} if hooks else {})
    )


erase: Final = ERASURES.handler(_remove, BrandErased)
