import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envelope import MAX_MESSAGE_BYTES
from envelope.brand import CATALOGUE
from envelope.schemas import breaking_changes, generate

FOLDER = Path(__file__).parents[1] / "schemas"


def test_committed_schemas_are_those_of_the_catalogue() -> None:
    committed = {path.name: path.read_text() for path in FOLDER.glob("*.json")}

    assert committed == generate(CATALOGUE), "run `make schemas`, and read the change: it must be additive"


@pytest.mark.extended
@pytest.mark.parametrize("name", sorted(generate(CATALOGUE)))
def test_a_schema_is_compatible_with_itself(name: str) -> None:
    schema = json.loads(generate(CATALOGUE)[name])

    assert breaking_changes(schema, schema) == []


def without_field(schema: dict[str, Any]) -> None:
    del schema["$defs"]["ResearchRequested"]["properties"]["keyword"]


def new_required_field(schema: dict[str, Any]) -> None:
    schema["$defs"]["ResearchRequested"]["required"].append("language")


def shorter(schema: dict[str, Any]) -> None:
    schema["$defs"]["ResearchRequested"]["properties"]["keyword"]["maxLength"] = 10


def other_type(schema: dict[str, Any]) -> None:
    schema["$defs"]["ResearchRequested"]["properties"]["keyword"]["type"] = "integer"


def fewer_priorities(schema: dict[str, Any]) -> None:
    schema["$defs"]["Priority"]["enum"].remove("low")


def narrower_format(schema: dict[str, Any]) -> None:
    schema["$defs"]["ResearchRequested"]["properties"]["keyword"]["pattern"] = "^https?://"


def smaller(schema: dict[str, Any]) -> None:
    schema["x-max-bytes"] = 1_000


def test_a_schema_says_which_type_it_is_of_and_how_large_it_may_be() -> None:
    for name, text in generate(CATALOGUE).items():
        schema = json.loads(text)
        assert schema["properties"]["type"]["const"] == name.removesuffix(".json")
        assert schema["x-max-bytes"] == MAX_MESSAGE_BYTES


@pytest.mark.parametrize(
    "change",
    [without_field, new_required_field, shorter, other_type, fewer_priorities, narrower_format, smaller],
)
def test_a_breaking_change_is_found(change: Callable[[dict[str, Any]], None]) -> None:
    old = json.loads(generate(CATALOGUE)["research.requested.json"])
    new = copy.deepcopy(old)
    change(new)

    assert breaking_changes(old, new) != []


def test_a_new_optional_field_is_no_breaking_change() -> None:
    old = json.loads(generate(CATALOGUE)["research.requested.json"])
    new = copy.deepcopy(old)
    new["$defs"]["ResearchRequested"]["properties"]["language"] = {"type": "string", "default": "en"}

    assert breaking_changes(old, new) == []
