"""What the API takes and gives of versions and drafts. Every refusal is a sentence that says what to do."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from orchestrator.answers import View
from orchestrator.writing import MeasureView, SourceView, Version, VersionNote


class VersionNoteView(View):
    version: Annotated[int, Field(ge=1, examples=[2])]
    title: str
    word_count: int
    made_by: Annotated[str, Field(examples=["writer"])]
    """`writer`, or whoever edited it."""
    why: Annotated[str, Field(examples=["written from research"])]
    made_at: datetime

    @classmethod
    def of(cls, note: VersionNote) -> Self:
        return cls(
            version=note.version,
            title=note.title,
            word_count=note.word_count,
            made_by=note.made_by,
            why=note.why,
            made_at=note.made_at,
        )


class VersionList(View):
    items: tuple[VersionNoteView, ...]
    next: int | None
    """The `after` of the page behind this one; null on the last."""
    stands: int
    """The version that `GET /v1/content/{content_id}` shows: of a draft that waits the newest, else the approved one."""


class VersionView(VersionNoteView):
    content_id: UUID
    slug: str
    """The address it asks for."""
    meta_description: str
    body_markdown: str
    key_points: tuple[str, ...]
    label: str | None
    sources: tuple[SourceView, ...]
    measures: tuple[MeasureView, ...]

    @classmethod
    def of_version(cls, content_id: UUID, version: Version) -> Self:
        text = version.text
        return cls(
            **VersionNoteView.of(version).model_dump(),
            content_id=content_id,
            slug=text.slug,
            meta_description=text.meta_description,
            body_markdown=text.body_markdown,
            key_points=text.key_points,
            label=text.label,
            sources=tuple(SourceView(**source) for source in text.sources),
            measures=tuple(MeasureView(**asdict(each), holds=each.problem is None) for each in text.measures),
        )


class DifferenceView(View):
    first: Annotated[int, Field(examples=[1])]
    second: Annotated[int, Field(examples=[2])]
    diff: Annotated[
        str, Field(examples=["--- version 1\n+++ version 2\n@@ -1 +1 @@\n-Title: Tea\n+Title: Green tea\n"])
    ]
    """Unified; title, description, address and key points stand before the text. Empty if nothing differs."""
    is_cut: bool
    """Whether there is more, which is too long to be compared."""
