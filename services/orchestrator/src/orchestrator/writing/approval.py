"""Which articles a brand wants a person to see before they are published."""

from chassis import Connection
from orchestrator.brands import Approval, Brand

EVERYTHING = "its brand wants to see every article before it is published"
FIRST = "its brand wants to see the first article on a keyword before it is published"


async def wish_to_see(connection: Connection, brand: Brand, keyword: str) -> tuple[str, ...]:
    """Why a new article of the brand waits for a person, however good it is; empty if it need not."""
    match brand.approves:
        case Approval.EVERYTHING:
            return (EVERYTHING,)
        case Approval.FIRST:
            return () if await _has_article(connection, brand.slug, keyword) else (FIRST,)
        case Approval.NOTHING:
            return ()


async def _has_article(connection: Connection, brand_slug: str, keyword: str) -> bool:
    """Whether the brand has an article on this keyword that a person approved or that needed none; case does not count."""
    found: bool = await connection.fetchval(
        """
        select exists (
            select from content where brand_slug = $1 and held_for = '{}'
              and lower(normalize(keyword, NFKC)) = lower(normalize($2, NFKC)))
        """,
        brand_slug,
        keyword,
    )
    return found
