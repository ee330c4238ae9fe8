"""The services' public routes, from their code."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from starlette.applications import Starlette
from starlette.routing import Route

from publisher.http_api import create_app as create_sites
from publisher.urls import SiteUrls
from social.http_api import create_app as create_feeds
from social.urls import FeedUrls

_NOBODY: Final = "http://nobody.invalid"
_PARAMETER: Final = re.compile(r"{[^}]*}")
_UNUSED: Final[Any] = object()
"""In place of a database and whatever else a request would need: none is made."""
_APPS: Final[Mapping[str, Callable[[], Starlette]]] = MappingProxyType(
    {
        "publisher": lambda: create_sites(
            _UNUSED, SiteUrls.under(_NOBODY), articles_per_page=1, drafts=_UNUSED
        ),
        "social": lambda: create_feeds(_UNUSED, FeedUrls.under(_NOBODY), posts_per_page=1),
    }
)


def public_routes(service: str) -> dict[str, str]:
    """`/sites/{brand}/tags/{tag}` → an example, `/sites/x/tags/x`, for every route that visitors have.

    Raises:
        KeyError: the service has no pages.
    """
    paths = [route.path for route in _APPS[service]().routes if isinstance(route, Route)]
    return {path: _PARAMETER.sub("x", path) for path in paths}
