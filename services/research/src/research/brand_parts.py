"""A brand's research for an archive, and from one. Its documents and settings have routes of their own."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from documents.json_form import decode_section
from messaging.brand_parts import BrandPart, CopiedRow, Dependent

_Line = Annotated[str, Field(max_length=2_000)]
_Text = Annotated[str, Field(max_length=200_000)]


class PassageRow(CopiedRow):
    """A passage of a source, as the column `passages` has it."""

    heading: _Line | None
    text: _Text
    score: float
    flags: Annotated[tuple[_Line, ...], Field(max_length=20)]


def _is_section(section: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Raises NotADocumentError, a ValueError: the service could not read it."""
    if section is not None:
        decode_section(section)
    return section


class SourcePartRow(CopiedRow):
    n: Annotated[int, Field(ge=1, le=999)]
    title: _Line
    url: _Line | None
    path: _Line | None
    licence: _Line | None
    published_on: date | None
    author: _Line | None
    quotable: bool
    work: _Line | None
    about: float
    titles_above: Annotated[tuple[_Line, ...], Field(max_length=50)]
    section: Annotated[Mapping[str, Any] | None, AfterValidator(_is_section)]
    passages: Annotated[tuple[PassageRow, ...], Field(max_length=1_000)]


class ResearchPartRow(CopiedRow):
    """What research found on a keyword. Articles are written again from it; a new request searches anew."""

    research_id: UUID
    keyword: _Line
    cache_key: _Line
    priority: Literal["high", "normal", "low"]
    provider: _Line
    created_at: datetime
    looked_in: _Text
    left_out: _Text
    sources: Annotated[tuple[SourcePartRow, ...], Field(max_length=200)] = ()


PARTS: Final[tuple[BrandPart[Any], ...]] = (
    BrandPart(
        "research",
        "research",
        ResearchPartRow,
        key=("research_id",),
        dependents={"sources": Dependent("sources", ("research_id",), "n")},
        constants={"expires_at": "now()"},
    ),
)
