"""SQL over brands, beside the functions that run it."""

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

import asyncpg

from chassis import Connection
from chassis.quiet_hours import QuietHours
from envelope.brand.settings import BrandSettings, QuietHoursRequest
from orchestrator.brands.domain import ApprovalPolicy, BrandSlug, approval_of


class BrandRow(BrandSettings):
    """A stored brand. Its `targets` are all targets, the home first; without `approval`, the default applies."""

    slug: BrandSlug
    paused_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def approves(self) -> ApprovalPolicy:
        return approval_of(self.approval, writer=self.writer, targets=self.targets)


_SETTINGS: Final = tuple(
    "further_targets" if name == "targets" else name for name in BrandSettings.model_fields
)
"""The columns of the settings. `further_targets` are all targets but the home."""


def _listed(table: str) -> str:
    return ", ".join(f"{table}.{column}" for column in _SETTINGS)


_UPSERT: Final = f"""
    insert into brands as b (slug, {", ".join(_SETTINGS)}, quiet_from, quiet_until)
    select $1, {_listed("new")}, $3, $4 from jsonb_populate_record(null::brands, $2::text::jsonb) as new
    on conflict (slug) do update
        set ({", ".join(_SETTINGS)}, quiet_from, quiet_until) = ({_listed("excluded")}, excluded.quiet_from, excluded.quiet_until),
            updated_at = case when ({_listed("b")}) is not distinct from ({_listed("excluded")}) then b.updated_at else now() end
    returning *, xmax = 0 as is_new
"""  # noqa: S608  (names of columns)


async def upsert_brand(connection: Connection, slug: str, settings: BrandSettings) -> tuple[BrandRow, bool]:
    """The brand as stored, and whether it is new. An unchanged brand keeps its `updated_at`."""
    hours = quiet_hours_of(settings.quiet_hours)
    period = hours and hours.period(await connection.fetchval("select now()"))
    columns = settings.model_dump(mode="json", include=set(BrandSettings.model_fields))
    columns["further_targets"] = columns.pop("targets")[1:]
    row = await connection.fetchrow(
        _UPSERT, slug, json.dumps(columns), period and period.begins, period and period.ends
    )
    assert row is not None
    return _brand(row), bool(row["is_new"])


async def find_brand(connection: Connection, slug: str) -> BrandRow | None:
    row = await connection.fetchrow("select * from brands where slug = $1", slug)
    return _brand(row) if row else None


async def find_brands(connection: Connection, slugs: Collection[str]) -> dict[str, BrandRow]:
    """The existing brands among these, by slug."""
    rows = await connection.fetch("select * from brands where slug = any ($1::text[])", list(slugs))
    return {row["slug"]: _brand(row) for row in rows}


async def hold_brand(connection: Connection, slug: str) -> BrandRow | None:
    """Finds a brand and locks it against changes until the transaction ends."""
    row = await connection.fetchrow("select * from brands where slug = $1 for no key update", slug)
    return _brand(row) if row else None


async def brands_page(
    connection: Connection, *, slugs: Collection[str] | None, after: str, limit: int
) -> list[BrandRow]:
    """A page of brands by slug, after `after`; all brands, or only these."""
    rows = await connection.fetch(
        "select * from brands where ($1::text[] is null or slug = any ($1)) and slug > $2 order by slug limit $3",
        None if slugs is None else list(slugs),
        after,
        limit,
    )
    return [_brand(row) for row in rows]


async def names_page(
    connection: Connection, *, slugs: Collection[str] | None, after: str, limit: int
) -> list[tuple[str, str]]:
    """Slugs and names of a page of brands, as `brands_page` finds them."""
    rows = await connection.fetch(
        "select slug, name from brands where ($1::text[] is null or slug = any ($1)) and slug > $2 order by slug limit $3",
        None if slugs is None else list(slugs),
        after,
        limit,
    )
    return [(row["slug"], row["name"]) for row in rows]


async def end_quiet_periods(connection: Connection) -> list[BrandSlug]:
    """Replaces each quiet period that is over with the next one; returns the slugs of their brands."""
    rows = await connection.fetch(
        "select slug, quiet_hours::text, now() from brands where quiet_until <= now()"
        " order by slug for no key update skip locked"
    )
    periods = [QuietHours.read(**json.loads(row["quiet_hours"])).period(row["now"]) for row in rows]
    await connection.execute(
        """
        update brands as b set quiet_from = next.begins, quiet_until = next.ends
        from unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) as next (slug, begins, ends)
        where b.slug = next.slug
        """,
        [row["slug"] for row in rows],
        [period.begins for period in periods],
        [period.ends for period in periods],
    )
    return [row["slug"] for row in rows]


async def until_a_quiet_period_ends(connection: Connection) -> timedelta | None:
    """Time until the next quiet period ends; None if no brand has quiet hours."""
    due: timedelta | None = await connection.fetchval(
        "select min(quiet_until) - clock_timestamp() from brands where quiet_until is not null"
    )
    return due


def quiet_hours_of(setting: QuietHoursRequest | None) -> QuietHours | None:
    """The quiet hours of a setting. Raises UntimelyError: they never end, or the zone does not exist."""
    return None if setting is None else QuietHours.read(setting.begin, setting.end, setting.time_zone)


def _brand(row: asyncpg.Record) -> BrandRow:
    """The row as a brand. Its settings were checked when they were stored."""
    stored: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    stored["targets"] = tuple(dict.fromkeys((row["target"], *row["further_targets"])))
    if row["quiet_hours"] is not None:
        stored["quiet_hours"] = QuietHoursRequest.model_construct(**json.loads(row["quiet_hours"]))
    return BrandRow.model_construct(**{name: stored[name] for name in BrandRow.model_fields})
