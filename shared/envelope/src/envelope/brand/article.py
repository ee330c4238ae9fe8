"""The text of an article, defined once.

From the fields of `ArticleText` come the columns that the orchestrator stores, its API and the differences between two versions,
the publisher's reading of an article, and the files in which people edit drafts.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from envelope.brand.payloads import SLUG_PATTERN
from envelope.brand.texts import not_blank, prose, visible

LABELS: Final = {
    "title": "Title",
    "meta_description": "Description",
    "slug": "Address",
    "key_points": "Key point",
}
"""What people call the fields that they edit beside the body, in the order in which they see them."""


class ArticleText(BaseModel):
    """The fields of an article's text. A new field has a default, as other versions of the services do not send it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    slug: Annotated[str, Field(examples=["pour-over-ratio"])]
    """The last part of its address; unique within the brand."""
    title: str
    meta_description: str
    body_markdown: Annotated[str, Field(examples=["## Ratio\n\nSixteen parts of water suit most beans. [1]"])]
    r"""Markdown with `## ` sections. Paragraphs and items end in their citation ` [n]`; listings and tables belong to the paragraph before.

    `\[` is a literal bracket. Links lead to other articles of the brand.
    """
    word_count: int
    key_points: tuple[str, ...]
    label: str | None
    """A note for readers that says how the text was made."""


def _body(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    prose(lines)
    if not lines.strip():
        raise ValueError("is blank; an article without a text cannot be published")
    return lines


class ArticleEdit(BaseModel):
    """The fields of `ArticleText` that people edit; None keeps a field."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    title: Annotated[str, Field(min_length=1, max_length=300), AfterValidator(not_blank)] | None = None
    meta_description: Annotated[str, Field(max_length=1000), AfterValidator(visible)] | None = None
    slug: Annotated[str | None, Field(pattern=SLUG_PATTERN, max_length=80, examples=["cold-brew"])] = None
    """The last part of its address."""
    body_markdown: Annotated[str, Field(max_length=100_000), AfterValidator(_body)] | None = None
    """`## ` sections, without the title; citations ` [n]` of the article's sources."""
    key_points: (
        Annotated[
            tuple[Annotated[str, Field(min_length=1, max_length=500), AfterValidator(not_blank)], ...],
            Field(max_length=20),
        ]
        | None
    ) = None
    """The points from which posts are written."""

    def changes(self) -> dict[str, str | tuple[str, ...]]:
        """The fields that are given."""
        given = {name: getattr(self, name) for name in ArticleEdit.model_fields}
        return {name: value for name, value in given.items() if value is not None}


def field_lines(values: Mapping[str, str | Sequence[str]]) -> str:
    """The edited fields as lines such as `Title: Tea`; of a list, one line for each item."""
    lines = []
    for name, label in LABELS.items():
        value = values[name]
        lines += [f"{label}: {each}\n" for each in ([value] if isinstance(value, str) else value)]
    return "".join(lines)
