"""The text of an edit: a person's changes to a version, checked and measured."""

from chassis.http.problem_codes import RefusalError
from envelope.brand.article import ArticleEdit
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.article_workflow import VersionText, measure_draft
from orchestrator.brands import BrandRow
from orchestrator.review import domain
from orchestrator.review.domain import ReviewedDraft
from writing.body import cited_in, prose_of


def changed_text(text: VersionText, change: ArticleEdit) -> VersionText:
    """The text with a person's changes.

    Raises:
        RefusalError: it cites a source that the article does not have.
    """
    body = text.body_markdown if change.body_markdown is None else change.body_markdown.rstrip() + "\n"
    if body.rstrip() == text.body_markdown.rstrip():
        body = text.body_markdown
    known = [source["n"] for source in text.sources]
    if unknown := set(cited_in(body)) - set(known):
        numbers = ", ".join(f"[{n}]" for n in sorted(unknown))
        raise RefusalError(
            codes.UNUSABLE_TEXT,
            f"body_markdown: cites {numbers}, which is no source of the article; its sources are"
            f" {', '.join(map(str, known)) or 'none'}",
        )
    edited = {
        **change.changes(),
        "body_markdown": body,
        "word_count": text.word_count if body == text.body_markdown else len(prose_of(body).split()),
        "label": domain.edited_by_a_person(text.label),
    }
    return text.model_copy(update=edited)


async def with_measures(
    database: Database, brand: BrandRow, draft: ReviewedDraft, text: VersionText
) -> VersionText:
    """The text with its quality measured again."""
    measures = await measure_draft(
        database,
        brand,
        content_id=draft.content_id,
        keyword=draft.keyword,
        article=text.article(),
        before=text.measures,
    )
    return text.model_copy(update={"measures": measures})


def is_same_text(one: VersionText, other: VersionText) -> bool:
    """Whether all that a person can edit is the same."""
    return all(getattr(one, name) == getattr(other, name) for name in ArticleEdit.model_fields)
