"""Checks the robots directives of a page: the header `X-Robots-Tag` and the meta tag `robots`. Pure."""

import re
from typing import Final

ROBOT: Final = "brandengine"
"""The gateway's robot name."""
FORBIDDING: Final = frozenset({"none", "noindex", "nosnippet", "max-snippet:0", "noai"})
"""Directives that forbid to find, quote or model a page; research skips pages with any of them."""

_TO_SOMEBODY: Final = re.compile(r"([a-z0-9_*-]+)\s*:\s*(.*)", re.DOTALL)
_WITH_VALUES: Final = frozenset(
    {"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"}
)


def find_forbidding_directive(tag: str) -> str | None:
    """Return the first directive that forbids research to use the page; directives for other robots do not count.

    `tag` is a comma-separated value of the header or of the meta tag.
    """
    is_ours = True
    for part in tag.casefold().split(","):
        directive = part.strip()
        if (named := _TO_SOMEBODY.fullmatch(directive)) and named[1] not in _WITH_VALUES:
            is_ours, directive = named[1] in {ROBOT, "*"}, named[2]
        if is_ours and (plain := "".join(directive.split())) in FORBIDDING:
            return plain
    return None
