"""Drawn covers in the publisher's database: each statement beside the function that runs it."""

from asyncpg import Record

from chassis import Connection
from publisher.covers.cover import Cover, Format
from publisher.domain import BrandSlug, PageSlug


async def cover(connection: Connection, brand: BrandSlug, slug: PageSlug) -> Cover | None:
    """The current cover of a page; None if there is no such page."""
    row = await connection.fetchrow(
        """
        select content_id, title, name, logos.digest as logo, settings ->> 'accent' as accent, figure
        from pages join sites using (brand_slug) left join logos using (brand_slug) left join site_settings using (brand_slug)
        where brand_slug = $1 and slug = $2 and taken_down_at is null
        """,
        brand,
        slug,
    )
    if row is None:
        return None
    return cover_of_row(brand, row)


def cover_of_row(brand: BrandSlug, row: Record) -> Cover:
    """The cover of a page's row with the name, logo and accent of its site."""
    drawn = {name: row[name] for name in ("logo", "accent", "figure")}
    return Cover.of(row["content_id"], row["title"], row["name"], brand, **drawn)


async def picture(
    connection: Connection, brand: BrandSlug, slug: PageSlug, digest: str, format_: Format
) -> bytes | None:
    """A stored picture of the page, of its current or a former cover."""
    body: bytes | None = await connection.fetchval(
        """
        select body from covers join pages using (content_id)
        where brand_slug = $1 and slug = $2 and taken_down_at is null and digest = $3 and format = $4
        """,
        brand,
        slug,
        digest,
        format_.value,
    )
    return body


async def store_picture(
    connection: Connection, cover: Cover, format_: Format, body: bytes, *, most_bytes: int
) -> bytes:
    """Stores a picture in the caller's transaction, and returns the stored bytes: another process may have been first.

    An article's previous picture stays, for pages and links that still name it. Beyond `most_bytes` in total, the oldest
    pictures are deleted; a later request draws them again.
    """
    key = (cover.content_id, cover.digest, format_.value)
    await connection.execute(
        "insert into covers (content_id, digest, format, body) values ($1, $2, $3, $4) on conflict do nothing",
        *key,
        body,
    )
    kept: bytes = await connection.fetchval(
        "select body from covers where content_id = $1 and digest = $2 and format = $3", *key
    )
    await connection.execute(
        """
        delete from covers where content_id = $1 and format = $3 and digest <> $2 and digest <> (
            select digest from covers where content_id = $1 and format = $3 and digest <> $2
            order by drawn_at desc, digest limit 1)
        """,
        *key,
    )
    # Skips rows that another process is about to delete.
    await connection.execute(
        """
        with ranked as (
            select content_id, digest, format,
                   sum(octet_length(body)) over (order by drawn_at desc, content_id, digest, format) as bytes
            from covers),
        surplus as (
            select content_id, digest, format from covers join ranked using (content_id, digest, format)
            where ranked.bytes > $4 and (content_id, digest, format) <> ($1, $2, $3)
            for update of covers skip locked)
        delete from covers using surplus
        where (covers.content_id, covers.digest, covers.format)
            = (surplus.content_id, surplus.digest, surplus.format)
        """,
        *key,
        most_bytes,
    )
    return kept
