"""The corpus index: documents and passages in the service's own database, and the full-text look-up."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import asyncpg

from chassis import Connection
from research import progress, synonyms
from research.domain import Candidate, Document, Passage
from research.relevance import Query, Term
from research.repeated import MIN_DOCUMENTS, MIN_OWN_SHARE, MIN_SHARE, fingerprints, without

# More candidates than any article needs; ranking in Python stays within a few milliseconds.
CANDIDATES = 600


def corpus_of_brand(slug: str) -> str:
    """What the documents of a brand alone are kept under; no folder is called so."""
    return f"brand:{slug}"


class State(StrEnum):
    """What became of a file: it is searched; it holds nothing to search; or reading it was given up."""

    READ = "read"
    SKIPPED = "skipped"
    SET_ASIDE = "set_aside"


_STATE = """case when set_aside_at is not null then 'set_aside' when problem is not null then 'skipped' else 'read' end"""


_IN_FOLDER = "starts_with(corpus, '/')"


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells a changed file from an unchanged one. `size` in bytes, `modified_ns` since the epoch."""

    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file that was looked at: its document, or the problem that kept it out.

    `set_aside`: reading it was given up. `unchanged`: it holds what it held, and was not read. `content_hash` is SHA-256.
    """

    state: FileState
    document: Document | None
    problem: str | None = None
    set_aside: bool = False
    content_hash: bytes | None = None
    unchanged: bool = False


async def known_files(connection: Connection, corpus: str) -> dict[str, FileState]:
    rows = await connection.fetch("select path, size, modified_ns from documents where corpus = $1", corpus)
    return {row["path"]: FileState(row["path"], row["size"], row["modified_ns"]) for row in rows}


async def forget_files(connection: Connection, corpus: str, paths: Sequence[str]) -> None:
    await connection.execute("delete from documents where corpus = $1 and path = any($2)", corpus, paths)


async def forget_other_folders(connection: Connection, corpus: str) -> None:
    """What the service was pointed at before. Folders are named by their absolute paths, other corpora otherwise."""
    await connection.execute(
        "delete from documents where corpus <> $1 and starts_with(corpus, '/') and starts_with($1, '/')",
        corpus,
    )


async def hollow_out(connection: Connection, corpus: str, path: str) -> None:
    """Takes a document out of what is searched, at once; the next look at the corpus finds it gone, and forgets it."""
    document_id: int | None = await connection.fetchval(
        "update documents set title = '', author = null, url = null, licence = null, published_on = null, quality = 0,"
        " passage_count = 0, problem = 'removed', paragraphs = null where corpus = $1 and path = $2 returning document_id",
        corpus,
        path,
    )
    await connection.execute("delete from passages where document_id = $1", document_id)


async def content_hashes(connection: Connection, corpus: str, paths: Sequence[str]) -> dict[str, bytes]:
    rows = await connection.fetch(
        "select path, content_hash from documents where corpus = $1 and path = any($2) and content_hash is not null",
        corpus,
        paths,
    )
    return {row["path"]: row["content_hash"] for row in rows}


async def touch_files(connection: Connection, corpus: str, files: Sequence[FileState]) -> None:
    """Notes how files look from outside whose content is the one that is known."""
    await connection.execute(
        "update documents set size = file.size, modified_ns = file.modified_ns"
        " from unnest($2::text[], $3::bigint[], $4::bigint[]) as file (path, size, modified_ns)"
        " where corpus = $1 and documents.path = file.path",
        corpus,
        [file.path for file in files],
        [file.size for file in files],
        [file.modified_ns for file in files],
    )


async def save_files(connection: Connection, corpus: str, files: Sequence[IndexedFile]) -> None:
    """Replace what is known of these files. Run it in a transaction."""
    await forget_files(connection, corpus, [file.state.path for file in files])
    documents = [file.document or Document(title="", passages=(), quality=0) for file in files]
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


async def repeated_paragraphs(connection: Connection, corpus: str) -> list[int]:
    """Fingerprints of what repeats over the documents of a folder, or of one that holds it."""
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


async def with_too_much_left_out(
    connection: Connection, corpus: str, repeated: Collection[int]
) -> list[FileState]:
    """Files of which a paragraph was left out that no longer repeats."""
    rows = await connection.fetch(
        "select path, size, modified_ns from documents where corpus = $1 and not coalesce(left_out, '{}') <@ $2::bigint[]",
        corpus,
        list(repeated),
    )
    return [FileState(row["path"], row["size"], row["modified_ns"]) for row in rows]


async def with_too_little_left_out(
    connection: Connection, corpus: str, repeated: Collection[int]
) -> list[int]:
    """Documents that still show a paragraph that repeats, by id."""
    rows = await connection.fetch(
        "select document_id from documents where corpus = $1 and paragraphs && $2::bigint[] and exists ("
        " select from unnest(paragraphs) as fingerprint"
        " where fingerprint = any($2) and fingerprint <> all (coalesce(left_out, '{}'))) order by 1",
        corpus,
        list(repeated),
    )
    return [row["document_id"] for row in rows]


async def forget_content(connection: Connection, corpus: str, paths: Sequence[str]) -> None:
    """Has files read again whatever they hold."""
    await connection.execute(
        "update documents set content_hash = null where corpus = $1 and path = any($2)", corpus, paths
    )


async def leave_out(connection: Connection, document_id: int, repeated: Collection[int]) -> None:
    """Takes what repeats out of a document's passages. Run it in a transaction."""
    rows = await connection.fetch(
        "select position, content from passages where document_id = $1 for update", document_id
    )
    shorter = {row["position"]: without(row["content"], repeated) for row in rows}
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


