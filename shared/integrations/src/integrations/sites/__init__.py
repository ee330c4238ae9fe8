"""Publishing targets: where articles go, besides the built-in sites."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from integrations.discovery import find_entries
from integrations.sites.site import Site

SITES: Final[Mapping[str, Site]] = {
    each.name: each
    for each in sorted(
        (entry for _, entry in find_entries(__name__, Site)), key=lambda each: (each.position, each.name)
    )
}
"""All of them by name, in the order of their positions."""

if TYPE_CHECKING:
    SiteName: TypeAlias = str
else:
    SiteName = Literal[tuple(SITES)]

__all__ = ["SITES", "Site", "SiteName"]
