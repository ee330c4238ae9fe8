"""Prepares the operations of an OpenAPI document for the reference page."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

from chassis.http.problems import MEDIA_TYPE

Document: TypeAlias = Mapping[str, Any]
METHODS: Final = ("get", "put", "post", "delete", "patch")
_DEEPEST: Final = 6
"""Fields within fields that are shown; schemas may contain themselves."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    """`string (uuid) or null`, `list of integer`, `"high", "normal" or "low"`."""
    required: bool
    bounds: str
    """`1 to 200 characters`, or nothing."""
    default: str | None
    description: str
    fields: tuple["Field", ...] = ()
    """Its own, or those of its entries."""


@dataclass(frozen=True, slots=True)
class Parameter:
    place: str
    """`path`, `query` or `header`."""
    field: Field


@dataclass(frozen=True, slots=True)
class DocumentedAnswer:
    status: str
    description: str
    type: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    anchor: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    body: tuple[Field, ...]
    answers: tuple[DocumentedAnswer, ...]
    command: str
    """A `curl` command with the shell variables `$URL` and `$SERVICE_KEY`."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """The operations under one heading; the heading is empty where the document has none."""

    heading: str
    description: str
    operations: tuple[Operation, ...]


def chapters_of(document: Document) -> list[Chapter]:
    """All operations of the document, in its order."""
    read = _OperationReader(document)
    by_tag: dict[str, list[Operation]] = {tag["name"]: [] for tag in document.get("tags", ())}
    for path, operations in document.get("paths", {}).items():
        for method in METHODS:
            if method in operations:
                tag = next(iter(operations[method].get("tags", ())), "")
                by_tag.setdefault(tag, []).append(read.operation(method, path, operations[method]))
    about = {tag["name"]: tag.get("description", "") for tag in document.get("tags", ())}
    return [Chapter(tag, about.get(tag, ""), tuple(found)) for tag, found in by_tag.items() if found]


class _OperationReader:
    def __init__(self, document: Document) -> None:
        self._schemas: Mapping[str, Any] = document.get("components", {}).get("schemas", {})

    def operation(self, method: str, path: str, operation: Mapping[str, Any]) -> Operation:
        body = _json_schema(operation.get("requestBody", {}))
        return Operation(
            anchor=operation["operationId"],
            method=method.upper(),
            path=path,
            summary=operation.get("summary", ""),
            description=operation.get("description", ""),
            parameters=tuple(self._parameter(each) for each in operation.get("parameters", ())),
            body=self._fields(body),
            answers=tuple(
                DocumentedAnswer(
                    status,
                    answer.get("description", ""),
                    self._type(_json_schema(answer)),
                    self._fields(_json_schema(answer)),
                )
                for status, answer in sorted(operation.get("responses", {}).items())
            ),
            command=self._command(method, path, operation),
        )

    def _parameter(self, parameter: Mapping[str, Any]) -> Parameter:
        schema = {**parameter.get("schema", {}), "description": parameter.get("description", "")}
        return Parameter(
            parameter["in"], self._field(parameter["name"], schema, required=parameter.get("required", False))
        )

    def _fields(self, schema: Mapping[str, Any], depth: int = 0) -> tuple[Field, ...]:
        """Return the fields of an object schema, or of the objects in a list schema."""
        described = self._resolved(schema)
        for other in described.get("anyOf", ()):
            if found := self._fields(other, depth):
                return found
        if "items" in described:
            return self._fields(described["items"], depth)
        if depth >= _DEEPEST:
            return ()
        required = described.get("required", ())
        return tuple(
            self._field(name, each, required=name in required, depth=depth + 1)
            for name, each in described.get("properties", {}).items()
        )

    def _field(self, name: str, schema: Mapping[str, Any], *, required: bool, depth: int = 0) -> Field:
        described = self._resolved(schema)
        default = schema.get("default")
        return Field(
            name=name,
            type=self._type(schema),
            required=required,
            bounds="; ".join(self._bounds(schema)),
            default=None if default is None else json.dumps(default, ensure_ascii=False),
            description=schema.get("description") or described.get("description", ""),
            fields=self._fields(schema, depth),
        )

    def _type(self, schema: Mapping[str, Any]) -> str:
        described = self._resolved(schema)
        if "anyOf" in described:
            return " or ".join(dict.fromkeys(self._type(each) for each in described["anyOf"]))
        if "enum" in described:
            return _either([json.dumps(each, ensure_ascii=False) for each in described["enum"]])
        kind = described.get("type", "")
        if kind == "array":
            entries = self._type(described.get("items", {}))
            return f"list of {entries}" if entries else "list"
        return f"{kind} ({described['format']})" if "format" in described else str(kind)

    def _bounds(self, schema: Mapping[str, Any]) -> Iterator[str]:
        described = self._resolved(schema)
        for other in described.get("anyOf", ()):
            yield from self._bounds(other)
        for least, most, of in (
            ("minLength", "maxLength", " characters"),
            ("minItems", "maxItems", " entries"),
            ("minimum", "maximum", ""),
        ):
            if least in described and most in described:
                yield f"{described[least]:,} to {described[most]:,}{of}"
            elif most in described:
                yield f"at most {described[most]:,}{of}"
            elif least in described:
                yield f"at least {described[least]:,}{of}"
        if "pattern" in described:
            yield f"matches {described['pattern']}"

    def _command(self, method: str, path: str, operation: Mapping[str, Any]) -> str:
        demanded: dict[str, str] = {}
        for parameter in operation.get("parameters", ()):
            example = self._example(parameter.get("schema", {}))
            if parameter["in"] == "path" and example:
                path = path.replace(f"{{{parameter['name']}}}", str(example))
            elif parameter["in"] == "query" and example and parameter.get("required"):
                demanded[parameter["name"]] = str(example)
        if demanded:
            path = f"{path}?{urlencode(demanded)}"
        asks = "curl" if method == "get" else f"curl -X {method.upper()}"
        lines = [f'{asks} "$URL{path}" -H "X-Service-Key: $SERVICE_KEY"']
        if body := self._example(_json_schema(operation.get("requestBody", {}))):
            sent = shlex.quote(json.dumps(body, ensure_ascii=False))
            lines.append(f"-H 'Content-Type: application/json' -d {sent}")
        elif media_type := _file_type(operation.get("requestBody", {})):
            lines.append(f"-H 'Content-Type: {media_type}' --data-binary @FILE")
        return " \\\n  ".join(lines)

    def _example(self, schema: Mapping[str, Any]) -> Any:
        """The schema's example; an object's example has those fields that have one."""
        described = self._resolved(schema)
        if examples := schema.get("examples") or described.get("examples"):
            return examples[0]
        fields = {name: self._example(each) for name, each in described.get("properties", {}).items()}
        return {name: example for name, example in fields.items() if example is not None} or None

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        reference = schema.get("$ref")
        if reference is None:
            return schema
        found: Mapping[str, Any] = self._schemas.get(reference.rpartition("/")[2], {})
        return found


def _json_schema(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON schema of a body, an answer or a refusal."""
    content = message.get("content", {})
    found: Mapping[str, Any] = (content.get("application/json") or content.get(MEDIA_TYPE, {})).get(
        "schema", {}
    )
    return found


def _file_type(body: Mapping[str, Any]) -> str | None:
    """Return the media type of a route that takes a file."""
    return next(
        (media_type for media_type in body.get("content", {}) if media_type != "application/json"), None
    )


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)
