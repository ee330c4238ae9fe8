"""Finds the subjects of articles before they are stored."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from chassis import Connection
from orchestrator.subjects.keys import SubjectKey
from orchestrator.subjects.naming import SubjectNames
from orchestrator.subjects.stored_keys import load_names


class KeywordOfContent(NamedTuple):
    brand_slug: str
    content_id: UUID
    keyword: str
    language: str
    """The brand's language; used if the brand was deleted meanwhile."""


async def name_contents(
    connection: Connection, contents: Sequence[KeywordOfContent]
) -> dict[UUID, tuple[SubjectKey, bool]]:
    """Returns by article id the key of its subject, and whether it was submitted as a subject of its own."""
    names = await load_names(connection, {each.brand_slug for each in contents})
    rows = await connection.fetch(
        "select content_id from keywords where content_id = any ($1::uuid[]) and is_distinct",
        [each.content_id for each in contents],
    )
    distinct = {row["content_id"] for row in rows}
    return {
        each.content_id: (
            names.get(each.brand_slug, SubjectNames(each.language)).key(
                each.keyword, is_distinct=each.content_id in distinct
            ),
            each.content_id in distinct,
        )
        for each in contents
    }
