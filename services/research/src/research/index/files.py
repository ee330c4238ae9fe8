"""Tables of indexed files: the state in which each was read, its document and its passages."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from chassis import Connection
from reading.collection import abbreviations_of, text_fingerprint
from reading.document import ExtractedDocument
from reading.folder import FileStat
from reading.works import StatedWork, is_work_file
from research.index.paragraphs import paragraphs_of
from research.index.sections import save_sections, section_texts

EXTRACTION: Final = 2
"""Raise it when more or other things are taken from a file: all documents are then read again, and served meanwhile."""
_ROWS_AT_A_TIME: Final = 1_000
MAX_LINKS: Final = 20_000
"""Entries of the tables of contents and of the index of one document; a book's index has some thousands."""


def corpus_of_brand(slug: str) -> str:
    """Return the corpus name of a brand's uploads; it cannot collide with a folder's path."""
    return f"brand:{slug}"


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """The result of reading a file: its document or the work that it describes, or the problem.

    `set_aside`: research stopped reading it. `unchanged`: it was not read, as its content is the known one.
    `content_hash` is SHA-256.
    """

    state: FileStat
    document: ExtractedDocument | None
    problem: str | None = None
    set_aside: bool = False
    content_hash: bytes | None = None
    unchanged: bool = False
    work: StatedWork | None = None


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Files to read, new ones too, in the order in which they were found, and the paths of those that are no longer there."""

    to_read: list[FileStat]
    gone: list[str]


async def find_changes(connection: Connection, corpus: str, found: Iterable[FileStat]) -> FileChanges:
    """Compare the files of a corpus with what was read of them; those from which a former release took less are read again.

    The rows come in parts: those of a large corpus, all at once, would take more memory than everything else here.
    """
    to_read = {state.path: state for state in found}
    gone = []
    async with connection.transaction():
        async for row in connection.cursor(
            "select path, size, modified_ns, extraction >= $2 as is_current from documents where corpus = $1",
            corpus,
            EXTRACTION,
            prefetch=_ROWS_AT_A_TIME,
        ):
            path = row["path"]
            if path not in to_read:
                gone.append(path)
            elif row["is_current"] and to_read[path] == FileStat(path, row["size"], row["modified_ns"]):
                del to_read[path]
    return FileChanges(list(to_read.values()), sorted(gone))


async def content_hashes(connection: Connection, corpus: str, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the hashes of those files that need not be read again while their content is the same."""
    rows = await connection.fetch(
        "select path, content_hash from documents"
        " where corpus = $1 and path = any($2) and content_hash is not null and extraction >= $3",
        corpus,
        paths,
        EXTRACTION,
    )
    return {row["path"]: row["content_hash"] for row in rows}


