"""Searches keywords of all stored cycles by brand, spelling and state."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from orchestrator.cycles.facts import KeywordState
from orchestrator.cycles.keyword_rows import KeywordRow, load_rows

MOST_COUNTED: Final = 10_000
"""Keywords of a filter that are counted."""


@dataclass(frozen=True, slots=True)
class KeywordFilter:
    """Search conditions; None means any."""

    brands: Collection[str] | None = None
    keyword: str | None = None
    """The spelling, ignoring case."""
    text: str | None = None
    """A part of the spelling, ignoring case."""
    state: KeywordState | None = None
    since: datetime | None = None
    """Submitted from this time on."""
    correlation_id: str | None = None
    """Of its chain."""
    content_id: UUID | None = None
    """Of its own article."""


async def search_keywords(
    connection: Connection, wanted: KeywordFilter, *, after: tuple[UUID, int] | None, limit: int
) -> list[KeywordRow]:
    """A page of keywords: those of the latest cycle first, and within a cycle the last one first.

    Args:
        connection: to the service's database.
        wanted: the search conditions.
        after: cycle and position of the former page's last keyword.
        limit: keywords at most.
    """
    condition, values = _condition(wanted, after)
    # The page is selected first, so that further columns are read for its keywords alone.
    page = await connection.fetch(
        f"""
        select k.cycle_id, k.position from keywords as k join cycles as c using (cycle_id)
        where {condition} order by k.cycle_id desc, k.position desc limit ${len(values) + 1}
        """,  # noqa: S608  (conditions of this module)
        *values,
        limit,
    )
    return await load_rows(
        connection,
        """
        (k.cycle_id, k.position) in (select * from unnest($1::uuid[], $2::int[]))
        order by k.cycle_id desc, k.position desc
        """,
        [row["cycle_id"] for row in page],
        [row["position"] for row in page],
    )


async def count_keywords(connection: Connection, wanted: KeywordFilter) -> int:
    """Counts the keywords that a filter lets through, up to MOST_COUNTED."""
    condition, values = _condition(wanted, None)
    counted: int = await connection.fetchval(
        f"""
        select count(*) from (
            select 1 from keywords as k join cycles as c using (cycle_id) where {condition} limit ${len(values) + 1}
        ) as found
        """,  # noqa: S608  (conditions of this module)
        *values,
        MOST_COUNTED,
    )
    return counted


def _condition(wanted: KeywordFilter, after: tuple[UUID, int] | None) -> tuple[str, list[Any]]:
    """Returns a filter as SQL, with the values of its parameters."""
    conditions, values = ["true"], list[Any]()

    def add(condition: str, *more: Any) -> None:
        numbers = [f"${len(values) + number}" for number in range(1, len(more) + 1)]
        conditions.append(condition.format(*numbers))
        values.extend(more)

    if wanted.brands is not None:
        add("c.brand_slug = any ({}::text[])", sorted(wanted.brands))
    if wanted.keyword is not None:
        add("lower(k.keyword) = lower({})", wanted.keyword)
    if wanted.text is not None:
        add("position(lower({}) in lower(k.keyword)) > 0", wanted.text)
    if wanted.state is not None:
        add("k.state = {}", wanted.state)
    if wanted.since is not None:
        add("c.created_at >= {}", wanted.since)
    if wanted.correlation_id is not None:
        add("c.correlation_id = {}", wanted.correlation_id)
    if wanted.content_id is not None:
        add("k.content_id = {}::uuid", wanted.content_id)
    if after is not None:
        add("(k.cycle_id, k.position) < ({}::uuid, {}::int)", *after)
    return " and ".join(conditions), values
