"""`python -m client.generator`: writes `client.services`, a package per service, from the services' OpenAPI documents.

A package has the enumerations, the class of synchronous calls, named as the service, and that of asynchronous ones, with `Async`
before the name; its module `answers` has the bodies as typed dictionaries, `choices` the enumerations.

Each operation is a method named as its id. Parameters of the path come first. Those of query and headers, and the fields of a JSON
body, are keywords. Nothing here is imported by calls.
"""

import importlib
import keyword
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SERVICES: Final[tuple[str, ...]] = importlib.import_module("envelope.brand.services").DEPLOYED
"""Those of the registry. Read as the services are, without an import: a program that calls them needs neither."""
GENERATED: Final = Path(__file__).parent / "services"
_SETTINGS: Final = {
    "database_url": "postgresql://nobody@127.0.0.1:1/none",
    "rabbitmq_url": "amqp://nobody@127.0.0.1:1/",
    "service_key": "of-no-service-0123456789",
}
"""Settings for a service that is put together but never started: nothing is connected."""
_PACKAGE: Final = f'''"""A package per service; made by client.generator."""

from typing import Literal

ServiceName = Literal[{", ".join(f'"{name}"' for name in SERVICES)}]
'''
_EVENT_STREAM: Final = "text/event-stream"
"""Has no end, so that it is read as it comes."""
_JSON: Final = "application/json"
_PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_CLASSES: Final = (("", "Service", "def", ""), ("Async", "AsyncService", "async def", "await "))
"""Prefix of a class's name, its base, the keyword of its methods, and what stands before a call."""


def document_of(service: str, folder: Path) -> dict[str, Any]:
    """Returns the OpenAPI document of an installed service. `folder` is an empty one."""
    document: dict[str, Any] = application_of(service, folder).openapi()
    return document


def application_of(service: str, folder: Path) -> Any:
    """Returns the FastAPI application of an installed service, which is not started. `folder` is an empty one."""
    root = importlib.import_module(f"{service}.app")
    settings = importlib.import_module(f"{service}.settings").Settings(**_SETTINGS, corpus=folder)
    process: Any = root.GatewayApp(settings) if service == "gateway" else root.build(settings)
    return process._app  # noqa: SLF001  (it has no other use)


