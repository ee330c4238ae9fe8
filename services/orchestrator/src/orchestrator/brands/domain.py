"""What a brand is called. Pure: no I/O, no clock, no randomness."""

import re
from typing import Final, NewType

BrandSlug = NewType("BrandSlug", str)

SLUG_PATTERN: Final = "^[a-z0-9]+(-[a-z0-9]+)*$"
MAX_SLUG: Final = 63


class UnknownBrandError(LookupError):
    """There is no brand of this slug; the message says how to make one."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"there is no brand '{slug}'; create it first with PUT /v1/brands/{slug}")


def is_slug(text: str) -> bool:
    """Whether a brand may be called so: lower-case letters and digits, joined by single hyphens."""
    return len(text) <= MAX_SLUG and re.fullmatch(SLUG_PATTERN, text) is not None and not text.endswith("\n")
