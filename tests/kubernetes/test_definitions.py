"""The operators' own definitions: got as published or not at all, and stricter than an API server about what it would drop."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from manifests import definitions, schemas
from manifests.definitions import DefinitionError, ReleasedFile
from manifests.rendering import OVERLAYS

GADGET = {
    "spec": {
        "group": "example.com",
        "names": {"kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A gadget.",
                        "properties": {
                            "apiVersion": {"type": "string"},
                            "kind": {"type": "string"},
                            "metadata": {"type": "object"},
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"enum": ["s", "m"], "type": "string", "description": "How big."},
                                    "port": {
                                        "x-kubernetes-int-or-string": True,
                                        "anyOf": [{"type": "integer"}, {"type": "string"}],
                                    },
                                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "parts": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "properties": {
                                                "a": {"type": "integer", "nullable": True},
                                                "b": {},
                                            },
                                            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                                        },
                                    },
                                },
                            },
                        },
                    }
                },
            },
            {"name": "v1alpha1", "served": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    }
}


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    folder = tmp_path / "checkouts" / "gadgets"
    folder.mkdir(parents=True)
    (folder / "gadgets.yaml").write_text(yaml.safe_dump(GADGET))
    return folder.parent


def file(checkouts: Path) -> ReleasedFile:
    checksum = hashlib.sha256((checkouts / "gadgets" / "gadgets.yaml").read_bytes()).hexdigest()
    return ReleasedFile(
        "Gadgets", "1.0", "https://github.com/example/gadgets", "v1.0", "gadgets.yaml", checksum
    )


def got(checkouts: Path, folder: Path) -> dict[str, Any]:
    wanted = file(checkouts)
    definitions.get([wanted], checkouts, folder)
    schemas: dict[str, Any] = json.loads((folder / f"{wanted.checksum}.json").read_text())
    return schemas


def test_what_is_not_as_published_is_refused(checkouts: Path, tmp_path: Path) -> None:
    wanted = file(checkouts)
    with (checkouts / "gadgets" / "gadgets.yaml").open("a") as content:
        content.write("# changed\n")
    with pytest.raises(DefinitionError, match=r"gadgets\.yaml of Gadgets 1\.0 has the checksum"):
        definitions.get([wanted], checkouts, tmp_path / "got")
    assert list((tmp_path / "got").iterdir()) == []


def test_a_checkout_that_is_not_there_is_named(checkouts: Path, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"elsewhere/gadgets/gadgets\.yaml cannot be read"):
        definitions.get([file(checkouts)], tmp_path / "elsewhere", tmp_path / "got")


def test_what_is_there_is_not_got_again(checkouts: Path, tmp_path: Path) -> None:
    wanted = file(checkouts)
    definitions.get([wanted], checkouts, tmp_path / "got")
    definitions.get([wanted], tmp_path / "elsewhere", tmp_path / "got")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"size": "s", "port": 80, "labels": {"a": "b"}, "free": {"c": [1]}}, None),
        ({"size": "s", "port": "http", "parts": [{"a": None}, {"b": {}}]}, None),
        ({}, "'size' is a required property"),
        ({"size": "l"}, "'l' is not one of"),
        ({"size": "s", "prot": 80}, "'prot' was unexpected"),
        ({"size": "s", "port": True}, "True is not of type"),
        ({"size": "s", "labels": {"a": 1}}, "1 is not of type 'string'"),
        ({"size": "s", "parts": [{"c": 1}]}, "is not valid under any of the given schemas"),
    ],
)
def test_they_are_read_as_an_api_server_would_and_nothing_unknown_passes(
    checkouts: Path, tmp_path: Path, spec: dict[str, Any], complaint: str | None
) -> None:
    found = got(checkouts, tmp_path / "got")
    assert found.keys() == {"example.com/v1 Gadget"}
    assert "How big." not in json.dumps(found)
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": spec}
    errors = [
        error.message for error in Draft202012Validator(found["example.com/v1 Gadget"]).iter_errors(gadget)
    ]
    if complaint is None:
        assert errors == []
    else:
        assert any(complaint in error for error in errors), errors


def test_every_operator_is_named_with_its_release_and_licence_and_every_kind_has_a_file(overlay) -> None:
    named = {
        each.path.rpartition("/")[2].partition("_")[2].removesuffix(".yaml")
        for each in definitions.published()
    }
    custom = {
        resource["kind"].lower()
        for path in OVERLAYS
        for resource in overlay(path.name)
        if "." in resource["apiVersion"] and ".k8s.io" not in resource["apiVersion"]
    }
    plural = {name: f"{name[:-1]}ies" if name.endswith("y") else f"{name}s" for name in custom}
    assert set(plural.values()) <= named
    assert all(each.repository.startswith("https://github.com/") for each in definitions.published())
    assert all(len(each.checksum) == 64 and each.version in each.tag for each in definitions.published())
    assert definitions.LOCK.read_text().count("licence = ") == len(
        {each.operator for each in definitions.published()}
    )


needs_definitions = pytest.mark.skipif(
    bool(definitions.missing()),
    reason="the operators' definitions were not got: deploy/kubernetes/definitions.sh",
)


@needs_definitions
@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("ScaledObject", "cooldown", 30),
        ("RabbitmqCluster", "replica", 3),
        ("Binding", "routingkey", "a"),
        ("Cluster", "instances", "3"),
        ("ObjectStore", "configuration", {"destinationPath": "", "wal": {"compression": "rar"}}),
        ("ServiceMonitor", "endpoints", {}),
        ("Certificate", "dnsNames", "a"),
    ],
)
def test_the_operators_definitions_notice_what_their_api_would_not_take(
    overlay, kind: str, field: str, value: object
) -> None:
    resource = next(each for each in overlay("prod") if each["kind"] == kind)
    assert list(definitions.problems(resource)) == []
    resource["spec"][field] = value
    assert list(definitions.problems(resource)) != []


@needs_definitions
def test_the_projects_own_schemas_take_nothing_that_the_operators_refuse(overlay) -> None:
    for path in OVERLAYS:
        found = [problem for problem in schemas.problems(overlay(path.name)) if "operator's" in problem]
        assert found == []
