"""Types that several routes share."""

from typing import Annotated, Final

from fastapi import Header
from pydantic import StringConstraints

BRAND_PATTERN: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Brand = Annotated[str, StringConstraints(pattern=BRAND_PATTERN, max_length=63)]
"""Slug of the brand that pays."""

IdempotencyKey = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[!-~]+$", min_length=1, max_length=200)] | None,
    Header(
        description="The same for every delivery of one command's step, such as its event id and the step's name. A repeated"
        " request with it gets the first one's answer and is charged once."
    ),
]