async def save_files(connection: Connection, corpus: str, files: Sequence[IndexedFile]) -> None:
    """Replace the rows of these files and of their passages. Run it in a transaction."""
    await forget_files(connection, corpus, [file.state.path for file in files])
    documents = [file.document or ExtractedDocument(title="", passages=(), quality=0) for file in files]
    rows = await connection.fetch(
        "insert into documents"
        " (corpus, path, size, modified_ns, title, url, licence, published_on, quality, passage_count, problem,"
        " set_aside_at, content_hash, paragraphs, author, own, toc, index_terms, abbreviations, text_hash, extraction)"
        " select $1, path, size, modified_ns, title, url, licence, published_on, quality, passages, problem,"
        " case when set_aside then now() end, content_hash, paragraphs::bigint[], author, own, toc::json, index_terms::json,"
        " abbreviations::json, text_hash, $21"
        " from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::date[], $9::real[],"
        " $10::integer[], $11::text[], $12::boolean[], $13::bytea[], $14::text[], $15::text[], $16::boolean[], $17::text[],"
        " $18::text[], $19::text[], $20::text[]) as f (path, size, modified_ns, title, url, licence, published_on, quality,"
        " passages, problem, set_aside, content_hash, paragraphs, author, own, toc, index_terms, abbreviations, text_hash)"
        " returning document_id, path",
        corpus,
        [file.state.path for file in files],
        [file.state.size for file in files],
        [file.state.modified_ns for file in files],
        [document.title for document in documents],
        [document.url for document in documents],
        [document.licence for document in documents],
        [document.published_on for document in documents],
        [document.quality for document in documents],
        [len(document.passages) for document in documents],
        [file.problem for file in files],
        [file.set_aside for file in files],
        [file.content_hash for file in files],
        # unnest() would take an array of arrays apart.
        ["{" + ",".join(map(str, paragraphs_of(document))) + "}" for document in documents],
        [document.author for document in documents],
        [document.own for document in documents],
        [
            _json([[link.title, link.target, link.depth] for link in each.toc[:MAX_LINKS]])
            for each in documents
        ],
        [_json([[term.term, term.target] for term in each.index_terms[:MAX_LINKS]]) for each in documents],
        [_json(abbreviations_of(section_texts(each.sections))) for each in documents],
        [each.sections and text_fingerprint(each.sections) for each in documents],
        EXTRACTION,
    )
    ids: dict[str, int] = {row["path"]: row["document_id"] for row in rows}
    await connection.copy_records_to_table(
        "passages",
        columns=["document_id", "position", "heading", "content", "flags"],
        records=[
            (ids[file.state.path], position, passage.heading, passage.text, passage.flags)
            for file, document in zip(files, documents, strict=True)
            for position, passage in enumerate(document.passages)
        ],
    )
    await save_sections(
        connection,
        {ids[file.state.path]: document for file, document in zip(files, documents, strict=True)},
    )
    await connection.executemany(
        "insert into works (document_id, work) values ($1, $2)",
        [
            (ids[file.state.path], file.work and json.dumps(asdict(file.work)))
            for file in files
            if is_work_file(file.state.path)
        ],
    )


def _json(value: Sequence[object] | Mapping[str, object]) -> str | None:
    """Return the value as JSON; None if it is empty."""
    return json.dumps(value, ensure_ascii=False) if value else None


async def update_file_stats(connection: Connection, corpus: str, files: Sequence[FileStat]) -> None:
    """Store the new size and modification time of files whose content is unchanged."""
    await connection.execute(
        "update documents set size = file.size, modified_ns = file.modified_ns"
        " from unnest($2::text[], $3::bigint[], $4::bigint[]) as file (path, size, modified_ns)"
        " where corpus = $1 and documents.path = file.path",
        corpus,
        [file.path for file in files],
        [file.size for file in files],
        [file.modified_ns for file in files],
    )


async def forget_files(connection: Connection, corpus: str, paths: Sequence[str]) -> None:
    await connection.execute("delete from documents where corpus = $1 and path = any($2)", corpus, paths)


async def clear_content_hashes(connection: Connection, corpus: str, paths: Sequence[str]) -> None:
    """Make the next reading of these files parse them even if their content is unchanged."""
    await connection.execute(
        "update documents set content_hash = null where corpus = $1 and path = any($2)", corpus, paths
    )


async def forget_other_folders(connection: Connection, corpus: str) -> None:
    """Delete the files of previous corpus folders; uploads stay. A folder's corpus name is its absolute path."""
    for table in ("documents", "collections"):
        await connection.execute(
            f"delete from {table} where corpus <> $1 and starts_with(corpus, '/') and starts_with($1, '/')",  # noqa: S608
            corpus,
        )


async def hide_document(connection: Connection, corpus: str, path: str) -> None:
    """Empty a document so that searches miss it from now on; the next scan deletes its row."""
    document_id: int | None = await connection.fetchval(
        "update documents set title = '', author = null, url = null, licence = null, published_on = null, quality = 0,"
        " passage_count = 0, problem = 'removed', paragraphs = null, toc = null, index_terms = null, abbreviations = null,"
        " text_hash = null where corpus = $1 and path = $2 returning document_id",
        corpus,
        path,
    )
    await connection.execute("delete from passages where document_id = $1", document_id)
    await connection.execute("delete from sections where document_id = $1", document_id)
