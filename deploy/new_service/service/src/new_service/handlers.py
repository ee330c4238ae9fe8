"""Handles the messages of the service's queue."""

from collections.abc import Sequence
from typing import Final

from envelope import DomainMessage
from envelope.brand.payloads import NewServiceRequested
from messaging import Transaction

_STORE: Final = """
    insert into notes (note_id, note) select * from unnest($1::uuid[], $2::text[]) on conflict do nothing
"""


async def store_notes(messages: Sequence[DomainMessage[NewServiceRequested]], tx: Transaction) -> None:
    """Stores all notes with one statement."""
    ids = [message.payload.note_id for message in messages]
    await tx.connection.execute(_STORE, ids, [message.payload.note for message in messages])
