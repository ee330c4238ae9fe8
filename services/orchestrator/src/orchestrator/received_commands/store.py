"""SQL over received commands, beside the functions that run it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from chassis import Connection
from orchestrator.received_commands.formats import ReceivedMessage

OLDEST: Final = timedelta(days=7)
"""Older messages are refused. A message that waited for us in a queue over a long weekend is not."""
KEPT: Final = OLDEST + timedelta(days=1)
"""How long done commands are remembered: for as long as the same message would be accepted, and a margin."""


@dataclass(frozen=True, slots=True)
class ReceivedCommand:
    """A command that was done."""

    digest: bytes
    location: str
    """Path of what it made or changed."""


async def find(connection: Connection, sender: str, message: ReceivedMessage) -> ReceivedCommand | None:
    row = await connection.fetchrow(
        """
        select digest, location from received_commands where sender = $1 and source = $2 and message_id = $3
        """,
        sender,
        message.source,
        message.id,
    )
    return None if row is None else ReceivedCommand(**row)


async def claim(connection: Connection, sender: str, message: ReceivedMessage, brand_slug: str) -> bool:
    """Stores that the message is being done; False if it was before. Waits for another transaction that is doing it."""
    return (
        await connection.fetchval(
            """
            insert into received_commands (sender, source, message_id, type, brand_slug, digest)
            values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning true
            """,
            sender,
            message.source,
            message.id,
            message.type,
            brand_slug,
            message.digest,
        )
        is True
    )


async def set_location(connection: Connection, sender: str, message: ReceivedMessage, location: str) -> None:
    await connection.execute(
        "update received_commands set location = $4 where sender = $1 and source = $2 and message_id = $3",
        sender,
        message.source,
        message.id,
        location,
    )


async def delete_old(connection: Connection, after: timedelta = KEPT) -> None:
    await connection.execute("delete from received_commands where received_at < now() - $1::interval", after)
