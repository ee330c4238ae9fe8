"""What single handlers leave to be written, written as the service writes it."""

from typing import Any

from messaging import GroupedRecord, Record, Transaction


async def write_records(tx: Transaction, *records: Record | GroupedRecord[Any] | None) -> None:
    """What single handlers left, in this transaction: what is written together goes to one call, after the others."""
    together: dict[Any, list[Any]] = {}
    for record in records:
        if isinstance(record, GroupedRecord):
            together.setdefault(record.write, []).append(record.row)
        elif record is not None:
            await record(tx)
    for write, rows in together.items():
        await write(tx, rows)
