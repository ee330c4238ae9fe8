"""Documents of brands in the database: their bytes, what is said about them, and what became of reading them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

import asyncpg

from chassis import Connection
from research.index.files import FileState, IndexedFile, corpus_of_brand, hollow_out

MAX_DOCUMENTS: Final = 1_000
MAX_BYTES: Final = 200_000_000
"""Of one brand."""

# They never change; the index asks for a time of change all the same.
_NEVER: Final = 0


class UploadState(StrEnum):
    """What became of it: still to be read; searched; nothing in it to search; reading it was given up."""

    WAITING = "waiting"
    READ = "read"
    SKIPPED = "skipped"
    SET_ASIDE = "set_aside"


class FullError(Exception):
    """The brand may have no more documents; the message says what to do."""


@dataclass(frozen=True, slots=True)
class About:
    """What is said about a document by those who upload it; None where it speaks for itself."""

    title: str | None = None
    url: str | None = None
    licence: str | None = None
    own: bool | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A document as its brand sees it. `size` in bytes; `passages` is how many of its pieces are searched."""

    id: int
    name: str
    size: int
    state: UploadState
    problem: str | None
    title: str
    author: str | None
    url: str | None
    licence: str | None
    published_on: date | None
    own: bool
    passages: int
    uploaded_at: datetime


_READ: Final = "(documents.size, documents.modified_ns) = (uploads.size, 0)"
_STATE: Final = (
    f"case when documents.document_id is null or not {_READ} then 'waiting' when set_aside_at is not null then 'set_aside'"
    " when problem is not null then 'skipped' else 'read' end"
)
_SELECT: Final = f"""
    select upload_id as id, name, uploads.size, {_STATE} as state, problem,
           coalesce(uploads.title, documents.title, '') as title, documents.author,
           coalesce(uploads.url, documents.url) as url, coalesce(uploads.licence, documents.licence) as licence,
           documents.published_on, uploads.own, coalesce(documents.passage_count, 0) as passages, uploaded_at
    from uploads left join documents using (corpus, path)
"""  # noqa: S608 - put together of constants


def _upload(row: asyncpg.Record) -> Upload:
    return Upload(**{**row, "state": UploadState(row["state"])})


async def add(
    connection: Connection, brand: str, name: str, content: bytes, about: About
) -> tuple[Upload, bool]:
    """Keeps a document, or finds that the brand has it already, and notes what is said about it. Run it in a transaction.

    Returns:
        The document, and whether it is new.

    Raises:
        FullError: the brand has as many documents, or bytes, as it may.
    """
    await _alone(connection, brand)
    content_hash = sha256(content).digest()
    known: int | None = await connection.fetchval(
        "update uploads set title = coalesce($3, title), url = coalesce($4, url), licence = coalesce($5, licence),"
        " own = coalesce($6, own) where brand_slug = $1 and content_hash = $2 returning upload_id",
        brand,
        content_hash,
        about.title,
        about.url,
        about.licence,
        about.own,
    )
    if known is not None:
        await _say_of_what_was_read(connection, known)
        await look_anew(connection, brand)
        return await _present(connection, brand, known), False
    held = await connection.fetchrow(
        "select count(*) as documents, coalesce(sum(size), 0)::bigint as bytes from uploads where brand_slug = $1",
        brand,
    )
    assert held is not None
    if held["documents"] >= MAX_DOCUMENTS or held["bytes"] + len(content) > MAX_BYTES:
        raise FullError(
            f"{brand} has {held['documents']:,} documents of {held['bytes'] / 1e6:.1f} MB; {MAX_DOCUMENTS:,} of"
            f" {MAX_BYTES // 1_000_000} MB is the most: remove some first"
        )
    new: int = await connection.fetchval(
        "insert into uploads (brand_slug, name, size, content_hash, content, title, url, licence, own)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, false)) returning upload_id",
        brand,
        name,
        len(content),
        content_hash,
        content,
        about.title,
        about.url,
        about.licence,
        about.own,
    )
    return await _present(connection, brand, new), True


async def _say_of_what_was_read(connection: Connection, upload: int) -> None:
    await connection.execute(
        "update documents set title = coalesce(uploads.title, documents.title), url = coalesce(uploads.url, documents.url),"
        " licence = coalesce(uploads.licence, documents.licence), own = uploads.own"
        " from uploads where upload_id = $1 and (documents.corpus, documents.path) = (uploads.corpus, uploads.path)"
        " and problem is null",
        upload,
    )


