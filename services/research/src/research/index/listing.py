"""Lists the folder's files with their states, for operators."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from chassis import Connection
from research.index import progress

_STATE: Final = """case when set_aside_at is not null then 'set_aside' when problem is not null then 'skipped' else 'read' end"""
_IN_FOLDER: Final = "starts_with(corpus, '/')"


class CorpusFileState(StrEnum):
    """`read`: research searches it. `skipped`: it holds no usable text. `set_aside`: research stopped reading it."""

    READ = "read"
    SKIPPED = "skipped"
    SET_ASIDE = "set_aside"


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A file of the corpus as operators see it."""

    id: int
    path: str
    size: int
    state: CorpusFileState
    problem: str | None
    title: str
    passages: int
    since: datetime
    """When research read it or set it aside."""


async def count_by_state(connection: Connection) -> dict[str, int]:
    """Count the folder's files in each state; unread files are `waiting`."""
    rows = await connection.fetch(
        f"select {_STATE} as state, count(*) as files from documents where {_IN_FOLDER} group by 1"  # noqa: S608
    )
    now = await progress.get_progress(connection)
    return (
        dict.fromkeys(map(str, CorpusFileState), 0)
        | {row["state"]: row["files"] for row in rows}
        | {"waiting": now.to_read - now.done}
    )


async def list_documents(
    connection: Connection,
    *,
    state: CorpusFileState | None,
    after: str,
    limit: int,
    text: str | None = None,
) -> list[ListedDocument]:
    """Return a page of the folder's files by path, from the first path after `after`.

    With `text`, only those with it in their path or title, in any case.
    """
    rows = await connection.fetch(
        f"select document_id as id, path, size, {_STATE} as state, problem, title, passage_count as passages,"  # noqa: S608
        " indexed_at as since from documents"
        f' where {_IN_FOLDER} and path collate "C" > $1 and ($2::text is null or {_STATE} = $2)'
        " and ($4::text is null or position(lower($4) in lower(path || ' ' || title)) > 0)"
        ' order by path collate "C" limit $3',
        after,
        state,
        limit,
        text,
    )
    return [ListedDocument(**{**row, "state": CorpusFileState(row["state"])}) for row in rows]


async def release_document(connection: Connection, document_id: int) -> CorpusFileState | None:
    """Delete the row of a skipped or set-aside file, so that the next scan reads it again; return its old state.

    None if there is no such document: it was released already, or has changed or gone meanwhile.
    """
    state = await connection.fetchval(
        f"select {_STATE} from documents where document_id = $1 and {_IN_FOLDER} for update",  # noqa: S608
        document_id,
    )
    if state is None:
        return None
    if state != CorpusFileState.READ:
        await connection.execute("delete from documents where document_id = $1", document_id)
    return CorpusFileState(state)
