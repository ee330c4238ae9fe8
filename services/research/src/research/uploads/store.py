"""Uploads in the database: their bytes, their metadata and their states."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

import asyncpg

from chassis import Connection
from documents.sections import Section
from reading.folder import FileStat
from research.index.files import EXTRACTION, IndexedFile, corpus_of_brand, hide_document
from research.index.sections import rename_page

MAX_DOCUMENTS: Final = 1_000
MAX_BYTES: Final = 200_000_000
"""Total of one brand."""

# Uploads never change; `FileStat` needs a modification time.
_NEVER: Final = 0


class UploadState(StrEnum):
    """`waiting`: unread. `read`: searchable. `skipped`: no usable text. `set_aside`: research stopped reading it."""

    WAITING = "waiting"
    READ = "read"
    SKIPPED = "skipped"
    SET_ASIDE = "set_aside"


class UploadLimitError(Exception):
    """The brand has reached its limit of documents or bytes; the message says what to do."""


@dataclass(frozen=True, slots=True)
class UploadMetadata:
    """The uploader's statements about a document; for None the document's own statement counts."""

    title: str | None = None
    url: str | None = None
    licence: str | None = None
    own: bool | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A document as its brand sees it. `size` in bytes; `passages` counts the searchable ones."""

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


_READ: Final = (
    f"((documents.size, documents.modified_ns) = (uploads.size, 0) and documents.extraction >= {EXTRACTION})"
)
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
    connection: Connection, brand: str, name: str, content: bytes, about: UploadMetadata
) -> tuple[Upload, bool]:
    """Store a document, or update the metadata if the brand has the same bytes already. Run it in a transaction.

    Returns:
        The document, and whether it is new.

    Raises:
        UploadLimitError: the brand would exceed its limit of documents or bytes.
    """
    await _lock_uploads(connection, brand)
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
        await _update_indexed_document(connection, known)
        await expire_research(connection, brand)
        return await _get_existing(connection, brand, known), False
    held = await connection.fetchrow(
        "select count(*) as documents, coalesce(sum(size), 0)::bigint as bytes from uploads where brand_slug = $1",
        brand,
    )
    assert held is not None
    if held["documents"] >= MAX_DOCUMENTS or held["bytes"] + len(content) > MAX_BYTES:
        raise UploadLimitError(
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
    return await _get_existing(connection, brand, new), True


async def _update_indexed_document(connection: Connection, upload: int) -> None:
    document = await connection.fetchrow(
        "update documents set title = coalesce(uploads.title, documents.title), url = coalesce(uploads.url, documents.url),"
        " licence = coalesce(uploads.licence, documents.licence), own = uploads.own"
        " from uploads where upload_id = $1 and (documents.corpus, documents.path) = (uploads.corpus, uploads.path)"
        " and problem is null returning document_id, documents.title",
        upload,
    )
    if document is not None:
        await rename_page(connection, document["document_id"], document["title"])


async def _lock_uploads(connection: Connection, brand: str) -> None:
    """Serialise changes of one brand: simultaneous uploads must both count, and must not deadlock on rows."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", f"uploads of {brand}")


async def expire_research(connection: Connection, brand: str) -> None:
    """Expire the brand's cached research, as its uploads have changed."""
    await _lock_uploads(connection, brand)
    await connection.execute(
        "update research set expires_at = now() where brand_slug = $1 and expires_at > now()", brand
    )


async def _get_existing(connection: Connection, brand: str, upload: int) -> Upload:
    found = await get(connection, brand, upload)
    assert found is not None
    return found


async def get(connection: Connection, brand: str, upload: int) -> Upload | None:
    row = await connection.fetchrow(f"{_SELECT} where brand_slug = $1 and upload_id = $2", brand, upload)
    return _upload(row) if row else None


async def get_file(connection: Connection, brand: str, upload: int) -> bytes | None:
    """The bytes of an upload of the brand; None if there is no such upload."""
    content: bytes | None = await connection.fetchval(
        "select content from uploads where brand_slug = $1 and upload_id = $2", brand, upload
    )
    return content


async def list_uploads(
    connection: Connection,
    brand: str,
    *,
    state: UploadState | None,
    after: int,
    limit: int,
    text: str | None = None,
) -> list[Upload]:
    """Return a page of the brand's uploads, oldest first, from the first id above `after`.

    With `text`, only those with it in their name or title, in any case.
    """
    rows = await connection.fetch(
        f"{_SELECT} where brand_slug = $1 and upload_id > $2 and ($3::text is null or {_STATE} = $3)"
        " and ($5::text is null or"
        " position(lower($5) in lower(name || ' ' || coalesce(uploads.title, documents.title, ''))) > 0)"
        " order by upload_id limit $4",
        brand,
        after,
        state,
        limit,
        text,
    )
    return [_upload(row) for row in rows]


async def count_by_state(connection: Connection, brand: str | None = None) -> dict[str, int]:
    """Count the uploads of the brand, or of all brands, in each state."""
    rows = await connection.fetch(
        f"select {_STATE} as state, count(*) as documents from uploads left join documents using (corpus, path)"  # noqa: S608
        " where $1::text is null or brand_slug = $1 group by 1",
        brand,
    )
    return dict.fromkeys(map(str, UploadState), 0) | {row["state"]: row["documents"] for row in rows}


async def count_unread(connection: Connection, brands: Sequence[str]) -> dict[str, int]:
    """Count the unread uploads of these brands; brands without any are missing in the result."""
    rows = await connection.fetch(
        "select brand_slug, count(*) as documents from uploads left join documents using (corpus, path)"  # noqa: S608
        f" where brand_slug = any ($1::text[]) and {_STATE} = $2 group by 1",
        brands,
        UploadState.WAITING,
    )
    return {row["brand_slug"]: row["documents"] for row in rows}


async def remove(connection: Connection, brand: str, upload: int) -> bool:
    """Delete an upload and its indexed text; return False if it does not exist. Run it in a transaction."""
    await _lock_uploads(connection, brand)
    path: str | None = await connection.fetchval(
        "delete from uploads where brand_slug = $1 and upload_id = $2 returning path", brand, upload
    )
    if path is None:
        return False
    await hide_document(connection, corpus_of_brand(brand), path)
    await expire_research(connection, brand)
    return True


async def remove_all(connection: Connection, brand: str) -> int:
    """Delete all uploads of a brand and their indexed text; return their number. Run it in a transaction."""
    await _lock_uploads(connection, brand)
    status = await connection.execute("delete from uploads where brand_slug = $1", brand)
    for table in ("documents", "reads_under_way", "indexing", "collections"):
        await connection.execute(f"delete from {table} where corpus = $1", corpus_of_brand(brand))  # noqa: S608
    return int(status.rpartition(" ")[2])


async def release(connection: Connection, brand: str, upload: int) -> UploadState | None:
    """Make the next scan read a skipped or set-aside upload again; return its old state, None if it does not exist."""
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
    """Return brands with uploads to read or to delete, or with interrupted reading; the least bytes to read first."""
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


async def list_files(connection: Connection, brand: str) -> list[FileStat]:
    rows = await connection.fetch("select path, size from uploads where brand_slug = $1 order by path", brand)
    return [FileStat(row["path"], row["size"], _NEVER) for row in rows]


async def get_content(connection: Connection, brand: str, path: str) -> bytes | None:
    content: bytes | None = await connection.fetchval(
        "select content from uploads where (corpus, path) = ($1, $2)", corpus_of_brand(brand), path
    )
    return content


async def confirm_files(connection: Connection, brand: str, read: Sequence[IndexedFile]) -> list[IndexedFile]:
    """Return those that still exist, with their metadata, and lock them until the transaction ends."""
    rows = await connection.fetch(
        "select path, title, url, licence, own from uploads where corpus = $1 and path = any($2) order by path for share",
        corpus_of_brand(brand),
        [file.state.path for file in read],
    )
    about = {row["path"]: row for row in rows}
    return [_with_metadata(file, **about[file.state.path]) for file in read if file.state.path in about]


def _with_metadata(
    file: IndexedFile, *, path: str, title: str | None, url: str | None, licence: str | None, own: bool
) -> IndexedFile:
    assert path == file.state.path
    if file.document is None:
        return file
    document = replace(
        file.document,
        title=title or file.document.title,
        sections=_titled(file.document.sections, title),
        url=url or file.document.url,
        licence=licence or file.document.licence,
        own=own,
    )
    return replace(file, document=document)


def _titled(page: Section | None, title: str | None) -> Section | None:
    return replace(page, title=title) if page is not None and title else page
