"""The text of an edit: a person's changes to a version, checked and measured."""

from datetime import datetime

from pydantic import ValidationError

from chassis.http.problem_codes import RefusalError
from envelope.brand.article import ArticleEdit
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.article_workflow import VersionText, measure_draft
from orchestrator.brands import BrandRow
from orchestrator.review import domain
from orchestrator.review.domain import ReviewedDraft
from writing.body import cited_in, prose_of
from writing.cut_sentences import put_back
from writing.evidence import with_kept_sentences


def changed_text(text: VersionText, change: ArticleEdit, *, by: str, at: datetime) -> VersionText:
    """The text with a person's changes. Sentences that the checks cut, and that these put back, are in the person's name.

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
    evidence = text.evidence and with_kept_sentences(text.evidence, text.body_markdown, body, by=by, at=at)
    edited = {
        **change.changes(),
        "body_markdown": body,
        "word_count": text.word_count if body == text.body_markdown else len(prose_of(body).split()),
        "label": domain.edited_by_a_person(
            text.label, kept=sum(bool(each.kept_by) for each in evidence.cuts) if evidence else 0
        ),
        "evidence": evidence,
    }
    return text.model_copy(update=edited)


def text_with_sentence(text: VersionText, number: int, *, by: str, at: datetime) -> VersionText:
    """The text with cut sentence `number` at its place; unchanged if this person keeps it already.

    Raises:
        RefusalError: there is no such sentence, or the text has it already, or cannot take it.
    """
    cuts = text.evidence.cuts if text.evidence else ()
    if number > len(cuts):
        raise RefusalError(
            codes.UNKNOWN_CUT,
            f"the checks cut {len(cuts)} sentences from this article, and {number} is none of them",
        )
    cut = cuts[number - 1]
    if cut.kept_by == by:
        return text
    if cut.kept_by:
        raise RefusalError(codes.DECIDED_OTHERWISE, f"{cut.kept_by} keeps this sentence already")
    if cut.text in prose_of(text.body_markdown):
        raise RefusalError(
            codes.UNUSABLE_TEXT, "the article has this very sentence already; edit the article"
        )
    try:
        change = ArticleEdit(body_markdown=put_back(text.body_markdown, cuts, number))
    except ValidationError as error:
        raise RefusalError(codes.UNUSABLE_TEXT, f"body_markdown: {error.errors()[0]['msg']}") from error
    return changed_text(text, change, by=by, at=at)


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
