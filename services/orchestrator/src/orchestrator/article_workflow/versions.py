"""SQL over the versions of an article.

The row of `content` holds the current version: of a waiting draft the newest, of an approved article the approved one.
"""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg
from pydantic import TypeAdapter

from chassis import Connection
from envelope.brand.article import ArticleText
from orchestrator.article_workflow.domain import free_slug
from writing.article import Article, ArticleEvidence, ArticleSource, CitedPassage
from writing.body import cited_in
from writing.evidence import quoted_evidence, standing
from writing.marked_article import MarkedBlock, ReadSentence, mark_article
from writing.quality.likeness import Fingerprint
from writing.quality.measures import Measure, problems

MAX_VERSION: Final = 2**31 - 1
WRITER: Final = "writer"
"""The `made_by` of versions that no person made."""


class VersionText(ArticleText):
    """The content of one version. Another article may already have the address in `slug`."""

    sources: tuple[Mapping[str, Any], ...]
    """Each {n, title, section, work, url, path, licence, published_on, author, quoted}; the passages stay in the research service."""
    measures: tuple[Measure, ...]
    """Empty for an article that is older than the measures."""
    evidence: ArticleEvidence | None = None
    """None for a digest, and for an article that is older than it."""

    @property
    def problems(self) -> tuple[str, ...]:
        return problems(self.measures)

    def article(self) -> Article:
        """The text as a writer's article."""
        shared = {
            each.name: getattr(self, each.name)
            for each in fields(Article)
            if each.name in ArticleText.model_fields
        }
        return Article(**shared, cited=cited_in(self.body_markdown))


COLUMNS: Final = ", ".join(VersionText.model_fields)
"""The columns of a text, in `content` and in `content_versions`."""
_EVIDENCE: Final = TypeAdapter(ArticleEvidence)
_READ: Final = TypeAdapter(tuple[ReadSentence, ...])
_AS_JSON: Final = frozenset({"sources", "measures", "evidence"})


def text_of(article: Article, sources: Sequence[ArticleSource], measures: Sequence[Measure]) -> VersionText:
    """The text of a written article with the sources that it cites; fields that its writer does not know take their defaults."""
    written = {name: getattr(article, name) for name in ArticleText.model_fields if hasattr(article, name)}
    return VersionText(
        **written,
        sources=_as_json(article, sources),
        measures=tuple(measures),
        evidence=article.evidence,
    )


def stored_text(row: asyncpg.Record) -> dict[str, Any]:
    """The values of `COLUMNS` that a row has, for the fields of a `VersionText`."""
    text = {name: value for name, value in row.items() if name in VersionText.model_fields}
    return text | {name: json.loads(text[name]) for name in _AS_JSON & text.keys() if text[name]}


def _as_json(article: Article, sources: Sequence[ArticleSource]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "n": each.n,
            "title": each.title,
            "section": article.section,
            "work": each.work,
            "url": each.url,
            "path": each.path,
            "licence": each.licence,
            "published_on": each.published_on and each.published_on.isoformat(),
            "author": each.author,
            "quoted": article.draft is None,
        }
        for each in sources
    )


@dataclass(frozen=True, slots=True)
class VersionNote:
    """Who made a version, when and why; the writer's first one is number 1."""

    version: int
    title: str
    word_count: int
    made_by: str
    why: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Version(VersionNote):
    text: VersionText


async def versions_of(
    connection: Connection, content_id: UUID, *, after: int = 0, limit: int
) -> list[VersionNote]:
    """Returns up to `limit` versions with numbers above `after`, ascending."""
    rows = await connection.fetch(
        """
        select version, title, word_count, made_by, why, made_at from content_versions
        where content_id = $1 and version > $2 order by version limit $3
        """,
        content_id,
        after,
        limit,
    )
    return [VersionNote(**row) for row in rows]


