"""The form of an edit, made from a schema: what is shown, and what comes back."""

from typing import Any

import pytest

from console.dead_letters.edit_form import (
    PREFIX,
    Change,
    EditField,
    changes_between,
    fields_in,
    fields_of,
    problems_by_field,
    read_typed,
    with_typed,
)
from console.pages import Form

SCHEMA: dict[str, Any] = {
    "$defs": {
        "Mood": {"enum": ["good", "bad"], "type": "string"},
        "Place": {
            "type": "object",
            "properties": {
                "town": {"type": "string", "maxLength": 80},
                "id": {"type": "string", "format": "uuid"},
                "inner": {"type": "object", "properties": {"deep": {"$ref": "#/$defs/Place"}}},
            },
            "required": ["town"],
        },
    },
    "properties": {
        "brand_slug": {"type": "string"},
        "name": {"type": "string", "maxLength": 100},
        "text": {"type": "string", "maxLength": 5000},
        "count": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "urgent": {"type": "boolean"},
        "mood": {"$ref": "#/$defs/Mood"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
        "posts": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "comment": {"type": "string"},
    },
    "required": ["brand_slug", "name"],
}
PAYLOAD: dict[str, Any] = {
    "brand_slug": "acme",
    "name": "Ann",
    "text": "one\r\ntwo",
    "count": 3,
    "urgent": False,
    "mood": "good",
    "tags": ["tea", "mate"],
    "place": {"town": "Ulm", "id": "a-b", "inner": {"deep": {"town": "x"}}},
    "posts": [{"town": "Bonn"}],
    "comment": "for Bob only",
    "newer": [1, 2],
}


def form(**typed: str) -> Form:
    return Form([(PREFIX + name.replace("__", "."), value) for name, value in typed.items()])


def every(fields: list[EditField], **typed: str) -> Form:
    """As a browser sends it: each field, changed or not."""
    names = {each.name: each.text for each in fields if each.kind not in ("fixed", "hidden")}
    return Form([*names.items(), *form(**typed).fields])


def test_each_field_is_shown_as_its_type_is_edited() -> None:
    fields = {each.label: each for each in fields_of(SCHEMA, ["brand_slug"], PAYLOAD)}
    assert {label: each.kind for label, each in fields.items()} == {
        "brand_slug": "fixed",
        "name": "text",
        "text": "long",
        "count": "number",
        "share": "number",
        "urgent": "boolean",
        "mood": "choice",
        "tags": "lines",
        "sizes": "lines",
        "place.town": "text",
        "place.id": "fixed",
        "place.inner.deep": "json",
        "posts": "json",
        "either": "json",
        "comment": "long",
        "newer": "fixed",
    }
    assert fields["mood"].choices == ("good", "bad")
    assert (fields["tags"].text, fields["urgent"].text, fields["share"].text) == ("tea\nmate", "false", "")
    assert (fields["name"].is_required, fields["count"].is_required) == (True, False)


def test_what_comes_back_unchanged_changes_nothing() -> None:
    fields = fields_of(SCHEMA, ["brand_slug"], PAYLOAD)
    typed = read_typed(PAYLOAD, fields, every(fields))
    assert (typed.payload, typed.problems) == (PAYLOAD, {})


@pytest.mark.parametrize(
    ("typed", "changed"),
    [
        ({"name": "Bea"}, {"name": "Bea"}),
        ({"name": ""}, {"name": ""}),
        ({"text": "one\r\nthree"}, {"text": "one\nthree"}),
        ({"count": "4"}, {"count": 4}),
        ({"count": "four"}, {"count": "four"}),
        ({"count": "NaN"}, {"count": "NaN"}),
        ({"share": "0.5"}, {"share": 0.5}),
        ({"urgent": "true"}, {"urgent": True}),
        ({"mood": "bad"}, {"mood": "bad"}),
        ({"tags": "tea\r\n\r\n coffee "}, {"tags": ["tea", "coffee"]}),
        ({"tags": ""}, {"tags": []}),
        ({"sizes": "1\n2"}, {"sizes": [1, 2]}),
        ({"posts": '[{"town": "Köln"}]'}, {"posts": [{"town": "Köln"}]}),
        ({"place__town": "Bonn"}, {"place": {**PAYLOAD["place"], "town": "Bonn"}}),
        ({"either": "7"}, {"either": 7}),
        # What a form of ours never has.
        ({"brand_slug": "rival", "place__id": "c", "newer": "[]", "made_up": "x"}, {}),
    ],
)
def test_what_was_typed_is_read_as_its_type(typed: dict[str, str], changed: dict[str, Any]) -> None:
    fields = fields_of(SCHEMA, ["brand_slug"], PAYLOAD)
    found = read_typed(PAYLOAD, fields, every(fields, **typed))
    assert (found.payload, found.problems) == (PAYLOAD | changed, {})


def test_a_blank_field_is_left_out_or_null() -> None:
    payload = PAYLOAD | {"share": 0.5}
    fields = fields_of(SCHEMA, ["brand_slug"], payload)
    found = read_typed(payload, fields, every(fields, count="", urgent="", mood="", posts=" ", share=""))
    left = {name: payload[name] for name in payload if name not in ("count", "urgent", "mood", "posts")}
    assert found.payload == left | {"share": None}


def test_a_value_of_another_type_than_the_schema_says_is_edited_as_json() -> None:
    payload = PAYLOAD | {"name": 7, "count": "three", "tags": "tea", "place": "Ulm", "mood": "so-so"}
    fields = {each.label: each for each in fields_of(SCHEMA, [], payload)}
    kinds = {
        name: (fields[name].kind, fields[name].text) for name in ("name", "count", "tags", "place", "mood")
    }
    assert kinds == {
        "name": ("json", "7"),
        "count": ("json", '"three"'),
        "tags": ("json", '"tea"'),
        "place": ("json", '"Ulm"'),
        "mood": ("text", "so-so"),
    }
    known = list(fields.values())
    found = read_typed(payload, known, every(known, name='"Ann"', count="3", tags='["tea"'))
    assert (found.payload["name"], found.payload["count"]) == ("Ann", 3)
    assert list(found.problems) == ["tags"]


@pytest.mark.parametrize(
    ("shown", "hidden"),
    [("***", ["payload.comment"]), ("mail *** today", ["payload.comment"]), ("***", ["payload.elsewhere"])],
)
def test_what_is_hidden_keeps_its_value_whatever_is_sent(shown: str, hidden: list[str]) -> None:
    fields = fields_of(SCHEMA, ["brand_slug"], PAYLOAD | {"comment": shown}, hidden)
    (comment,) = [each for each in fields if each.label == "comment"]
    assert (comment.kind, comment.text) == ("hidden", "")
    found = read_typed(PAYLOAD, fields, every(fields, comment="***", name="Bea"))
    assert found.payload == PAYLOAD | {"name": "Bea"}


def test_nothing_of_an_object_with_something_hidden_is_edited_as_json() -> None:
    fields = fields_of(SCHEMA, [], PAYLOAD | {"posts": [{"town": "***"}]}, ["payload.posts[0].town"])
    assert [each.kind for each in fields if each.label == "posts"] == ["hidden"]


def test_errors_stand_beside_their_fields_with_what_was_typed() -> None:
    fields = fields_of(SCHEMA, ["brand_slug"], PAYLOAD)
    errors = [
        {"field": "payload.name", "detail": "is too long"},
        {"field": "payload.name", "detail": "is odd"},
        {"field": "payload.tags[1]", "detail": "is blank"},
        {"field": "payload.place.town", "detail": "is no town"},
        {"field": "payload.namesake", "detail": "is not a field"},
        {"field": "payload", "detail": "is too large"},
    ]
    beside, others = problems_by_field(errors, fields)
    assert beside == {"name": "is too long; is odd", "tags": "[1]: is blank", "place.town": "is no town"}
    assert others == ["namesake: is not a field", "is too large"]
    shown = {each.label: each for each in with_typed(fields, every(fields, name="Bea"), beside)}
    assert (shown["name"].text, shown["name"].before, shown["name"].problem) == ("Bea", "Ann", beside["name"])
    assert (shown["count"].before, shown["text"].before) == (None, None)


def test_what_was_typed_is_kept_while_the_service_is_away() -> None:
    assert [(each.label, each.text) for each in fields_in(form(name="Bea", place__town="Bonn"))] == [
        ("name", "Bea"),
        ("place.town", "Bonn"),
    ]


def test_changes_are_told_field_by_field() -> None:
    after = PAYLOAD | {
        "name": "Bea",
        "place": {**PAYLOAD["place"], "town": "Bonn"},
        "count": 3.0,
        "more": None,
    }
    del after["mood"]
    assert changes_between(PAYLOAD, after) == [
        Change("name", "Ann", "Bea"),
        Change("count", "3", "3.0"),
        Change("mood", "good", None),
        Change("place.town", "Ulm", "Bonn"),
        Change("more", None, "null"),
    ]
