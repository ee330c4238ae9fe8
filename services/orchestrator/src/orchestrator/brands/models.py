"""What the API takes and gives of brands."""

from datetime import datetime
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field

from orchestrator.answers import View
from orchestrator.brands.store import Brand
from orchestrator.requests import RequestBody, not_blank, prose

MAX_CHANNELS: Final = 20
NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
LANGUAGE_PATTERN: Final = "^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=40)]


def _channels(channels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(channels))


class BrandRequest(RequestBody):
    """What a brand is to be. Fields left out take their defaults, also when the brand exists."""

    name: Annotated[
        str, Field(min_length=1, max_length=200, examples=["The Daily Grind"]), AfterValidator(not_blank)
    ]
    """As readers see it."""
    description: Annotated[
        str,
        Field(max_length=2000, examples=["Home coffee brewing, without the mystique."]),
        AfterValidator(prose),
    ] = ""
    """Shown on the brand's site."""
    language: Annotated[str, Field(pattern=LANGUAGE_PATTERN, max_length=35, examples=["en"])] = "en"
    """Language tag (BCP 47) of what is written."""
    channels: Annotated[
        tuple[Name, ...], Field(max_length=MAX_CHANNELS, examples=[["feed"]]), AfterValidator(_channels)
    ] = ("feed",)
    """Where articles are promoted. `feed` is the built-in public feed; an empty list means no promotion."""
    target: Annotated[Name, Field(examples=["site"])] = "site"
    """Where articles are published. `site` is the built-in site."""


class BrandView(View):
    slug: Annotated[str, Field(examples=["daily-grind"])]
    name: Annotated[str, Field(examples=["The Daily Grind"])]
    description: str
    language: Annotated[str, Field(examples=["en"])]
    channels: Annotated[tuple[str, ...], Field(examples=[["feed"]])]
    target: Annotated[str, Field(examples=["site"])]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, brand: Brand) -> Self:
        return cls(
            slug=brand.slug,
            name=brand.name,
            description=brand.description,
            language=brand.language,
            channels=brand.channels,
            target=brand.target,
            created_at=brand.created_at,
            updated_at=brand.updated_at,
        )
