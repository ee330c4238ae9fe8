"""What a page asks of robots beside robots.txt: the header `X-Robots-Tag` and the meta tag `robots`. Pure."""

import re
from typing import Final

ROBOT: Final = "brandengine"
"""As the gateway calls itself."""
FORBIDDING: Final = frozenset({"none", "noindex", "nosnippet", "max-snippet:0", "noai"})
"""A page that must not be found, quoted or given to a model is of no use to us, whichever of them it says."""

_TO_SOMEBODY: Final = re.compile(r"([a-z0-9_*-]+)\s*:\s*(.*)", re.DOTALL)
_WITH_VALUES: Final = frozenset(
    {"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"}
)


def forbidden_by(tag: str) -> str | None:
    """The first directive that keeps us from using the page; what is addressed to another robot by name is not ours.

    `tag` is a value of the header or of the meta tag, several of them with commas between.
    """
    is_ours = True
    for part in tag.casefold().split(","):
        directive = part.strip()
        if (named := _TO_SOMEBODY.fullmatch(directive)) and named[1] not in _WITH_VALUES:
            is_ours, directive = named[1] in {ROBOT, "*"}, named[2]
        if is_ours and (plain := "".join(directive.split())) in FORBIDDING:
            return plain
    return None
