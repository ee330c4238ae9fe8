"""Folders below PUBLISH_FOLDER by brand: SQL beside the functions that run it."""

from chassis import Connection


async def is_within_own(connection: Connection, brand_slug: str, folder: str) -> bool:
    """Whether the folder is the brand's own or below one; the folder named after the brand is always its own."""
    found: bool = await connection.fetchval(
        """
        select exists (
            select from (
                select folder from target_folders where brand_slug = $1
                union all
                select $1::text where not exists (select from target_folders where folder = $1 and brand_slug <> $1)
            ) as own
            where lower($2) = own.folder or starts_with(lower($2), own.folder || '/'))
        """,
        brand_slug,
        folder,
    )
    return found


async def take(connection: Connection, brand_slug: str, folder: str) -> bool:
    """Reserves the folder for the brand in the caller's transaction; False if it overlaps another brand's."""
    taken: bool = await connection.fetchval("select take_folder($1, $2)", folder, brand_slug)
    return taken


async def release_unused(connection: Connection, brand_slug: str) -> None:
    """Releases folders that no target of the brand uses, except the one named after the brand."""
    await connection.execute(
        """
        delete from target_folders as t where brand_slug = $1 and folder <> $1 and not exists (
            select from target_settings as s where s.brand_slug = $1 and lower(s.settings ->> 'folder') = t.folder)
        """,
        brand_slug,
    )
