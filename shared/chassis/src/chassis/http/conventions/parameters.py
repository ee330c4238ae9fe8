"""Refuses unknown query parameters: ignoring a misspelt one would answer a different question."""

from collections.abc import Iterator

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request

from chassis.http.problem_codes import UNKNOWN_PARAMETER, RefusalError

_SHOWN = 80


def refuse_unknown_parameters(request: Request) -> None:
    """Check the query parameters against the route of a request.

    Raises:
        RefusalError: the route does not know a parameter.
    """
    route = request.scope.get("route")
    if not request.scope["query_string"] or not isinstance(route, APIRoute):
        return
    known = _known_parameters(route)
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is None:
        return
    shown = "".join(char if char.isprintable() else "?" for char in unknown[:_SHOWN])
    lists = f"those it knows are {', '.join(known)}" if known else "it takes none"
    raise RefusalError(
        UNKNOWN_PARAMETER,
        f"{shown.encode(errors='replace').decode()}: is no parameter of this request; {lists}",
    )


def _known_parameters(route: APIRoute) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_query_parameters(route.dependant)))


def _query_parameters(dependant: Dependant) -> Iterator[str]:
    yield from (each.alias for each in dependant.query_params)
    for each in dependant.dependencies:
        yield from _query_parameters(each)
