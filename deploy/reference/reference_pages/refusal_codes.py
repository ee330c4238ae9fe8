"""The codes with which each operation may refuse: those of the functions that its route can reach.

From a route's function and its dependencies, it follows the names that their compiled code mentions, through modules, closures
and methods of our own packages. On the way it collects the `ProblemCode`s, those of the errors for which the application has a
handler, and the texts that are codes of the gateway. It cannot tell which branch a request takes. So an operation has only those
of the statuses that its OpenAPI document lists.
"""

import functools
import inspect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from chassis.http.problem_codes import ProblemCode

Codes = Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]]
"""Method in lower case and path → status → codes."""
_ROOT: Final = Path(__file__).parents[3]
_METHODS: Final = ("__init__", "__call__", "__post_init__")
"""What calling a class, or an object that stands for a function, runs."""


def codes_of(app: FastAPI) -> Codes:
    """Returns the codes of each operation of an API."""
    known = {each.code: each for each in app.state.problem_codes}
    meant = {text: code for text, code in known.items() if "." in text} | dict(_codes_of_errors(app))
    found: dict[tuple[str, str], Mapping[str, tuple[str, ...]]] = {}
    for route in app.routes:
        if isinstance(route, APIRoute):
            by_status: defaultdict[str, set[str]] = defaultdict(set)
            for each in _reachable_codes(_calls(route.dependant), meant):
                for status in (each.status, *each.also):
                    by_status[str(status.value)].add(each.code)
            told = {status: tuple(sorted(codes)) for status, codes in by_status.items()}
            found |= {(method.lower(), route.path_format): told for method in route.methods or ()}
    return found


def _calls(dependant: Dependant) -> Iterator[Any]:
    if dependant.call is not None:
        yield dependant.call
    for each in dependant.dependencies:
        yield from _calls(each)


def _codes_of_errors(app: FastAPI) -> Iterator[tuple[Any, ProblemCode]]:
    """Yields the errors that `refuse_with` makes into refusals."""
    for error, handler in app.exception_handlers.items():
        if isinstance(handler, FunctionType):
            for cell in handler.__closure__ or ():
                if isinstance(cell.cell_contents, ProblemCode):
                    yield error, cell.cell_contents


def _reachable_codes(roots: Iterable[Any], meant: Mapping[Any, ProblemCode]) -> set[ProblemCode]:
    waiting, seen, found = list(roots), set[int](), set[ProblemCode]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, ProblemCode):
            found.add(value)
        elif isinstance(value, (str, type)) and value in meant:
            found.add(meant[value])
        elif id(value) not in seen:
            seen.add(id(value))
            waiting += _mentioned(value)
    return found


def _mentioned(value: Any) -> Iterator[Any]:
    """Yields the objects that a function, a class or a collection of such leads to."""
    match value:
        case functools.partial():
            yield from (value.func, *value.args, *value.keywords.values())
        case MethodType():
            yield value.__func__
        case Mapping():
            yield from value.values()
        case tuple() | list() | set() | frozenset():
            yield from value
        case type() if _is_ours(value.__module__):
            yield from (value.__dict__[name] for name in _METHODS if name in value.__dict__)
        case FunctionType():
            inner = inspect.unwrap(value)
            if isinstance(inner, FunctionType) and _is_ours(inner.__module__):
                yield from _named_in(inner)


def _named_in(function: FunctionType) -> Iterator[Any]:
    names = {name for code in _bodies(function.__code__) for name in code.co_names}
    yield from (
        each for code in _bodies(function.__code__) for each in code.co_consts if isinstance(each, str)
    )
    cells = (cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell))
    for value in (*(function.__globals__.get(name) for name in names), *cells):
        if isinstance(value, ModuleType):
            if _is_ours(value.__name__):
                yield from (getattr(value, name) for name in names if hasattr(value, name))
        elif isinstance(value, (type, FunctionType, MethodType)) or not _is_ours(type(value).__module__):
            yield value
        else:
            # An object of ours: the methods whose names the function mentions.
            yield value
            yield from (getattr(type(value), name, None) for name in names)


def _bodies(code: CodeType) -> Iterator[CodeType]:
    """Yields the code of a function and of those within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _bodies(each)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@functools.cache
def _is_ours(module: str) -> bool:
    package = module.partition(".")[0]
    if package in {"builtins", "__main__"}:
        return False
    spec = find_spec(package)
    place = spec.origin if spec is not None else None
    return place is not None and _ROOT in Path(place).parents and ".venv" not in place
