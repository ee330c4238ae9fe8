"""Carries out decisions about drafts, each with its messages in one transaction.

A repeated request changes nothing and gets the same answer.
"""

import asyncio
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from chassis.http.callers import Caller
from envelope.brand.article import ArticleEdit
from envelope.brand.payloads import ContentGenerate, ContentRefused
from messaging import Database, Transaction
from orchestrator.article_workflow import (
    Version,
    VersionText,
    find_free_address,
    find_version,
    insert_version,
    measure_draft,
    set_current_version,
)
from orchestrator.brands import MODEL, BrandRow, find_brand
from orchestrator.cycles import BrandLimits, dispatch_waiting, load_keywords
from orchestrator.placements import withdraw
from orchestrator.removal import DeletedArticleError, find_deleted
from orchestrator.review import domain, scheduled_publications, store
from orchestrator.review.domain import DraftDecisionKind, ReviewedDraft
from orchestrator.review.publishing import fingerprint_of, publish, put_version_in_force
from writing.body import cited_in, prose_of

log = structlog.get_logger(__name__)

REJECTED: Final = "rejected"
"""The reason in `content.refused`."""


class UnknownDraftError(LookupError):
    """There is no such article that the caller may see."""

    def __init__(self, content_id: UUID) -> None:
        super().__init__(f"there is no article {content_id}; GET /v1/drafts lists those that wait")


class CannotRewriteError(ValueError):
    """The brand's writer does not read comments; the message says what to do instead."""

    def __init__(self) -> None:
        super().__init__(
            "its brand's articles are digests: their paragraphs are the sources' own, and a comment would change none of"
            " them; edit or reject the draft, or give the brand the writer 'model'"
        )


class UnusableTextError(ValueError):
    """The edited text is not valid; the message says what to change."""


async def get_draft(database: Database, content_id: UUID, brands: Collection[str] | None) -> ReviewedDraft:
    """The article in its current state.

    Raises:
        UnknownDraftError: there is none in these brands.
        DeletedArticleError: it was deleted.
    """
    async with database.connection() as connection:
        draft = await store.find_draft(connection, content_id)
        if draft is None and (gone := await find_deleted(connection, content_id, brands)) is not None:
            raise DeletedArticleError(gone)
        return seen(draft, content_id, brands)


async def mark_brand_reviewed(database: Database, brand_slug: str, limits: BrandLimits) -> datetime | None:
    """Marks all waiting drafts of a brand as reviewed, so that it begins more. Returns the time; None if there is no such brand."""
    async with database.transaction() as tx:
        moment = await store.look(tx.connection, brand_slug)
        if moment is not None:
            await dispatch_waiting(tx, [brand_slug], limits, now=moment)
        return moment


async def mark_reviewed(
    database: Database, content_id: UUID, caller: Caller, limits: BrandLimits
) -> ReviewedDraft:
    """Marks one draft as reviewed without a decision; another one may then be written.

    Raises:
        UnknownDraftError: there is none in the caller's brands.
        DeletedArticleError: it was deleted.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        await note_review_and_dispatch(tx, limits, draft)
        return draft


async def approve(
    database: Database,
    content_id: UUID,
    version: int,
    caller: Caller,
    limits: BrandLimits,
    *,
    despite_newer: bool,
) -> ReviewedDraft:
    """Approves and publishes exactly this version, even if newer ones follow.

    Raises:
        UnknownDraftError, NoSuchVersionError, DraftDecidedError: see domain.py.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.connection() as connection:
        chosen = await find_version(connection, content_id, version)
    own = frozenset[int]() if chosen is None else await asyncio.to_thread(fingerprint_of, chosen.text)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        if not domain.approve(draft, version, despite_newer=despite_newer):
            return draft
        assert chosen is not None
        await put_version_in_force(tx, draft, chosen, own)
        await _note(tx, limits, draft, DraftDecisionKind.APPROVED, version, comment="", by=caller.name)
        return await log_and_reload(tx, draft)


