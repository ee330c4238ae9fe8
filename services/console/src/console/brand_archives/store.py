"""Uploaded archives, in pieces, and what became of each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self
from uuid import UUID

from chassis import Connection

MAX_BYTES: Final = 1_000_000_000
"""Of an archive; `brandctl brands import` takes larger ones."""
PIECE_BYTES: Final = 1_000_000
MOST_HELD: Final = 3
"""Archives whose pieces are stored at once."""
MOST_LISTED: Final = 20
SILENT: Final = timedelta(seconds=30)
"""After so long without a sign of its process, an import may be continued."""
KEPT: Final = timedelta(days=1)
"""So long after its last step an archive's pieces stay."""
LISTED: Final = timedelta(days=30)
_LONGEST_NAME: Final = 200
_HAS_PIECES: Final = "state in ('arriving', 'arrived', 'running', 'broken')"


class TooManyArchivesError(Exception):
    """Others have to be imported or removed first."""


@dataclass(frozen=True, slots=True)
class UploadedArchive:
    id: UUID
    file_name: str
    size: int
    state: str
    """`arriving`, `arrived`, `refused`, `running`, `silent`, `broken` or `done`."""
    contents: Mapping[str, Any] | None
    slug: str | None
    progress: Mapping[str, Any]
    report: Mapping[str, Any] | None
    problem: str | None
    made_at: datetime
    begun_at: datetime | None

    @classmethod
    def of(cls, row: Any) -> Self:
        return cls(
            row["id"],
            row["file_name"],
            row["size"],
            "silent" if row["state"] == "running" and row["is_silent"] else row["state"],
            json.loads(row["contents"]) if row["contents"] else None,
            row["slug"],
            json.loads(row["progress"]) if row["progress"] else {},
            json.loads(row["report"]) if row["report"] else None,
            row["problem"],
            row["made_at"],
            row["begun_at"],
        )

    @property
    def pieces(self) -> int:
        """How many pieces make the whole file."""
        return -(-self.size // PIECE_BYTES)


_COLUMNS: Final = (
    "id, file_name, size, state, contents, slug, progress, report, problem, made_at, begun_at,"
    " seen_at < now() - $1::interval as is_silent"
)


async def add(connection: Connection, archive: UUID, person: UUID, name: str, size: int) -> None:
    """Begins an upload.

    Raises:
        TooManyArchivesError: there are MOST_HELD.
    """
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock(hashtextextended('brand archives', 0))")
        if await connection.fetchval(f"select count(*) from brand_archives where {_HAS_PIECES}") >= MOST_HELD:  # noqa: S608
            raise TooManyArchivesError
        await connection.execute(
            "insert into brand_archives (id, person, file_name, size) values ($1, $2, $3, $4)",
            archive,
            person,
            name[:_LONGEST_NAME],
            size,
        )


async def add_piece(connection: Connection, archive: UUID, number: int, content: bytes) -> bool:
    """Stores a piece, once; returns whether the archive still arrives."""
    return bool(
        await connection.fetchval(
            """
            with arriving as (
                update brand_archives set seen_at = now() where id = $1 and state = 'arriving' returning id
            ), stored as (
                insert into brand_archive_pieces (archive, number, content)
                select id, $2, $3 from arriving on conflict do nothing
            )
            select exists (select from arriving)
            """,
            archive,
            number,
            content,
        )
    )


async def find(connection: Connection, archive: UUID) -> UploadedArchive | None:
    row = await connection.fetchrow(f"select {_COLUMNS} from brand_archives where id = $2", SILENT, archive)  # noqa: S608
    return None if row is None else UploadedArchive.of(row)


async def list_latest(connection: Connection) -> list[UploadedArchive]:
    rows = await connection.fetch(
        f"select {_COLUMNS} from brand_archives order by made_at desc limit $2",  # noqa: S608
        SILENT,
        MOST_LISTED,
    )
    return [UploadedArchive.of(row) for row in rows]


async def bytes_stored(connection: Connection, archive: UUID) -> int:
    return int(
        await connection.fetchval(
            "select coalesce(sum(length(content)), 0) from brand_archive_pieces where archive = $1", archive
        )
    )


async def read_piece(connection: Connection, archive: UUID, number: int) -> bytes | None:
    content: bytes | None = await connection.fetchval(
        "select content from brand_archive_pieces where archive = $1 and number = $2", archive, number
    )
    return content


async def note_contents(connection: Connection, archive: UUID, contents: Mapping[str, Any]) -> None:
    """The archive has arrived, and can be imported."""
    await connection.execute(
        "update brand_archives set state = 'arrived', contents = $2::text::jsonb, slug = $3, seen_at = now()"
        " where id = $1 and state = 'arriving'",
        archive,
        json.dumps(contents),
        contents["brand"],
    )


async def refuse(connection: Connection, archive: UUID, problem: str) -> None:
    """The archive cannot be imported; its pieces are of no use."""
    async with connection.transaction():
        await connection.execute(
            "update brand_archives set state = 'refused', problem = $2 where id = $1 and state = 'arriving'",
            archive,
            problem,
        )
        await connection.execute("delete from brand_archive_pieces where archive = $1", archive)


async def begin(connection: Connection, archive: UUID, slug: str) -> bool:
    """Claims an import, also one that broke off; returns False if another request has it, or it has ended."""
    return bool(
        await connection.fetchval(
            """
            update brand_archives
            set state = 'running', slug = $2, problem = null, begun_at = coalesce(begun_at, now()), seen_at = now()
            where id = $1 and (state in ('arrived', 'broken') or state = 'running' and seen_at < now() - $3::interval)
            returning true
            """,
            archive,
            slug,
            SILENT,
        )
    )


async def note_progress(connection: Connection, archive: UUID, progress: Mapping[str, Any]) -> None:
    await connection.execute(
        "update brand_archives set progress = $2::text::jsonb, seen_at = now() where id = $1 and state = 'running'",
        archive,
        json.dumps(progress),
    )


async def break_off(connection: Connection, archive: UUID, problem: str) -> None:
    await connection.execute(
        "update brand_archives set state = 'broken', problem = $2, seen_at = now() where id = $1 and state = 'running'",
        archive,
        problem,
    )


async def end(connection: Connection, archive: UUID, report: Mapping[str, Any]) -> None:
    async with connection.transaction():
        await connection.execute(
            "update brand_archives set state = 'done', report = $2::text::jsonb, problem = null, seen_at = now() where id = $1",
            archive,
            json.dumps(report),
        )
        await connection.execute("delete from brand_archive_pieces where archive = $1", archive)


async def remove(connection: Connection, archive: UUID) -> bool:
    """Removes an archive unless its import runs; returns whether it did."""
    return bool(
        await connection.fetchval(
            """
            delete from brand_archives
            where id = $1 and (state <> 'running' or seen_at < now() - $2::interval) returning true
            """,
            archive,
            SILENT,
        )
    )


async def forget_old(connection: Connection) -> None:
    """Removes archives that nobody imported, and old lines of the list."""
    await connection.execute(
        f"delete from brand_archives where seen_at < now() - $1::interval and {_HAS_PIECES}"  # noqa: S608
        " or seen_at < now() - $2::interval",
        KEPT,
        LISTED,
    )


async def erase_brand(connection: Connection, brand: str) -> None:
    """Removes the archives of an erased brand: they have its data."""
    await connection.execute("delete from brand_archives where slug = $1 or contents->>'brand' = $1", brand)
