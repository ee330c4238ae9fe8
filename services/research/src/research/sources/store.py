"""The sources of brands, one row for each that has any of its own."""

from chassis import Connection
from research.sources.domain import Sources


async def sources_of(connection: Connection, brand_slug: str) -> Sources:
    """Those that were set, or the folder alone."""
    settings: str | None = await connection.fetchval(
        "select settings::text from brand_sources where brand_slug = $1", brand_slug
    )
    return Sources() if settings is None else Sources.model_validate_json(settings)


async def set_sources(connection: Connection, brand_slug: str, sources: Sources) -> None:
    await connection.execute(
        "insert into brand_sources as known (brand_slug, settings) values ($1, $2::text::jsonb)"
        " on conflict (brand_slug) do update set settings = excluded.settings, changed_at = now()"
        " where known.settings <> excluded.settings",
        brand_slug,
        sources.model_dump_json(),
    )
