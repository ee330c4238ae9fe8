"""Searches keywords of all stored cycles by brand, spelling and state."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from chassis import Connection
from messaging import Database
from orchestrator.cycles.facts import KeywordState
from orchestrator.cycles.keyword_rows import KeywordRow, load_rows

MOST_COUNTED: Final = 10_000
"""Keywords of a filter that are counted."""
MOST_COUNTED_WITH_TEXT: Final = 1_000
"""The same for a filter with a text: the spelling of each keyword is read."""
_LOOKED_UP: Final = 3
"""Letters from which on a text is looked up in the index keyword_spellings_by_letters (migration 0108)."""
_MOST_SORTED: Final = 1_000
"""The most matches of a text that are sorted; with more matches, keywords are read in their order instead: a page is soon full."""


Few: TypeAlias = Collection[tuple[UUID, int]] | None
"""Places of keywords: cycle and position."""


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
    connection: Connection,
    wanted: KeywordFilter,
    few: Few,
    *,
    after: tuple[UUID, int] | None,
    limit: int,
) -> list[KeywordRow]:
    """A page of keywords: those of the latest cycle first, and within a cycle the last one first.

    Args:
        connection: to the service's database.
        wanted: the search conditions.
        few: as `find_few` returns them.
        after: cycle and position of the former page's last keyword.
        limit: keywords at most.
    """
    found = _Search(wanted, after, few)
    # The page is selected first, so that further columns are read for its keywords alone.
    page = await connection.fetch(
        f"""
        select k.cycle_id, k.position from {found.tables} where {found.condition}
        order by {found.order} limit ${len(found.values) + 1}
        """,  # noqa: S608  (conditions of this module)
        *found.values,
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


async def search_and_count(
    database: Database, wanted: KeywordFilter, *, after: tuple[UUID, int] | None, limit: int, counted: bool
) -> tuple[list[KeywordRow], int | None]:
    """A page as `search_keywords` returns it, and with `counted` the number of all matches."""
    async with database.connection() as connection:
        few = await find_few(connection, wanted)

    async def search() -> list[KeywordRow]:
        async with database.connection() as connection:
            return await search_keywords(connection, wanted, few, after=after, limit=limit)

    async def count() -> int:
        async with database.connection() as connection:
            return await count_keywords(connection, wanted, few)

    if not counted:
        return await search(), None
    # Side by side: for a frequent word, each takes the database some milliseconds.
    return await asyncio.gather(search(), count())


async def newest_spellings(connection: Connection, brand: str, limit: int) -> list[str]:
    """The spellings of a brand's newest keywords, without all that `search_keywords` reads of each."""
    rows = await connection.fetch(
        """
        select k.keyword from cycles as c cross join lateral (
            -- `offset 0` keeps the planner from reading the keywords of all brands.
            select keyword, position from keywords where cycle_id = c.cycle_id offset 0
        ) as k
        where c.brand_slug = $1 order by c.cycle_id desc, k.position desc limit $2
        """,
        brand,
        limit,
    )
    return [row["keyword"] for row in rows]


async def count_keywords(connection: Connection, wanted: KeywordFilter, few: Few) -> int:
    """Counts the keywords that a filter lets through, up to `most_counted`."""
    if wanted.keyword is None and wanted.text is None and wanted.content_id is None:
        return await _count_by_cycles(connection, wanted)
    found = _Search(wanted, None, few)
    counted: int = await connection.fetchval(
        f"""
        select count(*) from (
            select 1 from {found.tables} where {found.condition} limit ${len(found.values) + 1}
        ) as found
        """,  # noqa: S608  (conditions of this module)
        *found.values,
        most_counted(wanted),
    )
    return counted


def most_counted(wanted: KeywordFilter) -> int:
    """The most keywords of a filter that are counted."""
    return MOST_COUNTED if wanted.text is None else MOST_COUNTED_WITH_TEXT


async def find_few(connection: Connection, wanted: KeywordFilter) -> Few:
    """Returns the places of all keywords with the text of a filter, unordered; None if they are many, or not looked up."""
    if wanted.text is None or len(wanted.text) < _LOOKED_UP:
        return None
    if wanted.keyword is not None or wanted.content_id is not None or wanted.correlation_id is not None:
        return None  # Few keywords are read anyway.
    rows = await connection.fetch(
        """
        select cycle_id, position from keyword_spellings
        where letters_in_threes(spelling) @> letters_in_threes(lower($1::text)) and position(lower($1) in spelling) > 0
        limit $2
        """,
        wanted.text,
        _MOST_SORTED + 1,
    )
    return None if len(rows) > _MOST_SORTED else [(row["cycle_id"], row["position"]) for row in rows]


