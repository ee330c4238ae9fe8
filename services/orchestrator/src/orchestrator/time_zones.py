"""Time zones by their names. Pure but for the zones' own files, which are read once."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class UntimelyError(ValueError):
    """There is no such time; the message says what is wrong with the expression or the zone."""


def zone_called(name: str) -> ZoneInfo:
    """Raises UntimelyError: there is no such zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UntimelyError(
            f"there is no time zone {name[:40]!a}; write it like 'Europe/Berlin' or 'UTC'"
        ) from None
