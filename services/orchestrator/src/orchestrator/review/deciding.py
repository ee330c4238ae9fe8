"""Carries out decisions about drafts, each with its messages in one transaction.

`review.machine` decides; here its effects become rows and messages. A repeated request changes nothing and gets the same answer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias, assert_never
from uuid import UUID

import structlog

from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import ContentGenerate, ContentRefused
from messaging import Database, Transaction
from orchestrator import problem_codes as codes
from orchestrator.article_workflow import (
    VersionText,
    find_free_address,
    find_version,
    insert_version,
    put_in_review,
    set_current_version,
)
from orchestrator.brands import MODEL, find_brand
from orchestrator.cycles import BrandLimits, dispatch_waiting
from orchestrator.placements import withdraw
from orchestrator.removal import DeletedArticleError, find_deleted
from orchestrator.review import edit_readings, scheduled_publications, store
from orchestrator.review.domain import ReviewedDraft
from orchestrator.review.editing import changed_text, is_same_text, text_with_sentence, with_measures
from orchestrator.review.models import EditDraftBody, KeepSentenceBody
from orchestrator.review.publishing import correlation_of, fingerprint_of, publish, put_version_in_force
from review import machine
from review.decisions import MAX_COMMENT, Decision, DecisionKind
from review.items import Effect
from review.machine import DecisionOutcome, DecisionRefusal, RefusalReason

log = structlog.get_logger(__name__)

REJECTED: Final = "rejected"
"""The reason in `content.refused`."""
_REFUSALS: Final = {
    RefusalReason.UNKNOWN_VERSION: codes.UNKNOWN_VERSION,
    RefusalReason.DECIDED_OTHERWISE: codes.DECIDED_OTHERWISE,
    RefusalReason.PAST_TIME: codes.PAST_TIME,
}


InTransaction: TypeAlias = Callable[[Transaction], Awaitable[None]]


class UnknownDraftError(RefusalError):
    """There is no such article that the caller may see."""

    def __init__(self, content_id: UUID) -> None:
        super().__init__(
            codes.UNKNOWN_DRAFT, f"there is no article {content_id}; GET /v1/drafts lists those that wait"
        )


@dataclass(frozen=True, slots=True)
class PreparedText:
    """What takes too long for a transaction: a text with its fingerprint, to be published or stored."""

    text: VersionText
    fingerprint: frozenset[int]
    moves: bool = False
    """Whether an edit changed its address."""


async def get_draft(database: Database, content_id: UUID, brands: Collection[str] | None) -> ReviewedDraft:
    """The article in its current state.

    Raises:
        UnknownDraftError: no such draft in these brands.
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
        UnknownDraftError: no such draft in the caller's brands.
        DeletedArticleError: it was deleted.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        await note_review_and_dispatch(tx, limits, draft)
        return draft


async def decide(
    database: Database, content_id: UUID, decision: Decision, caller: Caller, limits: BrandLimits
) -> ReviewedDraft:
    """Carries out any decision but an edit, and returns the draft after it.

    Raises:
        UnknownDraftError, DeletedArticleError: as for `get_draft`.
        RefusalError: the state of the draft does not allow it, or its brand's writer reads no comments.
    """
    await get_draft(database, content_id, caller.brands)
    prepared = None
    if decision.kind is DecisionKind.APPROVE and decision.version is not None:
        prepared = await prepare_version(database, content_id, decision.version)
    async with database.transaction() as tx:
        return await decide_in(tx, content_id, decision, caller, limits, prepared)


async def decide_in(
    tx: Transaction,
    content_id: UUID,
    decision: Decision,
    caller: Caller,
    limits: BrandLimits,
    prepared: PreparedText | None,
) -> ReviewedDraft:
    """Carries out any decision but an edit in the caller's transaction. An approval needs its text `prepared` by `prepare_version`.

    Raises:
        UnknownDraftError: no such draft in the caller's brands.
        RefusalError: the state of the draft does not allow it, or its brand's writer reads no comments.
    """
    draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
    return await _decide_locked(tx, draft, decision, limits, prepared)


async def edit(
    database: Database,
    content_id: UUID,
    caller: Caller,
    limits: BrandLimits,
    change: EditDraftBody,
    *,
    has_judge: bool = False,
    also: InTransaction | None = None,
) -> ReviewedDraft:
    """Stores an edit as the next version. It is in force at once for a waiting draft, and after approval for an approved article.

    Quality is measured again and shown; it does not prevent an approval. If a model judges, and writes for the brand, it reads the
    changed sentences afterwards. `also` is done in the transaction of the edit.

    Raises:
        UnknownDraftError, DeletedArticleError: as for `get_draft`.
        RefusalError: the state of the draft does not allow it, or it cites an unknown source, or its address is or was another
            page's.
    """
    decision = Decision(DecisionKind.EDIT, caller.name, change.version, change.comment)

    def changed(text: VersionText, now: datetime) -> VersionText:
        return changed_text(text, change, by=caller.name, at=now)

    return await _edit(
        database, content_id, caller, limits, decision, changed, has_judge=has_judge, also=also
    )


