"""Times as people type them: with an offset, or by the clocks of the brand that they are about."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

from brandctl.asking import ServiceClient
from brandctl.errors import UsageError
from brandctl.terminal import note

HELP: Final = 'such as "2027-03-01 09:00", by the clocks of the brand, or 2027-03-01T09:00+01:00'
"""For the help of an option that takes such a time."""


class BrandTimesClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def zone(self, slug: str) -> str:
        """Name of the time zone of the brand's quiet hours; UTC for a brand that has none."""
        brand: dict[str, Any] = self._ask("GET", f"/v1/brands/{quote(slug, safe='')}")
        return str(brand["quiet_hours"]["time_zone"]) if brand.get("quiet_hours") else "UTC"


def read_time(
    typed: str, find_brand: Callable[[], str], orchestrator_url: str | None, key_file: Path | None
) -> str:
    """A time as the services take it: ISO 8601 with its offset.

    Args:
        typed: "2027-03-01 09:00", or with an offset, as ISO 8601 has it.
        find_brand: the slug of the brand whose clocks count if there is no offset.
        orchestrator_url: of the orchestrator, which knows the brand's zone; None: where it is found.
        key_file: holds the key for it; None: the key that is found.

    Raises:
        UsageError: it is no time, or one that the clocks of the brand skip.
        ServiceError: the orchestrator could not be asked.
    """
    return _with_offset(_parse(typed), lambda: _zone(find_brand(), orchestrator_url, key_file))


def read_time_in(typed: str, zone: str) -> str:
    """As `read_time`, by the clocks of a time zone."""
    return _with_offset(_parse(typed), lambda: zone)


def _parse(typed: str) -> datetime:
    with suppress(ValueError):
        if ":" in typed:  # or it is a day alone
            return datetime.fromisoformat(typed.strip())
    raise UsageError(f"'{typed}' is no time; write it {HELP}")


def _zone(slug: str, orchestrator_url: str | None, key_file: Path | None) -> str:
    with BrandTimesClient.at(orchestrator_url, key_file) as clocks:
        return clocks.zone(slug)


def _with_offset(moment: datetime, find_zone: Callable[[], str]) -> str:
    if moment.tzinfo is not None:
        return moment.isoformat()
    name = find_zone()
    zoned = moment.replace(tzinfo=ZoneInfo(name))
    if zoned.astimezone(UTC).astimezone(zoned.tzinfo).replace(tzinfo=None) != moment:
        raise UsageError(
            f"the clocks of {name} skip {moment:%Y-%m-%d %H:%M}, when summer time begins; take a time an hour later"
        )
    note(f"{moment:%Y-%m-%d %H:%M} is meant by the clocks of {name}: {zoned.isoformat(timespec='minutes')}")
    return zoned.isoformat()
