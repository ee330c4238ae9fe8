"""The folder's files as operators see them: which are searched, which hold nothing, which were given up."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from chassis import Connection
from research.index import progress

_STATE: Final = """case when set_aside_at is not null then 'set_aside' when problem is not null then 'skipped' else 'read' end"""
_IN_FOLDER: Final = "starts_with(corpus, '/')"


class State(StrEnum):
    """What became of a file: it is searched; it holds nothing to search; or reading it was given up."""

    READ = "read"
    SKIPPED = "skipped"
    SET_ASIDE = "set_aside"


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A file of the corpus as operators see it."""

    id: int
    path: str
    size: int
    state: State
    problem: str | None
    title: str
    passages: int
    since: datetime
    """When it was read, or given up."""


async def counts(connection: Connection) -> dict[str, int]:
    """How many files of the folder are in each state; those that are still to be read are `waiting`."""
    rows = await connection.fetch(
        f"select {_STATE} as state, count(*) as files from documents where {_IN_FOLDER} group by 1"  # noqa: S608
    )
    now = await progress.of(connection)
    return (
        dict.fromkeys(map(str, State), 0)
        | {row["state"]: row["files"] for row in rows}
        | {"waiting": now.to_read - now.done}
    )


async def documents(
    connection: Connection, *, state: State | None, after: str, limit: int
) -> list[ListedDocument]:
    """Those of the folder in the order of their paths, from the one that follows `after`."""
    rows = await connection.fetch(
        f"select document_id as id, path, size, {_STATE} as state, problem, title, passage_count as passages,"  # noqa: S608
        " indexed_at as since from documents"
        f' where {_IN_FOLDER} and path collate "C" > $1 and ($2::text is null or {_STATE} = $2) order by path collate "C" limit $3',
        after,
        state,
        limit,
    )
    return [ListedDocument(**{**row, "state": State(row["state"])}) for row in rows]


async def release(connection: Connection, document_id: int) -> State | None:
    """Forgets a file that was set aside or skipped, so that it is read again; returns the state it is in.

    None if there is no such document: it was released already, or has changed or gone meanwhile.
    """
    state = await connection.fetchval(
        f"select {_STATE} from documents where document_id = $1 and {_IN_FOLDER} for update",  # noqa: S608
        document_id,
    )
    if state is None:
        return None
    if state != State.READ:
        await connection.execute("delete from documents where document_id = $1", document_id)
    return State(state)
