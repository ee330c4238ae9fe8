"""SQL that makes the stored keys of brands anew when their rules or their language have changed.

`subject_rules` says by which rules a brand's keys are made. A replica with other rules, whether a release before or after, makes them
anew before it decides about the brand's keywords. So what is decided rests on keys of one revision.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chassis import Connection
from orchestrator.subjects.keying import (
    key_what_has_none,
    load_names,
    move_claims,
    set_article_keys,
    set_keyword_keys,
)
from orchestrator.subjects.keys import OWN_PREFIX, PREFIX, REVISION, SubjectKey
from orchestrator.subjects.naming import SubjectNames

BATCH: Final = 1_000
"""Rows that are read at a time."""
ROLL_OUT: Final = timedelta(hours=1)
"""So long after its keys were made anew, replicas of the release before may store keys of a brand by their own rules."""
OVERLAP: Final = timedelta(minutes=10)
"""Rows that are so much older than the new keys may have been committed after them."""
_FIRST: Final = UUID(int=0)


async def find_brands_by_other_rules(
    connection: Connection, slugs: Collection[str] | None = None
) -> list[str]:
    """Those of these brands, or of all, whose keys another revision or another language has made."""
    rows = await connection.fetch(
        """
        select b.slug from brands as b left join subject_rules as r on r.brand_slug = b.slug
        where ($1::text[] is null or b.slug = any ($1)) and (r.revision, r.language) is distinct from ($2::smallint, b.language)
        order by b.slug
        """,
        None if slugs is None else list(slugs),
        REVISION,
    )
    return [row["slug"] for row in rows]


async def rekey_brands(connection: Connection, names: Mapping[str, SubjectNames]) -> None:
    """Has every stored key of these brands be one of these rules. Whoever calls holds the locks of the brands.

    With nothing to do it reads one row of each brand, and the indexes of what has no key.
    """
    for slug, since in (await _find_rows_to_check(connection, names)).items():
        await _rekey_all_articles(connection, slug, names[slug], since)
        moved: set[SubjectKey] = set()
        after: str | None = ""
        while after is not None:
            found, after = await find_moved_claims(connection, slug, names[slug], after=after, since=since)
            moved |= found
        await rekey_waiting_keywords(connection, slug, names[slug])
        await move_claims(connection, slug, names[slug], sorted(moved))
        if since is None:
            await note_rules(connection, slug, names[slug].language, None)
    await key_what_has_none(connection, names)


async def rekey_articles_of(connection: Connection, slugs: Collection[str]) -> None:
    """As `rekey_brands`, of articles alone. Whoever calls keeps others from storing articles, and holds no lock of a brand."""
    if due := await _find_rows_to_check(connection, slugs):
        names = await load_names(connection, due)
        for slug, since in due.items():
            await _rekey_all_articles(connection, slug, names[slug], since)


async def _find_rows_to_check(connection: Connection, slugs: Collection[str]) -> dict[str, datetime | None]:
    """By brand, since when its rows may have keys by other rules; None: all of them may."""
    rows = await connection.fetch(
        """
        select slug, case when is_current then applied_at - $4::interval end as since from (
            select b.slug, r.applied_at, (r.revision, r.language) is not distinct from ($2::smallint, b.language) as is_current
            from brands as b left join subject_rules as r on r.brand_slug = b.slug where b.slug = any ($1::text[])) as found
        where not is_current or applied_at > now() - $3::interval
        order by slug
        """,
        list(slugs),
        REVISION,
        ROLL_OUT,
        OVERLAP,
    )
    return {row["slug"]: row["since"] for row in rows}


async def _rekey_all_articles(
    connection: Connection, slug: str, names: SubjectNames, since: datetime | None
) -> None:
    after: UUID | None = _FIRST
    while after is not None:
        after = await rekey_articles(connection, slug, names, after=after, since=since)


async def rekey_articles(
    connection: Connection,
    slug: str,
    names: SubjectNames,
    *,
    after: UUID = _FIRST,
    since: datetime | None = None,
    limit: int = BATCH,
) -> UUID | None:
    """Of a brand's next articles behind this one; returns the last one that was read, or None at the end."""
    rows = await connection.fetch(
        """
        select content_id, keyword, subject_key, is_distinct from content
        where brand_slug = $1 and content_id > $2 and subject_key is not null and ($3::timestamptz is null or created_at > $3)
        order by content_id limit $4
        """,
        slug,
        after,
        since,
        limit,
    )
    keys = {
        row["content_id"]: (row["subject_key"], names.key(row["keyword"], is_distinct=row["is_distinct"]))
        for row in rows
    }
    await set_article_keys(
        connection, {content_id: (former, key) for content_id, (former, key) in keys.items() if former != key}
    )
    return rows[-1]["content_id"] if len(rows) == limit else None


async def rekey_waiting_keywords(connection: Connection, slug: str, names: SubjectNames) -> None:
    """Of the brand's keywords that wait for another one of their subject."""
    rows = await connection.fetch(
        """
        select k.cycle_id, k.position, k.keyword, k.is_distinct, k.subject_key from cycles as c join keywords as k using (cycle_id)
        where c.brand_slug = $1 and c.ended_at is null and c.following > 0
          and k.follows and k.state = 'queued' and k.subject_key is not null
        """,
        slug,
    )
    keys = {
        (row["cycle_id"], row["position"]): (
            row["subject_key"],
            names.key(row["keyword"], is_distinct=row["is_distinct"]),
        )
        for row in rows
    }
    await set_keyword_keys(connection, {place: key for place, (former, key) in keys.items() if former != key})


async def find_moved_claims(
    connection: Connection,
    slug: str,
    names: SubjectNames,
    *,
    after: str = "",
    since: datetime | None = None,
    limit: int = BATCH,
) -> tuple[set[SubjectKey], str | None]:
    """Of the brand's next claims behind this key, those whose keyword has another one; and the last that was read, None at the end."""
    rows = await connection.fetch(
        """
        select s.key, h.keyword, h.is_distinct from subjects as s join keywords as h using (cycle_id, position)
        where s.brand_slug = $1 and s.key > $2 and (starts_with(s.key, $3) or starts_with(s.key, $4))
          and ($5::timestamptz is null or s.claimed_at > $5)
        order by s.key limit $6
        """,
        slug,
        after,
        PREFIX,
        OWN_PREFIX,
        since,
        limit,
    )
    moved = {
        SubjectKey(row["key"])
        for row in rows
        if row["key"] != names.key(row["keyword"], is_distinct=row["is_distinct"])
    }
    return moved, rows[-1]["key"] if len(rows) == limit else None


async def note_rules(connection: Connection, slug: str, language: str, applied_at: datetime | None) -> None:
    """The brand's keys are made by these rules, since the time given or that of the transaction."""
    await connection.execute(
        """
        insert into subject_rules (brand_slug, revision, language, applied_at)
        values ($1, $2, $3, coalesce($4, now()))
        on conflict (brand_slug) do update
            set revision = excluded.revision, language = excluded.language, applied_at = excluded.applied_at
        """,
        slug,
        REVISION,
        language,
        applied_at,
    )
