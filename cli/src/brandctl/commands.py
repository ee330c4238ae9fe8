"""Declares commands as plain functions: their arguments become options, what they return is printed.

    app = Group("drafts", "Lists drafts, and approves them.", Orchestrator)

    @app.command("list")
    def list_drafts(orchestrator: Orchestrator, brand: OfBrand = None, limit: Limit = 50) -> Result:
        '''Lists drafts that wait for a person.

        Options:
            limit: The most drafts to list.
        '''
        return _DRAFTS.of(orchestrator.list_drafts(brand=brand, limit=limit))

A service is connected at its first call, at the address and with the key of the options that the command gets for it. A `bool`
that is False by default is a flag. Text under `Options:` is the help; `[default: …]` at its end is shown as the default. With
`--json`, the answer of a `Result` is printed, and nothing else on standard output. A function with the argument `as_json` gets
it, for results that are shown while the command runs.

A failure raises a `CommandError` or a `ClientError`. Commands need not catch it: it ends them with its message and exit code.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin

import typer
from typer.models import OptionInfo, ParameterInfo

from brandctl.access import find_access
from brandctl.errors import CommandError
from brandctl.tables import show_table
from brandctl.terminal import note, print_json
from client.connections import Service

KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file", dir_okay=False, help="File that holds the service key, or an API key; else SERVICE_KEY."
    ),
]
_AS_JSON: Final = typer.Option("--json", help="JSON on standard output, for scripts.")
_OPTIONS: Final = re.compile(r"\n\nOptions:\n((?: {4}.*\n?)+)")
_DEFAULT: Final = re.compile(r" \[default: (.*)\]$", re.DOTALL)

_ServiceT = TypeVar("_ServiceT", bound=Service)


@dataclass(frozen=True, slots=True)
class Result:
    """The output of a command."""

    answer: Any
    """With `--json`, to standard output."""
    show: Callable[[], None] | None = None
    """Prints it for people, to standard output."""
    note: str | Iterable[str] = ()
    """Remarks for people, to standard error."""
    remark: str | Iterable[str] = ()
    """Remarks in both cases."""
    error: str = ""
    """Why the command fails all the same, with exit code 1."""
    fails: bool = False
    """Whether it fails without a further remark."""

    def print(self, *, as_json: bool) -> None:
        if as_json:
            print_json(self.answer)
        else:
            if self.show is not None:
                self.show()
            _note_all(self.note)
        _note_all(self.remark)
        if self.error:
            raise CommandError(self.error)
        if self.fails:
            raise typer.Exit(1)


def _note_all(remarks: str | Iterable[str]) -> None:
    for each in [remarks] if isinstance(remarks, str) else remarks:
        note(each)


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], colours: Mapping[str, str] | None = None
) -> Callable[[], None]:
    """Returns what prints a table; see `show_table`."""
    return partial(show_table, headings, list(rows), colours=colours)


def connect(
    kind: type[_ServiceT], url: str | None = None, key_file: Path | None = None, *, option: str | None = None
) -> _ServiceT:
    """Returns a service that `find_access` finds at its first call, which may raise `AccessError`."""
    return kind(lambda: find_access(url, key_file, service=kind.service, option=option))


class Group(typer.Typer):
    """A group of commands, or all of them."""

    def __init__(self, name: str, about: str, *services: type[Service], **given: Any) -> None:
        """`about` is its help; before its examples come the texts that the commands of a first service share."""
        if services:
            shared = _help_of(services[0].service)
            begin, examples, rest = about.partition("\n\nFor example:")
            about = f"{begin}\n\n{shared}{examples}{rest}"
        super().__init__(name=name, help=about, **{"no_args_is_help": True, **given})

    def command(self, name: str | None = None, **given: Any) -> Callable[[Any], Any]:
        """Declares a function as a command."""
        return _declaring(super().command(name, **given))

    def callback(self, **given: Any) -> Callable[[Any], Any]:
        """Declares a function as what the group does before a command, or without one."""
        return _declaring(super().callback(**given))


def _declaring(declare: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def declared(function: Callable[..., Any]) -> Callable[..., Any]:
        declare(_as_command(function))
        return function

    return declared


def _help_of(service: str) -> str:
    return (
        f"Each command calls the {service} service. The address comes from --{service}-url or"
        f" {service.upper()}_URL, and the key\nthrough SERVICE_KEY or --key-file; beside a local run,"
        " `.local/endpoints.json` holds both.\n\n"
        "Exit codes: 0 done, 1 nothing found or something failed, 2 wrong usage."
    )


def _as_command(function: Callable[..., Any]) -> Callable[..., None]:
    """Returns the function as typer calls it: with an option for JSON and for each service instead of the service."""
    about, options = _parted(inspect.getdoc(function) or "")
    signature = inspect.signature(function)
    taken = signature.parameters
    services = {
        name: each.annotation
        for name, each in taken.items()
        if isinstance(each.annotation, type) and issubclass(each.annotation, Service)
    }
    others = [
        _described(each, options.get(name))
        for name, each in taken.items()
        if name not in services and name != "as_json"
    ]
    returned = signature.return_annotation
    if Result in {returned, *get_args(returned)} or "as_json" in taken:
        at = [each.name for each in others].index("key_file") if "key_file" in taken else len(others)
        others.insert(at, _keyword("as_json", Annotated[bool, _AS_JSON], default=False))
    at = [each.name for each in others].index("key_file") if "key_file" in taken else len(others)
    others[at:at] = [
        _keyword(f"{kind.service}_url", Annotated[str | None, _address_option(kind.service)])
        for kind in services.values()
    ]
    if services and "key_file" not in taken:
        others.append(_keyword("key_file", KeyFile))

    def run(**given: Any) -> None:
        as_json = given["as_json"] if "as_json" in taken else given.pop("as_json", False)
        key_file = given.get("key_file") if "key_file" in taken else given.pop("key_file", None)
        with ExitStack() as stack:
            for name, kind in services.items():
                service = connect(kind, given.pop(f"{kind.service}_url"), key_file)
                given[name] = stack.enter_context(service)
            result = function(**given)
        if isinstance(result, Result):
            result.print(as_json=as_json)

    run.__name__, run.__doc__ = function.__name__, about
    run.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in others}
    return run


def _keyword(name: str, kind: Any, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _address_option(service: str) -> OptionInfo:
    option: OptionInfo = typer.Option(
        f"--{service}-url", envvar=f"{service.upper()}_URL", help=f"Address of the {service} service."
    )
    return option


def _parted(text: str) -> tuple[str, dict[str, str]]:
    """The help of a command, and that of its options."""
    found = _OPTIONS.search(f"{text}\n")
    if found is None:
        return text, {}
    told: dict[str, str] = {}
    for line in inspect.cleandoc(found[1]).splitlines():
        name, colon, rest = line.partition(": ")
        if line.startswith(" "):  # goes on from the line before
            told[[*told][-1]] += f" {line.strip()}"
        elif colon:
            told[name] = rest
    return text.replace(found[0].rstrip("\n"), ""), told


def _described(parameter: inspect.Parameter, told: str | None) -> inspect.Parameter:
    """The parameter with its option or argument."""
    kind, info = parameter.annotation, None
    if get_origin(kind) is Annotated:
        kind, *annotations = get_args(kind)
        info = next((copy(each) for each in annotations if isinstance(each, ParameterInfo)), None)
    is_needed = parameter.default is parameter.empty
    if info is None:
        is_flag = kind is bool and parameter.default is False
        flag = [f"--{parameter.name.rstrip('_').replace('_', '-')}"]
        info = typer.Argument() if is_needed else typer.Option(*flag) if is_flag else typer.Option()
    if told is not None:
        default = _DEFAULT.search(told)
        info.help = told[: default.start()] if default else told
        if default:
            info.show_default = default[1]
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[_parsed(kind), info])


def _parsed(kind: Any) -> Any:
    """The type as typer takes it, which knows no lists of literals."""
    lists = next((each for each in (kind, *get_args(kind)) if get_origin(each) is list), None)
    if lists is None or get_origin(get_args(lists)[0]) is not Literal:
        return kind
    names = {each: each for each in get_args(get_args(lists)[0])}
    choice: Any = StrEnum("Choice", names)  # type: ignore[misc]  # mypy wants to see the members
    return list[choice] if kind is lists else list[choice] | None
