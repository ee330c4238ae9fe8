"""Contents of the page about API keys, and the requests of its form. Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from chassis.http.callers import Scope
from console.pages import Form

SCOPES: Final = tuple(scope.value for scope in Scope)
GRACE: Final = {"none": timedelta(0), "day": timedelta(days=1)}
"""How long a former secret stays valid, by the word in the form."""
_LONGEST_NUMBER: Final = 9


@dataclass(frozen=True, slots=True)
class KeyFields:
    """A new key as its form has it."""

    name: str = ""
    scopes: tuple[str, ...] = (Scope.READ.value,)
    brands: tuple[str, ...] = ()
    """None: all brands."""
    last_day: str = ""
    """The last day on which it works; empty: it works until it is revoked."""
    per_minute: str = ""


def typed_fields(form: Form) -> KeyFields:
    return KeyFields(
        form.text("name"),
        tuple(form.all("scopes")),
        tuple(form.all("brands")),
        form.text("last_day"),
        form.text("per_minute"),
    )


def wanted_key(fields: KeyFields, zone: str) -> dict[str, Any]:
    """Returns the request for a key; malformed values are sent as typed, for the service to refuse."""
    return {
        "name": fields.name,
        "scopes": list(fields.scopes),
        "brands": list(fields.brands) or None,
        "expires_at": _end_of(fields.last_day, zone) if fields.last_day else None,
        "per_minute": wanted_limit(fields.per_minute),
    }


def wanted_limit(typed: str) -> int | str | None:
    """Returns how often a key may be used in a minute; None: as often as its scopes allow."""
    number = typed.isascii() and typed.isdigit() and len(typed) <= _LONGEST_NUMBER
    return (int(typed) if number else typed) if typed else None


def _end_of(day: str, zone: str) -> str:
    """Returns the midnight after a day of the reader; a text that is no day stays."""
    try:
        following = date.fromisoformat(day) + timedelta(days=1)
        return datetime.combine(following, time(), ZoneInfo(zone)).isoformat()
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        return day


@dataclass(frozen=True, slots=True)
class KeyLine:
    about: Mapping[str, Any]
    person: str | None
    """Whose key of the console it is."""

    @property
    def state(self) -> str:
        if self.about["revoked_at"] is not None:
            return "revoked"
        return "expired" if self.about["is_expired"] else "works"

    @property
    def may_change(self) -> bool:
        """A person's key ends with the person: without it they are locked out, with another secret too."""
        return self.person is None and self.state != "revoked"


STATE_TONES: Final = {"works": "good", "expired": "warn", "revoked": "quiet"}
