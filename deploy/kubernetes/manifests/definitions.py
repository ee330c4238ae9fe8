"""Checks custom resources by the operators' own definitions, if these are downloaded, as an API server does.

They are the operators' files and no part of this project. `definitions.toml` names the release of each and the checksum of
every file as published; `definitions.sh` gets them, once, into .local. Whoever has them has every custom resource checked
against them, besides the schemas of this project; whoever has not is told so.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from manifests.cluster import Resource
from manifests.rendering import HOME

LOCK: Final = Path(__file__).with_name("definitions.toml")
FOLDER: Final = HOME.parents[1] / ".local" / "definitions"

_KEPT: Final = (
    "enum",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "required",
    "type",
    "uniqueItems",
)


class DefinitionError(Exception):
    """A file differs from the published one, or is missing; the message says which."""


@dataclass(frozen=True, slots=True)
class ReleasedFile:
    """A file of an operator's release."""

    operator: str
    version: str
    repository: str
    tag: str
    path: str
    checksum: str

    def __str__(self) -> str:
        return f"{self.path.rpartition('/')[2]} of {self.operator} {self.version}"

    @property
    def url(self) -> str:
        owner_and_name = self.repository.removeprefix("https://github.com/")
        return f"https://raw.githubusercontent.com/{owner_and_name}/{self.tag}/{self.path}"

    @property
    def checkout(self) -> str:
        """Where it is in a folder of checkouts."""
        return f"{self.repository.rpartition('/')[2]}/{self.path}"


def published(lock: Path = LOCK) -> list[ReleasedFile]:
    operators = tomllib.loads(lock.read_text())["operator"]
    return [
        ReleasedFile(each["name"], each["version"], each["repository"], each["tag"], path, checksum)
        for each in operators
        for path, checksum in each["files"].items()
    ]


def get(files: Sequence[ReleasedFile], checkouts: Path | None = None, folder: Path = FOLDER) -> None:
    """Brings the files that are missing into `folder`, each as the schemas that are in it.

    Args:
        files: which.
        checkouts: a folder with the operators' repositories, each at its tag, in place of the network.
        folder: where they go, under their checksums.

    Raises:
        DefinitionError: a file cannot be had, or is not what was published.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        target = folder / f"{file.checksum}.json"
        if target.exists():
            continue
        content = _download(file.url) if checkouts is None else _read(checkouts / file.checkout)
        found = hashlib.sha256(content).hexdigest()
        if found != file.checksum:
            raise DefinitionError(f"{file} has the checksum {found}, and {LOCK.name} says {file.checksum}")
        # JSON is read many times faster, and without its descriptions it is a fifth of the size.
        target.write_text(json.dumps(_schemas(yaml.safe_load(content))))


def _download(url: str) -> bytes:
    try:
        return httpx.get(url, timeout=30, follow_redirects=True).raise_for_status().content
    except httpx.HTTPError as error:
        raise DefinitionError(f"{url} cannot be had: {error}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DefinitionError(f"{path} cannot be read: {error}") from error


def missing(folder: Path = FOLDER) -> list[ReleasedFile]:
    return [file for file in published() if not (folder / f"{file.checksum}.json").exists()]


def problems(resource: Resource) -> Iterator[str]:
    """Yields what the operator's own definition refuses; nothing if it is not downloaded."""
    validator = _validators().get(f"{resource['apiVersion']} {resource['kind']}")
    if validator and (worst := best_match(validator.iter_errors(resource))):
        yield f"its operator's definition: {worst.json_path}: {worst.message}"


@cache
def _validators() -> Mapping[str, Draft202012Validator]:
    """API version and kind → validator of a whole resource, of the definitions that are there."""
    found = {}
    for file in published():
        path = FOLDER / f"{file.checksum}.json"
        if path.exists():
            for name, schema in json.loads(path.read_text()).items():
                found[name] = Draft202012Validator(schema)
    return found


def _schemas(definition: Mapping[str, Any]) -> dict[str, Any]:
    """API version and kind → JSON schema, of every version that an API server would serve."""
    spec = definition["spec"]
    schemas = {}
    for version in spec["versions"]:
        if version["served"]:
            schema = closed(version["schema"]["openAPIV3Schema"])
            # The API server's own business, whatever the definition says.
            schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {}}
            schemas[f"{spec['group']}/{version['name']} {spec['names']['kind']}"] = schema
    return schemas


def closed(node: Mapping[str, Any]) -> dict[str, Any]:
    """A structural schema of Kubernetes' as JSON Schema in which what is not named is refused, not dropped."""
    schema: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    if node.get("x-kubernetes-int-or-string"):
        schema["type"] = ["integer", "string"]
    if node.get("nullable") and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    for key in ("allOf", "anyOf", "oneOf"):
        if key in node and not node.get("x-kubernetes-int-or-string"):
            # These narrow what is named beside them, and name nothing new.
            schema[key] = [_open(each) for each in node[key]]
    if "not" in node:
        schema["not"] = _open(node["not"])
    if "items" in node:
        schema["items"] = closed(node["items"])
    if "properties" in node:
        schema["properties"] = {name: closed(each) for name, each in node["properties"].items()}
        schema["additionalProperties"] = bool(node.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(node.get("additionalProperties"), Mapping):
        schema["additionalProperties"] = closed(node["additionalProperties"])
    return schema


def _open(node: Any) -> Any:
    """The same without descriptions, and nothing else said."""
    match node:
        case Mapping():
            return {key: _open(value) for key, value in node.items() if key != "description"}
        case list():
            return [_open(each) for each in node]
        case other:
            return other
