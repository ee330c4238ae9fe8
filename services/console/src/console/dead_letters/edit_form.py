"""The form by which a dead letter is edited, made from the JSON Schema of its payload. Pure: no I/O."""

import copy
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from console.pages import Form

Kind = Literal["text", "long", "number", "boolean", "choice", "lines", "json", "fixed", "hidden"]
"""How a field is edited. `fixed` may not be changed; `hidden` may not be seen, and so keeps its value."""
Path = tuple[str, ...]
Schema = Mapping[str, Any]

PREFIX: Final = "value."
"""Of the names of the form's fields."""
HIDDEN: Final = "***"
"""Stands for what the monitor hides."""
_SHORT: Final = 200
"""Characters that fit into one line."""
_DEEPEST: Final = 2
"""Objects inside of each other whose fields are shown one by one; deeper ones are JSON."""
_ABSENT: Final = object()
_SCALARS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
}


@dataclass(frozen=True, slots=True)
class EditField:
    """One field of the form."""

    path: Path
    kind: Kind
    text: str
    """As the form shows it; what comes back unchanged leaves the value as it is."""
    is_required: bool = False
    is_nullable: bool = False
    choices: tuple[str, ...] = ()
    longest: int | None = None
    """The most characters."""
    entries: str = ""
    """JSON type of the entries of a list."""
    problem: str = ""
    """Why it is refused."""
    before: str | None = None
    """The text of the original, if something else is typed."""

    @property
    def name(self) -> str:
        return PREFIX + ".".join(self.path)

    @property
    def label(self) -> str:
        return ".".join(self.path)


def fields_of(
    schema: Schema, fixed: Collection[str], payload: Mapping[str, Any], hidden: Collection[str] = ()
) -> list[EditField]:
    """The fields of a payload, those of its type first.

    Args:
        schema: of the payload.
        fixed: names of fields that an edit may not change.
        payload: as the person may see it.
        hidden: paths of what is hidden in it, such as `payload.comment`.
    """
    found = list(_fields(schema, schema, payload, (), fixed))
    known = schema.get("properties", {})
    found += [
        EditField((name,), "fixed", as_json(value)) for name, value in payload.items() if name not in known
    ]
    return [replace(each, kind="hidden", text="") if _is_hidden(each, hidden) else each for each in found]


def _fields(
    schema: Schema, root: Schema, values: Mapping[str, Any], above: Path, fixed: Collection[str]
) -> Iterator[EditField]:
    required = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        path, value = (*above, name), values.get(name, _ABSENT)
        branches = list(_branches(each, root))
        core = [branch for branch in branches if branch.get("type") != "null"]
        sole = core[0] if len(core) == 1 else {}
        if name in fixed or sole.get("format") == "uuid":
            yield EditField(path, "fixed", _shown("fixed", value), name in required)
        elif isinstance(value, Mapping) and "properties" in sole and len(path) <= _DEEPEST:
            yield from _fields(sole, root, value, path, ())
        else:
            kind, entries = _kind(sole, value, root)
            yield EditField(
                path,
                kind,
                _shown(kind, value),
                name in required,
                len(core) < len(branches),
                tuple(sole.get("enum", ())),
                sole.get("maxLength") if kind in ("text", "long") else None,
                entries,
            )


def _kind(schema: Schema, value: Any, root: Schema) -> tuple[Kind, str]:
    """How a value is edited, and the type of its entries; as JSON, if it is not what the schema expects."""
    is_empty = value is None or value is _ABSENT
    match schema.get("type"):
        case "string" if is_empty or isinstance(value, str):
            if "enum" in schema:
                return ("choice", "") if is_empty or value in schema["enum"] else ("text", "")
            is_short = schema.get("maxLength", _SHORT + 1) <= _SHORT or "format" in schema
            fits = is_empty or (len(value) <= _SHORT and "\n" not in value and "\r" not in value)
            return ("text" if is_short and fits else "long"), ""
        case "integer" | "number" if is_empty or (
            isinstance(value, int | float) and not isinstance(value, bool)
        ):
            return "number", ""
        case "boolean" if is_empty or isinstance(value, bool):
            return "boolean", ""
        case "array":
            entry = next(iter(_branches(schema.get("items", {}), root)), {}).get("type", "")
            if entry in _SCALARS and (is_empty or _are_lines(value, entry)):
                return "lines", entry
    return "json", ""


def _are_lines(value: Any, entry: str) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, _SCALARS[entry])
        and not isinstance(each, bool)
        and (not isinstance(each, str) or (each.strip() != "" and "\n" not in each and "\r" not in each))
        for each in value
    )