async def keep_sentence(
    database: Database, content_id: UUID, caller: Caller, limits: BrandLimits, request: KeepSentenceBody
) -> ReviewedDraft:
    """Stores an edit that puts a sentence back which the checks cut. The caller keeps it in their own name.

    Raises:
        UnknownDraftError, DeletedArticleError: as for `get_draft`.
        RefusalError: as for `edit`, or there is no such sentence, or the article has it already.
    """
    comment = request.comment or f"kept sentence {request.number} of those that the checks cut"
    decision = Decision(DecisionKind.EDIT, caller.name, request.version, comment)

    def changed(text: VersionText, now: datetime) -> VersionText:
        return text_with_sentence(text, request.number, by=caller.name, at=now)

    return await _edit(database, content_id, caller, limits, decision, changed)


async def _edit(
    database: Database,
    content_id: UUID,
    caller: Caller,
    limits: BrandLimits,
    decision: Decision,
    changed: Callable[[VersionText, datetime], VersionText],
    *,
    has_judge: bool = False,
    also: InTransaction | None = None,
) -> ReviewedDraft:
    draft = await get_draft(database, content_id, caller.brands)
    version = decision.version
    assert version is not None
    async with database.connection() as connection:
        based_on = await find_version(connection, content_id, version)
        brand = await find_brand(connection, draft.brand_slug)
        now: datetime = await connection.fetchval("select clock_timestamp()")
    if brand is None:
        raise UnknownDraftError(content_id)
    prepared = None
    if based_on is not None:
        text = await asyncio.to_thread(changed, based_on.text, now)
        if is_same_text(text, based_on.text):
            decision = replace(decision, stored_as=version)
        else:
            text = await with_measures(database, brand, draft, text)
            fingerprint = await asyncio.to_thread(fingerprint_of, text)
            prepared = PreparedText(text, fingerprint, moves=text.slug != based_on.text.slug)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        if prepared is not None:
            following = await find_version(tx.connection, content_id, version + 1)
            is_own = following is not None and following.made_by == caller.name
            if following and is_own and is_same_text(following.text, prepared.text):
                decision = replace(decision, stored_as=following.version)
        stored = await _decide_locked(tx, draft, decision, limits, prepared)
        # The brand's writer is a model, so the brand pays for one.
        if has_judge and prepared is not None and decision.stored_as is None and brand.writer == MODEL:
            await edit_readings.request(tx.connection, content_id, stored.version)
        if also is not None:
            await also(tx)
        return stored


async def prepare_version(database: Database, content_id: UUID, version: int) -> PreparedText | None:
    async with database.connection() as connection:
        chosen = await find_version(connection, content_id, version)
    if chosen is None:
        return None
    return PreparedText(chosen.text, await asyncio.to_thread(fingerprint_of, chosen.text))


async def _decide_locked(
    tx: Transaction,
    draft: ReviewedDraft,
    decision: Decision,
    limits: BrandLimits,
    prepared: PreparedText | None,
) -> ReviewedDraft:
    outcome = await outcome_of(tx, draft, decision)
    if not outcome.effects:
        return draft
    await carry_out(tx, draft, decision, outcome, prepared)
    if decision.kind is not DecisionKind.UNSCHEDULE:
        await note_review_and_dispatch(tx, limits, draft)
    return await _reload(tx, draft)


async def outcome_of(tx: Transaction, draft: ReviewedDraft, decision: Decision) -> DecisionOutcome:
    """Returns the changes that a decision makes to a locked draft; raises RefusalError if the draft's state forbids it."""
    outcome = machine.decide(draft.item, decision, await _now(tx))
    if isinstance(outcome, DecisionRefusal):
        raise RefusalError(_REFUSALS[outcome.reason], outcome.detail)
    return outcome


async def carry_out(
    tx: Transaction,
    draft: ReviewedDraft,
    decision: Decision,
    outcome: DecisionOutcome,
    prepared: PreparedText | None = None,
) -> None:
    """Stores a decision about a locked draft, and what follows from it.

    Raises:
        RefusalError: its brand's writer reads no comments, or the address of an edit is or was another page's.
    """
    record = outcome.record
    # Scheduled publications have rows of their own, which say this.
    if record is not None and record.decision not in {DecisionKind.SCHEDULE, DecisionKind.UNSCHEDULE}:
        await store.note_decision(tx.connection, draft.content_id, record)
    for effect in outcome.effects:
        await _apply(effect, tx, draft, decision, outcome, prepared)
    after = outcome.item
    log.info(
        "draft_decided",
        content_id=str(draft.content_id),
        brand=draft.brand_slug,
        before=draft.state.value,
        after=after.state,
    )


