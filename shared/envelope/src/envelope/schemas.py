"""Generates JSON Schemas of all message types from a catalogue, and finds breaking changes.

`python -m envelope.schemas envelope.brand FOLDER` writes them to a folder.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from envelope.catalogue import Catalogue, MessageType, load
from envelope.message import MAX_MESSAGE_BYTES

Schema = Mapping[str, Any]

MAX_BYTES: Final = "x-max-bytes"
"""The largest message as JSON in UTF-8, in bytes; consumers refuse larger ones unread."""


def generate(catalogue: Catalogue) -> dict[str, str]:
    """File name → JSON text, one schema per message type."""
    return {
        f"{entry.name}.json": json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema_of(entry)},
            indent=2,
            sort_keys=True,
        )
        + "\n"
        for entry in catalogue.values()
    }


def schema_of(entry: MessageType, *, references: str = "#/$defs/{model}") -> dict[str, Any]:
    """The schema of one type, with its name and its largest size, which the models do not say."""
    schema = entry.envelope.model_json_schema(mode="validation", ref_template=references)
    schema["title"] = entry.name
    schema["properties"] = {
        **schema["properties"],
        "type": {"const": entry.name, "title": "Type", "type": "string"},
    }
    # JSON Schema has no keyword for the size of a document.
    schema[MAX_BYTES] = MAX_MESSAGE_BYTES
    return schema


def breaking_changes(old: Schema, new: Schema) -> list[str]:
    """Why readers of `old` messages cannot read `new` ones, or the reverse; empty if the change is only additive.

    A new optional field and a wider limit are additive. Every other change needs a new message type: a removed field, a
    new required field, another type, a narrower limit or enumeration.
    """
    return list(_differences(old, new, old, new, "$"))


_CEILINGS = ("maxLength", "maxItems", "maximum", MAX_BYTES)
_FLOORS = ("minLength", "minItems", "minimum")
_FIXED = ("type", "format", "pattern", "const")


def _differences(old: Schema, new: Schema, old_root: Schema, new_root: Schema, path: str) -> Iterator[str]:
    old, new = _resolve(old, old_root), _resolve(new, new_root)
    yield from _field_differences(old, new, old_root, new_root, path)
    for key in _FIXED:
        if old.get(key) != new.get(key):
            yield f"{path}: {key} was {old.get(key)!r}, is {new.get(key)!r}"
    yield from _limit_differences(old, new, path)
    if "items" in old:
        yield from _differences(old["items"], new.get("items", {}), old_root, new_root, f"{path}[]")
    if len(old.get("anyOf", ())) != len(new.get("anyOf", ())):
        yield f"{path}: accepts other alternatives than before"
    for old_branch, new_branch in zip(old.get("anyOf", ()), new.get("anyOf", ()), strict=False):
        yield from _differences(old_branch, new_branch, old_root, new_root, path)


def _limit_differences(old: Schema, new: Schema, path: str) -> Iterator[str]:
    for key in _CEILINGS:
        if key in new and new[key] < old.get(key, float("inf")):
            yield f"{path}: {key} went down to {new[key]}"
    for key in _FLOORS:
        if key in new and new[key] > old.get(key, 0):
            yield f"{path}: {key} went up to {new[key]}"
    if "enum" in new and (missing := set(old.get("enum", ())) - set(new["enum"])):
        yield f"{path}: no longer accepts {sorted(missing)}"


def _field_differences(
    old: Schema, new: Schema, old_root: Schema, new_root: Schema, path: str
) -> Iterator[str]:
    old_fields, new_fields = old.get("properties", {}), new.get("properties", {})
    for name, schema in old_fields.items():
        if name in new_fields:
            yield from _differences(schema, new_fields[name], old_root, new_root, f"{path}.{name}")
        else:
            yield f"{path}.{name}: the field is gone"
    for name in set(new.get("required", ())) - set(old.get("required", ())):
        yield f"{path}.{name}: became required"
    for name in set(old.get("required", ())) - set(new.get("required", ())):
        yield f"{path}.{name}: is no longer always there"


def _resolve(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    name = reference.removeprefix("#/$defs/")
    resolved: Schema = root["$defs"][name]
    return resolved


def write(catalogue: Catalogue, folder: Path) -> None:
    """Writes every schema to `folder` and removes those of types that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    schemas = generate(catalogue)
    for stale in {path.name for path in folder.glob("*.json")} - schemas.keys():
        (folder / stale).unlink()
    for name, text in schemas.items():
        (folder / name).write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m envelope.schemas", description="Write the JSON Schema of every message type."
    )
    parser.add_argument("catalogue", help="module:name of the catalogue, such as shop.catalogue")
    parser.add_argument(
        "folder", type=Path, help="where to; schemas there of types that are gone are removed"
    )
    arguments = parser.parse_args()
    try:
        write(load(arguments.catalogue), arguments.folder)
    except LookupError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