def _branches(schema: Schema, root: Schema) -> Iterator[Schema]:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _branches(root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {}), root)
    elif alternatives := [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        for each in alternatives:
            yield from _branches(each, root)
    else:
        yield schema


def _shown(kind: Kind, value: Any) -> str:
    if value is _ABSENT or value is None:
        return ""
    if kind == "lines":
        return "\n".join(each if isinstance(each, str) else json.dumps(each) for each in value)
    if isinstance(value, str) and kind != "json":
        return value
    return as_json(value)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _is_hidden(field: EditField, hidden: Collection[str]) -> bool:
    if not hidden:
        return False
    place = "payload." + field.label
    # Only so many paths are listed, so the text itself counts too.
    return HIDDEN in field.text or any(
        each == place or each.startswith((f"{place}.", f"{place}[")) for each in hidden
    )


@dataclass(frozen=True, slots=True)
class TypedEdit:
    """What a person has typed."""

    payload: dict[str, Any]
    problems: Mapping[str, str]
    """Label of a field → why it cannot be read."""


def read_typed(payload: Mapping[str, Any], fields: Sequence[EditField], form: Form) -> TypedEdit:
    """The payload with what was typed; `payload` is the original in full, so that hidden fields keep their values."""
    edited = copy.deepcopy(dict(payload))
    problems: dict[str, str] = {}
    for field in fields:
        if field.kind in ("fixed", "hidden") or field.name not in form:
            continue
        typed = form.raw(field.name)
        if _plain(typed) == _plain(field.text):
            continue
        try:
            value = _value(field, typed)
        except ValueError as error:
            problems[field.label] = str(error)
        else:
            _put(edited, field.path, value)
    return TypedEdit(edited, problems)


def _plain(text: str) -> str:
    """A text as it comes back from a form that nobody has changed."""
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")


def _value(field: EditField, typed: str) -> Any:
    """The value that was typed; what is no number stays text, so that its service says so. Raises ValueError."""
    blank: Any = None if field.is_nullable else _ABSENT
    match field.kind:
        case "text" | "long":
            return None if not typed and field.is_nullable else typed
        case "choice":
            return typed or blank
        case "boolean":
            return {"true": True, "false": False}.get(typed, blank)
        case "number":
            return _number(typed) if typed.strip() else blank
        case "lines":
            lines = [line.strip() for line in typed.split("\n") if line.strip()]
            return [line if field.entries == "string" else _number(line) for line in lines]
        case _:
            return json.loads(typed, parse_constant=_refuse_constant) if typed.strip() else blank


def _number(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text.strip()
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
    return found if is_number else text.strip()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _put(payload: dict[str, Any], path: Path, value: Any) -> None:
    *above, name = path
    place = payload
    for each in above:
        place = place[each]
    if value is _ABSENT:
        place.pop(name, None)
    else:
        place[name] = value


def with_typed(
    fields: Sequence[EditField], form: Form | None, problems: Mapping[str, str]
) -> list[EditField]:
    """The fields with what was typed, and what is wrong with it."""
    shown: list[EditField] = []
    for field in fields:
        is_typed = form is not None and field.name in form and field.kind not in ("fixed", "hidden")
        typed = form.raw(field.name) if form is not None and is_typed else field.text
        before = field.text if _plain(typed) != _plain(field.text) else None
        shown.append(replace(field, text=typed, before=before, problem=problems.get(field.label, "")))
    return shown


def fields_in(form: Form) -> list[EditField]:
    """The fields of a form whose service does not answer, so that nothing typed is lost."""
    names = dict.fromkeys(name for name, _ in form.fields if name.startswith(PREFIX))
    return [EditField(tuple(name.removeprefix(PREFIX).split(".")), "long", form.raw(name)) for name in names]


def problems_by_field(
    errors: Sequence[Mapping[str, str]], fields: Sequence[EditField]
) -> tuple[dict[str, str], list[str]]:
    """What the service says of each field (by its label), and of what the form does not show."""
    found: dict[str, str] = {}
    others: list[str] = []
    for error in errors:
        named = error["field"].removeprefix("payload").removeprefix(".")
        labels = [
            field.label
            for field in fields
            if named == field.label or named.startswith((f"{field.label}.", f"{field.label}["))
        ]
        if labels:
            label = max(labels, key=len)
            place = named.removeprefix(label)
            told = f"{place}: {error['detail']}" if place else error["detail"]
            found[label] = f"{found[label]}; {told}" if label in found else told
        else:
            others.append(f"{named}: {error['detail']}" if named else error["detail"])
    return found, others


@dataclass(frozen=True, slots=True)
class Change:
    """A field that an edit has changed."""

    label: str
    before: str | None
    """None: it was not there."""
    after: str | None


def changes_between(before: Any, after: Any, above: str = "") -> list[Change]:
    """The fields that differ, those of objects one by one."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        found: list[Change] = []
        for name in {**before, **after}:
            label = f"{above}.{name}" if above else str(name)
            found += changes_between(before.get(name, _ABSENT), after.get(name, _ABSENT), label)
        return found
    if before is after or (type(before) is type(after) and before == after):
        return []
    return [Change(above, _told(before), _told(after))]


def _told(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    return value if isinstance(value, str) else as_json(value)
