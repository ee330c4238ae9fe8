"""Placements: SQL beside the functions that run it."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from chassis import Connection
from orchestrator.placements.domain import Placement, PlacementState

PLACEMENTS: Final = """
    (select json_agg(json_build_object('target', p.target, 'state', p.state, 'url', p.url, 'reason', p.reason,
                                       'asked_at', p.asked_at, 'answered_at', p.answered_at) order by p.target)::text
     from placements as p where p.content_id = {content_id})
"""


@dataclass(frozen=True, slots=True)
class ArticlePlacements:
    """An article with its home and all targets of its brand."""

    content_id: UUID
    brand_slug: str
    home: str
    targets: tuple[str, ...]
    published_url: str | None
    taken_down: bool
    waits: bool
    """Whether it waits for a person; then nothing of it is published."""
    correlation_id: str | None


def read_placements(document: str | None) -> tuple[Placement, ...]:
    """Parses the JSON of `PLACEMENTS`."""
    if document is None:
        return ()
    return tuple(
        Placement(
            each["target"],
            PlacementState(each["state"]),
            each["url"],
            each["reason"],
            datetime.fromisoformat(each["asked_at"]),
            each["answered_at"] and datetime.fromisoformat(each["answered_at"]),
        )
        for each in json.loads(document)
    )


async def placements_of(connection: Connection, content_id: UUID) -> tuple[Placement, ...]:
    """The placements of an article, by target."""
    return read_placements(
        await connection.fetchval(f"select {PLACEMENTS.format(content_id='$1')}", content_id)
    )


async def find_placed(
    connection: Connection, content_ids: Collection[UUID], *, locked: bool = False
) -> dict[UUID, ArticlePlacements]:
    """The stored articles among these. With `locked`, they are not taken down or deleted before the transaction ends."""
    rows = await connection.fetch(
        f"""
        select c.content_id, c.brand_slug, c.published_url, c.taken_down_at is not null as taken_down,
               cardinality(c.held_for) > 0 as waits, b.target, b.further_targets, k.target as began_with, k.correlation_id
        from content as c join brands as b on b.slug = c.brand_slug
            left join lateral (
                select target, correlation_id from keywords join cycles using (cycle_id)
                where keywords.content_id = c.content_id limit 1
            ) as k on true
        where c.content_id = any ($1::uuid[])
        order by c.content_id {"for no key update of c" if locked else ""}
        """,  # noqa: S608  (literals)
        list(content_ids),
    )
    return {
        row["content_id"]: ArticlePlacements(
            content_id=row["content_id"],
            brand_slug=row["brand_slug"],
            home=row["began_with"] or row["target"],
            targets=(row["target"], *row["further_targets"]),
            published_url=row["published_url"],
            taken_down=row["taken_down"],
            waits=row["waits"],
            correlation_id=row["correlation_id"],
        )
        for row in rows
    }


async def targets_of(connection: Connection, content_ids: Collection[UUID]) -> dict[UUID, list[str]]:
    """The further targets of articles, withdrawn ones included; articles without further targets are left out."""
    rows = await connection.fetch(
        """
        select content_id, array_agg(target order by target) as targets from placements
        where content_id = any ($1::uuid[]) group by content_id
        """,
        list(content_ids),
    )
    return {row["content_id"]: row["targets"] for row in rows}


async def known(connection: Connection, pairs: Collection[tuple[UUID, str]]) -> set[tuple[UUID, str]]:
    """The (article, target) pairs among these that are placements."""
    rows = await connection.fetch(
        """
        select content_id, target from placements
        where (content_id, target) in (select * from unnest($1::uuid[], $2::text[]))
        """,
        [content_id for content_id, _ in pairs],
        [target for _, target in pairs],
    )
    return {(row["content_id"], row["target"]) for row in rows}


async def note_asked(
    connection: Connection,
    content_id: UUID,
    targets: Sequence[str],
    *,
    as_of: datetime | None,
    again: bool = False,
) -> list[str]:
    """Marks targets as requested; returns the ones to send to. Skips targets that were sent this state, unless `again`."""
    rows = await connection.fetch(
        """
        insert into placements as p (content_id, target, state, as_of)
        select $1, target, 'asked', $3 from unnest($2::text[]) as wanted (target) order by target
        on conflict (content_id, target) do update
            set state = 'asked', reason = null, as_of = coalesce($3, p.as_of), asked_at = clock_timestamp(), answered_at = null
            where $4 or p.as_of is distinct from $3 or p.state in ('failed', 'withdrawn')
        returning target
        """,
        content_id,
        list(targets),
        as_of,
        again,
    )
    return [row["target"] for row in rows]


async def note_withdrawn(connection: Connection, content_id: UUID, target: str | None = None) -> list[str]:
    """Marks all placements of an article, or one, as withdrawn; returns their targets."""
    rows = await connection.fetch(
        """
        update placements set state = 'withdrawn', reason = null, asked_at = clock_timestamp(), answered_at = null
        where content_id = $1 and ($2::text is null or target = $2) returning target
        """,
        content_id,
        target,
    )
    return sorted(row["target"] for row in rows)


async def note_answered(
    connection: Connection, content_id: UUID, target: str, *, url: str | None, reason: str | None
) -> None:
    """Stores a target's answer. Ignores a publication that was withdrawn meanwhile."""
    await connection.execute(
        """
        update placements
        set state = case when $4::text is null then 'published' else 'failed' end, url = coalesce($3::text, url), reason = $4::text,
            answered_at = clock_timestamp()
        where content_id = $1 and target = $2 and (state <> 'withdrawn' or $4::text is not null)
        """,
        content_id,
        target,
        url,
        reason,
    )


async def forget(connection: Connection, content_id: UUID, target: str) -> None:
    """Deletes a placement, as the target became the article's home."""
    await connection.execute(
        "delete from placements where content_id = $1 and target = $2", content_id, target
    )