async def find_version(
    connection: Connection, content_id: UUID, version: int, brands: Collection[str] | None = None
) -> Version | None:
    """Returns one version; with `brands`, only if the article belongs to one of them."""
    row = await connection.fetchrow(
        f"""
        select version, {COLUMNS}, made_by, why, made_at
        from content_versions
        where content_id = $1 and version = $2
          and ($3::text[] is null or (select brand_slug from content where content_id = $1) = any ($3))
        """,  # noqa: S608  (names of columns)
        content_id,
        version,
        None if brands is None else list(brands),
    )
    return None if row is None else _version(row)


@dataclass(frozen=True, slots=True)
class VersionEvidence:
    """The passages that support the sentences of a version."""

    version: int
    evidence: ArticleEvidence
    """Without the sentences that people changed since they were written."""


async def find_evidence(
    connection: Connection, content_id: UUID, version: int | None = None
) -> VersionEvidence | None:
    """Returns the evidence of a version, by default of the current one; None if it does not exist."""
    row = await _evidence_row(connection, content_id, version)
    if row is None:
        return None
    return VersionEvidence(row["version"], standing(_written_evidence(row), row["body_markdown"]))


@dataclass(frozen=True, slots=True)
class MarkedVersion:
    """A version, sentence by sentence, with what each rests on."""

    version: int
    research_id: UUID
    """The research that it was written from."""
    blocks: tuple[MarkedBlock, ...]
    passages: Mapping[str, CitedPassage]


@dataclass(frozen=True, slots=True)
class ComparableVersion:
    """A version with what texts are compared with: its own, or one that a person is typing."""

    version: int
    research_id: UUID
    body_markdown: str
    evidence: ArticleEvidence
    """As its writer stored it, also of sentences that people changed since."""
    language: str
    read: tuple[ReadSentence, ...] = ()
    """What a judge found of sentences that people changed."""

    def mark(self, markdown: str | None = None) -> MarkedVersion:
        """Returns its text, or this one in its place, with the verdict of each sentence. Takes up to a second."""
        text = self.body_markdown if markdown is None else markdown
        blocks = mark_article(text, self.evidence, language=self.language, read=self.read)
        return MarkedVersion(self.version, self.research_id, blocks, self.evidence.passages)


async def find_comparable(
    connection: Connection, content_id: UUID, version: int | None = None
) -> ComparableVersion | None:
    """Returns a version to compare with, by default the current one; None if it does not exist."""
    row = await _evidence_row(connection, content_id, version)
    if row is None:
        return None
    return ComparableVersion(
        row["version"],
        row["research_id"],
        row["body_markdown"],
        _written_evidence(row),
        row["language"],
        _READ.validate_json(row["read"]) if row["read"] else (),
    )


async def find_marked(
    connection: Connection, content_id: UUID, version: int | None = None
) -> MarkedVersion | None:
    """Returns a version with the verdict of each sentence, by default the current one; None if it does not exist."""
    found = await find_comparable(connection, content_id, version)
    return None if found is None else await asyncio.to_thread(found.mark)


async def find_evidence_of(
    connection: Connection, content_ids: Sequence[UUID]
) -> dict[UUID, VersionEvidence]:
    """Returns the evidence of the current versions of several articles."""
    rows = await _evidence_rows(connection, content_ids, None)

    def read() -> dict[UUID, VersionEvidence]:
        return {
            row["content_id"]: VersionEvidence(
                row["version"], standing(_written_evidence(row), row["body_markdown"])
            )
            for row in rows
        }

    return await asyncio.to_thread(read)


async def _evidence_row(
    connection: Connection, content_id: UUID, version: int | None
) -> asyncpg.Record | None:
    return next(iter(await _evidence_rows(connection, [content_id], version)), None)


