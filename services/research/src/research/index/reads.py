"""The lock on indexing, and the reads under way, in rows that survive a crash of the service.

Separate processes read documents, so only the kernel, short of memory, can still kill the service over a document.
"""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from chassis import Connection
from reading.folder import FileStat

MAX_STARTS: Final = 2
"""Unfinished reads of a document before it is set aside: one among others, one alone."""


async def try_lock_corpus(connection: Connection, corpus: str) -> bool:
    """Lock the indexing of a corpus until the transaction ends; return False if another replica has the lock.

    Replicas share the index. Reads that are still recorded when the lock is free belong to a crashed replica.
    """
    turn = await connection.fetchval(
        "select pg_try_advisory_xact_lock(hashtextextended($1, 0))", f"index of {corpus}"
    )
    return bool(turn)


async def begin(connection: Connection, corpus: str, files: Sequence[FileStat], reader: UUID) -> None:
    """Record the start of reading these files; call it before reading."""
    await connection.execute(
        """
        insert into reads_under_way as under_way (corpus, path, size, modified_ns, reader)
        select $1, path, size, modified_ns, $5
        from unnest($2::text[], $3::bigint[], $4::bigint[]) as file (path, size, modified_ns)
        on conflict (corpus, path) do update
        set starts = case when (under_way.size, under_way.modified_ns) = (excluded.size, excluded.modified_ns)
                          then under_way.starts + 1 else 1 end,
            size = excluded.size, modified_ns = excluded.modified_ns, reader = excluded.reader, started_at = now()
        """,
        corpus,
        [file.path for file in files],
        [file.size for file in files],
        [file.modified_ns for file in files],
        reader,
    )


async def end(connection: Connection, corpus: str, paths: Collection[str]) -> None:
    """Delete the records of these finished reads."""
    await connection.execute(
        "delete from reads_under_way where corpus = $1 and path = any($2)", corpus, list(paths)
    )


async def cancel_reads(connection: Connection, reader: UUID) -> None:
    """Undo the starts that this reader recorded: it stopped halfway, without a crash."""
    await connection.execute(
        """
        with first as (delete from reads_under_way where reader = $1 and starts <= 1)
        update reads_under_way set starts = starts - 1 where reader = $1 and starts > 1
        """,
        reader,
    )


async def unfinished_reads(connection: Connection, corpus: str) -> dict[FileStat, int]:
    """Count the unfinished reads of each file. Call it under the lock, before any new read."""
    rows = await connection.fetch(
        "select path, size, modified_ns, starts from reads_under_way where corpus = $1", corpus
    )
    return {FileStat(row["path"], row["size"], row["modified_ns"]): row["starts"] for row in rows}
