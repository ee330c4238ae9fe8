"""Times of the services' answers, as commands show them: in UTC, unless they say otherwise."""

from datetime import UTC, datetime

import typer


def to_minute(moment: str | None) -> str:
    """`2026-07-01 12:00`; empty without a time."""
    return (moment or "")[:16].replace("T", " ")


def to_second(moment: str | None) -> str:
    """`2026-07-01 12:00:00`; empty without a time."""
    return (moment or "")[:19].replace("T", " ")


def with_offset(moment: str) -> str:
    """`2026-07-01 12:00+00:00`."""
    return datetime.fromisoformat(moment).isoformat(sep=" ", timespec="minutes")


def in_utc(moment: str) -> str:
    """`2026-07-01 12:00 UTC`."""
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def parse_moment(text: str) -> str:
    """Reads a time that an option gives; without a zone it is this machine's.

    Raises:
        typer.BadParameter: it is none.
    """
    try:
        return datetime.fromisoformat(text.strip()).astimezone().isoformat()
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is not a time such as 2026-11-28T14:00") from None
