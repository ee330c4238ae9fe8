"""Refuses changes of brands that move, or have moved, to another installation. `brand_moves` moves them."""

from typing import Final

from chassis import Connection
from chassis.http.problem_codes import RefusalError
from orchestrator import problem_codes as codes

FROZEN: Final = "('frozen', 'imported', 'handing_over', 'moved', 'resumed')"
"""SQL: the steps of a move in which the brand changes no more here."""
_GONE: Final = frozenset({"moved", "resumed"})


class BrandMovesError(RefusalError):
    """The brand moves; the message says where to."""

    def __init__(self, slug: str, moved_to: str, *, is_gone: bool) -> None:
        if is_gone:
            super().__init__(codes.BRAND_MOVED, f"'{slug}' has moved to {moved_to}: change it there")
            return
        super().__init__(
            codes.BRAND_MOVES,
            f"'{slug}' is moving to {moved_to}, which takes seconds: try again there after that. If the move stands still,"
            f" repeat brandctl brands move {slug}, or give it up with --cancel",
        )


async def check_not_moving(connection: Connection, slug: str) -> None:
    """Called after the brand's row is locked, so that no move freezes it before the transaction ends.

    Raises:
        BrandMovesError: the brand is copied to another installation, or was.
    """
    row = await connection.fetchrow(
        f"select moved_to, step from brand_moves where brand_slug = $1 and step in {FROZEN}",  # noqa: S608
        slug,
    )
    if row is not None:
        raise BrandMovesError(slug, row["moved_to"], is_gone=row["step"] in _GONE)


async def check_may_resume(connection: Connection, slug: str) -> None:
    """Raises BrandMovesError: a move has paused the brand."""
    moved_to = await connection.fetchval("select moved_to from brand_moves where brand_slug = $1", slug)
    if moved_to is not None:
        raise BrandMovesError(slug, moved_to, is_gone=False)


async def check_not_under_way(connection: Connection, slug: str) -> None:
    """Raises BrandMovesError: a move of the brand has begun and is not over."""
    moved_to = await connection.fetchval(
        "select moved_to from brand_moves where brand_slug = $1 and step not in ('moved', 'resumed')", slug
    )
    if moved_to is not None:
        raise BrandMovesError(slug, moved_to, is_gone=False)


async def hold_unmoved(connection: Connection, slug: str) -> None:
    """Keeps a brand from being frozen for a move until the transaction ends.

    Raises:
        BrandMovesError: it is.
    """
    await connection.execute("select from brands where slug = $1 for key share", slug)
    await check_not_moving(connection, slug)
