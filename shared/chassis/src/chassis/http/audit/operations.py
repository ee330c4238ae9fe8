"""Recognises requests that change something, and the address of what they change."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope as RequestScope

from chassis.http.service_key import API_PREFIX

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_OF_A_BRAND: Final = f"{API_PREFIX}brands/{{slug}}"
_DEPTH_OF_A_BRAND: Final = _OF_A_BRAND.count("/") + 1


@dataclass(frozen=True, slots=True)
class Operation:
    """A route that changes something."""

    name: str
    of_a_brand: bool
    """Its path names the brand."""
    depth: int | None
    """Number of path parts that form the address of the changed item; None if it creates one or there is no GET for it."""

    def item(self, path: str) -> str | None:
        """Return the address of the changed item; None if the request creates one or there is no GET for it."""
        return None if self.depth is None else "/".join(path.split("/")[: self.depth])

    def place(self, path: str) -> str:
        """Return the place where a request creates something: its brand, or else the path."""
        return "/".join(path.split("/")[:_DEPTH_OF_A_BRAND]) if self.of_a_brand else path


def operation_of(method: str, route: Route, shown: Collection[str]) -> Operation:
    """Describe a route; `shown` holds the paths with GET routes."""
    path = route.path
    declared: dict[Any, Any] = getattr(route, "responses", {})
    gives_location = any("Location" in answer.get("headers", ()) for answer in declared.values())
    item: str | None
    if method == "POST":
        item = None if path in shown or gives_location else _nearest(path, shown)
    else:
        item = path if path in shown else None
    depth = None if item is None else item.count("/") + 1
    return Operation(f"{method} {path}", path.startswith(_OF_A_BRAND), depth)


def _nearest(path: str, shown: Collection[str]) -> str | None:
    """Return the item of an action: `/v1/cycles/{cycle_id}` for `/v1/cycles/{cycle_id}/pause`."""
    while path := path.rpartition("/")[0]:
        if path.endswith("}") and path in shown:
            return path
    return None


class Operations:
    """The changing operations of an application.

    Args:
        routes: the application's list of routes, which may still grow.
        changes_nothing: route paths without changes despite their method.
    """

    def __init__(self, routes: list[BaseRoute], changes_nothing: Iterable[str] = ()) -> None:
        self._routes = routes
        self.changes_nothing = frozenset(changes_nothing)
        self._known: dict[tuple[str, str], Operation] = {}
        """A cache by method and route path."""

    def of(self, scope: RequestScope) -> Operation | None:
        """Return the operation of a request; None if it changes nothing."""
        if (
            scope["type"] != "http"
            or scope["method"] in _READING
            or not scope["path"].startswith(API_PREFIX)
            or "\0" in scope["path"]
            or scope["path"] in self.changes_nothing
        ):
            return None
        for route in self._routes:
            if isinstance(route, Route) and route.matches(scope)[0] is Match.FULL:
                if route.path in self.changes_nothing:
                    return None
                key = scope["method"], route.path
                if key not in self._known:
                    self._known[key] = operation_of(scope["method"], route, self._shown())
                return self._known[key]
        return None

    def _shown(self) -> set[str]:
        return {
            route.path
            for route in self._routes
            if isinstance(route, Route) and "GET" in (route.methods or ())
        }
