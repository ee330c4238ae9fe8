"""Writes records of single handlers as the service does."""

from typing import Any

from messaging import GroupedRecord, Record, Transaction


async def write_records(tx: Transaction, *records: Record | GroupedRecord[Any] | None) -> None:
    """Writes the handlers' records in this transaction; grouped records in one call each, after the others."""
    together: dict[Any, list[Any]] = {}
    for record in records:
        if isinstance(record, GroupedRecord):
            together.setdefault(record.write, []).append(record.row)
        elif record is not None:
            await record(tx)
    for write, rows in together.items():
        await write(tx, rows)
