"""Carries out decisions about posts, each with its consequences in one transaction.

`review.machine` decides; here its effects become rows and messages.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import SocialFailed, SocialPosted
from messaging import Database, Transaction, WaitFor
from review import machine
from review.decisions import MAX_COMMENT, Decision, DecisionKind
from review.items import Effect
from review.machine import DecisionOutcome, DecisionRefusal, RefusalReason
from review.rules import PostState
from social import problem_codes as codes
from social.domain import PostRefusal
from social.erasure import DEPARTURES
from social.review import store
from social.review.domain import PendingPost
from social.review.texts import fit
from social.sending import DuePosts, SendingGate, SendingHold, send_next
from social.sending import store as sending
from social.sending.domain import NEEDS_REVIEW
from social.store import publish
from social.urls import FeedUrls

log = structlog.get_logger(__name__)

REJECTED: Final = "rejected"
OURSELVES: Final = "social"
"""Name in decisions that the service makes."""
PAUSE_IF_AWAY: Final = timedelta(seconds=15)
"""Before a post that the orchestrator's absence holds back is tried again."""
_REFUSALS: Final = {
    RefusalReason.UNKNOWN_VERSION: codes.UNKNOWN_VERSION,
    RefusalReason.DECIDED_OTHERWISE: codes.DECIDED_OTHERWISE,
    RefusalReason.PAST_TIME: codes.PAST_TIME,
}


def refusal_for(pending: PendingPost) -> tuple[str, str]:
    """Why a post is not out: a code for programs and a sentence for people."""
    if pending.ended is PostState.REJECTED and pending.last is not None:
        return REJECTED, f"{pending.last.by}: {pending.last.comment}"[:MAX_COMMENT]
    return NEEDS_REVIEW, f"post {pending.post.post_id} waits for a person"


class PostReview:
    """Finds posts, and carries out decisions of people about them."""

    def __init__(self, database: Database, urls: FeedUrls, due: DuePosts) -> None:
        self._database = database
        self._urls = urls
        self._due = due

    async def find(self, post_id: UUID, caller: Caller) -> PendingPost:
        """Reads a post.

        Raises:
            RefusalError: it does not exist, or belongs to another brand.
        """
        async with self._database.connection() as connection:
            return _seen(await store.find(connection, post_id), post_id, caller.brands)

    async def decide(
        self, post_id: UUID, decision: Decision, caller: Caller, *, text: str | None = None
    ) -> PendingPost:
        """Carries out a decision, and returns the post after it; `text` is that of an edit.

        Raises:
            RefusalError: there is no such post, its state does not allow the decision, the channel does not allow the text, or
                there is no slot for it, or the brand has left.
        """
        async with self._database.transaction() as tx:
            await DEPARTURES.erased.block_erasures(tx.connection)
            pending = _seen(await store.lock(tx.connection, post_id), post_id, caller.brands)
            await DEPARTURES.check_is_here(tx.connection, pending.post.brand_slug)
            if text is not None:
                text = fit(pending.post.channel, text)
                decision = replace(decision, stored_as=_stored_as(pending, decision, text))
            outcome = await _outcome(tx, pending, decision)
            if not outcome.effects:
                return pending
            await _record(tx, pending, outcome, text)
            for effect in outcome.effects:
                await self._apply(effect, tx, pending, decision, text)
            return await _reload(tx, pending)

    async def _apply(
        self, effect: Effect, tx: Transaction, pending: PendingPost, decision: Decision, text: str | None
    ) -> None:
        connection = tx.connection
        match effect:
            case Effect.PUBLISH:
                await self._publish(tx, pending, at_once=decision.at_once)
            case Effect.SCHEDULE:
                await store.set_time(connection, pending, decision.publish_at)
                self._database.once_committed(self._due.call)
            case Effect.CALL_OFF_SCHEDULE:
                await store.set_time(connection, pending, None)
            case Effect.OVERTAKE_SCHEDULE:
                pass  # a post has one time, which the other effect has changed
            case Effect.STORE_VERSION if text is not None:
                await store.set_text(connection, pending, text)
            case Effect.REOPEN:
                await store.reopen(connection, pending)
            case Effect.CLOSE:
                await _close(tx, pending, f"{decision.by}: {decision.comment}")
            case Effect.SEND_AGAIN if pending.sent is not None and pending.sent.account is None:
                await sending.begin_anew(connection, pending.post.post_id)
                send_next(tx, pending.sent)
            case Effect.SEND_AGAIN:
                await self._publish(tx, pending, at_once=True)
            case _:
                raise AssertionError(f"{effect} is not for posts")

    async def _publish(self, tx: Transaction, pending: PendingPost, *, at_once: bool) -> None:
        if pending.sent is None:
            await _post(tx, self._urls, pending)
        elif at_once:
            await sending.plan(tx.connection, pending.post.post_id)
            self._database.once_committed(self._due.call)
        elif (refusal := await self._due.plan(tx.connection, pending.sent)) is not None:
            raise RefusalError(
                codes.DECIDED_OTHERWISE,
                f"{refusal.detail}; give it a time, or say now, to post it all the same",
            )


