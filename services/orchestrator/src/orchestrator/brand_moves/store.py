"""SQL over moves of brands. Every step needs the brand's row lock, which `lock_brand` takes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias
from uuid import UUID

from chassis import Connection

MoveStep: TypeAlias = Literal["draining", "frozen", "imported", "handing_over", "moved", "resumed"]
STEPS: Final[tuple[MoveStep, ...]] = (
    "draining", "frozen", "imported", "handing_over", "moved", "resumed",
)  # fmt: skip
"""In their order."""
_COLUMNS: Final = "brand_slug, move_id, moved_to, step, was_paused, begun_by, begun_at, frozen_at, moved_at"


@dataclass(frozen=True, slots=True)
class BrandMove:
    brand_slug: str
    move_id: UUID
    moved_to: str
    step: MoveStep
    was_paused: bool
    begun_by: str
    begun_at: datetime
    frozen_at: datetime | None
    moved_at: datetime | None


async def lock_brand(connection: Connection, slug: str) -> bool:
    """Locks a brand against all changes until the transaction ends; False if there is none."""
    return await connection.fetchval("select true from brands where slug = $1 for update", slug) is True


async def find_move(connection: Connection, slug: str) -> BrandMove | None:
    row = await connection.fetchrow(f"select {_COLUMNS} from brand_moves where brand_slug = $1", slug)  # noqa: S608
    return None if row is None else BrandMove(**row)


async def begin_move(
    connection: Connection, slug: str, move_id: UUID, moved_to: str, *, by: str
) -> BrandMove:
    """Pauses the brand and stores its move."""
    row = await connection.fetchrow(
        f"""
        insert into brand_moves (brand_slug, move_id, moved_to, was_paused, begun_by)
        select slug, $2, $3, paused_at is not null, $4 from brands where slug = $1
        returning {_COLUMNS}
        """,  # noqa: S608
        slug,
        move_id,
        moved_to,
        by,
    )
    await connection.execute(
        "update brands set paused_at = coalesce(paused_at, clock_timestamp()) where slug = $1", slug
    )
    assert row is not None
    return BrandMove(**row)


async def set_step(connection: Connection, slug: str, step: MoveStep) -> BrandMove:
    row = await connection.fetchrow(
        f"""
        update brand_moves set step = $2,
            frozen_at = case when $2 = 'frozen' then clock_timestamp() else frozen_at end,
            moved_at = case when $2 = 'moved' then clock_timestamp() else moved_at end
        where brand_slug = $1 returning {_COLUMNS}
        """,  # noqa: S608
        slug,
        step,
    )
    assert row is not None
    return BrandMove(**row)


async def cancel_move(connection: Connection, move: BrandMove) -> None:
    """Removes the move; the brand is paused if it was before."""
    await connection.execute("delete from brand_moves where brand_slug = $1", move.brand_slug)
    if not move.was_paused:
        await connection.execute("update brands set paused_at = null where slug = $1", move.brand_slug)


async def is_import_open(connection: Connection, slug: str) -> bool:
    """Whether the brand is being imported here."""
    found: bool = await connection.fetchval(
        "select exists (select from brand_imports where brand_slug = $1 and ended_at is null)", slug
    )
    return found


async def under_way(connection: Connection, slug: str) -> dict[str, int]:
    """What would still publish something here although the brand is paused: counts by name, without those that are 0.

    Keywords at research are none of it: their answers wait for a turn. At the other installation they are researched anew.
    """
    row = await connection.fetchrow(
        """
        select
            (select coalesce(sum(writing - awaiting_writing), 0) from cycles
             where brand_slug = $1 and ended_at is null)::int as articles_being_written,
            (select coalesce(sum(publishing), 0) from cycles
             where brand_slug = $1 and ended_at is null)::int as articles_being_published,
            (select count(*) from content
             where brand_slug = $1 and decision = 'returned' and held_for <> '{}')::int as drafts_being_rewritten,
            (select count(*) from content join placements using (content_id)
             where brand_slug = $1 and state = 'asked')::int as articles_on_their_way_to_a_target,
            (select count(*) from outbox
             where position(convert_to('"brand_slug":"' || $1 || '"', 'UTF8') in body) > 0)::int as messages_to_be_sent
        """,
        slug,
    )
    assert row is not None
    return {name: count for name, count in row.items() if count}
