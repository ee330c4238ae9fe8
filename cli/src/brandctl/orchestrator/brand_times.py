"""Parses typed times: with an offset, or in the time zone of the brand."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from brandctl.errors import UsageError
from brandctl.terminal import note
from client.services.orchestrator import Orchestrator

HELP: Final = 'such as "2027-03-01 09:00" (in the time zone of the brand) or 2027-03-01T09:00+01:00'
"""Text for the help of options that take such a time."""


def zone_of(orchestrator: Orchestrator, brand: str) -> str:
    """Returns the name of the time zone of the brand's quiet hours, UTC without them."""
    hours = orchestrator.get_brand(brand)["quiet_hours"]
    return hours["time_zone"] if hours else "UTC"


def read_time(typed: str, find_zone: Callable[[], str]) -> str:
    """Returns the time in ISO 8601 with an offset, as the services accept it.

    Args:
        typed: "2027-03-01 09:00", or with an offset, as ISO 8601 has it.
        find_zone: returns the name of the time zone of a time without an offset.

    Raises:
        UsageError: the text is no time, or the clocks of the zone skip it.
    """
    moment = _parse(typed)
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


def _parse(typed: str) -> datetime:
    with suppress(ValueError):
        if ":" in typed:  # without one, the text is a day
            return datetime.fromisoformat(typed.strip())
    raise UsageError(f"'{typed}' is no time; write it {HELP}")
