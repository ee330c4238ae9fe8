"""What single handlers leave to be written, written as the service writes it."""

from typing import Any

from messaging import Record, Together, Transaction


async def written(tx: Transaction, *records: Record | Together[Any] | None) -> None:
    """What single handlers left, in this transaction: what is written together goes to one call, after the others."""
    together: dict[Any, list[Any]] = {}
    for record in records:
        if isinstance(record, Together):
            together.setdefault(record.write, []).append(record.row)
        elif record is not None:
            await record(tx)
    for write, rows in together.items():
        await write(tx, rows)
