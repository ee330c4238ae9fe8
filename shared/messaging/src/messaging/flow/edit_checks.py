"""Checks the edited payload of a dead letter against its type and its original. Pure."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from envelope import MAX_MESSAGE_BYTES, MessageType

Place = tuple[str | int, ...]
"""Names and positions that lead to a value, `("questions", 0)`."""
Schema = Mapping[str, Any]
_ABSENT: Final = object()
_MOST: Final = 50
_DEEPEST: Final = 30


@dataclass(frozen=True, slots=True)
class EditError:
    """Why a field of the edited payload is refused."""

    place: Place
    kind: str
    """The name of pydantic's error, such as `string_too_long`; `value_error` for those of this module."""
    detail: str
    context: Mapping[str, Any]

    @classmethod
    def of(cls, place: Place, detail: str) -> "EditError":
        return cls(place, "value_error", detail, {"error": detail})


def payload_schema(entry: MessageType) -> dict[str, Any]:
    """The JSON Schema of the type's payload."""
    return entry.payload.model_json_schema(mode="validation")


def fixed_fields(schema: Schema, identity: Collection[str]) -> list[str]:
    """Names of the fields that an edit may not change: those of `identity`, and ids."""
    fields = schema.get("properties", {})
    return [name for name, each in fields.items() if name in identity or _is_id(each, schema)]


def edit_errors(
    entry: MessageType, identity: Collection[str], original: Mapping[str, Any], edited: Mapping[str, Any]
) -> list[EditError]:
    """Why the payload may not take the place of the original one; at most 50 errors.

    Ids and the fields of `identity` stay as they are. A field that the type does not know may stay, as a newer sender may have added it,
    but an edit cannot add or change one.
    """
    schema = payload_schema(entry)
    found = list(_refused(schema, schema, original, edited, (), identity))
    places = {each.place for each in found}
    try:
        # As it will be read: from JSON, where a time is a text.
        entry.payload.model_validate_json(json.dumps(edited))
    except ValidationError as error:
        found += [
            EditError(each["loc"], each["type"], each["msg"], each.get("ctx", {}))
            for each in error.errors(include_input=False, include_url=False)
            if each["loc"] not in places
        ]
    return found[:_MOST]


def describe_size(size: int) -> str:
    return f"the edited message comes to {size:,} bytes, and the limit is {MAX_MESSAGE_BYTES:,}; shorten it"


def _refused(
    schema: Schema, root: Schema, before: Any, after: Any, place: Place, identity: Collection[str]
) -> Iterator[EditError]:
    if before == after or len(place) > _DEEPEST:
        return
    if _is_id(schema, root):
        yield EditError.of(
            place, "is an id, which an edit may not change; let its sender send the message anew"
        )
        return
    match after:
        case Mapping():
            known = dict(_fields(schema, root))
            old = before if isinstance(before, Mapping) else {}
            for name in {**old, **after}:
                was, is_now = old.get(name, _ABSENT), after.get(name, _ABSENT)
                yield from _refused_field(known, root, name, was, is_now, place, identity)
        case list():
            entries = next((each for each in _branches(schema, root) if "items" in each), None)
            was = before if isinstance(before, list) else []
            for position, each in enumerate(after):
                earlier = was[position] if position < len(was) else _ABSENT
                if entries is not None:
                    yield from _refused(entries["items"], root, earlier, each, (*place, position), ())


def _refused_field(
    known: Mapping[str, Schema],
    root: Schema,
    name: str,
    before: Any,
    after: Any,
    place: Place,
    identity: Collection[str],
) -> Iterator[EditError]:
    here = (*place, name)
    if before == after:
        return
    if not place and name in identity:
        yield EditError.of(here, "says what the message is about, and an edit may not change it")
    elif name not in known:
        if known or not place:
            yield EditError.of(
                here, "is not a field of this type; correct its spelling or leave it as it was"
            )
    elif after is _ABSENT:
        if _is_id(known[name], root):
            yield EditError.of(here, "is an id, which an edit may not take away")
    else:
        yield from _refused(known[name], root, before, after, here, ())


def _fields(schema: Schema, root: Schema) -> Iterator[tuple[str, Schema]]:
    for each in _branches(schema, root):
        yield from each.get("properties", {}).items()


def _branches(schema: Schema, root: Schema) -> Iterator[Schema]:
    """The schema itself, or its alternatives."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _branches(root["$defs"][reference.removeprefix("#/$defs/")], root)
        return
    alternatives = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    if not alternatives:
        yield schema
    for each in alternatives:
        yield from _branches(each, root)


def _is_id(schema: Schema, root: Schema) -> bool:
    return any(each.get("format") == "uuid" for each in _branches(schema, root))
