"""docs/reference/settings.md: every environment variable of every service, from the classes that read them."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from chassis.settings import AppSettings, DatabaseSettings, KeyedSettings, MigrationSettings, WebAddress
from envelope.brand import DEPLOYED
from messaging import ServiceSettings
from reference_pages.tables import table

_INTRODUCTION: Final = """\
# Settings, one by one

Every environment variable that a process of Brand Engine reads, with its type, its default and its bounds. `make schemas` makes
this page from the classes of the settings. [Settings](../settings.md) explains keys, secrets in files and health checks, and has
the variables of other programs. `python -m research --help` lists the names for `research`, and so on for the others.

A variable without a default is required. An empty variable counts as unset. Durations, sizes and numbers are bounded: a process
with a value outside its bounds does not start, and says which variable is wrong.
"""
_HEAD: Final = ("variable", "type", "default", "meaning")
_PAIR_KEY: Final = re.compile(r"([a-z]+)_to_([a-z]+)_key")
_SHARED: Final[tuple[tuple[str, str, tuple[type[BaseSettings], ...]], ...]] = (
    (
        "Every process",
        "A process has these whatever it does. The port is [its own](#ports).",
        (DatabaseSettings, KeyedSettings, AppSettings),
    ),
    (
        "Every service with queues",
        "Orchestrator, research, publisher, social, monitor and events.",
        (ServiceSettings,),
    ),
    (
        "Migrations",
        "`python -m <service> migrate` reads `DATABASE_URL` and this variable.",
        (MigrationSettings,),
    ),
)
_WEB_ADDRESS: Final = get_args(WebAddress)[1]
_KINDS: Final[Mapping[Any, str]] = {
    str: "text",
    int: "integer",
    float: "number",
    Decimal: "number",
    bool: "`true` or `false`",
    Path: "path",
    SecretStr: "secret",
}


def settings_page() -> str:
    """Returns the page."""
    classes = {service: importlib.import_module(f"{service}.settings").Settings for service in DEPLOYED}
    return "\n".join(
        [
            _INTRODUCTION,
            *_shared_sections(),
            *_pairs(classes),
            *_ports(classes),
            *(part for service, settings in classes.items() for part in _service(service, settings)),
        ]
    )


def _shared_sections() -> Iterator[str]:
    for title, sentence, owners in _SHARED:
        names = [name for owner in owners for name in own_fields(owner) if name != "http_port"]
        rows = [row_of(owners[-1] if name in owners[-1].model_fields else owners[1], name) for name in names]
        yield f"## {title}\n\n{sentence}\n\n{table(_HEAD, rows)}"


def _pairs(classes: Mapping[str, type[BaseSettings]]) -> Iterator[str]:
    pairs = sorted({found.groups() for each in classes.values() for found in _pair_keys(each)})
    rows = [
        (sender, receiver, f"`{sender.upper()}_TO_{receiver.upper()}_KEY`")
        for sender, receiver in sorted(pairs, key=lambda pair: (DEPLOYED.index(pair[0]), pair[1]))
    ]
    yield (
        "## Keys between services\n\nBoth sides have the variable; it is a secret. [More](../settings.md#keys-between-services).\n\n"
        + table(("from", "to", "variable"), rows)
    )


def _pair_keys(settings: type[BaseSettings]) -> Iterator[re.Match[str]]:
    for name in settings.model_fields:
        if found := _PAIR_KEY.fullmatch(name):
            yield found


def _ports(classes: Mapping[str, type[BaseSettings]]) -> Iterator[str]:
    rows = [
        (service, f"`{settings.model_fields['http_port'].default}`") for service, settings in classes.items()
    ]
    yield (
        "## Ports\n\nThe default of `HTTP_PORT`, 0 to 65535 (0: a free port).\n\n"
        + table(("service", "port"), rows)
    )


def _service(service: str, settings: type[BaseSettings]) -> Iterator[str]:
    names = [
        name
        for name in own_fields(settings)
        if name != "http_port" and not _PAIR_KEY.fullmatch(name) and name != "service_key"
    ]
    yield f"## {service}\n\n{table(_HEAD, [row_of(settings, name) for name in names])}"


def own_fields(settings: type[BaseSettings]) -> list[str]:
    """Returns the fields that a class itself declares, in their order."""
    return [name for name in settings.model_fields if name in inspect.get_annotations(settings)]


def row_of(settings: type[BaseSettings], name: str) -> Sequence[str]:
    """Returns the cells of a setting: variable, type with bounds, default, meaning."""
    field = settings.model_fields[name]
    return f"`{name.upper()}`", type_of(field), default_of(field), meaning_of(settings, name)


def type_of(field: FieldInfo) -> str:
    """Returns the type of a setting, with its bounds."""
    kind, bounds = _described(field.annotation, field.metadata)
    return f"{kind}, {bounds}" if bounds else kind


def _described(annotation: Any, metadata: Iterable[Any]) -> tuple[str, str]:
    marks = list(metadata)
    if get_origin(annotation) is Annotated:
        inner, *further = get_args(annotation)
        return _described(inner, [*further, *marks])
    if get_origin(annotation) in {Union, UnionType}:
        inner = next(each for each in get_args(annotation) if each is not type(None))
        return _described(inner, marks)
    flat = [each for mark in marks for each in (mark.metadata if isinstance(mark, FieldInfo) else (mark,))]
    bounds = ""
    if get_origin(annotation) is tuple:
        kind = "list, separated by commas"
    elif get_origin(annotation) is Literal:
        kind = ", ".join(f"`{each}`" for each in get_args(annotation))
    elif any(each is _WEB_ADDRESS for each in flat):
        kind = "web address"
    elif any(getattr(each, "path_type", None) == "dir" for each in flat):
        kind = "folder"
    else:
        kind, bounds = _KINDS[annotation], _bounds(flat)
    return kind, bounds


def _bounds(marks: Iterable[Any]) -> str:
    low = high = length = ""
    for mark in marks:
        match mark:
            case Ge(ge=value):
                low = f"at least {_number(value)}"
            case Gt(gt=value):
                low = f"more than {_number(value)}"
            case Le(le=value):
                high = f"at most {_number(value)}"
            case Lt(lt=value):
                high = f"less than {_number(value)}"
            case MaxLen(max_length=value):
                length = f"at most {_number(value)} characters"
            case MinLen(min_length=value) if value > 1:
                low = f"at least {_number(value)} characters"
            case _:
                pass
    high = high or length
    if low.startswith("at least") and high.startswith("at most"):
        low = low.removeprefix("at least ").removesuffix(" characters" if high == length else "")
        return f"{low} to {high.removeprefix('at most ')}"
    return ", ".join(each for each in (low, high) if each)


def _number(value: Any) -> str:
    number = float(value)
    return f"{int(number):,}" if number.is_integer() else f"{number:g}"


def default_of(field: FieldInfo) -> str:
    """Returns the default of a setting, or that it is required."""
    if field.is_required():
        return "required"
    value = field.default
    match value:
        case None | "" | ():
            return "unset"
        case bool():
            shown = str(value).lower()
        case float() | Decimal():
            shown = f"{value:g}" if value % 1 else str(int(value))
        case tuple():
            shown = ",".join(f"{each:g}" for each in value)
        case _:
            shown = str(value)
    return f"`{shown}`"


def meaning_of(settings: type[BaseSettings], name: str) -> str:
    """Returns the sentences of a setting: its description, or the text below its field.

    Raises:
        LookupError: a setting has none.
    """
    for owner in settings.__mro__:
        if name in inspect.get_annotations(owner):
            said = settings.model_fields[name].description or _texts(owner).get(name)
            if said:
                text = " ".join(said.split())
                text = _with_variables(settings, text if text.startswith("`") else text[0].upper() + text[1:])
                return text if text.endswith((".", ")")) else f"{text}."
    raise LookupError(f"{settings.__module__}: write below {name} what it means")


def _with_variables(settings: type[BaseSettings], text: str) -> str:
    """Marks the variables in a sentence as code: `http_port` and HTTP_PORT become `HTTP_PORT`."""
    text = re.sub(
        r"`([a-z_]+)`",
        lambda found: found[0].upper() if found[1] in settings.model_fields else found[0],
        text,
    )
    return re.sub(r"(?<![`\w])([A-Z]+(?:_[A-Z]+)+|WRITERS)(?![`\w])", r"`\1`", text)


def _texts(owner: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = said
            case _:
                pass
    return found
