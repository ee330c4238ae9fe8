"""What a route asks of its caller, known before a byte of the request's body is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Security
from fastapi.security import APIKeyHeader
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match, Mount

from chassis.http.callers import Caller, Scope, caller_of
from chassis.http.service_key import API_PREFIX

# The guard has checked the key before a route sees a request; here it is for the OpenAPI document alone.
_KEY: Final = APIKeyHeader(name="X-Service-Key", scheme_name="ServiceKey", auto_error=False)
_UNDER_A_BRAND: Final = f"{API_PREFIX}brands/{{slug}}/"
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})

UnseenBrand: TypeAlias = Callable[[str], str]
"""The sentence that answers a key which is bound to other brands than this slug."""


def unseen_brand(slug: str) -> str:
    return f"there is no brand '{slug}' that your key may see"


@dataclass(frozen=True, slots=True)
class NeededScope:
    """A route's dependency: a caller with the scope.

    The guard checks it before it reads the body. FastAPI checks it again, and gives the caller to the route.
    """

    scope: Scope
    of_all_brands: bool = False
    """Whether callers who are bound to brands are refused."""

    async def __call__(self, request: Request, _: Annotated[str | None, Security(_KEY)]) -> Caller:
        caller = caller_of(request)
        self.check(caller)
        return caller

    def check(self, caller: Caller) -> None:
        """Raises HTTPException 403 for a caller who may not ask for the route."""
        if self.scope not in caller.scopes:
            raise HTTPException(
                HTTPStatus.FORBIDDEN, f"this takes a key with the scope '{self.scope}', which yours has not"
            )
        if self.of_all_brands and caller.brands is not None:
            raise HTTPException(
                HTTPStatus.FORBIDDEN,
                "this concerns all brands, and takes a key that is bound to none; yours is bound",
            )


class Admission:
    """Decides by the head of a request whether its body is read.

    Args:
        routes: of the application, as they are once all are there.
        unseen: the sentence for a caller who is bound to other brands than that of the path.
    """

    def __init__(self, routes: Sequence[BaseRoute], unseen: UnseenBrand = unseen_brand) -> None:
        self._routes = routes
        self._unseen = unseen

    def __call__(self, request: Request, caller: Caller) -> bool:
        """Whether the route reads a body at all.

        Raises:
            HTTPException: 403 without the scope; 404 for a brand that the caller may not see.
        """
        found = self._route(request)
        if found is None:
            return False  # answered with 404 or 405, whatever the body says
        route, parameters = found
        if isinstance(route, Mount):
            return False  # no operation of the API: what else is served takes no body
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
            raise HTTPException(HTTPStatus.NOT_FOUND, self._unseen(slug))
        return True

    def _route(self, request: Request) -> tuple[BaseRoute, dict[str, Any]] | None:
        for route in self._routes:
            match, found = route.matches(request.scope)
            if match is Match.FULL:
                return route, found.get("path_params", {})
        return None


def _needed(dependant: Any) -> list[NeededScope]:
    """All that a route depends on, and what that depends on."""
    found: list[NeededScope] = []
    inside = [dependant] if dependant is not None else []
    while inside:
        each = inside.pop()
        if isinstance(each.call, NeededScope):
            found.append(each.call)
        inside.extend(each.dependencies)
    return found
