"""SQL over subjects: their holders, their articles, and the keywords that wait.

Callers hold the locks of the brands, like all code that decides about keywords. The primary key of `subjects` finally
prevents two keywords from holding one subject.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.ended_keywords import EndedKeyword, log_ended_keywords
from orchestrator.subjects.domain import HolderState, Place, Subject, SubjectArticle
from orchestrator.subjects.keys import SubjectKey

Named: TypeAlias = tuple[str, SubjectKey]
"""A subject by the slug of its brand and its key."""

STANDS: Final = "(taken_down_at is null and decision is distinct from 'rejected' and (published_url is not null or held_for <> '{}'))"
"""A condition on articles: published, or a draft that waits for a person."""
_FATES: Final = {
    "queued": HolderState.IN_THE_MAKING,
    "writing": HolderState.IN_THE_MAKING,
    "publishing": HolderState.IN_THE_MAKING,
    "promoting": HolderState.IN_THE_MAKING,
    "refused": HolderState.REFUSED,
    "failed": HolderState.FAILED,
}
"""Fates by the state of the holder; other states release the subject."""
_MAX_REASON: Final = 500
_ENDED: Final = (
    "c.brand_slug, k.keyword, k.cycle_id, c.correlation_id, {content_id}, k.state, k.reason, {url}"
)
"""Of keywords k of cycles c: the fields of `EndedKeyword`."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A keyword that waits for the holder of its subject."""

    place: Place
    keyword: str
    subject: Named


async def load_subjects(connection: Connection, named: Collection[Named]) -> dict[Named, Subject]:
    """Returns each of these subjects, including unknown ones."""
    wanted = list(dict.fromkeys(named))
    rows = await connection.fetch(
        f"""
        select w.slug, w.key, s.cycle_id, s.position, s.tries, h.keyword, h.state, h.reason, h.renews,
               a.content_id, a.keyword as written_for, a.published_url
        from unnest($1::text[], $2::text[]) as w (slug, key)
            left join subjects as s on (s.brand_slug, s.key) = (w.slug, w.key)
            left join keywords as h on (h.cycle_id, h.position) = (s.cycle_id, s.position)
            left join lateral (
                select content_id, keyword, published_url from (
                    select content_id, keyword, published_url, created_at from content
                    where brand_slug = w.slug and subject_key = w.key and {STANDS}
                    union all
                    select content_id, keyword, published_url, created_at from content
                    where content_id = h.standing_id and brand_slug = w.slug and {STANDS}
                ) as standing
                order by published_url is null, created_at, content_id limit 1
            ) as a on true
        """,  # noqa: S608  (a constant)
        [slug for slug, _ in wanted],
        [key for _, key in wanted],
    )
    return {(row["slug"], SubjectKey(row["key"])): _subject(row) for row in rows}


def _subject(row: asyncpg.Record) -> Subject:
    standing = None
    if row["content_id"] is not None:
        standing = SubjectArticle(row["content_id"], row["written_for"], row["published_url"])
    if row["cycle_id"] is None:
        return Subject(SubjectKey(row["key"]), standing)
    return Subject(
        SubjectKey(row["key"]),
        standing,
        (row["cycle_id"], row["position"]),
        row["keyword"],
        _FATES.get(row["state"], HolderState.LET_GO),
        row["reason"] or "",
        row["renews"] is not None,
        row["tries"],
    )


async def claim(connection: Connection, claims: Mapping[Named, tuple[Place | None, Place]]) -> set[Named]:
    """Passes subjects from their expected holders (None: free) to keywords; returns the subjects for which that succeeded."""
    if not claims:
        return set()
    rows = await connection.fetch(
        """
        insert into subjects as s (brand_slug, key, cycle_id, position, claimed_at, carried_at)
        select slug, key, cycle_id, position, now(), now()
        from unnest($1::text[], $2::text[], $3::uuid[], $4::int[]) as n (slug, key, cycle_id, position)
        order by slug, key
        on conflict (brand_slug, key) do update
            set cycle_id = excluded.cycle_id, position = excluded.position, claimed_at = now(), carried_at = now()
            where (s.brand_slug, s.key, s.cycle_id, s.position) in (
                select * from unnest($1::text[], $2::text[], $5::uuid[], $6::int[]))
        returning brand_slug, key
        """,
        [slug for slug, _ in claims],
        [key for _, key in claims],
        [place[0] for _, place in claims.values()],
        [place[1] for _, place in claims.values()],
        [former and former[0] for former, _ in claims.values()],
        [former and former[1] for former, _ in claims.values()],
    )
    return {(row["brand_slug"], SubjectKey(row["key"])) for row in rows}


async def note_rewrites(connection: Connection, renewals: Mapping[Place, UUID]) -> None:
    """Stores which articles these keywords rewrite."""
    await connection.execute(
        """
        update keywords as k set renews = n.content_id
        from unnest($1::uuid[], $2::int[], $3::uuid[]) as n (cycle_id, position, content_id)
        where k.cycle_id = n.cycle_id and k.position = n.position
        """,
        [cycle_id for cycle_id, _ in renewals],
        [position for _, position in renewals],
        list(renewals.values()),
    )


