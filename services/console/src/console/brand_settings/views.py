"""Contents of the page of a brand's settings, and the changes of its form. Pure: no I/O."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from console.pages import Form

DEFAULT_TARGET: Final = "site"
_LONGEST_NUMBER: Final = 9
_AMOUNT: Final = re.compile(r"[0-9]{1,9}([.,][0-9]{1,6})?")
SERVICES: Final = ("orchestrator", "monitor", "publisher", "research", "social")
"""Those that confirm an erasure; the gateway, if there is one, is the last."""
GATEWAY: Final = "gateway"


@dataclass(frozen=True, slots=True)
class SettingField:
    name: str
    kind: Literal["line", "text", "list", "number", "amount", "choice", "check", "clock", "zone"]
    most: int = 0
    """Characters, or the highest number."""
    least: int = 0
    choices: tuple[str, ...] = ()
    """Values of a choice; an empty one stands for the default."""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class SettingGroup:
    name: str
    fields: tuple[SettingField, ...]


GROUPS: Final = (
    SettingGroup(
        "about",
        (
            SettingField("name", "line", 200, is_required=True),
            SettingField("description", "text", 2000),
            SettingField("language", "line", 35, is_required=True),
        ),
    ),
    SettingGroup(
        "writing",
        (
            SettingField("writer", "choice", choices=("extractive", "model")),
            SettingField("tone", "text", 300),
            SettingField("audience", "text", 300),
            SettingField("forbidden_words", "list", 13_000),
            SettingField("words", "number", 2000, 250),
            SettingField("min_sources", "number", 8, 3),
        ),
    ),
    SettingGroup(
        "approval",
        (
            SettingField("approval", "choice", choices=("", "everything", "first", "nothing")),
            SettingField("posts_approval", "choice", choices=("everything", "nothing")),
            SettingField("max_unreviewed_drafts", "number", 100, 1),
        ),
    ),
    SettingGroup(
        "places",
        (
            SettingField("targets", "list", 500),
            SettingField("channels", "list", 1000),
            SettingField("short_links", "check"),
        ),
    ),
    SettingGroup(
        "limits",
        (
            SettingField("articles_per_day", "number", 10_000, 1),
            SettingField("stale_after_days", "number", 3650, 1),
            SettingField("refresh_stale", "number", 100, 1),
            SettingField("deadline_hours", "number", 8760, 1),
            SettingField("max_cost", "amount", 12),
        ),
    ),
    SettingGroup(
        "quiet",
        (
            SettingField("quiet_begin", "clock"),
            SettingField("quiet_end", "clock"),
            SettingField("quiet_zone", "zone"),
        ),
    ),
)
"""All settings that a brand has, as the form groups them."""
FIELDS: Final = {field.name: field for group in GROUPS for field in group.fields}
_OWN_SHAPE: Final = frozenset({"targets", "quiet_begin", "quiet_end", "quiet_zone"})


def fields_of(policy: Mapping[str, Any], zone: str) -> dict[str, str]:
    """Returns the settings as the form has them: one text for each field.

    `zone` is offered for the quiet hours of a brand that has none.
    """
    quiet = policy["quiet_hours"] or {}
    found = {name: _written(policy[name]) for name in FIELDS if name not in _OWN_SHAPE}
    return found | {
        "targets": "\n".join(policy["targets"] or [policy["target"]]),
        "quiet_begin": quiet.get("begin", ""),
        "quiet_end": quiet.get("end", ""),
        "quiet_zone": quiet.get("time_zone", zone),
    }


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else ""
    if isinstance(value, list | tuple):
        return "\n".join(value)
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


def typed_fields(form: Form, prefix: str = "") -> dict[str, str]:
    """Returns what a form says about each field; with the prefix `was-`, what it showed before it was changed."""
    return {
        name: "\n".join(_lines(form.text(prefix + name)))
        if field.kind == "list"
        else form.text(prefix + name)
        for name, field in FIELDS.items()
    }


def changed_policy(policy: Mapping[str, Any], typed: Mapping[str, str]) -> dict[str, Any]:
    """Returns all settings of a brand, with the form's values in place of the former ones."""
    wanted = dict(policy)
    for name, field in FIELDS.items():
        if name in _OWN_SHAPE:
            continue
        value = typed[name]
        match field.kind:
            case "list":
                wanted[name] = _lines(value)
            case "check":
                wanted[name] = bool(value)
            case "number":
                wanted[name] = _number(value)
                if not value and policy[name] is not None:
                    # Left out, it takes its default, which may be a number.
                    del wanted[name]
            case "amount":
                wanted[name] = amount_of(value)
            case "choice":
                wanted[name] = value or None
            case _:
                wanted[name] = value
    targets = _lines(typed["targets"]) or [DEFAULT_TARGET]
    wanted |= {"target": targets[0], "targets": targets if len(targets) > 1 else []}
    quiet = {"begin": typed["quiet_begin"], "end": typed["quiet_end"], "time_zone": typed["quiet_zone"]}
    wanted["quiet_hours"] = quiet if quiet["begin"] or quiet["end"] else None
    return wanted


