"""What requests to several rooms have in common."""

from typing import Annotated, Final

from fastapi import Header
from pydantic import StringConstraints

BRAND_PATTERN: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Brand = Annotated[str, StringConstraints(pattern=BRAND_PATTERN, max_length=63)]
"""A brand's slug: who pays."""

IdempotencyKey = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[!-~]+$", min_length=1, max_length=200)] | None,
    Header(
        description="The same for every delivery of one command's step, such as its event id and the step's name: what is"
        " asked again with it is answered as before, and paid for once."
    ),
]
