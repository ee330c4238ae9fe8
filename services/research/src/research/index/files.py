"""Tables of indexed files: the state in which each was read, its document and its passages."""

from collections.abc import Sequence
from dataclasses import dataclass

from chassis import Connection
from reading.document import ExtractedDocument
from research.index.paragraphs import fingerprints


def corpus_of_brand(slug: str) -> str:
    """Return the corpus name of a brand's uploads; it cannot collide with a folder's path."""
    return f"brand:{slug}"


@dataclass(frozen=True, slots=True)
class FileStat:
    """Path, size in bytes and modification time (ns since the epoch) of a file; a change means to read it again."""

    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """The result of reading a file: its document, or the problem.

    `set_aside`: research stopped reading it. `unchanged`: it was not read, as its content is the known one.
    `content_hash` is SHA-256.
    """

    state: FileStat
    document: ExtractedDocument | None
    problem: str | None = None
    set_aside: bool = False
    content_hash: bytes | None = None
    unchanged: bool = False


async def known_files(connection: Connection, corpus: str) -> dict[str, FileStat]:
    rows = await connection.fetch("select path, size, modified_ns from documents where corpus = $1", corpus)
    return {row["path"]: FileStat(row["path"], row["size"], row["modified_ns"]) for row in rows}


async def content_hashes(connection: Connection, corpus: str, paths: Sequence[str]) -> dict[str, bytes]:
    rows = await connection.fetch(
        "select path, content_hash from documents where corpus = $1 and path = any($2) and content_hash is not null",
        corpus,
        paths,
    )
    return {row["path"]: row["content_hash"] for row in rows}


async def save_files(connection: Connection, corpus: str, files: Sequence[IndexedFile]) -> None:
    """Replace the rows of these files and of their passages. Run it in a transaction."""
    await forget_files(connection, corpus, [file.state.path for file in files])
    documents = [file.document or ExtractedDocument(title="", passages=(), quality=0) for file in files]
    rows = await connection.fetch(
        "insert into documents"
        " (corpus, path, size, modified_ns, title, url, licence, published_on, quality, passage_count, problem,"
        " set_aside_at, content_hash, paragraphs, author, own) select $1, path, size, modified_ns, title, url, licence, published_on,"
        " quality, passages, problem, case when set_aside then now() end, content_hash, paragraphs::bigint[], author, own"
        " from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::date[], $9::real[],"
        " $10::integer[], $11::text[], $12::boolean[], $13::bytea[], $14::text[], $15::text[], $16::boolean[]) as f (path, size,"
        " modified_ns, title, url, licence, published_on, quality, passages, problem, set_aside, content_hash, paragraphs,"
        " author, own)"
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
        [
            "{" + ",".join(map(str, fingerprints(each.text for each in document.passages))) + "}"
            for document in documents
        ],
        [document.author for document in documents],
        [document.own for document in documents],
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
    await connection.execute(
        "delete from documents where corpus <> $1 and starts_with(corpus, '/') and starts_with($1, '/')",
        corpus,
    )


async def hide_document(connection: Connection, corpus: str, path: str) -> None:
    """Empty a document so that searches miss it from now on; the next scan deletes its row."""
    document_id: int | None = await connection.fetchval(
        "update documents set title = '', author = null, url = null, licence = null, published_on = null, quality = 0,"
        " passage_count = 0, problem = 'removed', paragraphs = null where corpus = $1 and path = $2 returning document_id",
        corpus,
        path,
    )
    await connection.execute("delete from passages where document_id = $1", document_id)
