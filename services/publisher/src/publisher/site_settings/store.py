"""Settings of sites in the publisher's database: each statement beside the function that runs it."""

import re
from typing import Final

from chassis import Connection
from publisher.domain import BrandSlug, SiteSettings

_TOP: Final = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]{2,59}")
_INNER: Final = frozenset(
    "localhost localdomain local internal intranet private corp lan home arpa svc onion invalid".split()  # noqa: SIM905  (read as one line)
)
"""Last labels that no public name has (RFC 6761, 6762, 7686, 8375, names reserved by ICANN), and that of Kubernetes services."""


def is_public_host(host: str) -> bool:
    """Whether `blog.example.org` could be a public name: not an address, a single label or an internal name. Does not look it up.

    The database has the same rule, `is_public_host` in `0019_public_hosts_of_sites.sql`.
    """
    _, dot, top = host.rpartition(".")
    return bool(dot) and _TOP.fullmatch(top) is not None and top not in _INNER


def host_name(origin: str) -> str:
    """`blog.example.org` of `https://Blog.example.org:8443`."""
    return origin.partition("//")[2].partition(":")[0].lower().rstrip(".")


async def settings_of(connection: Connection, brand: BrandSlug) -> SiteSettings | None:
    """The brand's settings; None if it has set none."""
    row: str | None = await connection.fetchval(
        "select settings::text from site_settings where brand_slug = $1", brand
    )
    return None if row is None else SiteSettings.model_validate_json(row)


async def lock_settings(connection: Connection, brand: BrandSlug) -> SiteSettings:
    """The brand's settings, locked against other changes until the transaction ends."""
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended('publisher.site_settings.' || $1::text, 0))", brand
    )
    return await settings_of(connection, brand) or SiteSettings()


async def save(connection: Connection, brand: BrandSlug, settings: SiteSettings) -> None:
    """Stores the settings in the caller's transaction; the same settings again change nothing.

    Raises:
        asyncpg.UniqueViolationError: the host of the address is another brand's.
    """
    changed = await connection.fetchval(
        """
        insert into site_settings as kept (brand_slug, settings, address) values ($1, $2::text::jsonb, $3)
        on conflict (brand_slug) do update
            set (settings, address, changed_at) = (excluded.settings, excluded.address, clock_timestamp())
            where (kept.settings, kept.address) is distinct from (excluded.settings, excluded.address)
        returning true
        """,
        brand,
        settings.model_dump_json(),
        settings.address,
    )
    if changed:
        await _site_changed(connection, brand)


async def remove(connection: Connection, brand: BrandSlug) -> bool:
    """Deletes the brand's settings; returns whether there were any."""
    removed = await connection.fetchval(
        "delete from site_settings where brand_slug = $1 returning true", brand
    )
    if removed:
        await _site_changed(connection, brand)
    return bool(removed)


async def address_of(connection: Connection, brand: BrandSlug) -> str | None:
    """The site's own origin, if the brand has set one."""
    address: str | None = await connection.fetchval(
        "select address from site_settings where brand_slug = $1", brand
    )
    return address


async def addresses(connection: Connection) -> dict[str, tuple[BrandSlug, str]]:
    """The sites with hosts of their own: brand and origin by host, such as `blog.example.org:8080`."""
    rows = await connection.fetch(
        "select split_part(address, '//', 2) as host, brand_slug, address from site_settings where address is not null"
    )
    return {row["host"]: (BrandSlug(row["brand_slug"]), row["address"]) for row in rows}


async def _site_changed(connection: Connection, brand: BrandSlug) -> None:
    """Marks every page of the site as changed; a brand without articles has no site yet."""
    await connection.execute("update sites set changed_at = clock_timestamp() where brand_slug = $1", brand)