async def _alone(connection: Connection, brand: str) -> None:
    """Two that come at the same moment must both be counted, and must not wait for each other's rows."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", f"uploads of {brand}")


async def look_anew(connection: Connection, brand: str) -> None:
    """What was found for the brand is looked for again, now that there is another text to find, or one less."""
    await _alone(connection, brand)
    await connection.execute(
        "update research set expires_at = now() where brand_slug = $1 and expires_at > now()", brand
    )


async def _present(connection: Connection, brand: str, upload: int) -> Upload:
    found = await get(connection, brand, upload)
    assert found is not None
    return found


async def get(connection: Connection, brand: str, upload: int) -> Upload | None:
    row = await connection.fetchrow(f"{_SELECT} where brand_slug = $1 and upload_id = $2", brand, upload)
    return _upload(row) if row else None


async def list_of(
    connection: Connection, brand: str, *, state: UploadState | None, after: int, limit: int
) -> list[Upload]:
    """In the order in which they came, from the one that follows `after`."""
    rows = await connection.fetch(
        f"{_SELECT} where brand_slug = $1 and upload_id > $2 and ($3::text is null or {_STATE} = $3)"
        " order by upload_id limit $4",
        brand,
        after,
        state,
        limit,
    )
    return [_upload(row) for row in rows]


async def counts(connection: Connection, brand: str | None = None) -> dict[str, int]:
    """How many documents of the brand, or of all, are in each state."""
    rows = await connection.fetch(
        f"select {_STATE} as state, count(*) as documents from uploads left join documents using (corpus, path)"  # noqa: S608
        " where $1::text is null or brand_slug = $1 group by 1",
        brand,
    )
    return dict.fromkeys(map(str, UploadState), 0) | {row["state"]: row["documents"] for row in rows}


async def unread(connection: Connection, brands: Sequence[str]) -> dict[str, int]:
    """How many documents of these brands are still to be read, where there are any."""
    rows = await connection.fetch(
        "select brand_slug, count(*) as documents from uploads left join documents using (corpus, path)"  # noqa: S608
        f" where brand_slug = any ($1::text[]) and {_STATE} = $2 group by 1",
        brands,
        UploadState.WAITING,
    )
    return {row["brand_slug"]: row["documents"] for row in rows}


async def remove(connection: Connection, brand: str, upload: int) -> bool:
    """Forgets a document and all that was read of it; whether there was such a one. Run it in a transaction."""
    await _alone(connection, brand)
    path: str | None = await connection.fetchval(
        "delete from uploads where brand_slug = $1 and upload_id = $2 returning path", brand, upload
    )
    if path is None:
        return False
    await hollow_out(connection, corpus_of_brand(brand), path)
    await look_anew(connection, brand)
    return True


async def remove_all(connection: Connection, brand: str) -> int:
    """Forgets all documents of a brand and all that was read of them; how many there were. Run it in a transaction."""
    await _alone(connection, brand)
    status = await connection.execute("delete from uploads where brand_slug = $1", brand)
    for table in ("documents", "reads_under_way", "indexing"):
        await connection.execute(f"delete from {table} where corpus = $1", corpus_of_brand(brand))  # noqa: S608
    return int(status.rpartition(" ")[2])


async def release(connection: Connection, brand: str, upload: int) -> UploadState | None:
    """Has a document read again that was set aside or skipped; returns the state it was in, None if there is no such one."""
    found = await get(connection, brand, upload)
    if found is None:
        return None
    if found.state in {UploadState.SKIPPED, UploadState.SET_ASIDE}:
        await connection.execute(
            "delete from documents using uploads where upload_id = $1"
            " and (documents.corpus, documents.path) = (uploads.corpus, uploads.path)",
            upload,
        )
    return found.state


# -- for reading ---------------------------------------------------------------------------------------------------------


async def brands_with_work(connection: Connection) -> list[str]:
    """Those with documents to read or to forget, and those whose reading broke off; whoever has the least to read first."""
    rows = await connection.fetch(
        f"""
        with work as (
            select uploads.corpus, uploads.size as bytes from uploads left join documents using (corpus, path)
            where documents.document_id is null or not {_READ}
            union all
            select corpus, 0 from documents
            where starts_with(corpus, 'brand:') and not exists (
                select from uploads where (uploads.corpus, uploads.path) = (documents.corpus, documents.path))
            union all
            select corpus, 0 from indexing where starts_with(corpus, 'brand:')
        )
        select substr(corpus, 7) as brand from work group by corpus order by sum(bytes), corpus
        """  # noqa: S608 - put together of constants
    )
    return [row["brand"] for row in rows]


async def files(connection: Connection, brand: str) -> list[FileState]:
    rows = await connection.fetch("select path, size from uploads where brand_slug = $1 order by path", brand)
    return [FileState(row["path"], row["size"], _NEVER) for row in rows]


async def content_of(connection: Connection, brand: str, path: str) -> bytes | None:
    content: bytes | None = await connection.fetchval(
        "select content from uploads where (corpus, path) = ($1, $2)", corpus_of_brand(brand), path
    )
    return content


async def confirmed(connection: Connection, brand: str, read: Sequence[IndexedFile]) -> list[IndexedFile]:
    """Those that are still there, with what is said about them. Until the transaction ends, they stay so."""
    rows = await connection.fetch(
        "select path, title, url, licence, own from uploads where corpus = $1 and path = any($2) order by path for share",
        corpus_of_brand(brand),
        [file.state.path for file in read],
    )
    about = {row["path"]: row for row in rows}
    return [_as_said(file, **about[file.state.path]) for file in read if file.state.path in about]


def _as_said(
    file: IndexedFile, *, path: str, title: str | None, url: str | None, licence: str | None, own: bool
) -> IndexedFile:
    assert path == file.state.path
    if file.document is None:
        return file
    document = replace(
        file.document,
        title=title or file.document.title,
        url=url or file.document.url,
        licence=licence or file.document.licence,
        own=own,
    )
    return replace(file, document=document)
