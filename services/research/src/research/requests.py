"""Parameters that several routes take."""

from typing import Annotated, TypeAlias

from fastapi import Query

SearchedText: TypeAlias = Annotated[
    str | None,
    Query(
        description="With this in the name or the title.",
        min_length=1,
        max_length=200,
        # PostgreSQL takes no NUL.
        pattern=r"^[^\x00]*$",
    ),
]
