"""SQL over received commands, beside the functions that run it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chassis import Connection
from envelope import new_event_id
from orchestrator.received_commands.formats import ReceivedMessage

OLDEST: Final = timedelta(days=7)
"""Older messages are refused. A message that waited for us in a queue over a long weekend is not."""
KEPT: Final = OLDEST + timedelta(days=1)
"""How long done commands are remembered: for as long as the same message would be accepted, and a margin."""

REFUSALS_KEPT: Final = 100
"""Refused messages of a key that are listed."""
_LONGEST_DETAIL: Final = 1_000


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
    for table in ("received_commands", "refused_commands"):
        await connection.execute(f"delete from {table} where received_at < now() - $1::interval", after)  # noqa: S608


@dataclass(frozen=True, slots=True)
class CommandRefusal:
    """A message at the broker that was refused; senders over HTTP are told in the answer."""

    message_id: str | None
    type: str | None
    code: str
    detail: str
    received_at: datetime


async def insert_refusal(
    connection: Connection, sender: str, message_id: str | None, type_: str | None, code: str, detail: str
) -> None:
    """Stores why a message was refused. The oldest refusals of the sender make room."""
    await connection.execute(
        """
        insert into refused_commands (refusal_id, sender, message_id, type, code, detail)
        values ($1, $2, $3, $4, $5, $6)
        """,
        new_event_id(),
        sender,
        message_id,
        type_,
        code,
        detail[:_LONGEST_DETAIL],
    )
    await connection.execute(
        """
        delete from refused_commands where refusal_id in (
            select refusal_id from refused_commands where sender = $1 order by refusal_id desc offset $2
            for update skip locked)
        """,
        sender,
        REFUSALS_KEPT,
    )


async def refusals_of(connection: Connection, sender: str) -> list[CommandRefusal]:
    """The last hundred, the newest first."""
    rows = await connection.fetch(
        """
        select message_id, type, code, detail, received_at from refused_commands where sender = $1
        order by refusal_id desc limit $2
        """,
        sender,
        REFUSALS_KEPT,
    )
    return [CommandRefusal(**row) for row in rows]