class ScheduledPostPublisher:
    """Publishes posts to the feed at their set times. Every replica runs it; row locks divide the work, and the database's clock counts."""

    def __init__(self, database: Database, urls: FeedUrls, standing: SendingGate) -> None:
        self._database = database
        self._urls = urls
        self._standing = standing

    async def publish_due(self) -> None:
        """Publishes all due posts."""
        while await self.keep():
            pass

    async def keep(self) -> bool:
        """Publishes the longest due post unless its brand or article holds it back; False if no post is due."""
        async with self._database.connection() as connection:
            due = await store.claim_due(connection)
        if due is None:
            return False
        # No transaction is open during the call to the orchestrator; decisions meanwhile count.
        held = await self._held(due)
        async with self._database.transaction() as tx:
            pending = await store.claim_due(tx.connection, due.post.post_id)
            if pending is None:
                return True
            if held is not None:
                await _keep_back(tx, pending, held)
                return True
            outcome = await _outcome(tx, pending, Decision(DecisionKind.PUBLISH_DUE))
            await _record(tx, pending, outcome)
            if Effect.PUBLISH in outcome.effects:
                await _post(tx, self._urls, pending)
            else:
                await store.set_time(tx.connection, pending, None)
            await _reload(tx, pending)
        return True

    async def _held(self, due: PendingPost) -> SendingHold | None:
        try:
            return await self._standing.of(due.post.brand_slug, due.post.content_id)
        except WaitFor as away:
            return SendingHold(PostRefusal("orchestrator", str(away)), away.after or PAUSE_IF_AWAY)


async def _keep_back(tx: Transaction, pending: PendingPost, held: SendingHold) -> None:
    """Postpones a held post; without a pause, the post waits for review again."""
    if held.pause is not None:
        await store.postpone(tx.connection, pending.post.post_id, held.pause)
    else:
        calling_off = Decision(DecisionKind.UNSCHEDULE, OURSELVES, comment=held.why.detail)
        await _record(tx, pending, await _outcome(tx, pending, calling_off))
        await store.set_time(tx.connection, pending, None)
    log.info("appointment_held", post_id=str(pending.post.post_id), why=held.why.detail)


async def _post(tx: Transaction, urls: FeedUrls, pending: PendingPost) -> None:
    """Publishes the post in the feed, and `social.posted` with its address; an existing post of the article counts."""
    post = pending.post
    stands = await publish(
        tx.connection,
        [post],
        {post.brand_slug: pending.display_name},
        chains={post.content_id: pending.correlation_id},
    )
    brand, post_id = stands[post.content_id]
    await store.set_ended(tx.connection, pending, PostState.POSTED)
    address = urls.absolute(urls.post(brand, post_id))
    for name in pending.asked_as:
        posted = SocialPosted(brand_slug=brand, content_id=post.content_id, platform=name, post_url=address)
        tx.send(posted, correlation_id=pending.correlation_id)


async def _close(tx: Transaction, pending: PendingPost, why: str) -> None:
    await store.set_ended(tx.connection, pending, PostState.REJECTED, why)
    for name in pending.asked_as:
        failed = SocialFailed(
            brand_slug=pending.post.brand_slug,
            content_id=pending.post.content_id,
            platform=name,
            reason=REJECTED,
            detail=why[:MAX_COMMENT],
        )
        tx.send(failed, correlation_id=pending.correlation_id)


def _seen(pending: PendingPost | None, post_id: UUID, brands: Collection[str] | None) -> PendingPost:
    if pending is None or (brands is not None and pending.post.brand_slug not in brands):
        raise RefusalError(
            codes.UNKNOWN_POST,
            f"no post {post_id} waits for a person, or did; GET /v1/posts lists those that wait",
        )
    return pending


def _stored_as(pending: PendingPost, edit: Decision, text: str) -> int | None:
    """The version that has the edited text already, as `Decision.stored_as` means it."""
    if text != pending.post.text or edit.version is None:
        return None
    last = pending.last
    edited = (DecisionKind.EDIT, edit.version + 1, edit.comment, edit.by)
    is_repeated = last is not None and (last.decision, last.version, last.comment, last.by) == edited
    return edit.version + 1 if is_repeated and pending.ended is None else edit.version


async def _outcome(tx: Transaction, pending: PendingPost, decision: Decision) -> DecisionOutcome:
    """Returns the changes that a decision makes to a locked post; raises RefusalError if the post's state forbids it."""
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    outcome = machine.decide(pending.item, decision, now)
    if isinstance(outcome, DecisionRefusal):
        raise RefusalError(_REFUSALS[outcome.reason], outcome.detail)
    return outcome


async def _record(
    tx: Transaction, pending: PendingPost, outcome: DecisionOutcome, text: str | None = None
) -> None:
    if outcome.record is not None:
        await store.note_decision(tx.connection, pending, outcome.record, text)


async def _reload(tx: Transaction, before: PendingPost) -> PendingPost:
    """Logs a decision; returns the post after it."""
    after = await store.find(tx.connection, before.post.post_id)
    assert after is not None
    log.info(
        "post_decided",
        post_id=str(after.post.post_id),
        brand=after.post.brand_slug,
        before=before.state.value,
        after=after.state.value,
    )
    return after
