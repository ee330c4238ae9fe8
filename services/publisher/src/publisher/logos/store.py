"""Logos in the publisher's database: each statement beside the function that runs it."""

from chassis import Connection
from publisher.domain import BrandSlug, Logo, LogoBackground


async def logo(connection: Connection, brand: BrandSlug) -> Logo | None:
    row = await connection.fetchrow(
        "select digest, width, height, plate from logos where brand_slug = $1", brand
    )
    return None if row is None else Logo(row["digest"], row["width"], row["height"], _plate(row["plate"]))


async def body(connection: Connection, brand: BrandSlug, digest: str) -> bytes | None:
    """The logo's file, if it is still the brand's logo."""
    found: bytes | None = await connection.fetchval(
        "select body from logos where brand_slug = $1 and digest = $2", brand, digest
    )
    return found


async def save(connection: Connection, brand: BrandSlug, logo: Logo, body: bytes) -> None:
    """Replaces the brand's logo in the caller's transaction; the same logo again changes nothing."""
    changed = await connection.fetchval(
        """
        insert into logos as kept (brand_slug, digest, width, height, plate, body) values ($1, $2, $3, $4, $5, $6)
        on conflict (brand_slug) do update
            set (digest, width, height, plate, body, changed_at)
              = (excluded.digest, excluded.width, excluded.height, excluded.plate, excluded.body, clock_timestamp())
            where (kept.digest, kept.plate) is distinct from (excluded.digest, excluded.plate)
        returning true
        """,
        brand,
        logo.digest,
        logo.width,
        logo.height,
        logo.plate,
        body,
    )
    if changed:
        await _site_changed(connection, brand)


async def remove(connection: Connection, brand: BrandSlug) -> bool:
    """Deletes the brand's logo; returns whether there was one."""
    removed = await connection.fetchval("delete from logos where brand_slug = $1 returning true", brand)
    if removed:
        await _site_changed(connection, brand)
    return bool(removed)


async def _site_changed(connection: Connection, brand: BrandSlug) -> None:
    """Marks every page of the site as changed; a brand without articles has no site yet."""
    await connection.execute("update sites set changed_at = clock_timestamp() where brand_slug = $1", brand)


def _plate(name: str | None) -> LogoBackground | None:
    return None if name is None else LogoBackground(name)
