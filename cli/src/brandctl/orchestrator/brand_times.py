"""Parses typed times: with an offset, or in the time zone of the brand."""

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

HELP: Final = 'such as "2027-03-01 09:00" (in the time zone of the brand) or 2027-03-01T09:00+01:00'
"""Text for the help of options that take such a time."""


class BrandTimesClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def zone(self, slug: str) -> str:
        """Returns the name of the time zone of the brand's quiet hours, UTC without them."""
        brand: dict[str, Any] = self._ask("GET", f"/v1/brands/{quote(slug, safe='')}")
        return str(brand["quiet_hours"]["time_zone"]) if brand.get("quiet_hours") else "UTC"


def read_time(
    typed: str, find_brand: Callable[[], str], orchestrator_url: str | None, key_file: Path | None
) -> str:
    """Returns the time in ISO 8601 with an offset, as the services accept it.

    Args:
        typed: "2027-03-01 09:00", or with an offset, as ISO 8601 has it.
        find_brand: returns the slug of the brand that gives the time zone, if there is no offset.
        orchestrator_url: address of the orchestrator, which knows the brand's zone; None: `find_access` finds it.
        key_file: file with its key; None: `find_access` finds it.

    Raises:
        UsageError: the text is no time, or the brand's clocks skip it.
        ServiceError: the orchestrator cannot be reached or refuses.
    """
    return _with_offset(_parse(typed), lambda: _zone(find_brand(), orchestrator_url, key_file))


def read_time_in(typed: str, zone: str) -> str:
    """As `read_time`, in a given time zone."""
    return _with_offset(_parse(typed), lambda: zone)


def _parse(typed: str) -> datetime:
    with suppress(ValueError):
        if ":" in typed:  # without one, the text is a day
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
    note(f"{moment:%Y-%m-%d %H:%M} is in the time zone {name}: {zoned.isoformat(timespec='minutes')}")
    return zoned.isoformat()