async def _evidence_rows(
    connection: Connection, content_ids: Sequence[UUID], version: int | None
) -> Sequence[asyncpg.Record]:
    rows: Sequence[asyncpg.Record] = await connection.fetch(
        """
        select c.content_id, v.version, v.body_markdown, w.body_markdown as written, v.evidence, c.research_id, b.language,
               w.measures @> '[{"name": "dropped"}]' as is_draft,
               (select json_agg(s order by r.version)::text from edit_readings as r, jsonb_array_elements(r.sentences) as s
                where r.content_id = c.content_id) as read
        from content as c
        join brands as b on b.slug = c.brand_slug
        join content_versions as v on v.content_id = c.content_id and v.version = coalesce($3, c.version)
        cross join lateral (
            select * from content_versions as w
            where w.content_id = c.content_id and w.version <= v.version and w.made_by = $2
            order by w.version desc limit 1
        ) as w
        where c.content_id = any ($1::uuid[])
        """,
        list(content_ids),
        WRITER,
        version,
    )
    return rows


def _written_evidence(row: asyncpg.Record) -> ArticleEvidence:
    """Returns the evidence that the writer stored, even for sentences that people changed since."""
    if row["evidence"]:
        return _EVIDENCE.validate_json(row["evidence"])
    return ArticleEvidence((), (), {}) if row["is_draft"] else quoted_evidence(row["written"])


async def newest_version(connection: Connection, content_id: UUID) -> Version | None:
    """Returns the newest version; None if the article does not exist."""
    number = await connection.fetchval(
        "select max(version) from content_versions where content_id = $1", content_id
    )
    return None if number is None else await find_version(connection, content_id, number)


async def insert_version(
    connection: Connection, content_id: UUID, text: VersionText, *, made_by: str, why: str
) -> int:
    """Stores the next version of an article and returns its number; the caller has locked the article's row."""
    number: int = await connection.fetchval(
        f"""
        insert into content_versions (content_id, version, {COLUMNS}, made_by, why)
        select $1, (select max(version) + 1 from content_versions where content_id = $1), {COLUMNS}, $3, $4
        from json_populate_record(null::content_versions, $2::text::json)
        returning version
        """,  # noqa: S608  (names of columns)
        content_id,
        text.model_dump_json(),
        made_by,
        why,
    )
    return number


async def set_current_version(
    connection: Connection, content_id: UUID, version: int, text: VersionText, fingerprint: Fingerprint
) -> None:
    """Makes a version the current one, at the address in `text`; its other words may differ in the label alone.

    The caller has locked the article's row and called `lock_storing`.
    """
    await connection.execute(
        f"""
        update content
        set ({COLUMNS}) = (select {COLUMNS} from json_populate_record(null::content, $2::text::json)),
            version = $3, fingerprint = $4, updated_at = clock_timestamp()
        where content_id = $1
        """,  # noqa: S608  (names of columns)
        content_id,
        text.model_dump_json(),
        version,
        sorted(fingerprint),
    )


async def store_rewrite(
    connection: Connection,
    content_id: UUID,
    text: VersionText,
    *,
    revision: int,
    why: str,
    held_for: Sequence[str],
    fingerprint: Fingerprint,
) -> bool:
    """Stores the rewrite of a returned draft as version `revision`, which then waits for review. Call `lock_storing` before.

    Returns False and stores nothing if a person decided about the draft meanwhile.
    """
    if not await _is_returned(connection, content_id, revision):
        return False
    await insert_version(connection, content_id, text, made_by=WRITER, why=why)
    waiting = text.model_copy(update={"slug": f"{text.slug}-{content_id}"})
    await set_current_version(connection, content_id, revision, waiting, fingerprint)
    await put_in_review(connection, content_id, held_for)
    return True


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """The new version of a renewed article."""

    version: int
    published_url: str
    waits_for: tuple[str, ...]
    """Why the version needs approval; empty if it is current."""