def modules_of(service: str, document: Mapping[str, Any]) -> dict[str, str]:
    """Returns the text of a service's modules by the names of their files."""
    schemas = document["components"]["schemas"]
    choices = {name: schema for name, schema in schemas.items() if "enum" in schema}
    models = {name: schema for name, schema in schemas.items() if name not in choices}
    operations = [
        _Operation(method, path, operation, schemas)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    said = f'"""{document["info"]["title"]}: made by client.generator; changes here are lost."""\n\n'
    unchecked = '# mypy: disable-error-code="no-any-return"\n'
    calls = [
        said + unchecked,
        "from __future__ import annotations\n\nfrom collections.abc import AsyncIterator, Iterator, Mapping, Sequence\n",
        "from contextlib import AbstractAsyncContextManager, AbstractContextManager\nfrom datetime import datetime\n",
        "from typing import TYPE_CHECKING, Any, Literal\nfrom uuid import UUID\n\n",
        "from client.connections import UNSET, AsyncService, Content, Request, Service, Unset, path_part\n",
        _imported(service, [f"{name} as {name}" for name in choices]),
        "\nif TYPE_CHECKING:\n    from client.services." + service + " import answers\n\n",
    ]
    for prefix, base, begin, wait in _CLASSES:
        calls.append(f"\n\nclass {prefix}{service.title()}({base}):\n    service = {service!r}\n")
        calls += [operation.method(begin, wait) for operation in operations]
    answers = [
        said,
        "from __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n\n",
        _imported(service, choices),
        *(_model(name, schema) for name, schema in models.items()),
    ]
    enumerations = [
        f"{said}from typing import Literal\n\n",
        *(f"{name} = {_literal(schema['enum'])}\n" for name, schema in choices.items()),
    ]
    return {
        "__init__.py": "".join(calls),
        "answers.py": "".join(answers),
        "choices.py": "".join(enumerations),
    }


def _imported(service: str, choices: Iterable[str]) -> str:
    names = ", ".join(choices)
    return f"from client.services.{service}.choices import {names}\n" if names else ""


def _model(name: str, schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties")
    if not properties:
        return f'\n\n{name}: TypeAlias = "{_type(schema)}"\n'
    needed = schema.get("required", ())
    fields = {
        field: _type(each) if field in needed else f"NotRequired[{_type(each)}]"
        for field, each in properties.items()
    }
    if all(field.isidentifier() and not keyword.iskeyword(field) for field in fields):
        lines = "".join(f"    {field}: {kind}\n" for field, kind in fields.items())
        return f"\n\nclass {name}(TypedDict):\n{lines}"
    listed = ", ".join(f"{field!r}: {kind!r}" for field, kind in fields.items())
    return f"\n\n{name} = TypedDict({name!r}, {{{listed}}})\n"


def _type(schema: Mapping[str, Any], models: str = "") -> str:
    """The type of a value that is received; `models` is the prefix of the models' names."""
    match schema:
        case {"$ref": reference}:
            found = models + str(reference).rpartition("/")[2]
        case {"const": value}:
            found = _literal([value])
        case {"enum": values}:
            found = _literal(values)
        case {"anyOf": several} | {"oneOf": several} | {"allOf": several}:
            found = " | ".join(dict.fromkeys(_type(each, models) for each in several))
        case {"type": "array"}:
            found = f"list[{_type(schema.get('items', {}), models)}]"
        case {"type": "object"}:
            within = schema.get("additionalProperties")
            found = f"dict[str, {_type(within, models) if isinstance(within, Mapping) else 'Any'}]"
        case {"type": str(kind)}:
            found = _PLAIN[kind]
        case _:
            found = "Any"
    return found


def _literal(values: Sequence[object]) -> str:
    return f"Literal[{', '.join(map(repr, values))}]"


@dataclass(frozen=True, slots=True)
class _Operation:
    verb: str
    path: str
    described: Mapping[str, Any]
    schemas: Mapping[str, Any]

    def method(self, begin: str, wait: str) -> str:
        """Returns the text of the method."""
        answer, call = self._answer(is_async=bool(wait))
        if call == "_stream":
            begin, wait = "def", ""
        arguments = self._arguments()
        given = ", ".join(
            ("self", *arguments.path, *arguments.body, *(("*", *arguments.named) if arguments.named else ()))
        )
        told = self.described.get("summary", "").replace("\\", "").rstrip(".")
        return (
            f"\n    {begin} {self.described['operationId']}({given}) -> {answer}:\n"
            f'        """{told}."""\n'
            f"        return {wait}self.{call}({self._request(arguments)}{self._fields(call)})\n"
        )

    def _answer(self, *, is_async: bool) -> tuple[str, str]:
        """The type of the answer, and the method of the base that makes it."""
        done = next(
            answer for status, answer in self.described["responses"].items() if status.startswith("2")
        )
        content = done.get("content", {})
        if not content:
            return "None", "_done"
        media, (schema,) = next(iter(content)), [each.get("schema", {}) for each in content.values()][:1]
        if media == _JSON:
            kind = self._resolved(schema)
            return kind if kind != "None" else "Any", "_json"
        if media.startswith("text/") and media != _EVENT_STREAM:
            return "str", "_text"
        return (
            "AbstractAsyncContextManager[AsyncIterator[bytes]]"
            if is_async
            else "AbstractContextManager[Iterator[bytes]]"
        ), "_stream"

    def _fields(self, call: str) -> str:
        """The fields that an answer of this service has, some at least."""
        if call != "_json":
            return ""
        done = next(
            answer for status, answer in self.described["responses"].items() if status.startswith("2")
        )
        name = done["content"][_JSON].get("schema", {}).get("$ref", "").rpartition("/")[2]
        fields = [*self.schemas.get(name, {}).get("properties", ())]
        return f", {fields!r}" if fields else ""

    def _resolved(self, schema: Mapping[str, Any]) -> str:
        """A type in a signature, where models are in the module `answers`, and enumerations beside the class."""

        def prefixed(found: re.Match[str]) -> str:
            name = found[1]
            return name if "enum" in self.schemas[name] else f"answers.{name}"

        return re.sub(r"@(\w+)", prefixed, _type(schema, "@"))

    def _sent(self, schema: Mapping[str, Any]) -> str:
        """As `_resolved`, of a value that is sent: ids and times may be objects, lists any sequence."""
        several = schema.get("anyOf")
        if several:
            return " | ".join(dict.fromkeys(self._sent(each) for each in several))
        if schema.get("type") == "array":
            return f"Sequence[{self._sent(schema.get('items', {}))}]"
        also = {"uuid": "UUID | ", "date-time": "datetime | "}.get(schema.get("format", ""), "")
        return also + self._resolved(schema)

    def _arguments(self) -> "_Arguments":
        found = _Arguments([], [], [], {}, {}, {}, "")
        for parameter in self.described.get("parameters", ()):
            name, place = parameter["name"], parameter["in"]
            called, kind = _argument(name), self._sent(parameter["schema"])
            if place == "path":
                found.path.append(f"{called}: {kind}")
                continue
            (found.query if place == "query" else found.headers)[name] = called
            if parameter.get("required"):
                found.named.insert(0, f"{called}: {kind}")
            else:
                optional = kind if kind.endswith("| None") else f"{kind} | None"
                found.named.append(f"{called}: {optional} = None")
        content = self.described.get("requestBody", {}).get("content", {})
        if not content:
            return found
        fields = list(self._fields_of_body(content))
        if fields:
            taken = {each.partition(":")[0] for each in (*found.path, *found.named)}
            needed: list[str] = []
            others: list[str] = []
            for name, schema, is_needed in fields:
                called = _argument(name) if _argument(name) not in taken else f"body_{_argument(name)}"
                found.json[name] = called
                kind = self._sent(schema)
                (needed if is_needed else others).append(
                    f"{called}: {kind}" if is_needed else f"{called}: {kind} | Unset = UNSET"
                )
            found.named = [*needed, *others, *found.named, "extra: Mapping[str, Any] | None = None"]
            return found
        found.body.append("content: Content")
        found.named.append(f"content_type: str = {next(iter(content))!r}")
        found.headers["Content-Type"] = "content_type"
        found.content = "content"
        return found

    def _fields_of_body(self, content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
        """Name, schema and necessity of the fields of a body that is one JSON object."""
        if [*content] != [_JSON]:
            return
        schema = content[_JSON]["schema"]
        model = next((each for each in (schema, *schema.get("anyOf", ())) if "$ref" in each), None)
        if model is None:
            return
        shape = self.schemas[model["$ref"].rpartition("/")[2]]
        for name, each in shape.get("properties", {}).items():
            yield name, each, name in shape.get("required", ())

    def _request(self, arguments: "_Arguments") -> str:
        path = re.sub(r"\{(\w+)\}", lambda found: f"{{path_part({_argument(found[1])})}}", self.path)
        parts = [repr(self.verb.upper()), f'f"{path}"' if "{" in path else f'"{path}"']
        parts += [_mapping(arguments.query), _mapping(arguments.headers)]
        if arguments.json:
            parts.append(f"json={_mapping(arguments.json)[:-1]}, **(extra or {{}})}}")
        if arguments.content:
            parts.append(f"content={arguments.content}")
        return f"Request({', '.join(parts)})"


@dataclass(frozen=False, slots=True)
class _Arguments:
    path: list[str]
    body: list[str]
    named: list[str]
    query: dict[str, str]
    headers: dict[str, str]
    json: dict[str, str]
    content: str


def _mapping(names: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name!r}: {called}' for name, called in names.items())}}}"


def _argument(name: str) -> str:
    """The name of an argument: `if-none-match` is `if_none_match`, `from` is `from_`."""
    called = re.sub(r"\W", "_", name.lower())
    return f"{called}_" if keyword.iskeyword(called) else called


def generate(target: Path = GENERATED) -> None:
    """Writes the packages of all services, in place of what is there."""
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory(dir=target.parent) as draft:
        made = Path(draft) / "services"
        made.mkdir()
        (made / "__init__.py").write_text(_PACKAGE)
        for service in SERVICES:
            (made / service).mkdir()
            for name, text in modules_of(service, document_of(service, Path(empty))).items():
                (made / service / name).write_text(text)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)


if __name__ == "__main__":
    generate()