async def add_followers(
    connection: Connection, following: Iterable[Follower], former: Mapping[Named, SubjectKey]
) -> None:
    """Makes keywords wait for the holder of their subject; they keep their place among those that wait for a turn.

    Replicas of the previous version find the holder by its `former` key.
    """
    followers = list(following)
    await connection.execute(
        """
        update keywords as k set follows = true, awaits_turn = false, subject_key = n.key, subject = n.former
        from unnest($1::uuid[], $2::int[], $3::text[], $4::text[]) as n (cycle_id, position, key, former)
        where k.cycle_id = n.cycle_id and k.position = n.position
        """,
        [each.place[0] for each in followers],
        [each.place[1] for each in followers],
        [each.subject[1] for each in followers],
        [former[each.subject] for each in followers],
    )


async def brands_with_followers(connection: Connection, slugs: Sequence[str]) -> list[str]:
    rows = await connection.fetch(
        """
        select distinct brand_slug from cycles
        where brand_slug = any ($1::text[]) and ended_at is null and following > 0
        """,
        list(slugs),
    )
    return [row["brand_slug"] for row in rows]


async def subjects_waited_for(connection: Connection, slugs: Sequence[str]) -> list[Named]:
    rows = await connection.fetch(
        """
        select distinct c.brand_slug, k.subject_key from cycles as c join keywords as k using (cycle_id)
        where c.brand_slug = any ($1::text[]) and c.ended_at is null and c.following > 0 and k.follows and k.state = 'queued'
        """,
        list(slugs),
    )
    return [(row["brand_slug"], SubjectKey(row["subject_key"])) for row in rows]


async def find_followers(connection: Connection, named: Sequence[Named]) -> list[Follower]:
    """Returns the keywords that wait for these subjects."""
    rows = await connection.fetch(
        """
        select k.cycle_id, k.position, k.keyword, c.brand_slug, k.subject_key
        from unnest($1::text[], $2::text[]) as n (slug, key)
            join cycles as c on c.brand_slug = n.slug and c.ended_at is null and c.following > 0
            join keywords as k on k.cycle_id = c.cycle_id and k.subject_key = n.key
        where k.follows and k.state = 'queued'
        """,
        [slug for slug, _ in named],
        [key for _, key in named],
    )
    return [
        Follower(
            (row["cycle_id"], row["position"]),
            row["keyword"],
            (row["brand_slug"], SubjectKey(row["subject_key"])),
        )
        for row in rows
    ]


async def requeue(connection: Connection, followers: Sequence[Follower]) -> None:
    await connection.execute(
        """
        update keywords as k set follows = false, awaits_turn = true
        from unnest($1::uuid[], $2::int[]) as n (cycle_id, position)
        where k.cycle_id = n.cycle_id and k.position = n.position
        """,
        [each.place[0] for each in followers],
        [each.place[1] for each in followers],
    )


async def count_try(connection: Connection, named: Sequence[Named]) -> None:
    """Counts a failed holder of each subject."""
    await connection.execute(
        """
        update subjects as s set tries = tries + 1 from unnest($1::text[], $2::text[]) as n (slug, key)
        where (s.brand_slug, s.key) = (n.slug, n.key)
        """,
        [slug for slug, _ in named],
        [key for _, key in named],
    )


async def complete(
    connection: Connection, ended: Sequence[tuple[Place, SubjectArticle, str]], now: datetime
) -> None:
    """Ends keywords with the existing article and the sentence that says so; sets the state that `cycles.facts` derives."""
    rows = await connection.fetch(
        f"""
        update keywords as k
        set state = 'completed', reason = n.why, standing_id = n.content_id, standing_why = n.why, follows = false,
            awaits_turn = false, moved_at = $5
        from unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[], $6::text[]) as n (cycle_id, position, content_id, why, url)
            join cycles as c using (cycle_id)
        where k.cycle_id = n.cycle_id and k.position = n.position
        returning {_ENDED.format(content_id="n.content_id", url="n.url")}
        """,  # noqa: S608  (a constant of this module)
        [place[0] for place, _, _ in ended],
        [place[1] for place, _, _ in ended],
        [standing.content_id for _, standing, _ in ended],
        [cut(why) for _, _, why in ended],
        now,
        [standing.published_url for _, standing, _ in ended],
    )
    await log_ended_keywords(EndedKeyword(*row) for row in rows)


async def end_without_article(
    connection: Connection, ended: Sequence[tuple[Place, bool, str]], now: datetime
) -> None:
    """Ends keywords as refused (True) or failed, with the reason; sets the state that `cycles.facts` derives."""
    rows = await connection.fetch(
        f"""
        update keywords as k
        set state = case when n.refused then 'refused' else 'failed' end, reason = n.why, follows = false, awaits_turn = false,
            moved_at = $5,
            setbacks = setbacks || jsonb_build_object('research', jsonb_build_object('reason', n.why, 'refused', n.refused))
        from unnest($1::uuid[], $2::int[], $3::bool[], $4::text[]) as n (cycle_id, position, refused, why)
            join cycles as c using (cycle_id)
        where k.cycle_id = n.cycle_id and k.position = n.position
        returning {_ENDED.format(content_id="k.content_id", url="k.published_url")}
        """,  # noqa: S608  (a constant of this module)
        [place[0] for place, _, _ in ended],
        [place[1] for place, _, _ in ended],
        [refused for _, refused, _ in ended],
        [cut(why) for _, _, why in ended],
        now,
    )
    await log_ended_keywords(EndedKeyword(*row) for row in rows)


def cut(reason: str) -> str:
    """Cuts a reason to its longest length."""
    return reason if len(reason) <= _MAX_REASON else f"{reason[: _MAX_REASON - 1]}…"