async def store_renewal(
    connection: Connection,
    content_id: UUID,
    text: VersionText,
    *,
    why: str,
    waits_for: Sequence[str],
    fingerprint: Fingerprint,
) -> RewriteResult | None:
    """Stores a new version of a published article, as its current text or as an offered correction. Call `lock_storing` before.

    The version is only offered if it `waits_for` something, or if a person edited the current or an offered version: a
    person's words are never overwritten unasked. Returns None and stores nothing if the article is not published any more.
    """
    row = await connection.fetchrow(
        """
        select c.slug, c.published_url, c.offered_version, v.made_by, v.slug as asked_for
        from content as c join content_versions as v on v.content_id = c.content_id and v.version = c.version
        where c.content_id = $1 and c.published_url is not null and c.held_for = '{}' and c.taken_down_at is null
        for update of c
        """,
        content_id,
    )
    if row is None:
        return None
    reasons = list(waits_for)
    if row["made_by"] != WRITER:
        reasons.append(f"{row['made_by']} edited what stands")
    if row["offered_version"] is not None:
        reasons.append(f"version {row['offered_version']} waits, too")
    reason = f"{why}; it waits: {'; '.join(reasons)}" if reasons else why
    number = await insert_version(
        connection,
        content_id,
        text.model_copy(update={"slug": row["asked_for"]}),
        made_by=WRITER,
        why=reason,
    )
    if reasons:
        await connection.execute(
            "update content set offered_version = $2 where content_id = $1", content_id, number
        )
    else:
        await set_current_version(
            connection, content_id, number, text.model_copy(update={"slug": row["slug"]}), fingerprint
        )
    return RewriteResult(number, row["published_url"], tuple(reasons))


async def return_to_review(connection: Connection, content_id: UUID, revision: int, why: str) -> bool:
    """Puts a returned draft back into review unchanged, with the reason; False if a person decided about it meanwhile."""
    if not await _is_returned(connection, content_id, revision):
        return False
    held_for = await connection.fetchval("select held_for from content where content_id = $1", content_id)
    await put_in_review(connection, content_id, [why, *(each for each in held_for if each != why)])
    return True


async def put_in_review(connection: Connection, content_id: UUID, held_for: Sequence[str]) -> None:
    await connection.execute(
        """
        update content set held_for = $2, decision = null, waits_since = clock_timestamp(), updated_at = clock_timestamp()
        where content_id = $1
        """,
        content_id,
        list(held_for),
    )


async def _is_returned(connection: Connection, content_id: UUID, revision: int) -> bool:
    """Whether the article waits for this version from its writer; locks the article."""
    found = await connection.fetchval(
        "select decision = 'returned' and held_for <> '{}' from content where content_id = $1 for update",
        content_id,
    )
    newest = await connection.fetchval(
        "select max(version) from content_versions where content_id = $1", content_id
    )
    return bool(found) and newest == revision - 1


async def find_free_address(connection: Connection, brand_slug: str, content_id: UUID, wanted: str) -> str:
    """Returns an address that no other article of the brand has or had: `wanted`, or `wanted` with a number."""
    taken = await connection.fetch(
        """
        select slug from (
            select brand_slug, content_id, slug from content
            union all
            select brand_slug, content_id, slug from former_addresses
        ) as known
        where brand_slug = $1 and content_id <> $2 and (slug = $3 or starts_with(slug, $3 || '-'))
        """,
        brand_slug,
        content_id,
        wanted,
    )
    return free_slug(wanted, {row["slug"] for row in taken})


async def record_former_address(
    connection: Connection, brand_slug: str, content_id: UUID, before: str, address: str
) -> None:
    """Records an article's former address after a move; the article may move back later."""
    await connection.execute(
        "delete from former_addresses where brand_slug = $1 and slug = $2 and content_id = $3",
        brand_slug,
        address,
        content_id,
    )
    await connection.execute(
        "insert into former_addresses (brand_slug, slug, content_id) values ($1, $2, $3) on conflict do nothing",
        brand_slug,
        before,
        content_id,
    )


def _version(row: asyncpg.Record) -> Version:
    text = VersionText(**stored_text(row))
    return Version(
        row["version"], text.title, text.word_count, row["made_by"], row["why"], row["made_at"], text
    )
