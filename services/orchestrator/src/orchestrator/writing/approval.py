"""Which articles a brand wants a person to see before they are published, and how many of those it piles up."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.brands import Approval, Brand
from orchestrator.subjects import SubjectKey, key_articles, load_names, rekey_articles_of

EVERYTHING = "its brand wants to see every article before it is published"
FIRST = "its brand wants to see the first article on a keyword before it is published"

UNWANTED = "a person rejected an article on its subject, or took it down"

WAITS: Final = """
    (d.held_for <> '{}' and d.decision is null
     and not exists (select from appointments as p where p.content_id = d.content_id and p.ended_at is null))
"""
"""Of content d: whether it is a draft that a person has to decide about; as in the index content_unseen, without what is to be published
at a time."""
_UNREVIEWED: Final = f"""
    d.brand_slug = b.slug and {WAITS} and coalesce(d.waits_since, d.created_at) > coalesce(b.looked_at, '-infinity')
    and coalesce(d.waits_since, d.created_at) > coalesce(d.reviewed_at, '-infinity')
"""
"""Of content d of brands b: whether it is a draft that waits and that no person has reviewed since it began to."""
UNREVIEWED_DRAFTS: Final = f"(select count(*) from content as d where {_UNREVIEWED})"  # noqa: S608  (constants of this module)
"""Of brands b: how many such drafts it has."""
UNREVIEWED_SINCE: Final = (
    f"(select min(coalesce(d.waits_since, d.created_at)) from content as d where {_UNREVIEWED})"  # noqa: S608  (constants of this module)
)
"""Of brands b: since when the oldest of them waits."""
HELD_UP_SINCE: Final = f"""
    (select coalesce(d.waits_since, d.created_at) from content as d where {_UNREVIEWED}
     order by 1 offset b.max_unreviewed_drafts - 1 limit 1)
"""  # noqa: S608  (constants of this module)
"""Of brands b: since when it has as many such drafts as its policy allows; null if it has fewer."""
HELD_UP_BY_DRAFTS: Final = f"({HELD_UP_SINCE} is not null)"
"""Of brands b: whether it has so many, so that nothing more is begun for it."""
RETURNED_DRAFTS: Final = """
    (select count(*) from content as d where d.brand_slug = b.slug and d.held_for <> '{}' and d.decision = 'returned')
"""
"""Of brands b: how many drafts are being written again, and will wait again."""


@dataclass(frozen=True, slots=True)
class Stance:
    """What has become of a brand's articles on a subject."""

    unwanted_id: UUID | None
    """One that a person rejected or took down."""
    has_article: bool
    """Whether there is one that a person approved or that needed none."""


async def wish_to_see(connection: Connection, brand: Brand, keyword: str) -> tuple[str, ...]:
    """Why a new article of the brand waits for a person, however good it is; empty if it need not."""
    names = await load_names(connection, [brand.slug])
    named = brand.slug, names[brand.slug].key(keyword)
    return wishes(brand, (await stances_on(connection, [named]))[named])


def wishes(brand: Brand, stance: Stance) -> tuple[str, ...]:
    """As `wish_to_see`, given what has become of its articles on the subject."""
    unwanted = () if stance.unwanted_id is None else (f"{UNWANTED} (/v1/drafts/{stance.unwanted_id})",)
    match brand.approves:
        case Approval.EVERYTHING:
            return (EVERYTHING, *unwanted)
        case Approval.FIRST:
            return (*(() if stance.has_article else (FIRST,)), *unwanted)
        case Approval.NOTHING:
            return unwanted


async def stances_on(
    connection: Connection, named: Collection[tuple[str, SubjectKey]]
) -> dict[tuple[str, SubjectKey], Stance]:
    """By brand and subject."""
    wanted = list(dict.fromkeys(named))
    await rekey_articles_of(connection, {slug for slug, _ in wanted})
    rows = await _look(connection, wanted)
    if unkeyed := {row["slug"] for row in rows if row["without_subject"]}:
        await key_articles(connection, await load_names(connection, unkeyed))
        rows = await _look(connection, wanted)
    return {
        (row["slug"], SubjectKey(row["subject"])): Stance(row["unwanted_id"], row["has_article"])
        for row in rows
    }


async def _look(connection: Connection, named: Sequence[tuple[str, SubjectKey]]) -> list[asyncpg.Record]:
    # As `exists` the two could be answered from a hash of every article, which PostgreSQL 18 prefers for a table that was small
    # when the plan was made, whatever is said about reading whole tables.
    return await connection.fetch(
        """
        select n.slug, n.subject,
               (select true from content where brand_slug = n.slug and subject_key is null limit 1) is not null as without_subject,
               (select true from content where brand_slug = n.slug and subject_key = n.subject and held_for = '{}' limit 1) is not null
                   as has_article,
               (select content_id from content
                where brand_slug = n.slug and subject_key = n.subject and decision in ('rejected', 'taken_down')
                order by created_at desc limit 1) as unwanted_id
        from unnest($1::text[], $2::text[]) as n (slug, subject)
        """,
        [slug for slug, _ in named],
        [subject for _, subject in named],
    )
