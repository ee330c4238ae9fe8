"""What a person says of subjects: that two are one, or that a keyword has one to itself. It holds under all later rules."""

from dataclasses import dataclass, replace
from datetime import datetime

from chassis import Connection
from orchestrator.subjects.keying import key_anew, load_names
from orchestrator.subjects.keys import SubjectKey, own_key_of, spelling_of
from orchestrator.subjects.naming import Join, SubjectNames
from orchestrator.subjects.rekeying import rekey_brands


@dataclass(frozen=True, slots=True)
class SubjectDecision:
    """What somebody has said."""

    kind: str
    """join or split."""
    keyword: str
    other: str | None
    decided_by: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class StoredSubject:
    """A subject of a brand that has an article, or that a keyword has in hand."""

    key: SubjectKey
    keywords: tuple[str, ...]
    articles: int
    in_hand: bool


async def join_subjects(connection: Connection, slug: str, keyword: str, other: str, *, by: str) -> bool:
    """Makes the subject of `keyword` one with that of `other`; returns whether they were two.

    A split that keeps them apart is taken back. What is in hand already goes on; every article that stands is kept.
    """
    names = await _hold(connection, slug)
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
    await _follow_up(connection, slug, before, keyword, other)
    return True


async def split_subject(connection: Connection, slug: str, keyword: str, *, by: str) -> bool:
    """Gives `keyword`, spelled so, a subject to itself, or takes a join of it back; returns whether it had none.

    Whoever waits for another keyword under this spelling has a turn of its own within seconds.
    """
    names = await _hold(connection, slug)
    before = _keys_of(names, keyword)
    own = own_key_of(keyword)
    joins: list[Join] = [join for key, join in names.joins.items() if key in {names.plain_key(keyword), own}]
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
    await _follow_up(connection, slug, before, keyword)
    return True


async def decisions_of(
    connection: Connection, slug: str, *, after: datetime | None, limit: int
) -> list[SubjectDecision]:
    """The latest first, behind the one decided at `after`."""
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


async def stored_subjects(
    connection: Connection, slug: str, *, keyword: str | None, after: str, limit: int
) -> list[StoredSubject]:
    """By key, behind the key `after`; with a `keyword`, the one that it names."""
    names = (await load_names(connection, [slug]))[slug]
    rows = await connection.fetch(
        """
        select key, array_agg(distinct keyword) as keywords, count(content_id)::int as articles, bool_or(in_hand) as in_hand
        from (
            select subject_key as key, keyword, content_id, false as in_hand from content
            where brand_slug = $1 and subject_key > $3 and ($2::text is null or subject_key = $2)
            union all
            select s.key, h.keyword, null, h.state in ('queued', 'writing', 'publishing', 'promoting')
            from subjects as s join keywords as h using (cycle_id, position)
            where s.brand_slug = $1 and s.key > $3 and s.key ~ '^[0-9]+[:=]' and ($2::text is null or s.key = $2)
        ) as stored
        group by key order by key limit $4
        """,
        slug,
        None if keyword is None else names.key(keyword),
        after,
        limit,
    )
    return [
        StoredSubject(SubjectKey(row["key"]), tuple(row["keywords"]), row["articles"], row["in_hand"])
        for row in rows
    ]


async def _hold(connection: Connection, slug: str) -> SubjectNames:
    await connection.execute("select from brands where slug = $1 for no key update", slug)
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


async def _follow_up(connection: Connection, slug: str, before: set[SubjectKey], *keywords: str) -> None:
    names = (await load_names(connection, [slug]))[slug]
    await key_anew(connection, slug, names, before | _keys_of(names, *keywords))
