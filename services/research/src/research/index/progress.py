"""Progress of indexing a corpus, in a row that replicas share."""

from dataclasses import dataclass

from chassis import Connection
from research.index.files import EXTRACTION


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Changed files of the latest scan (`to_read`), and how many of them are read (`done`).

    `complete`: the whole corpus was read at least once by this release; files that are unread now are newer.
    """

    to_read: int = 0
    done: int = 0
    complete: bool = False


async def begin(connection: Connection, corpus: str, to_read: int) -> None:
    # Rows of previous corpus folders.
    await connection.execute(
        "delete from indexing where corpus <> $1 and starts_with(corpus, '/') and starts_with($1, '/')",
        corpus,
    )
    await connection.execute(
        "insert into indexing (corpus, to_read, done) values ($1, $2, 0)"
        " on conflict (corpus) do update set to_read = excluded.to_read, done = 0",
        corpus,
        to_read,
    )


async def advance(connection: Connection, corpus: str, files: int) -> None:
    await connection.execute("update indexing set done = done + $2 where corpus = $1", corpus, files)


async def complete(connection: Connection, corpus: str) -> None:
    await connection.execute(
        "update indexing set complete_at = coalesce(complete_at, now()), extraction = $2 where corpus = $1",
        corpus,
        EXTRACTION,
    )


async def forget(connection: Connection, corpus: str) -> None:
    await connection.execute("delete from indexing where corpus = $1", corpus)


async def get_progress(connection: Connection, corpus: str | None = None) -> IndexProgress:
    """Return the progress of a corpus; None means the folder."""
    row = await connection.fetchrow(
        "select to_read, done, complete_at is not null and extraction >= $2 as complete from indexing"
        " where corpus = $1 or ($1::text is null and starts_with(corpus, '/'))",
        corpus,
        EXTRACTION,
    )
    return IndexProgress(**row) if row else IndexProgress()