async def _count_by_cycles(connection: Connection, wanted: KeywordFilter) -> int:
    """Adds up what the cycles count themselves: a row of each, in the place of all their keywords."""
    found = _Search(replace(wanted, state=None), None)
    states = [each.value for each in KeywordState if wanted.state in {None, each}]
    count = " + ".join(f"c.{each}" for each in states)
    # Each of these cycles counts one keyword at least, so that no more of them are needed.
    counted: int = await connection.fetchval(
        f"""
        select coalesce(sum(n), 0)::int8 from (
            select {count} as n from cycles as c where {found.of_cycle} and {count} > 0 limit ${len(found.values) + 1}
        ) as found
        """,  # noqa: S608  (constants of this module)
        *found.values,
        MOST_COUNTED,
    )
    return min(counted, MOST_COUNTED)


class _Search:
    """A filter as SQL, with the values of its parameters."""

    def __init__(
        self,
        wanted: KeywordFilter,
        after: tuple[UUID, int] | None,
        few: Few = None,
    ) -> None:
        """`few` are the places of all keywords with the text, where they are known."""
        self.values: list[Any] = []
        of_cycle, of_keyword = self._of_cycle(wanted), self._of_keyword(wanted)
        self.of_cycle = " and ".join(["true", *of_cycle])
        """The conditions of the cycles alone, as `c`."""
        if after is not None:
            last, position = map(self._value, after)
            of_cycle.append(f"c.cycle_id <= {last}::uuid")
            of_keyword.append(f"(k.cycle_id, k.position) < ({last}::uuid, {position}::int)")
        if few is not None:
            cycles, positions = self._value([each[0] for each in few]), self._value([each[1] for each in few])
            of_keyword.append(
                f"(k.cycle_id, k.position) in (select * from unnest({cycles}::uuid[], {positions}::int[]))"  # noqa: S608
            )
        condition = " and ".join(["true", *of_keyword])
        self.condition = " and ".join(["true", *of_cycle])
        self.order = "k.cycle_id desc, k.position desc"
        if (
            wanted.brands is None
            or wanted.keyword is not None
            or wanted.content_id is not None
            or few is not None
        ):
            self.tables = "keywords as k join cycles as c using (cycle_id)"
            self.condition = f"{self.condition} and {condition}"
            return
        # Cycle by cycle, with `offset 0` so that it stays so: else the keywords of all brands are read to find those of some.
        self.tables = f"""cycles as c cross join lateral (
            select k.cycle_id, k.position from keywords as k where k.cycle_id = c.cycle_id and {condition} offset 0) as k"""  # noqa: S608
        if len(wanted.brands) == 1:
            # By the column of the index on a brand's cycles: its last cycles are read, until the page is full.
            self.order = "c.cycle_id desc, k.position desc"

    def _of_cycle(self, wanted: KeywordFilter) -> list[str]:
        conditions = []
        if wanted.brands is not None and len(wanted.brands) == 1:
            # The index gives the cycles in order only for an equal brand.
            conditions.append(f"c.brand_slug = {self._value(next(iter(wanted.brands)))}")
        elif wanted.brands is not None:
            conditions.append(f"c.brand_slug = any ({self._value(sorted(wanted.brands))}::text[])")
        if wanted.since is not None:
            conditions.append(f"c.created_at >= {self._value(wanted.since)}")
        if wanted.correlation_id is not None:
            conditions.append(f"c.correlation_id = {self._value(wanted.correlation_id)}")
        return conditions

    def _of_keyword(self, wanted: KeywordFilter) -> list[str]:
        conditions = []
        if wanted.keyword is not None:
            conditions.append(f"lower(k.keyword) = lower({self._value(wanted.keyword)})")
        if wanted.text is not None:
            conditions.append(f"position(lower({self._value(wanted.text)}) in lower(k.keyword)) > 0")
        if wanted.state is not None:
            conditions.append(f"k.state = {self._value(wanted.state)}")
        if wanted.content_id is not None:
            conditions.append(f"k.content_id = {self._value(wanted.content_id)}::uuid")
        return conditions

    def _value(self, value: Any) -> str:
        """The placeholder of a further value."""
        self.values.append(value)
        return f"${len(self.values)}"
