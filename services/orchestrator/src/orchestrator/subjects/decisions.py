"""People's decisions about subjects: a join makes two one, a split separates one keyword. They outlast all rules."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from chassis import Connection
from orchestrator.moving import check_not_moving
from orchestrator.subjects.keys import SubjectKey, own_key_of, spelling_of
from orchestrator.subjects.naming import SubjectJoin, SubjectNames
from orchestrator.subjects.rekeying import rekey_brands
from orchestrator.subjects.stored_keys import load_names, rekey_affected

_OF_NOW: Final = "^[0-9]+[:=]"
"""Keys of subjects by the present rules; what an earlier version stored has others."""
_NEXT_KEY: Final = f"""
    least((select min(subject_key) from content where brand_slug = $1 and subject_key > {{0}}),
          (select s.key from subjects as s join keywords using (cycle_id, position)
           where s.brand_slug = $1 and s.key > {{0}} and s.key ~ '{_OF_NOW}' order by s.key limit 1))
"""  # noqa: S608  (constants of this module)
"""Subject after subject from the indexes: a brand has as many as articles."""


@dataclass(frozen=True, slots=True)
class SubjectDecision:
    """A decision about subjects that is in force."""

    kind: str
    """`join` or `split`."""
    keyword: str
    other: str | None
    decided_by: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class StoredSubject:
    """A subject of a brand with an article, or with a keyword in work."""

    key: SubjectKey
    keywords: tuple[str, ...]
    articles: int
    in_hand: bool


async def join_subjects(connection: Connection, slug: str, keyword: str, other: str, *, by: str) -> bool:
    """Joins the subject of `keyword` with that of `other`; returns False if they were one already.

    Removes a split between them. Work that has begun continues, and existing articles stay.
    """
    names = await _lock_names(connection, slug)
    own = own_key_of(keyword)
    has_own = own == names.plain_key(keyword) or await _is_stored(connection, slug, own)
    target = names.key(other)
    if names.key(keyword) == target and (not has_own or names.key(keyword, is_distinct=True) == target):
        return False
    before = _keys_of(names, keyword, other)
    without = replace(names, splits=names.splits - {spelling_of(keyword)})
    if without.key(keyword) == without.key(other) and own != target:
        await _remove(connection, slug, "split", [keyword])
    if without.key(keyword) != without.key(other) or await _is_stored(connection, slug, own, distinct=True):
        joined = names.last_name(keyword)
        await connection.execute(
            """
            insert into subject_decisions (brand_slug, kind, spelling, keyword, other, includes_own, decided_by)
            values ($1, 'join', $2, $3, $4, $5, $6)
            on conflict (brand_slug, kind, spelling) do update
                set other = excluded.other, includes_own = excluded.includes_own, decided_by = excluded.decided_by, decided_at = now()
            """,
            slug,
            spelling_of(joined),
            joined,
            other,
            has_own,
            by,
        )
    await _rekey_after_decision(connection, slug, before, keyword, other)
    return True


async def split_subject(connection: Connection, slug: str, keyword: str, *, by: str) -> bool:
    """Gives this spelling of `keyword` its own subject, or removes a join of it; returns False if it had one already.

    A keyword of this spelling that waits for another one gets its own turn within seconds.
    """
    names = await _lock_names(connection, slug)
    before = _keys_of(names, keyword)
    own = own_key_of(keyword)
    joins: list[SubjectJoin] = [
        join for key, join in names.joins.items() if key in {names.plain_key(keyword), own}
    ]
    if joins:
        await _remove(connection, slug, "join", [join.keyword for join in joins])
    elif spelling_of(keyword) in names.splits:
        return False
    else:
        await connection.execute(
            """
            insert into subject_decisions (brand_slug, kind, spelling, keyword, decided_by) values ($1, 'split', $2, $3, $4)
            on conflict do nothing
            """,
            slug,
            spelling_of(keyword),
            keyword,
            by,
        )
    await _rekey_after_decision(connection, slug, before, keyword)
    return True


async def find_decisions(
    connection: Connection, slug: str, *, after: datetime | None, limit: int
) -> list[SubjectDecision]:
    """Returns a page of decisions, the latest first; only those before `after`, if given."""
    rows = await connection.fetch(
        """
        select kind, keyword, other, decided_by, decided_at from subject_decisions
        where brand_slug = $1 and ($2::timestamptz is null or decided_at < $2)
        order by decided_at desc, spelling limit $3
        """,
        slug,
        after,
        limit,
    )
    return [SubjectDecision(**row) for row in rows]


async def find_subjects(
    connection: Connection, slug: str, *, keyword: str | None, after: str, limit: int
) -> list[StoredSubject]:
    """Returns a page of subjects with keys above `after`, ascending; with `keyword`, only that keyword's subject."""
    names = (await load_names(connection, [slug]))[slug]
    rows = await connection.fetch(
        f"""
        with recursive keys as (
            select {_NEXT_KEY.format("$3::text")} as key, 1 as number where $2::text is null
            union all
            select {_NEXT_KEY.format("keys.key")}, number + 1 from keys where number < $4 and key is not null
        ),
        page as (
            select key from keys where key is not null
            union all
            select $2 where $2::text > $3
        )
        select page.key, array_agg(distinct stored.keyword) as keywords, count(stored.content_id)::int as articles,
               bool_or(stored.in_hand) as in_hand
        from page cross join lateral (
            select keyword, content_id, false as in_hand from content where brand_slug = $1 and subject_key = page.key
            union all
            select h.keyword, null, h.state in ('queued', 'writing', 'publishing', 'promoting')
            from subjects as s join keywords as h using (cycle_id, position)
            where s.brand_slug = $1 and s.key = page.key and s.key ~ '{_OF_NOW}'
        ) as stored
        group by page.key order by page.key limit $4
        """,  # noqa: S608  (constants of this module)
        slug,
        None if keyword is None else names.key(keyword),
        after,
        limit,
    )
    return [
        StoredSubject(SubjectKey(row["key"]), tuple(row["keywords"]), row["articles"], row["in_hand"])
        for row in rows
    ]


