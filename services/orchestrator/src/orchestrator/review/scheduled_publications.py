"""Scheduled publications: SQL beside the functions that run it.

The functions that change one need the article's row lock (`lock_draft` of store.py).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chassis import Connection
from review.items import ScheduledPublication

_DUE: Final = "p.ended_at is null and p.publish_at <= clock_timestamp() and b.paused_at is null"
"""SQL: whether appointment p of brand b is due. Those of a paused brand wait until it is resumed."""
_OF_BRANDS: Final = (
    "appointments as p join content as c using (content_id) join brands as b on b.slug = c.brand_slug"
)


async def schedule(connection: Connection, content_id: UUID, planned: ScheduledPublication) -> None:
    """Schedules a version in place of the former schedule."""
    await end(connection, content_id, "moved", by=planned.by)
    await connection.execute(
        "insert into appointments (content_id, version, publish_at, made_by) values ($1, $2, $3, $4)",
        content_id,
        planned.version,
        planned.publish_at,
        planned.by,
    )


async def end(connection: Connection, content_id: UUID, how: str, *, by: str) -> None:
    """Ends the article's open scheduled publication, if any."""
    await connection.execute(
        """
        update appointments set ended_at = clock_timestamp(), ended_as = $2, ended_by = $3
        where content_id = $1 and ended_at is null
        """,
        content_id,
        how,
        by,
    )


async def due(connection: Connection, limit: int, content_id: UUID | None = None) -> list[tuple[UUID, int]]:
    """Due articles with their versions, the longest due first; or this one, if it is due."""
    rows = await connection.fetch(
        f"""
        select content_id, p.version from {_OF_BRANDS}
        where {_DUE} and ($2::uuid is null or content_id = $2) order by p.publish_at, content_id limit $1
        """,  # noqa: S608
        limit,
        content_id,
    )
    return [(row["content_id"], row["version"]) for row in rows]


@dataclass(frozen=True, slots=True)
class ScheduledArticle:
    """An article with a scheduled publication."""

    content_id: UUID
    publish_at: datetime
    version: int
    title: str
    keyword: str
    made_by: str
    made_at: datetime
    moves: int
    """How often its time was changed."""


async def between(
    connection: Connection, brand: str, begin: datetime, end: datetime, *, after: UUID | None, limit: int
) -> list[ScheduledArticle]:
    """A brand's scheduled articles from `begin` to before `end`, earliest first.

    At `begin` itself, only articles behind `after`.
    """
    rows = await connection.fetch(
        """
        select p.content_id, p.publish_at, p.version, v.title, c.keyword, p.made_by, p.made_at,
               (select count(*) from appointments as before where before.content_id = p.content_id) - 1 as moves
        from appointments as p join content as c using (content_id)
            join content_versions as v on v.content_id = p.content_id and v.version = p.version
        where c.brand_slug = $1 and p.ended_at is null and p.publish_at >= $2 and p.publish_at < $3
          and ($4::uuid is null or p.publish_at > $2 or p.content_id > $4)
        order by p.publish_at, p.content_id limit $5
        """,
        brand,
        begin,
        end,
        after,
        limit,
    )
    return [ScheduledArticle(**dict(row)) for row in rows]


async def until_next(connection: Connection) -> timedelta | None:
    """Time until the next one is due, or None. Publications that failed before do not count."""
    rest: timedelta | None = await connection.fetchval(
        f"""
        select min(p.publish_at) - clock_timestamp() from {_OF_BRANDS}
        where p.ended_at is null and b.paused_at is null and p.publish_at > clock_timestamp() - interval '1 second'
        """  # noqa: S608
    )
    return rest
