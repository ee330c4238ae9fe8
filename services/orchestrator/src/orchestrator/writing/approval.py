"""Which articles a brand wants a person to see before they are published, and how many of those it piles up."""

from typing import Final

from chassis import Connection
from orchestrator.brands import Approval, Brand
from orchestrator.subjects import SubjectKey, key_articles, key_of

EVERYTHING = "its brand wants to see every article before it is published"
FIRST = "its brand wants to see the first article on a keyword before it is published"

UNWANTED = "a person rejected an article on its subject, or took it down"

MOST_UNSEEN: Final = 5
"""Drafts that may wait without anybody having looked at them; with so many, nothing more is begun for their brand."""
WAITS: Final = """
    (d.held_for <> '{}' and d.decision is null
     and not exists (select from appointments as p where p.content_id = d.content_id and p.ended_at is null))
"""
"""Of content d: whether it is a draft that a person has to decide about; as in the index content_unseen, without what is to be published
at a time."""
HELD_UP_SINCE: Final = f"""
    (select coalesce(d.waits_since, d.created_at) from content as d
     where d.brand_slug = b.slug and {WAITS} and coalesce(d.waits_since, d.created_at) > coalesce(b.looked_at, '-infinity')
     order by 1 offset {MOST_UNSEEN - 1} limit 1)
"""  # noqa: S608  (constants of this module)
"""Of brands b: since when so many drafts wait that began to after a person has looked last; null if fewer do."""
IS_UNSEEN: Final = f"({HELD_UP_SINCE} is not null)"
"""Of brands b: whether so many drafts wait unseen."""


_UNWANTED: Final = """
    select exists (select from content where brand_slug = $1 and subject is null) as without_subject,
           (select content_id from content where brand_slug = $1 and subject = $2 and decision in ('rejected', 'taken_down')
            order by created_at desc limit 1) as content_id
"""


async def wish_to_see(connection: Connection, brand: Brand, keyword: str) -> tuple[str, ...]:
    """Why a new article of the brand waits for a person, however good it is; empty if it need not."""
    subject = key_of(keyword, brand.language)
    unwanted = await _unwanted(connection, brand.slug, subject)
    match brand.approves:
        case Approval.EVERYTHING:
            return (EVERYTHING, *unwanted)
        case Approval.FIRST:
            first = () if await _has_article(connection, brand.slug, subject) else (FIRST,)
            return (*first, *unwanted)
        case Approval.NOTHING:
            return unwanted


async def _has_article(connection: Connection, brand_slug: str, subject: SubjectKey) -> bool:
    """Whether the brand has an article on the subject that a person approved or that needed none."""
    found: bool = await connection.fetchval(
        "select exists (select from content where brand_slug = $1 and subject = $2 and held_for = '{}')",
        brand_slug,
        subject,
    )
    return found


async def _unwanted(connection: Connection, brand_slug: str, subject: SubjectKey) -> tuple[str, ...]:
    """That a person rejected an article on the subject, or took one down: nothing on it is published unasked."""
    found = await connection.fetchrow(_UNWANTED, brand_slug, subject)
    assert found is not None
    if found["without_subject"]:
        await key_articles(connection, [brand_slug])
        found = await connection.fetchrow(_UNWANTED, brand_slug, subject)
        assert found is not None
    content_id = found["content_id"]
    return () if content_id is None else (f"{UNWANTED} (/v1/drafts/{content_id})",)
