"""SQL over receipts and their attempts.

A function that changes a receipt needs its row lock, for one short transaction.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg

from chassis import Connection
from receipts.domain.receipt import Receipt, ReceiptState

ABANDONED: Final = "abandoned"
"""The gauge's state for receipts that could continue for a quarter of an hour and did not."""
_COUNTED: Final = (*(state.value for state in ReceiptState if state is not ReceiptState.CONFIRMED), ABANDONED)


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt with its number and times in the table."""

    receipt: Receipt
    number: int
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class ReceiptAttempt:
    """A request, a look-up or a decision for a receipt."""

    step: str
    fence: int
    event: str
    detail: str
    made_by: str
    made_at: datetime


async def insert(connection: Connection, receipt: Receipt) -> bool:
    """Inserts a receipt; returns False and changes nothing if it exists."""
    status = await connection.execute(
        """
        insert into receipts (receipt_id, kind, account, brand_slug, subject, prepared, steps)
        values ($1, $2, $3, $4, $5, $6::jsonb, $7) on conflict do nothing
        """,
        receipt.receipt_id,
        receipt.kind,
        receipt.account,
        receipt.brand_slug,
        receipt.subject,
        json.dumps(receipt.prepared),
        list(receipt.steps),
    )
    return status != "INSERT 0 0"


async def lock(connection: Connection, receipt_id: UUID) -> tuple[Receipt, datetime] | None:
    """The receipt, locked until the transaction ends, and then the database's time."""
    row = await connection.fetchrow("select * from receipts where receipt_id = $1 for update", receipt_id)
    if row is None:
        return None
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return _receipt(row), now


async def save(connection: Connection, receipt: Receipt) -> None:
    """Stores a receipt that this transaction has locked."""
    await connection.execute(
        """
        update receipts set kind = $2, account = $3, subject = $4, prepared = $5::jsonb, steps = $6, done = $7, step = $8,
               remote = $9::jsonb, state = $10, fence = $11, sent_fence = $12, held_until = $13, not_before = $14,
               quiet_since = $15, looks = $16, reason = $17, detail = $18, identity = $19, unanswered = $20,
               changed_at = clock_timestamp()
        where receipt_id = $1
        """,
        receipt.receipt_id,
        receipt.kind,
        receipt.account,
        receipt.subject,
        json.dumps(receipt.prepared),
        list(receipt.steps),
        list(receipt.done),
        receipt.step,
        json.dumps(receipt.remote),
        receipt.state.value,
        receipt.fence,
        receipt.sent_fence,
        receipt.held_until,
        receipt.not_before,
        receipt.quiet_since,
        receipt.looks,
        receipt.reason,
        receipt.detail,
        receipt.identity,
        receipt.unanswered,
    )


async def note(
    connection: Connection,
    receipt_id: UUID,
    step: str,
    fence: int,
    event: str,
    *,
    detail: str = "",
    made_by: str = "",
) -> None:
    """Adds an attempt."""
    await connection.execute(
        """
        insert into receipt_attempts (receipt_id, step, fence, event, detail, made_by) values ($1, $2, $3, $4, $5, $6)
        """,
        receipt_id,
        step,
        fence,
        event,
        detail,
        made_by,
    )


async def find(connection: Connection, receipt_id: UUID) -> StoredReceipt | None:
    row = await connection.fetchrow("select * from receipts where receipt_id = $1", receipt_id)
    return None if row is None else _kept(row)


async def lock_unanswered(connection: Connection, brand_slug: str, about: Mapping[str, Any]) -> list[Receipt]:
    """Locks and returns a brand's receipts with these members in `prepared` whose steps may have had an effect."""
    rows = await connection.fetch(
        """
        select * from receipts
        where brand_slug = $1 and state <> 'confirmed' and prepared @> $2::jsonb
          and (state in ('armed', 'unknown') or (state = 'ready' and unanswered is not null))
        order by number for update
        """,
        brand_slug,
        json.dumps(about),
    )
    return [_receipt(row) for row in rows]


async def page(
    connection: Connection,
    *,
    brands: Sequence[str] | None,
    state: ReceiptState | None,
    before: int | None,
    limit: int,
) -> list[StoredReceipt]:
    """Receipts of these or all brands, the newest first; those of one state, or all unconfirmed ones."""
    rows = await connection.fetch(
        f"""
        select * from receipts
        where {"state <> 'confirmed'" if state is None else f"state = '{state.value}'"}
          and ($1::text[] is null or brand_slug = any ($1)) and ($2::bigint is null or number < $2)
        order by number desc limit $3
        """,  # noqa: S608  (the states are ours, and written out for the sake of the index)
        None if brands is None else list(brands),
        before,
        limit,
    )
    return [_kept(row) for row in rows]


async def attempts_of(connection: Connection, receipt_id: UUID, limit: int) -> list[ReceiptAttempt]:
    """The latest attempts, in order."""
    rows = await connection.fetch(
        """
        select step, fence, event, detail, made_by, made_at from receipt_attempts
        where receipt_id = $1 order by attempt_id desc limit $2
        """,
        receipt_id,
        limit,
    )
    return [ReceiptAttempt(*tuple(row)) for row in reversed(rows)]


async def counts(connection: Connection) -> dict[str, float]:
    """The number of unconfirmed receipts by state, with abandoned ones apart."""
    rows = await connection.fetch(
        """
        select case when state in ('armed', 'unknown')
                     and greatest(held_until, not_before, changed_at) < clock_timestamp() - interval '15 minutes'
                    then $1 else state end as state, count(*)
        from receipts where state <> 'confirmed' group by 1
        """,
        ABANDONED,
    )
    found = {row["state"]: float(row["count"]) for row in rows}
    return {name: found.get(name, 0.0) for name in _COUNTED}


async def remotes(connection: Connection, receipt_ids: Collection[UUID]) -> dict[UUID, Mapping[str, Any]]:
    """The stored facts of confirmed effects: the results of their steps, or a person's."""
    rows = await connection.fetch(
        "select receipt_id, remote from receipts where receipt_id = any ($1::uuid[]) and state = $2",
        list(receipt_ids),
        ReceiptState.CONFIRMED.value,
    )
    return {UUID(int=row["receipt_id"].int): json.loads(row["remote"]) for row in rows}


async def forget(connection: Connection, brand_slugs: Collection[str]) -> None:
    """Deletes all receipts of these brands, for their erasure."""
    await connection.execute("delete from receipts where brand_slug = any ($1::text[])", list(brand_slugs))


def _kept(row: asyncpg.Record) -> StoredReceipt:
    return StoredReceipt(_receipt(row), row["number"], row["created_at"], row["changed_at"])


def _receipt(row: asyncpg.Record) -> Receipt:
    return Receipt(
        receipt_id=UUID(int=row["receipt_id"].int),
        kind=row["kind"],
        account=row["account"],
        brand_slug=row["brand_slug"],
        subject=row["subject"],
        prepared=_object(row["prepared"]),
        steps=tuple(row["steps"]),
        done=tuple(row["done"]),
        step=row["step"],
        remote=_object(row["remote"]),
        state=ReceiptState(row["state"]),
        fence=row["fence"],
        sent_fence=row["sent_fence"],
        held_until=row["held_until"],
        not_before=row["not_before"],
        quiet_since=row["quiet_since"],
        looks=row["looks"],
        reason=row["reason"],
        detail=row["detail"],
        identity=row["identity"],
        unanswered=row["unanswered"],
    )


def _object(text: str) -> Mapping[str, Any]:
    found = json.loads(text)
    assert isinstance(found, dict)
    return found
