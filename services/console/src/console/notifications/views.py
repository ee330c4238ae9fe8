"""Contents of the pages about notification routes, and the requests of their form. Pure: no I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.pages import Form

KINDS: Final = (
    "dead_letters", "in_doubt", "budgets", "accounts", "waiting", "audits", "routes", "missing", "queues", "services", "webhooks",
)  # fmt: skip
"""What a route can tell about."""
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
CHANNELS: Final = frozenset({"discord", "slack", "smtp", "telegram", "webhook"})
"""Kinds of accounts that messages can be sent with."""
MESSAGE_TONES: Final = {"sent": "good", "failed": "bad", "waiting": "warn", "sending": "warn"}
SEVERITY_TONES: Final = {"critical": "bad", "warning": "warn"}
_LONGEST_NUMBER: Final = 9
_GROUP_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class RouteFields:
    """A route as its form has it."""

    name: str = ""
    account: str = ""
    to: str = ""
    """One address in each line."""
    brand: str = ""
    """Empty: an operators' route."""
    kinds: tuple[str, ...] = ()
    """None: all."""
    group_seconds: str = str(_GROUP_SECONDS)
    quiet_begin: str = ""
    quiet_end: str = ""
    weekday: str = ""
    """Empty: no weekly summary."""
    at: str = "08:00"
    zone: str = "UTC"
    """Of the quiet hours and the summary."""
    version: str = ""
    """When the route was last changed, as the form showed it; empty for a new one."""


def fields_of(route: Mapping[str, Any], zone: str) -> RouteFields:
    quiet, summary = route["quiet_hours"] or {}, route["summary"] or {}
    return RouteFields(
        name=route["name"],
        account=route["account"],
        to="\n".join(route["to"]),
        brand=route["brand"] or "",
        kinds=tuple(route["kinds"]),
        group_seconds=str(route["group_seconds"]),
        quiet_begin=quiet.get("begin", ""),
        quiet_end=quiet.get("end", ""),
        weekday=summary.get("weekday", ""),
        at=summary.get("at", "08:00"),
        zone=quiet.get("time_zone") or summary.get("time_zone") or zone,
        version=route["updated_at"],
    )


def typed_fields(form: Form) -> RouteFields:
    return RouteFields(
        name=form.text("name"),
        account=form.text("account"),
        to="\n".join(_lines(form.text("to"))),
        brand=form.text("brand"),
        kinds=tuple(form.all("kinds")),
        group_seconds=form.text("group_seconds"),
        quiet_begin=form.text("quiet_begin"),
        quiet_end=form.text("quiet_end"),
        weekday=form.text("weekday"),
        at=form.text("at"),
        zone=form.text("zone"),
        version=form.text("version"),
    )


def wanted_route(fields: RouteFields) -> dict[str, Any]:
    """Returns the settings to send for a route; malformed values are sent as typed, for the service to refuse."""
    quiet = {"begin": fields.quiet_begin, "end": fields.quiet_end, "time_zone": fields.zone}
    summary = {"weekday": fields.weekday, "at": fields.at, "time_zone": fields.zone}
    return {
        "account": fields.account,
        "to": _lines(fields.to),
        "brand": fields.brand or None,
        "kinds": list(fields.kinds),
        "group_seconds": _number(fields.group_seconds),
        "quiet_hours": quiet if fields.quiet_begin or fields.quiet_end else None,
        "summary": summary if fields.weekday else None,
    }


def _number(text: str) -> int | str:
    if not text:
        return _GROUP_SECONDS
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else text


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class AccountChoice:
    name: str
    kind: str


def account_choices(accounts: Iterable[Mapping[str, Any]], chosen: str) -> tuple[AccountChoice, ...]:
    """Returns the accounts that can send messages, and the chosen one even if it cannot any more."""
    found = [AccountChoice(each["name"], each["kind"]) for each in accounts if each["kind"] in CHANNELS]
    if chosen and all(each.name != chosen for each in found):
        found.append(AccountChoice(chosen, ""))
    return tuple(found)