async def send_back(
    database: Database, content_id: UUID, version: int, caller: Caller, limits: BrandLimits, *, comment: str
) -> ReviewedDraft:
    """Returns a draft to a model with the reviewer's comment.

    Raises:
        UnknownDraftError, NoSuchVersionError, DraftDecidedError: see domain.py.
        CannotRewriteError: its brand's writer does not read comments.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        if not domain.send_back(draft, version, comment=comment, by=caller.name):
            return draft
        brand = await find_brand(tx.connection, draft.brand_slug)
        if brand is None or brand.writer != MODEL:
            raise CannotRewriteError
        row = next(iter(await load_keywords(tx.connection, [], [content_id])), None)
        await store.set_decision(tx.connection, content_id, DraftDecisionKind.RETURNED)
        await _note(tx, limits, draft, DraftDecisionKind.RETURNED, version, comment=comment, by=caller.name)
        tx.send(
            ContentGenerate(
                brand_slug=draft.brand_slug,
                content_id=content_id,
                research_id=draft.research_id,
                keyword=draft.keyword,
                revision=draft.newest + 1,
                comment=comment,
            ),
            correlation_id=None if row is None else row.correlation_id,
        )
        return await log_and_reload(tx, draft)


async def reject(
    database: Database, content_id: UUID, version: int, caller: Caller, limits: BrandLimits, *, reason: str
) -> ReviewedDraft:
    """Rejects a draft and ends its keyword; of an approved article, drops the newer version.

    Raises:
        UnknownDraftError, NoSuchVersionError, DraftDecidedError: see domain.py.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        if not domain.reject(draft, version, reason=reason, by=caller.name):
            return draft
        await _note(tx, limits, draft, DraftDecisionKind.REJECTED, version, comment=reason, by=caller.name)
        if draft.is_approved:
            await store.offer(tx.connection, content_id, None)
        else:
            await store.set_decision(tx.connection, content_id, DraftDecisionKind.REJECTED)
            row = next(iter(await load_keywords(tx.connection, [], [content_id])), None)
            tx.send(
                ContentRefused(
                    brand_slug=draft.brand_slug,
                    content_id=content_id,
                    keyword=draft.keyword,
                    reason=REJECTED,
                    detail=f"{caller.name}: {reason}"[: domain.MAX_COMMENT],
                ),
                correlation_id=None if row is None else row.correlation_id,
            )
        return await log_and_reload(tx, draft)


async def take_down(
    database: Database, content_id: UUID, caller: Caller, limits: BrandLimits, *, reason: str
) -> ReviewedDraft:
    """Takes an article's page down; an approval brings it back.

    Raises:
        UnknownDraftError, DraftDecidedError: see domain.py.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        if not domain.take_down(draft):
            return draft
        await store.set_taken_down(
            tx.connection, content_id, f"its page was taken down by {caller.name}: {reason}"
        )
        await _note(
            tx, limits, draft, DraftDecisionKind.TAKEN_DOWN, draft.stands, comment=reason, by=caller.name
        )
        await publish(tx, draft)
        await withdraw(tx, content_id)
        return await log_and_reload(tx, draft)


async def edit(
    database: Database,
    content_id: UUID,
    version: int,
    caller: Caller,
    limits: BrandLimits,
    change: ArticleEdit,
    *,
    why: str = "",
) -> ReviewedDraft:
    """Stores an edit as the next version. It is in force at once for a waiting draft, and after approval for an approved article.

    Quality is measured again and shown; it does not prevent an approval.

    Raises:
        UnknownDraftError, NoSuchVersionError, DraftDecidedError: see domain.py.
        UnusableTextError: it cites an unknown source, or its address is or was another page's.
    """
    draft = await get_draft(database, content_id, caller.brands)
    async with database.connection() as connection:
        based_on = await find_version(connection, content_id, version)
        brand = await find_brand(connection, draft.brand_slug)
    if based_on is None or brand is None:
        domain.edit(draft, version)
        raise UnknownDraftError(content_id)
    text = _changed(based_on.text, change)
    if _said(text) == _said(based_on.text):
        domain.edit(draft, version)
        return draft
    text = await _judged(database, brand, draft, text)
    own = await asyncio.to_thread(fingerprint_of, text)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        following = await find_version(tx.connection, content_id, version + 1)
        if following and draft.newest == following.version and _is_same(following, text, caller.name):
            return draft
        domain.edit(draft, version)
        if draft.is_approved and text.slug != based_on.text.slug:
            await _demand_free(tx, draft, text.slug)
        number = await insert_version(
            tx.connection, content_id, text, made_by=caller.name, why=why or "edited"
        )
        if draft.is_approved:
            await store.offer(tx.connection, content_id, number)
        else:
            # Until it is approved, it keeps no other article from having its address.
            waiting = text.model_copy(update={"slug": f"{text.slug}-{content_id}"})
            await set_current_version(tx.connection, content_id, number, waiting, own)
        await _note(tx, limits, draft, DraftDecisionKind.EDITED, number, comment=why, by=caller.name)
        return await log_and_reload(tx, draft)


def seen(draft: ReviewedDraft | None, content_id: UUID, brands: Collection[str] | None) -> ReviewedDraft:
    """The article, if the caller may see it.

    Raises:
        UnknownDraftError: there is none in these brands.
    """
    if draft is None or (brands is not None and draft.brand_slug not in brands):
        raise UnknownDraftError(content_id)
    return draft


async def _note(
    tx: Transaction,
    limits: BrandLimits,
    draft: ReviewedDraft,
    kind: DraftDecisionKind,
    version: int,
    *,
    comment: str,
    by: str,
) -> None:
    """Stores a decision, which also counts as a review. Cancels a scheduled publication, except for an edit."""
    await store.note_decision(tx.connection, draft, kind, version, comment=comment, by=by)
    if kind is not DraftDecisionKind.EDITED:
        await scheduled_publications.end(tx.connection, draft.content_id, "overtaken", by=by)
    await note_review_and_dispatch(tx, limits, draft)


async def note_review_and_dispatch(tx: Transaction, limits: BrandLimits, draft: ReviewedDraft) -> None:
    """Marks the draft as reviewed, and dispatches keywords that its brand now has capacity for. The brand's lock must be held."""
    await store.mark_reviewed(tx.connection, draft.content_id)
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    await dispatch_waiting(tx, [draft.brand_slug], limits, now=now)