async def describe_to_planner(connection: Connection) -> None:
    """Gathers statistics. A planner that thinks the tables are still empty asks the index of words once per document."""
    await connection.execute("select describe_index_to_planner()")


async def parse_query(connection: Connection, corpora: Sequence[str], keyword: str) -> Query:
    """The keyword as the index sees it: stemmed words without stop words, each with its frequency in those corpora."""
    stems = await _stems(connection)
    rows = await connection.fetch(
        """
        select term.lexeme, term.positions[1] as position,
               (select count(*) from passages join documents using (document_id)
                where corpus = any ($1) and search @@ as_query(term.lexeme)) as frequency,
               (select coalesce(sum(passage_count), 0) from documents where corpus = any ($1)) as corpus_passages
        from unnest(searchable($2)) as term
        order by position
        """,
        corpora,
        keyword,
    )
    equal, near = synonyms.alternatives([row["lexeme"] for row in rows], stems)
    none: frozenset[str] = frozenset()
    terms = tuple(
        Term(
            row["lexeme"],
            row["position"],
            row["frequency"],
            equal.get(row["lexeme"], none),
            near.get(row["lexeme"], none),
        )
        for row in rows
    )
    return Query(keyword=keyword, terms=terms, corpus_passages=rows[0]["corpus_passages"] if rows else 0)


async def _stems(connection: Connection) -> dict[str, str]:
    """Of all words that have others beside them."""
    rows = await connection.fetch(
        "select word, lexeme from unnest($1::text[]) as word, unnest(searchable(word)) as stem (lexeme, positions, weights)",
        synonyms.words(),
    )
    return {row["word"]: row["lexeme"] for row in rows}


async def candidates(connection: Connection, corpora: Sequence[str], query: Query) -> list[Candidate]:
    """Passages of those corpora that use a word of the keyword, the most promising first, with the places of those words."""
    rows = await connection.fetch(
        """
        with wanted as (
            select (select string_agg(as_query(lexeme)::text, ' | ')::tsquery from unnest($2::text[]) as lexeme)
                       as any_word,
                   (select string_agg(as_query(lexeme)::text, ' & ')::tsquery from unnest($4::text[]) as lexeme)
                       as all_words
        ), best as (
            select documents.*, passages.position, passages.heading, passages.content, passages.flags,
                   passages.search, passages.heading_search
            from wanted, passages join documents using (document_id)
            where corpus = any ($1) and (search @@ any_word or heading_search @@ all_words)
            order by title_search @@ all_words or heading_search @@ all_words desc,
                     search @@ all_words desc, ts_rank_cd(search, all_words) * quality desc,
                     ts_rank(search, any_word) desc, document_id, position
            limit $3
        )
        select document_id, corpus, path, title, url, licence, published_on, author, own, quality, passage_count, position, heading, content,
               flags,
               (select jsonb_object_agg(lexeme, positions) from unnest(search) where lexeme = any ($2)) as body_hits,
               (select jsonb_object_agg(lexeme, positions) from unnest(heading_search) where lexeme = any ($2))
                   as heading_hits,
               (select jsonb_object_agg(lexeme, positions) from unnest(title_search) where lexeme = any ($2))
                   as title_hits
        from best
        """,
        corpora,
        sorted(query.wanted),
        CANDIDATES,
        sorted(query.lexemes),
    )
    return [_candidate(row) for row in rows]


def _candidate(row: asyncpg.Record) -> Candidate:
    return Candidate(
        document_id=row["document_id"],
        document_title=row["title"],
        path=row["path"],
        url=row["url"],
        licence=row["licence"],
        quality=row["quality"],
        passages_in_document=row["passage_count"],
        position=row["position"],
        passage=Passage(row["heading"], row["content"], tuple(row["flags"])),
        published_on=row["published_on"],
        author=row["author"],
        own=row["own"],
        corpus=row["corpus"],
        body_hits=_hits(row["body_hits"]),
        heading_hits=_hits(row["heading_hits"]),
        title_hits=_hits(row["title_hits"]),
    )


def _hits(value: str | None) -> Mapping[str, Sequence[int]]:
    return json.loads(value) if value else {}


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
