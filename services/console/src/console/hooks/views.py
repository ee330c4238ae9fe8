"""Contents of the pages about incoming webhooks. Pure: no I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.pages import Form

KINDS: Final = ("standard", "github", "path")
COMMANDS: Final = ("cycle.start", "brand.audit")
PRIORITIES: Final = ("low", "normal", "high")
STATE_TONES: Final = {"waiting": "warn", "done": "good", "ignored": "quiet", "refused": "bad"}
_ASKED: Final = ("keywords", "priority", "approval")
"""Data of a command that the form has; other data stay as they are."""


@dataclass(frozen=True, slots=True)
class HookFields:
    """An incoming webhook as its form has it."""

    name: str = ""
    kind: str = "standard"
    type: str = "cycle.start"
    keywords: str = ""
    """One in each line; those that begin with a slash are places in what is sent."""
    priority: str = "normal"
    approval: bool = False
    when: str = ""
    """One condition in each line: `/action = published`."""
    events: str = ""
    """GitHub's events, one in each line; empty: all."""
    version: str = ""
    """The definition as the form showed it; empty for a new one."""


def version_of(hook: Mapping[str, Any]) -> str:
    """Tells whether another person changed the definition meanwhile."""
    return json.dumps(hook["command"], sort_keys=True)


def keyword_lines(data: Mapping[str, Any]) -> str | None:
    """The keywords as lines; None if they are defined in a way that lines cannot show."""
    listed = data.get("keywords", [])
    if not isinstance(listed, list):
        return None
    lines = [_line_of(each) for each in listed]
    return None if any(line is None for line in lines) else "\n".join(filter(None, lines))


def _line_of(keyword: Any) -> str | None:
    if isinstance(keyword, str) and not keyword.startswith("/") and keyword == " ".join(keyword.split()):
        return keyword
    if isinstance(keyword, dict) and set(keyword) == {"from"}:
        return str(keyword["from"])
    return None


def fields_of(hook: Mapping[str, Any]) -> HookFields:
    command = hook["command"]
    data = command["data"]
    return HookFields(
        name=hook["name"],
        kind=hook["kind"],
        type=command["type"],
        keywords=keyword_lines(data) or "",
        priority=str(data.get("priority", "normal")),
        approval=data.get("approval") == "everything",
        when="\n".join(f"{place} = {_shown(value)}" for place, value in command["when"].items()),
        events="\n".join(command["events"] or ()),
        version=version_of(hook),
    )


def _shown(value: Any) -> str:
    """A constant as it is typed: in quotes only where it would be read as something else."""
    if isinstance(value, str) and value and value == value.strip() and isinstance(_read(value), str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _read(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(found, dict | list) else found


def typed_fields(form: Form) -> HookFields:
    return HookFields(
        name=form.text("name"),
        kind=form.text("kind", "standard"),
        type=form.text("type", "cycle.start"),
        keywords=form.text("keywords"),
        priority=form.text("priority", "normal"),
        approval="approval" in form,
        when=form.text("when"),
        events=form.text("events"),
        version=form.text("version"),
    )


def wanted_command(fields: HookFields, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The definition to send. What the form does not have stays as it was `before`; malformed values are for the service to refuse."""
    former = {} if before is None else before["data"]
    command: dict[str, Any] = {"type": fields.type, "data": {}, "when": _conditions(fields.when)}
    command["events"] = fields.events.replace(",", " ").split() or None
    if fields.type != "cycle.start":
        return command
    data = {name: value for name, value in former.items() if name not in _ASKED}
    lines = [" ".join(line.split()) for line in fields.keywords.splitlines()]
    data["keywords"] = [{"from": line} if line.startswith("/") else line for line in lines if line]
    if not data["keywords"] and keyword_lines(former) is None:
        data["keywords"] = former["keywords"]
    data["priority"] = fields.priority
    if fields.approval:
        data["approval"] = "everything"
    command["data"] = data
    return command


def _conditions(text: str) -> dict[str, Any]:
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        place, _, value = line.partition("=")
        found[place.strip()] = _read(value.strip())
    return found
