"""Who indexes, and what is being read: rows that outlive the service, should a document take it along.

Reading happens in processes of its own, so that only the kernel, short of memory, can still end the service over a document.
"""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from chassis import Connection
from research.index.files import FileState

MAX_STARTS: Final = 2
"""Starts without an end before a document is set aside: once among others, once alone."""


async def try_turn(connection: Connection, corpus: str) -> bool:
    """Whether the caller alone indexes the corpus, until the running transaction ends.

    Replicas share the index: the others wait and find it done. What is still marked as being read then, a replica has
    left that is no more.
    """
    turn = await connection.fetchval(
        "select pg_try_advisory_xact_lock(hashtextextended($1, 0))", f"index of {corpus}"
    )
    return bool(turn)


async def begin(connection: Connection, corpus: str, files: Sequence[FileState], reader: UUID) -> None:
    """Notes that reading begins, before it does."""
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
    """Notes that these are being read no more."""
    await connection.execute(
        "delete from reads_under_way where corpus = $1 and path = any($2)", corpus, list(paths)
    )


async def take_back(connection: Connection, reader: UUID) -> None:
    """Takes back what the reader has begun: it stopped in the midst of it, but did not die of it."""
    await connection.execute(
        """
        with first as (delete from reads_under_way where reader = $1 and starts <= 1)
        update reads_under_way set starts = starts - 1 where reader = $1 and starts > 1
        """,
        reader,
    )


async def left_behind(connection: Connection, corpus: str) -> dict[FileState, int]:
    """How often reading a file has begun without an end. Ask it in one's turn, before anything is begun."""
    rows = await connection.fetch(
        "select path, size, modified_ns, starts from reads_under_way where corpus = $1", corpus
    )
    return {FileState(row["path"], row["size"], row["modified_ns"]): row["starts"] for row in rows}