def _number(text: str) -> int | str | None:
    """Returns a number; any other text stays as typed, so that the service refuses it with its reason."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else text


def amount_of(text: str) -> float | str | None:
    """Returns an amount of money, with a point or a comma; any other text stays as typed, so that the service refuses it."""
    return float(text.replace(",", ".")) if _AMOUNT.fullmatch(text) else text or None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class MeanwhileChange:
    """A setting that another person changed while the form was open."""

    name: str
    theirs: str
    mine: str | None
    """What was typed instead, and stands in the form; None: it was not touched, so the form has theirs."""


@dataclass(frozen=True, slots=True)
class MergedForm:
    fields: dict[str, str]
    meanwhile: tuple[MeanwhileChange, ...]


def merge(typed: Mapping[str, str], shown: Mapping[str, str], current: Mapping[str, str]) -> MergedForm:
    """Joins what a person typed with what another has stored since the form was shown."""
    mine = {name for name in FIELDS if typed[name] != shown[name]}
    fields = {name: typed[name] if name in mine else current[name] for name in FIELDS}
    meanwhile = tuple(
        MeanwhileChange(name, current[name], typed[name] if name in mine else None)
        for name in FIELDS
        if current[name] != shown[name] and not (name in mine and typed[name] == current[name])
    )
    return MergedForm(fields, meanwhile)


@dataclass(frozen=True, slots=True)
class ErasureLine:
    service: str
    erased_at: str | None
    """None: it has not confirmed yet."""
    removed: str


def erasure_lines(erasure: Mapping[str, Any]) -> tuple[ErasureLine, ...]:
    """The services in the order in which they confirmed, then those that have not."""
    receipts = erasure["receipts"]
    confirmed = {each["service"] for each in receipts}
    lines = [ErasureLine(each["service"], each["erased_at"], _removed(each["removed"])) for each in receipts]
    return (*lines, *(ErasureLine(name, None, "") for name in _missing(erasure["state"], confirmed)))


def _missing(state: str, confirmed: Collection[str]) -> list[str]:
    if state == "erased":
        return []
    return [name for name in SERVICES if name not in confirmed] or [GATEWAY]


def _removed(removed: Mapping[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')}: {count}" for kind, count in removed.items() if count)


def elsewhere(erasure: Mapping[str, Any]) -> list[str]:
    """Addresses of the brand's articles and posts on other sites, which stay there."""
    return [address for each in erasure["receipts"] for address in each["elsewhere"]]


def is_named(typed: str, *, name: str, slug: str) -> bool:
    """Returns whether the typed text names the brand; spaces between words may differ."""
    return " ".join(typed.split()) in {" ".join(name.split()), slug}
