"""SQL that updates the keys of stored subjects: of rows of the previous version, and after joins and splits.

Callers hold the locks of the brands.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from chassis import Connection
from orchestrator.subjects.domain import Place
from orchestrator.subjects.keys import SubjectKey, prepare
from orchestrator.subjects.naming import SubjectJoin, SubjectNames, SubjectSplit

IN_THE_MAKING: Final = "('queued', 'writing', 'publishing', 'promoting')"
"""States of keywords that hold their subject and have not ended."""


class SubjectClaim(NamedTuple):
    """A subject of a brand and the keyword that holds it."""

    brand_slug: str
    key: SubjectKey
    place: Place
    tries: int


async def load_names(connection: Connection, slugs: Collection[str]) -> dict[str, SubjectNames]:
    """Returns the subject names by brand; unknown brands are left out."""
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
                SubjectSplit(each["keyword"])
                for each in decisions
                if each["brand_slug"] == row["slug"] and each["kind"] == "split"
            ],
            [
                SubjectJoin(each["keyword"], each["other"], each["includes_own"])
                for each in decisions
                if each["brand_slug"] == row["slug"] and each["kind"] == "join"
            ],
        )
        for row in languages
    }


async def fill_missing_keys(connection: Connection, names: Mapping[str, SubjectNames]) -> None:
    """Computes the missing keys of the articles, waiting keywords and claims that the previous version has stored."""
    await key_articles(connection, names)
    await _key_followers(connection, names)
    await _carry_claims(connection, names)


async def key_articles(
    connection: Connection, names: Mapping[str, SubjectNames], *, limit: int | None = None
) -> int:
    """Computes missing keys of up to `limit` articles; returns their number."""
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
    """Replaces keys of articles; `keys` has the former and the new key by article id. An article with another key keeps it.

    Articles are stored without the lock of their brand, so this locks their rows in the order of ids.
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
    """Sets the keys of waiting keywords."""
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
    """Takes over the claims of replicas of the previous version."""
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
        SubjectClaim(
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


async def _take_over(connection: Connection, claims: Iterable[SubjectClaim]) -> None:
    """Stores these claims, the last of each key, except where the present holder has not ended."""
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
    """Stores claims under the former keys, for replicas of the previous version.

    If an unended keyword of another subject holds the former key, it keeps it.
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


async def rekey_affected(
    connection: Connection, slug: str, names: SubjectNames, affected: Collection[SubjectKey]
) -> None:
    """Computes the keys of articles, waiting keywords and claims under the `affected` keys after a join or split."""
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
    """Moves the claims under these keys to the present keys of their keywords."""
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
            SubjectClaim(
                slug,
                names.key(row["keyword"], is_distinct=row["is_distinct"]),
                (row["cycle_id"], row["position"]),
                row["tries"],
            )
            for row in removed
        ],
    )
