"""Source settings in the database, one row for each brand with settings of its own."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from chassis import Connection
from research.sources.domain import SourceSettings, WebSearchSettings


async def sources_of(connection: Connection, brand_slug: str) -> SourceSettings:
    """Return the brand's settings, by default the folder alone; fields of later versions are ignored."""
    return (await sources_of_brands(connection, [brand_slug]))[brand_slug]


async def sources_of_brands(connection: Connection, brands: Sequence[str]) -> dict[str, SourceSettings]:
    rows = await connection.fetch(
        "select brand_slug, settings::text as settings from brand_sources where brand_slug = any ($1::text[])",
        brands,
    )
    return dict.fromkeys(brands, SourceSettings()) | {
        row["brand_slug"]: _read(row["settings"]) for row in rows
    }


def _read(settings: str) -> SourceSettings:
    known = _known(json.loads(settings), SourceSettings)
    if known.get("web") is not None:
        known["web"] = _known(known["web"], WebSearchSettings)
    return SourceSettings.model_validate(known)


def _known(settings: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in model.model_fields}


async def set_sources(connection: Connection, brand_slug: str, sources: SourceSettings) -> None:
    await connection.execute(
        "insert into brand_sources as known (brand_slug, settings) values ($1, $2::text::jsonb)"
        " on conflict (brand_slug) do update set settings = excluded.settings, changed_at = now()"
        " where known.settings <> excluded.settings",
        brand_slug,
        sources.model_dump_json(),
    )
