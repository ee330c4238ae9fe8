"""SQL that brings stored subjects under the keys that hold now: what the version before has stored, and what a person joins or splits.

Whoever calls holds the locks of the brands.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from chassis import Connection
from orchestrator.subjects.domain import Place
from orchestrator.subjects.keys import SubjectKey, prepare
from orchestrator.subjects.naming import Join, Split, SubjectNames

IN_THE_MAKING: Final = "('queued', 'writing', 'publishing', 'promoting')"
"""States of keywords that have their subject in hand and have not ended."""


class Claim(NamedTuple):
    """A subject of a brand that a keyword has in hand."""

    brand_slug: str
    key: SubjectKey
    place: Place
    tries: int


async def load_names(connection: Connection, slugs: Collection[str]) -> dict[str, SubjectNames]:
    """By brand, what its keywords name; of unknown brands nothing."""
    languages = await connection.fetch(
        "select slug, language from brands where slug = any ($1::text[])", list(slugs)
    )
    await prepare({row["language"] for row in languages})
    decisions = await connection.fetch(
        """
        select brand_slug, kind, keyword, other, includes_own from subject_decisions
        where brand_slug = any ($1::text[]) order by decided_at, spelling
        """,
        list(slugs),
    )
    return {
        row["slug"]: SubjectNames.of(
            row["language"],
            [
                Split(each["keyword"])
                for each in decisions
                if each["brand_slug"] == row["slug"] and each["kind"] == "split"
            ],
            [
                Join(each["keyword"], each["other"], each["includes_own"])
                for each in decisions
                if each["brand_slug"] == row["slug"] and each["kind"] == "join"
            ],
        )
        for row in languages
    }


async def key_what_has_none(connection: Connection, names: Mapping[str, SubjectNames]) -> None:
    """Gives a key to the articles, the waiting keywords and the claims of these brands that the version before has stored."""
    await key_articles(connection, names)
    await _key_followers(connection, names)
    await _carry_claims(connection, names)


async def key_articles(
    connection: Connection, names: Mapping[str, SubjectNames], *, limit: int | None = None
) -> int:
    """Of at most so many articles; returns of how many."""
    rows = await connection.fetch(
        """
        select c.content_id, c.brand_slug, c.keyword,
               coalesce((select is_distinct from keywords as k where k.content_id = c.content_id limit 1), false) as is_distinct
        from content as c where c.brand_slug = any ($1::text[]) and c.subject_key is null limit $2
        """,
        list(names),
        limit,
    )
    keys = {
        row["content_id"]: names[row["brand_slug"]].key(row["keyword"], is_distinct=row["is_distinct"])
        for row in rows
    }
    await set_article_keys(connection, {content_id: (None, key) for content_id, key in keys.items()})
    if distinct := [row["content_id"] for row in rows if row["is_distinct"]]:
        await connection.execute(
            "update content set is_distinct = true where content_id = any ($1::uuid[])", distinct
        )
    return len(rows)


async def set_article_keys(
    connection: Connection, keys: Mapping[UUID, tuple[str | None, SubjectKey]]
) -> None:
    """By article, the key that was read and the new one. Articles that have another key by now keep it.

    Who stores articles does so without the lock of their brand: the rows are locked in one order.
    """
    if keys:
        await connection.execute(
            """
            with locked as (
                select content_id from content where content_id = any ($1::uuid[]) order by content_id for no key update)
            update content as c set subject_key = n.key
            from locked join unnest($1::uuid[], $2::text[], $3::text[]) as n (content_id, former, key) using (content_id)
            where c.content_id = n.content_id and c.subject_key is not distinct from n.former
            """,
            list(keys),
            [former for former, _ in keys.values()],
            [key for _, key in keys.values()],
        )


async def _key_followers(connection: Connection, names: Mapping[str, SubjectNames]) -> None:
    rows = await connection.fetch(
        """
        select c.brand_slug, k.cycle_id, k.position, k.keyword, k.is_distinct
        from cycles as c join keywords as k using (cycle_id)
        where c.brand_slug = any ($1::text[]) and c.ended_at is null and c.following > 0
          and k.follows and k.state = 'queued' and k.subject_key is null
        """,
        list(names),
    )
    await set_keyword_keys(
        connection,
        {
            (row["cycle_id"], row["position"]): names[row["brand_slug"]].key(
                row["keyword"], is_distinct=row["is_distinct"]
            )
            for row in rows
        },
    )


async def set_keyword_keys(connection: Connection, keys: Mapping[Place, SubjectKey]) -> None:
    """Of keywords that wait for another one of their subject."""
    if keys:
        await connection.execute(
            """
            update keywords as k set subject_key = n.key from unnest($1::uuid[], $2::int[], $3::text[]) as n (cycle_id, position, key)
            where k.cycle_id = n.cycle_id and k.position = n.position
            """,
            [cycle_id for cycle_id, _ in keys],
            [position for _, position in keys],
            list(keys.values()),
        )


async def _carry_claims(connection: Connection, names: Mapping[str, SubjectNames]) -> None:
    """Has the keywords in hand that replicas of the version before have taken."""
    rows = await connection.fetch(
        f"""
        select s.brand_slug, s.key, s.cycle_id, s.position, s.tries, s.claimed_at, h.keyword, h.is_distinct
        from subjects as s join keywords as h using (cycle_id, position)
        where s.brand_slug = any ($1::text[]) and s.carried_at is distinct from s.claimed_at
        order by h.state in {IN_THE_MAKING}, s.claimed_at
        """,  # noqa: S608  (a constant)
        list(names),
    )
    if not rows:
        return
    carried = (
        Claim(
            row["brand_slug"],
            names[row["brand_slug"]].key(row["keyword"], is_distinct=row["is_distinct"]),
            (row["cycle_id"], row["position"]),
            row["tries"],
        )
        for row in rows
    )
    await _take_over(connection, carried)
    await connection.execute(
        """
        update subjects as s set carried_at = n.claimed_at
        from unnest($1::text[], $2::text[], $3::timestamptz[]) as n (slug, key, claimed_at)
        where (s.brand_slug, s.key, s.claimed_at) = (n.slug, n.key, n.claimed_at)
        """,
        [row["brand_slug"] for row in rows],
        [row["key"] for row in rows],
        [row["claimed_at"] for row in rows],
    )


async def _take_over(connection: Connection, claims: Iterable[Claim]) -> None:
    """Notes these claims, the last of each key, unless who has it in hand has not ended."""
    last = list({(each.brand_slug, each.key): each for each in claims}.values())
    await connection.execute(
        f"""
        insert into subjects as s (brand_slug, key, cycle_id, position, tries, claimed_at, carried_at)
        select slug, key, cycle_id, position, tries, now(), now()
        from unnest($1::text[], $2::text[], $3::uuid[], $4::int[], $5::int[]) as n (slug, key, cycle_id, position, tries)
        order by slug, key
        on conflict (brand_slug, key) do update
            set cycle_id = excluded.cycle_id, position = excluded.position, tries = greatest(s.tries, excluded.tries),
                claimed_at = now(), carried_at = now()
            where not exists (
                select from keywords as h
                where (h.cycle_id, h.position) = (s.cycle_id, s.position) and h.state in {IN_THE_MAKING})
        """,  # noqa: S608  (a constant)
        [each.brand_slug for each in last],
        [each.key for each in last],
        [each.place[0] for each in last],
        [each.place[1] for each in last],
        [each.tries for each in last],
    )


async def claim_former(
    connection: Connection, claims: Sequence[tuple[str, SubjectKey, Place]], now: datetime
) -> None:
    """Has replicas of the version before see who has these subjects in hand, by their former keys.

    Where a keyword of another subject has the former key, and has not ended, that one keeps it.
    """
    last = {(slug, key): place for slug, key, place in claims}
    await connection.execute(
        f"""
        insert into subjects as s (brand_slug, key, cycle_id, position, claimed_at, carried_at)
        select slug, key, cycle_id, position, $5, $5
        from unnest($1::text[], $2::text[], $3::uuid[], $4::int[]) as n (slug, key, cycle_id, position)
        order by slug, key
        on conflict (brand_slug, key) do update
            set cycle_id = excluded.cycle_id, position = excluded.position,
                claimed_at = excluded.claimed_at, carried_at = excluded.carried_at
            where not exists (
                select from keywords as h
                where (h.cycle_id, h.position) = (s.cycle_id, s.position) and h.state in {IN_THE_MAKING})
        """,  # noqa: S608  (a constant)
        [slug for slug, _ in last],
        [key for _, key in last],
        [place[0] for place in last.values()],
        [place[1] for place in last.values()],
        now,
    )


async def key_anew(
    connection: Connection, slug: str, names: SubjectNames, affected: Collection[SubjectKey]
) -> None:
    """After a person has said something else of them: what stands, waits or is in hand under these keys."""
    keys = list(affected)
    articles = await connection.fetch(
        """
        select content_id, keyword, is_distinct, subject_key from content where brand_slug = $1 and subject_key = any ($2::text[])
        """,
        slug,
        keys,
    )
    await set_article_keys(
        connection,
        {
            row["content_id"]: (
                row["subject_key"],
                names.key(row["keyword"], is_distinct=row["is_distinct"]),
            )
            for row in articles
        },
    )
    followers = await connection.fetch(
        """
        select k.cycle_id, k.position, k.keyword, k.is_distinct from cycles as c join keywords as k using (cycle_id)
        where c.brand_slug = $1 and c.ended_at is null and k.follows and k.subject_key = any ($2::text[])
        """,
        slug,
        keys,
    )
    await set_keyword_keys(
        connection,
        {
            (row["cycle_id"], row["position"]): names.key(row["keyword"], is_distinct=row["is_distinct"])
            for row in followers
        },
    )
    await move_claims(connection, slug, names, keys)


async def move_claims(
    connection: Connection, slug: str, names: SubjectNames, keys: Sequence[SubjectKey]
) -> None:
    """Has what keywords have in hand under these keys in hand under the keys that they have now."""
    removed = await connection.fetch(
        f"""
        with gone as (delete from subjects where brand_slug = $1 and key = any ($2::text[]) returning cycle_id, position, tries, claimed_at)
        select g.*, h.keyword, h.is_distinct from gone as g join keywords as h using (cycle_id, position)
        order by h.state in {IN_THE_MAKING}, g.claimed_at
        """,  # noqa: S608  (a constant)
        slug,
        keys,
    )
    await _take_over(
        connection,
        [
            Claim(
                slug,
                names.key(row["keyword"], is_distinct=row["is_distinct"]),
                (row["cycle_id"], row["position"]),
                row["tries"],
            )
            for row in removed
        ],
    )
