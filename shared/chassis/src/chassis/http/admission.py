"""Checks scope and brand of a caller before the request's body is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Security
from fastapi.security import APIKeyHeader
from starlette.requests import Request
from starlette.routing import Mount

from chassis.http.callers import Caller, Scope, caller_of
from chassis.http.conventions.parameters import refuse_unknown_parameters
from chassis.http.problem_codes import KEY_BOUND_TO_BRANDS, SCOPE_MISSING, UNKNOWN_BRAND, RefusalError
from chassis.http.route_index import RouteIndex
from chassis.http.service_key import API_PREFIX

# Only for the OpenAPI document: the guard checks the key before a route sees the request.
_KEY: Final = APIKeyHeader(name="X-Service-Key", scheme_name="ServiceKey", auto_error=False)
_UNDER_A_BRAND: Final = f"{API_PREFIX}brands/{{slug}}/"
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})

UnseenBrand: TypeAlias = Callable[[str], str]
"""Returns the error for a key that is bound to other brands than this slug."""


def unseen_brand(slug: str) -> str:
    return f"there is no brand '{slug}' that your key may see"


@dataclass(frozen=True, slots=True)
class NeededScope:
    """A route's dependency: a caller with the scope.

    The guard checks it before it reads the body. FastAPI checks it again, and passes the caller to the route.
    """

    scope: Scope
    of_all_brands: bool = False
    """Whether to refuse callers that are bound to brands."""

    async def __call__(self, request: Request, _: Annotated[str | None, Security(_KEY)]) -> Caller:
        caller = caller_of(request)
        self.check(caller)
        refuse_unknown_parameters(request)
        return caller

    def check(self, caller: Caller) -> None:
        """Raise RefusalError 403 for a caller who may not use the route."""
        if self.scope not in caller.scopes:
            raise RefusalError(
                SCOPE_MISSING, f"this takes a key with the scope '{self.scope}', which yours has not"
            )
        if self.of_all_brands and caller.brands is not None:
            raise RefusalError(
                KEY_BOUND_TO_BRANDS,
                "this concerns all brands, and takes a key that is bound to none; yours is bound",
            )


class Admission:
    """Decides by the head of a request whether to read its body.

    Args:
        routes: finds the route of a request.
        unseen: error for a caller who is bound to other brands than that of the path.
    """

    def __init__(self, routes: RouteIndex, unseen: UnseenBrand = unseen_brand) -> None:
        self._routes = routes
        self._unseen = unseen

    def __call__(self, request: Request, caller: Caller) -> bool:
        """Return whether the route reads a body.

        Raises:
            RefusalError: 403 without the scope; 404 for a brand that the caller may not see.
        """
        found = self._routes.find(request.scope)
        if found is None:
            return False  # the answer is 404 or 405 for any body
        route, parameters = found.route, found.child_scope.get("path_params", {})
        if isinstance(route, Mount):
            return False  # not an operation of the API: mounts take no body
        for needed in _needed(getattr(route, "dependant", None)):
            needed.check(caller)
        if request.method in _WITHOUT_BODY:
            return False
        slug = parameters.get("slug")
        if (
            isinstance(slug, str)
            and getattr(route, "path", "").startswith(_UNDER_A_BRAND)
            and not caller.may_see(slug)
        ):
            raise RefusalError(UNKNOWN_BRAND, self._unseen(slug))
        return True


def _needed(dependant: Any) -> list[NeededScope]:
    """Collect the needed scopes of a route's dependencies, recursively."""
    found: list[NeededScope] = []
    inside = [dependant] if dependant is not None else []
    while inside:
        each = inside.pop()
        if isinstance(each.call, NeededScope):
            found.append(each.call)
        inside.extend(each.dependencies)
    return found
