"""Publications and target settings: SQL beside the functions that run it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from publisher.targets.settings import TargetSettings
from publisher.targets.target import RemoteState


@dataclass(frozen=True, slots=True)
class Publication:
    content_id: UUID
    target: str
    brand_slug: str
    kind: str
    account: str
    remote_id: str | None
    url: str | None
    slug: str | None
    cover: str | None
    state: str
    is_public: bool
    reason: str
    detail: str
    digest: str | None
    seen: str | None
    as_of: datetime | None
    round: int
    made: int
    tried: frozenset[str]
    created_at: datetime
    changed_at: datetime
    number: int
    """Its position in the order of creation."""

    def remote_state(self, *, overwrite: bool = False) -> RemoteState:
        return RemoteState(
            self.content_id,
            self.remote_id or "",
            self.url,
            self.slug,
            self.is_public,
            self.seen,
            self.tried,
            overwrite,
        )


@dataclass(frozen=True, slots=True)
class PublicationOutcome:
    """The state of a publication after a command."""

    state: str
    is_public: bool
    remote_id: str | None = None
    url: str | None = None
    slug: str | None = None
    cover: str | None = None
    reason: str = ""
    detail: str = ""
    digest: str | None = None
    seen: str | None = None
    as_of: datetime | None = None


_COLUMNS: Final = ", ".join(Publication.__slots__)


async def claim(
    connection: Connection,
    content_id: UUID,
    target: str,
    *,
    brand_slug: str,
    kind: str,
    account: str,
    by: UUID,
    lease: timedelta,
) -> Publication | None:
    """Claims the publication until its outcome is stored or the lease ends; None if another command has it."""
    row = await connection.fetchrow(
        f"""
        insert into publications as p (content_id, target, brand_slug, kind, account, claimed_by, claimed_until)
        values ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7)
        on conflict (content_id, target) do update
            set claimed_by = $6, claimed_until = clock_timestamp() + $7, kind = $4, account = $5
            where p.brand_slug = $3
              and (p.claimed_until is null or p.claimed_until <= clock_timestamp() or p.claimed_by = $6)
        returning {_COLUMNS}
        """,  # noqa: S608  (names of columns)
        content_id,
        target,
        brand_slug,
        kind,
        account,
        by,
        lease,
    )
    return None if row is None else _publication(row)


async def record_attempt(connection: Connection, publication: Publication, by: UUID, mark: str) -> bool:
    """Records an attempt before anything is sent. False if the claim was lost."""
    return bool(
        await connection.fetchval(
            """
            update publications set tried = array_append(array_remove(tried, $4), $4), state = 'writing'
            where content_id = $1 and target = $2 and claimed_by = $3 returning true
            """,
            publication.content_id,
            publication.target,
            by,
            mark,
        )
    )


async def record_creation(
    connection: Connection,
    publication: Publication,
    by: UUID,
    *,
    remote_id: str,
    seen: str | None,
    is_public: bool,
) -> bool:
    """Records that the target has the article, before the next step. False if the claim was lost."""
    return bool(
        await connection.fetchval(
            """
            update publications set remote_id = $4, seen = $5, is_public = $6
            where content_id = $1 and target = $2 and claimed_by = $3 returning true
            """,
            publication.content_id,
            publication.target,
            by,
            remote_id,
            seen,
            is_public,
        )
    )


async def reset(connection: Connection, publication: Publication) -> None:
    """Resets a publication that is gone at the target, so that it is created again."""
    await connection.execute(
        """
        update publications set remote_id = null, url = null, slug = null, seen = null, digest = null, is_public = false,
            made = made + 1, round = round + 1, tried = '{}'
        where content_id = $1 and target = $2
        """,
        publication.content_id,
        publication.target,
    )


async def settle(
    connection: Connection, publication: Publication, by: UUID, outcome: PublicationOutcome
) -> bool:
    """Stores the outcome and releases the claim. False, without a change, if the claim was lost."""
    return bool(
        await connection.fetchval(
            """
            update publications set
                state = $4, is_public = $5, remote_id = coalesce($6, remote_id), url = coalesce($7, url), slug = coalesce($8, slug),
                cover = $9, reason = $10, detail = $11, digest = $12, seen = coalesce($13, seen), as_of = coalesce($14, as_of),
                round = round + 1, tried = case when $4 = 'failed' then tried else '{}' end,
                claimed_by = null, claimed_until = null, changed_at = clock_timestamp()
            where content_id = $1 and target = $2 and claimed_by = $3 returning true
            """,
            publication.content_id,
            publication.target,
            by,
            outcome.state,
            outcome.is_public,
            outcome.remote_id,
            outcome.url,
            outcome.slug,
            outcome.cover,
            outcome.reason,
            outcome.detail[:1000],
            outcome.digest,
            outcome.seen,
            outcome.as_of,
        )
    )


async def find(connection: Connection, content_id: UUID, target: str, brand_slug: str) -> Publication | None:
    row = await connection.fetchrow(
        f"select {_COLUMNS} from publications where content_id = $1 and target = $2 and brand_slug = $3",  # noqa: S608  (as above)
        content_id,
        target,
        brand_slug,
    )
    return None if row is None else _publication(row)


async def of_brand(
    connection: Connection, brand_slug: str, *, state: str | None, newest: bool, after: int, limit: int
) -> list[Publication]:
    """Publications in the order of creation, or the newest first.

    Args:
        connection: of the database.
        brand_slug: the brand.
        state: only those in this state; None: all.
        newest: the newest first.
        after: number of the last one of the previous page; 0: there was none.
        limit: publications at most.
    """
    order, further = ("desc", "($3::bigint = 0 or number < $3)") if newest else ("asc", "number > $3")
    rows = await connection.fetch(
        f"""
        select {_COLUMNS} from publications
        where brand_slug = $1 and ($2::text is null or state = $2) and {further} order by number {order} limit $4
        """,  # noqa: S608  (as above)
        brand_slug,
        state,
        after,
        limit,
    )
    return [_publication(row) for row in rows]


async def settings_of(connection: Connection, brand_slug: str, target: str) -> TargetSettings | None:
    document = await connection.fetchval(
        "select settings::text from target_settings where brand_slug = $1 and target = $2", brand_slug, target
    )
    return None if document is None else TargetSettings.model_validate_json(document)


async def all_settings(connection: Connection, brand_slug: str) -> Sequence[tuple[str, TargetSettings]]:
    """Settings by target."""
    rows = await connection.fetch(
        "select target, settings::text from target_settings where brand_slug = $1 order by target", brand_slug
    )
    return [(row["target"], TargetSettings.model_validate_json(row["settings"])) for row in rows]


async def set_settings(
    connection: Connection, brand_slug: str, target: str, settings: TargetSettings
) -> None:
    await connection.execute(
        """
        insert into target_settings (brand_slug, target, settings) values ($1, $2, $3::text::jsonb)
        on conflict (brand_slug, target) do update set settings = excluded.settings, changed_at = clock_timestamp()
        """,
        brand_slug,
        target,
        settings.model_dump_json(exclude_defaults=True),
    )


async def remove_settings(connection: Connection, brand_slug: str, target: str) -> bool:
    status = await connection.execute(
        "delete from target_settings where brand_slug = $1 and target = $2", brand_slug, target
    )
    return status != "DELETE 0"


def _publication(row: asyncpg.Record) -> Publication:
    values = dict(row)
    return Publication(
        **{**values, "content_id": UUID(int=values["content_id"].int), "tried": frozenset(values["tried"])}
    )
