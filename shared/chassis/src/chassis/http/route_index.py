"""Finds the route of a request by the segments of its path, where the framework tries one route after the other.

With a hundred routes, trying them takes longer than all else that happens to a request before its handler runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

_FOUND: Final = "chassis.found_route"
"""Key of a request's scope."""


class FoundRoute(NamedTuple):
    by: "RouteIndex"
    method: str
    path: str
    route: BaseRoute
    child_scope: Scope
    """What the route adds to the request's scope, such as `path_params`."""


class RouteIndex(BaseRoute):
    """The first route of an application: stands for that of all others which a request is for.

    Where it finds none, the framework tries them all as ever, and answers 404 or 405.

    Args:
        routes: the application's list of routes, which may still grow. This one is put at its head.
    """

    def __init__(self, routes: list[BaseRoute]) -> None:
        self._routes = routes
        self._known = 0
        self._tree = _Node()
        self._others: list[tuple[int, BaseRoute]] = []
        routes.insert(0, self)

    def find(self, scope: Scope) -> FoundRoute | None:
        """Return the route that the framework would choose; None if none takes both path and method."""
        found: FoundRoute | None = scope.get(_FOUND)
        # Copies of a scope, with another method or path, have it too.
        if found is not None and found[:3] == (self, scope["method"], scope["path"]):
            return found
        for route in self._candidates(scope):
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                scope[_FOUND] = found = FoundRoute(self, scope["method"], scope["path"], route, child_scope)
                return found
        return None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As the framework asks each route."""
        found = self.find(scope)
        return (Match.NONE, {}) if found is None else (Match.FULL, found.child_scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route answer that `matches` has found."""
        found: FoundRoute = scope[_FOUND]
        await found.route.handle(scope, receive, send)

    def _candidates(self, scope: Scope) -> Sequence[BaseRoute]:
        """Return the routes that may match, in their order."""
        if self._known != len(self._routes):
            self._read()
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        ordered = sorted([*self._tree.at(path.split("/")), *self._others], key=lambda each: each[0])
        return [route for _, route in ordered]

    def _read(self) -> None:
        self._tree, self._others = _Node(), []
        for place, route in enumerate(self._routes):
            if route is self:
                continue
            if not isinstance(route, Route) or ":path}" in route.path:
                # A mount, or a route for paths of any length.
                self._others.append((place, route))
            else:
                self._tree.add(route.path.split("/"), place, route)
        self._known = len(self._routes)


@dataclass(slots=True)
class _Node:
    """Routes by the segments of their paths, one level for each."""

    by_segment: dict[str, "_Node"] = field(default_factory=dict)
    of_any: "_Node | None" = None
    """Where a segment has a parameter."""
    routes: list[tuple[int, BaseRoute]] = field(default_factory=list)
    """With their places in the application's list."""

    def add(self, segments: Sequence[str], place: int, route: BaseRoute) -> None:
        node = self
        for segment in segments:
            if "{" in segment:
                node.of_any = node.of_any or _Node()
                node = node.of_any
            else:
                node = node.by_segment.setdefault(segment, _Node())
        node.routes.append((place, route))

    def at(self, segments: Sequence[str]) -> Iterator[tuple[int, BaseRoute]]:
        nodes = [self]
        for segment in segments:
            below = ((node.by_segment.get(segment), node.of_any) for node in nodes)
            nodes = [each for pair in below for each in pair if each is not None]
        for node in nodes:
            yield from node.routes