async def log_and_reload(tx: Transaction, before: ReviewedDraft) -> ReviewedDraft:
    """Logs a decision; returns the article after it."""
    after = await store.find_draft(tx.connection, before.content_id)
    assert after is not None
    log.info(
        "draft_decided",
        content_id=str(after.content_id),
        brand=after.brand_slug,
        before=before.state.value,
        after=after.state.value,
    )
    return after


async def _demand_free(tx: Transaction, draft: ReviewedDraft, wanted: str) -> None:
    if await find_free_address(tx.connection, draft.brand_slug, draft.content_id, wanted) != wanted:
        raise UnusableTextError(
            f"slug: '{wanted}' is the address of another article, or was once and leads there; choose another"
        )


def _changed(text: VersionText, change: ArticleEdit) -> VersionText:
    body = text.body_markdown if change.body_markdown is None else change.body_markdown.rstrip() + "\n"
    if body.rstrip() == text.body_markdown.rstrip():
        body = text.body_markdown
    edited = {
        **change.changes(),
        "body_markdown": body,
        "word_count": text.word_count if body == text.body_markdown else len(prose_of(body).split()),
        "label": domain.edited_by_a_person(text.label),
    }
    if unknown := set(cited_in(body)) - {source["n"] for source in text.sources}:
        numbers = ", ".join(f"[{n}]" for n in sorted(unknown))
        raise UnusableTextError(
            f"body_markdown: cites {numbers}, which is no source of the article; its sources are "
            f"{', '.join(str(source['n']) for source in text.sources) or 'none'}"
        )
    return text.model_copy(update=edited)


async def _judged(
    database: Database, brand: BrandRow, draft: ReviewedDraft, text: VersionText
) -> VersionText:
    measures = await measure_draft(
        database,
        brand,
        content_id=draft.content_id,
        keyword=draft.keyword,
        article=text.article(),
        before=text.measures,
    )
    return text.model_copy(update={"measures": measures})


def _said(text: VersionText) -> dict[str, object]:
    return {name: getattr(text, name) for name in ArticleEdit.model_fields}


def _is_same(following: Version, text: VersionText, by: str) -> bool:
    return following.made_by == by and _said(following.text) == _said(text)
