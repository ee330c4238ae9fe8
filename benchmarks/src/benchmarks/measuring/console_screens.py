"""Finds the console's screens: the routes of its packages, at the addresses that its own pages link to."""

import pkgutil
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx

import console

_OF_EACH: Final = 2
"""Addresses of each route."""
_MOST_PAGES: Final = 400
_LINK: Final = re.compile(r'\s(?:href|action|src)="([^"]+)"')
_PARAMETER: Final = re.compile(r"\{\w+(:path)?\}")
_NO_PAGE: Final = re.compile(
    r"^/(live|assets|session|sign-in|start|invitations|recover|p)(/|$)|\.(csv|json|ics|\{\w+\})$"
)
"""Streams, files, and what people see who are not signed in."""


def page_routes() -> frozenset[str]:
    """The paths of all pages, such as `/b/{brand}/posts`."""
    names = [each.name for each in pkgutil.iter_modules(console.__path__) if each.ispkg]
    routers = [
        import_module(f"console.{name}.routes").router
        for name in names
        if find_spec(f"console.{name}.routes") is not None
    ]
    return frozenset(path for each in routers for path in _paths(each.routes) if not _NO_PAGE.search(path))


def _paths(routes: Iterable[Any]) -> Iterator[str]:
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from _paths(included.routes)
        elif "GET" in (getattr(route, "methods", None) or ()):
            yield route.path


class Screens:
    """Addresses by route, as one person reaches them."""

    def __init__(self, routes: Iterable[str]) -> None:
        self._patterns = {
            route: re.compile(
                _PARAMETER.sub("[^/]+", re.escape(route).replace(r"\{", "{").replace(r"\}", "}"))
            )
            for route in routes
        }
        self.by_route: dict[str, list[str]] = {}
        self.refused: dict[str, int] = {}
        """Addresses that are linked and that answer an error, by status."""

    def route_of(self, address: str) -> str | None:
        path = urlsplit(address).path
        found = [route for route, pattern in self._patterns.items() if pattern.fullmatch(path)]
        return min(found, key=lambda route: (route.count("{"), route), default=None)

    def crawl(self, url: str, cookie: str, begin: Iterable[str], known: Mapping[str, str]) -> None:
        """Follows the links from the given pages and from every page with known parameters."""
        filled = (route.format_map(_KnownParameters(known)) for route in self._patterns)
        wanted, seen = deque([*begin, *(each for each in filled if "{" not in each)]), set[str]()
        with httpx.Client(base_url=url, headers={"Cookie": cookie}, timeout=60, trust_env=False) as browser:
            while wanted and len(seen) < _MOST_PAGES:
                address = wanted.popleft()
                route = self.route_of(address)
                if route is None or address in seen or len(self.by_route.get(route, ())) >= _OF_EACH:
                    continue
                seen.add(address)
                answer = browser.get(address)
                if answer.status_code != httpx.codes.OK:
                    self.refused[address] = answer.status_code
                    continue
                self.by_route.setdefault(route, []).append(address)
                wanted += (
                    urljoin(address, unescape(link)).partition("#")[0]
                    for link in _LINK.findall(answer.text)
                    if not link.startswith(("http", "data:"))
                )

    @property
    def missing(self) -> list[str]:
        """Routes to which no page links."""
        reached = {self.route_of(each) for each in self.refused}
        return sorted(self._patterns.keys() - self.by_route.keys() - reached)


class _KnownParameters(dict[str, str]):
    """Values of path parameters; a parameter without one stays as it is written."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
