"""The JSON shapes that the model must answer with, one for each step. Pure."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

MAX_SECTIONS: Final = 8
MAX_TEXT: Final = 600
MAX_LINE: Final = 200
MAX_PASSAGES: Final = 12
"""Passages of one section, at most."""

Line = Annotated[str, Field(min_length=1, max_length=MAX_LINE)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
PassageId = Annotated[str, Field(min_length=1, max_length=20)]


class AnswerShape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Brief(AnswerShape):
    angle: Line
    """What the article is to be about, in one sentence."""
    questions: Annotated[tuple[Line, ...], Field(min_length=1, max_length=8)]
    """Of its readers."""


class PlannedSection(AnswerShape):
    heading: Line
    question: Line
    passages: Annotated[tuple[PassageId, ...], Field(max_length=MAX_PASSAGES)]
    """Without any its question is open, and searched for."""
    words: Annotated[int, Field(ge=1, le=2_000)] = 1
    """Its part of the article's length; only the proportion to the other sections counts."""


class Outline(AnswerShape):
    through_line: Annotated[str, Field(max_length=MAX_LINE)] = ""
    """What leads from section to section, in one sentence."""
    sections: Annotated[tuple[PlannedSection, ...], Field(min_length=1, max_length=MAX_SECTIONS)]
    """The first one opens the article, and answers its keyword."""


class DraftSentence(AnswerShape):
    text: Text
    passages: Annotated[tuple[PassageId, ...], Field(max_length=6)]


class Paragraph(AnswerShape):
    sentences: Annotated[tuple[DraftSentence, ...], Field(min_length=1, max_length=12)]
    exhibit: Annotated[str, Field(max_length=20)] = ""
    """The id of a table, list or listing to print below it; empty for none."""


class SectionDraft(AnswerShape):
    paragraphs: Annotated[tuple[Paragraph, ...], Field(min_length=1, max_length=8)]


class RepairedSentence(AnswerShape):
    number: Annotated[int, Field(ge=1, le=200)]
    text: Text
    passages: Annotated[tuple[PassageId, ...], Field(max_length=6)]


class MendedSentences(AnswerShape):
    sentences: Annotated[tuple[RepairedSentence, ...], Field(max_length=100)]
    """Those that can be mended; the others are given up."""


class EditedSentence(AnswerShape):
    text: Text
    of: Annotated[tuple[Annotated[int, Field(ge=1, le=1_000)], ...], Field(max_length=4)]
    """Numbers of the sentences that it says; empty for one that leads over."""


class EditedParagraph(AnswerShape):
    sentences: Annotated[tuple[EditedSentence, ...], Field(min_length=1, max_length=12)]


class EditedSection(AnswerShape):
    paragraphs: Annotated[tuple[EditedParagraph, ...], Field(min_length=1, max_length=12)]


class EditedArticle(AnswerShape):
    sections: Annotated[tuple[EditedSection, ...], Field(min_length=1, max_length=MAX_SECTIONS)]


class Front(AnswerShape):
    title: Line
    description: Annotated[str, Field(min_length=1, max_length=400)]
    key_points: Annotated[tuple[Text, ...], Field(max_length=8)]


_COMPACT: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("SectionDraft", "paragraphs"): {"maxItems": 1},
    ("Paragraph", "sentences"): {"maxItems": 4},
    ("DraftSentence", "text"): {"maxLength": 240},
    ("DraftSentence", "passages"): {"minItems": 1, "maxItems": 2},
    ("MendedSentences", "sentences"): {"maxItems": 4},
    ("RepairedSentence", "text"): {"maxLength": 240},
    ("RepairedSentence", "passages"): {"minItems": 1, "maxItems": 2},
    ("Front", "title"): {"maxLength": 60},
    ("Front", "description"): {"maxLength": 155},
    ("Front", "key_points"): {
        "maxItems": 3,
        "items": {"type": "string", "minLength": 1, "maxLength": 160},
    },
}
"""Tighter bounds for a model with a small context, so that its longest answer fits 512 tokens."""


def json_schema(
    shape: type[AnswerShape],
    *,
    passages: Sequence[str] = (),
    exhibits: Sequence[str] = (),
    compact: bool = False,
) -> dict[str, Any]:
    """Returns the shape as a `response_format`: every property required, no others allowed.

    Args:
        shape: of the answer.
        passages: the ids that the answer may cite; a server that enforces the schema then allows no others.
        exhibits: the ids of what it may print; without any it has no place for them.
        compact: with the bounds for a small context.
    """
    schema = shape.model_json_schema()
    for name, part in ((shape.__name__, schema), *schema.get("$defs", {}).items()):
        if not exhibits:
            part["properties"].pop("exhibit", None)
        part["required"] = list(part["properties"])
        for field, told in part["properties"].items():
            told.pop("default", None)
            if compact:
                told.update(_COMPACT.get((name, field), {}))
            if passages and field == "passages":
                told.update(items={"type": "string", "enum": list(passages)})
            elif passages and field == "passage":
                told.update(enum=list(passages))
            elif field == "exhibit":
                told.update(enum=["", *exhibits])
    return {
        "type": "json_schema",
        "json_schema": {"name": shape.__name__, "strict": True, "schema": schema},
    }