async def _lock_names(connection: Connection, slug: str) -> SubjectNames:
    await connection.execute("select from brands where slug = $1 for no key update", slug)
    await check_not_moving(connection, slug)
    names = await load_names(connection, [slug])
    await rekey_brands(connection, names)
    return names[slug]


def _keys_of(names: SubjectNames, *keywords: str) -> set[SubjectKey]:
    keys: set[SubjectKey] = set()
    for each in keywords:
        keys |= {names.key(each), names.plain_key(each), names.key(each, is_distinct=True), own_key_of(each)}
    return keys


async def _is_stored(connection: Connection, slug: str, key: SubjectKey, *, distinct: bool = False) -> bool:
    found: bool = await connection.fetchval(
        """
        select exists (select from content where brand_slug = $1 and subject_key = $2 and (is_distinct or not $3))
            or exists (select from subjects as s join keywords as h using (cycle_id, position)
                       where s.brand_slug = $1 and s.key = $2 and (h.is_distinct or not $3))
        """,
        slug,
        key,
        distinct,
    )
    return found


async def _remove(connection: Connection, slug: str, kind: str, keywords: list[str]) -> None:
    await connection.execute(
        "delete from subject_decisions where brand_slug = $1 and kind = $2 and spelling = any ($3::text[])",
        slug,
        kind,
        [spelling_of(each) for each in keywords],
    )


async def _rekey_after_decision(
    connection: Connection, slug: str, before: set[SubjectKey], *keywords: str
) -> None:
    names = (await load_names(connection, [slug]))[slug]
    await rekey_affected(connection, slug, names, before | _keys_of(names, *keywords))
