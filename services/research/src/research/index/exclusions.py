"""Finds paragraphs that repeat over a folder's documents, and removes them from the indexed passages."""

from collections.abc import Collection

from chassis import Connection
from reading.folder import FileStat
from research.index.paragraphs import MIN_DOCUMENTS, MIN_OWN_SHARE, MIN_SHARE, remove_paragraphs


async def find_repeated_paragraphs(connection: Connection, corpus: str) -> list[int]:
    """Return the fingerprints of paragraphs that repeat over the documents of a folder or of a parent folder."""
    rows = await connection.fetch(
        """
        with recursive folders as (
            select document_id, regexp_replace(path, '/?[^/]*$', '') as folder
            from documents where corpus = $1 and cardinality(paragraphs) > 0
            union all
            select document_id, regexp_replace(folder, '/?[^/]*$', '') from folders where folder <> ''
        ), sizes as (
            select folder, count(*) as files from folders group by folder having count(*) >= $2::integer
        ), uses as (
            select document_id, folder, files, fingerprint
            from folders join sizes using (folder) join documents using (document_id), unnest(paragraphs) as fingerprint
        ), often as (
            select distinct fingerprint from uses
            group by folder, files, fingerprint having count(*) >= greatest($2::integer, $3::float8 * files)
        ), with_text_of_their_own as (
            select document_id from documents, unnest(paragraphs) as fingerprint left join often using (fingerprint)
            where corpus = $1 and cardinality(paragraphs) > 0
            group by document_id having count(*) filter (where often.fingerprint is null) >= $4::float8 * count(*)
        )
        select distinct fingerprint from uses join often using (fingerprint) join with_text_of_their_own using (document_id)
        group by folder, files, fingerprint having count(*) >= greatest($2::integer, $3::float8 * files)
        """,
        corpus,
        MIN_DOCUMENTS,
        MIN_SHARE,
        MIN_OWN_SHARE,
    )
    return [row["fingerprint"] for row in rows]


async def find_overtrimmed_files(
    connection: Connection, corpus: str, repeated: Collection[int]
) -> list[FileStat]:
    """Return files that lack a paragraph which no longer repeats."""
    rows = await connection.fetch(
        "select path, size, modified_ns from documents where corpus = $1 and not coalesce(left_out, '{}') <@ $2::bigint[]",
        corpus,
        list(repeated),
    )
    return [FileStat(row["path"], row["size"], row["modified_ns"]) for row in rows]


async def find_documents_to_trim(connection: Connection, corpus: str, repeated: Collection[int]) -> list[int]:
    """Return ids of documents that still have a repeated paragraph."""
    rows = await connection.fetch(
        "select document_id from documents where corpus = $1 and paragraphs && $2::bigint[] and exists ("
        " select from unnest(paragraphs) as fingerprint"
        " where fingerprint = any($2) and fingerprint <> all (coalesce(left_out, '{}'))) order by 1",
        corpus,
        list(repeated),
    )
    return [row["document_id"] for row in rows]


async def exclude_paragraphs(connection: Connection, document_id: int, repeated: Collection[int]) -> None:
    """Remove the repeated paragraphs from a document's passages. Run it in a transaction."""
    rows = await connection.fetch(
        "select position, content from passages where document_id = $1 for update", document_id
    )
    shorter = {row["position"]: remove_paragraphs(row["content"], repeated) for row in rows}
    changed = [row["position"] for row in rows if shorter[row["position"]] != row["content"]]
    await connection.execute(
        "update passages set content = new.content from unnest($2::integer[], $3::text[]) as new (position, content)"
        " where document_id = $1 and passages.position = new.position and new.content <> ''",
        document_id,
        changed,
        [shorter[position] for position in changed],
    )
    await connection.execute(
        "delete from passages where document_id = $1 and position = any($2)",
        document_id,
        [position for position in changed if not shorter[position]],
    )
    await connection.execute(
        "update documents set passage_count = $2, left_out = array("
        " select fingerprint from unnest(paragraphs) as fingerprint where fingerprint = any($3::bigint[]))"
        " where document_id = $1",
        document_id,
        sum(map(bool, shorter.values())),
        list(repeated),
    )
