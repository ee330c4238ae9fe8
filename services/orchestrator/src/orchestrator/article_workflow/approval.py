"""Decides which articles need a person's approval; SQL that counts the drafts that wait for it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.brands import ApprovalPolicy, BrandRow
from orchestrator.subjects import SubjectKey, key_articles, load_names, rekey_articles_of

EVERYTHING = "its brand wants to see every article before it is published"
OF_REQUEST = "who asked for it wants a person to see it before it is published"
FIRST = "its brand wants to see the first article on a keyword before it is published"

UNWANTED = "a person rejected an article on its subject, or took it down"

WAITS: Final = """
    (d.held_for <> '{}' and d.decision is null
     and not exists (select from appointments as p where p.content_id = d.content_id and p.ended_at is null))
"""
"""Of content d: true for a draft that waits for a decision and has no appointment; as in the index content_unseen."""
_UNREVIEWED: Final = f"""
    d.brand_slug = b.slug and {WAITS} and coalesce(d.waits_since, d.created_at) > coalesce(b.looked_at, '-infinity')
    and coalesce(d.waits_since, d.created_at) > coalesce(d.reviewed_at, '-infinity')
"""
"""Of content d of brands b: true for a waiting draft that no person has reviewed since its wait began."""
UNREVIEWED_DRAFTS: Final = f"(select count(*) from content as d where {_UNREVIEWED})"  # noqa: S608  (constants of this module)
"""Of brands b: the number of its unreviewed drafts."""
UNREVIEWED_SINCE: Final = (
    f"(select min(coalesce(d.waits_since, d.created_at)) from content as d where {_UNREVIEWED})"  # noqa: S608  (constants of this module)
)
"""Of brands b: since when its oldest unreviewed draft waits."""
HELD_UP_SINCE: Final = f"""
    (select coalesce(d.waits_since, d.created_at) from content as d where {_UNREVIEWED}
     order by 1 offset b.max_unreviewed_drafts - 1 limit 1)
"""  # noqa: S608  (constants of this module)
"""Of brands b: since when it has as many unreviewed drafts as its policy allows; null if it has fewer."""
HELD_UP_BY_DRAFTS: Final = f"({HELD_UP_SINCE} is not null)"
"""Of brands b: true if its unreviewed drafts keep it from beginning more work."""
RETURNED_DRAFTS: Final = """
    (select count(*) from content as d where d.brand_slug = b.slug and d.held_for <> '{}' and d.decision = 'returned')
"""
"""Of brands b: the number of returned drafts, which are being rewritten and will wait again."""


@dataclass(frozen=True, slots=True)
class SubjectHistory:
    """People's earlier decisions about a brand's articles on one subject."""

    unwanted_id: UUID | None
    """The latest article that a person rejected or took down."""
    has_article: bool
    """True if an article exists that a person approved or that needed no approval."""


async def load_approval_reasons(connection: Connection, brand: BrandRow, keyword: str) -> tuple[str, ...]:
    """Returns the reasons why a new article of the brand needs approval regardless of quality; empty if it needs none."""
    names = await load_names(connection, [brand.slug])
    named = brand.slug, names[brand.slug].key(keyword)
    return approval_reasons(brand, (await load_subject_histories(connection, [named]))[named])


async def load_held_by_request(connection: Connection, content_ids: Collection[UUID]) -> frozenset[UUID]:
    """Returns which of these articles a person approves because their request says so."""
    rows = await connection.fetch(
        "select content_id from keywords join cycles using (cycle_id) where content_id = any ($1::uuid[]) and approval is not null",
        list(content_ids),
    )
    return frozenset(row["content_id"] for row in rows)


def approval_reasons(
    brand: BrandRow, history: SubjectHistory, *, is_held_by_request: bool = False
) -> tuple[str, ...]:
    """Returns the same reasons from the history of the article's subject, and its request."""
    of_brand = _reasons_of_brand(brand, history)
    return (
        (OF_REQUEST, *of_brand)
        if is_held_by_request and brand.approves is not ApprovalPolicy.EVERYTHING
        else of_brand
    )


def _reasons_of_brand(brand: BrandRow, history: SubjectHistory) -> tuple[str, ...]:
    unwanted = () if history.unwanted_id is None else (f"{UNWANTED} (/v1/drafts/{history.unwanted_id})",)
    match brand.approves:
        case ApprovalPolicy.EVERYTHING:
            return (EVERYTHING, *unwanted)
        case ApprovalPolicy.FIRST:
            return (*(() if history.has_article else (FIRST,)), *unwanted)
        case ApprovalPolicy.NOTHING:
            return unwanted


async def load_subject_histories(
    connection: Connection, named: Collection[tuple[str, SubjectKey]]
) -> dict[tuple[str, SubjectKey], SubjectHistory]:
    """Returns the history of each subject, by brand slug and subject key."""
    wanted = list(dict.fromkeys(named))
    await rekey_articles_of(connection, {slug for slug, _ in wanted})
    rows = await _load_histories(connection, wanted)
    if unkeyed := {row["slug"] for row in rows if row["without_subject"]}:
        await key_articles(connection, await load_names(connection, unkeyed))
        rows = await _load_histories(connection, wanted)
    return {
        (row["slug"], SubjectKey(row["subject"])): SubjectHistory(row["unwanted_id"], row["has_article"])
        for row in rows
    }


async def _load_histories(
    connection: Connection, named: Sequence[tuple[str, SubjectKey]]
) -> list[asyncpg.Record]:
    # As `exists` the two could be answered from a hash of every article. PostgreSQL 18 prefers that for a table that was
    # small when the plan was made, even if settings discourage scans of whole tables.
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
