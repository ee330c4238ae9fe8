"""The text of an edit: a person's changes to a version, checked and measured."""

from dataclasses import replace
from typing import Final

from chassis.http.problem_codes import RefusalError
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.article_workflow import ArticleText, measure_draft
from orchestrator.brands import BrandRow
from orchestrator.review import domain
from orchestrator.review.domain import ReviewedDraft
from orchestrator.review.models import EditDraftBody
from writing import Article
from writing.body import cited_in, prose_of

EDITABLE: Final = ("title", "meta_description", "slug", "body_markdown", "key_points")
"""Fields that a person may change."""


def changed_text(text: ArticleText, change: EditDraftBody) -> ArticleText:
    """The text with a person's changes.

    Raises:
        RefusalError: it cites a source that the article does not have.
    """
    given = change.model_dump(include=set(EDITABLE), exclude_none=True)
    edited = replace(text, **given, label=domain.edited_by_a_person(text.label))
    body = edited.body_markdown.rstrip() + "\n"
    if body.rstrip() == text.body_markdown.rstrip():
        edited = replace(edited, body_markdown=text.body_markdown)
    else:
        edited = replace(edited, body_markdown=body, word_count=len(prose_of(body).split()))
    known = [source["n"] for source in text.sources]
    if unknown := set(cited_in(body)) - set(known):
        numbers = ", ".join(f"[{n}]" for n in sorted(unknown))
        raise RefusalError(
            codes.UNUSABLE_TEXT,
            f"body_markdown: cites {numbers}, which is no source of the article; its sources are"
            f" {', '.join(map(str, known)) or 'none'}",
        )
    return edited


async def with_measures(
    database: Database, brand: BrandRow, draft: ReviewedDraft, text: ArticleText
) -> ArticleText:
    """The text with its quality measured again."""
    article = Article(
        title=text.title,
        slug=text.slug,
        meta_description=text.meta_description,
        body_markdown=text.body_markdown,
        word_count=text.word_count,
        key_points=text.key_points,
        cited=cited_in(text.body_markdown),
        label=text.label,
    )
    measures = await measure_draft(
        database,
        brand,
        content_id=draft.content_id,
        keyword=draft.keyword,
        article=article,
        before=text.measures,
    )
    return replace(text, measures=measures)


def is_same_text(one: ArticleText, other: ArticleText) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in EDITABLE)