async def _apply(  # noqa: C901  (a table of effects)
    effect: Effect,
    tx: Transaction,
    draft: ReviewedDraft,
    decision: Decision,
    outcome: DecisionOutcome,
    prepared: PreparedText | None,
) -> None:
    connection, content_id, after = tx.connection, draft.content_id, outcome.item
    match effect:
        case Effect.PUBLISH:
            assert prepared is not None
            assert outcome.record is not None
            await put_version_in_force(tx, draft, outcome.record.version, prepared.text, prepared.fingerprint)
        case Effect.SCHEDULE:
            assert after.scheduled is not None
            await scheduled_publications.schedule(connection, content_id, after.scheduled)
        case Effect.KEEP_SCHEDULE | Effect.CALL_OFF_SCHEDULE | Effect.OVERTAKE_SCHEDULE:
            await scheduled_publications.end(connection, content_id, effect.value, by=decision.by)
        case Effect.STORE_VERSION:
            assert prepared is not None
            await _store_edit(tx, draft, decision, prepared)
        case Effect.OFFER:
            await store.offer(connection, content_id, after.offered)
        case Effect.REQUEST_REWRITE:
            await _request_rewrite(tx, draft, decision.comment)
        case Effect.STOP_REWRITE:
            await store.set_decision(connection, content_id, None)
        case Effect.RESUME:
            reasons = [decision.comment, *(each for each in draft.held_for if each != decision.comment)]
            await put_in_review(connection, content_id, reasons)
        case Effect.CLOSE:
            await store.set_decision(connection, content_id, REJECTED)
            await refuse_keyword(tx, draft, f"{decision.by}: {decision.comment}")
        case Effect.TAKE_DOWN:
            why = f"its page was taken down by {decision.by}: {decision.comment}"
            await store.set_taken_down(connection, content_id, why)
            await publish(tx, draft)
            await withdraw(tx, content_id)
        case Effect.SEND_AGAIN | Effect.REOPEN:
            raise AssertionError("an article is not sent")
        case _:
            assert_never(effect)


async def _request_rewrite(tx: Transaction, draft: ReviewedDraft, comment: str) -> None:
    brand = await find_brand(tx.connection, draft.brand_slug)
    if brand is None or brand.writer != MODEL:
        raise RefusalError(
            codes.CANNOT_REWRITE,
            "its brand's articles are digests: their paragraphs are the sources' own, and a comment would change none of"
            " them; edit or reject the draft, or give the brand the writer 'model'",
        )
    await store.set_decision(tx.connection, draft.content_id, "returned")
    rewrite = ContentGenerate(
        brand_slug=draft.brand_slug,
        content_id=draft.content_id,
        research_id=draft.research_id,
        keyword=draft.keyword,
        revision=draft.version + 1,
        comment=comment,
    )
    tx.send(rewrite, correlation_id=await correlation_of(tx, draft))


async def refuse_keyword(tx: Transaction, draft: ReviewedDraft, why: str) -> None:
    """Sends the event that ends the keyword of a waiting article."""
    refused = ContentRefused(
        brand_slug=draft.brand_slug,
        content_id=draft.content_id,
        keyword=draft.keyword,
        reason=REJECTED,
        detail=why[:MAX_COMMENT],
    )
    tx.send(refused, correlation_id=await correlation_of(tx, draft))


async def _store_edit(
    tx: Transaction, draft: ReviewedDraft, decision: Decision, prepared: PreparedText
) -> None:
    text, content_id = prepared.text, draft.content_id
    if draft.is_approved and prepared.moves:
        await _demand_free(tx, draft, text.slug)
    number = await insert_version(
        tx.connection, content_id, text, made_by=decision.by, why=decision.comment or "edited"
    )
    if not draft.is_approved:
        # Until it is approved, it keeps no other article from having its address.
        waiting = text.model_copy(update={"slug": f"{text.slug}-{content_id}"})
        await set_current_version(tx.connection, content_id, number, waiting, prepared.fingerprint)


def seen(draft: ReviewedDraft | None, content_id: UUID, brands: Collection[str] | None) -> ReviewedDraft:
    """The article, if the caller may see it.

    Raises:
        UnknownDraftError: no such draft in these brands.
    """
    if draft is None or (brands is not None and draft.brand_slug not in brands):
        raise UnknownDraftError(content_id)
    return draft


async def _reload(tx: Transaction, draft: ReviewedDraft) -> ReviewedDraft:
    after = await store.find_draft(tx.connection, draft.content_id)
    assert after is not None
    return after


async def note_review_and_dispatch(tx: Transaction, limits: BrandLimits, draft: ReviewedDraft) -> None:
    """Marks the draft as reviewed, and dispatches keywords that its brand now has capacity for. The brand's lock must be held."""
    await store.mark_reviewed(tx.connection, draft.content_id)
    await dispatch_waiting(tx, [draft.brand_slug], limits, now=await _now(tx))


async def _now(tx: Transaction) -> datetime:
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    return now


async def _demand_free(tx: Transaction, draft: ReviewedDraft, wanted: str) -> None:
    if await find_free_address(tx.connection, draft.brand_slug, draft.content_id, wanted) != wanted:
        raise RefusalError(
            codes.UNUSABLE_TEXT,
            f"slug: '{wanted}' is the address of another article, or was once and leads there; choose another",
        )
