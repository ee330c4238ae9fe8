"""Carries out decisions about posts, each with its consequences in one transaction."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from chassis.http.callers import Caller
from envelope.brand.payloads import SocialFailed, SocialPosted
from messaging import Database, Transaction, WaitFor
from social.domain import PostRefusal
from social.review import domain, store
from social.review.domain import PendingPost, PostDecisionKind, PostState
from social.sending import DuePosts, SendingGate, SendingHold, send_next
from social.sending import store as sending
from social.store import publish
from social.urls import FeedUrls

log = structlog.get_logger(__name__)

NEEDS_REVIEW: Final = "needs_review"
"""The reason of `social.failed` for a post under review; it may still go out."""
REJECTED: Final = "rejected"
AS_SCHEDULED: Final = "as scheduled"
OURSELVES: Final = "social"
"""Name in decisions that the service makes."""
PAUSE_IF_AWAY: Final = timedelta(seconds=15)
"""Before a post that the orchestrator's absence holds back is tried again."""


class UnknownPostError(LookupError):
    """The caller may see no such post."""

    def __init__(self, post_id: UUID) -> None:
        super().__init__(f"no post {post_id} waits for a person, or did; GET /v1/posts lists those that wait")


class PastTimeError(ValueError):
    """The requested time lies in the past."""

    def __init__(self) -> None:
        super().__init__("publish_at: lies in the past; leave it out to have it posted now")


def refusal_for(pending: PendingPost) -> tuple[str, str]:
    """Why a post is not out: a code for programs and a sentence for people."""
    if pending.ended is PostState.REJECTED and pending.last is not None:
        return REJECTED, f"{pending.last.by}: {pending.last.comment}"[: domain.MAX_COMMENT]
    return NEEDS_REVIEW, f"post {pending.post.post_id} waits for a person"


async def find_post(database: Database, post_id: UUID, brands: Collection[str] | None) -> PendingPost:
    """Reads a post.

    Raises:
        UnknownPostError: it does not exist, or belongs to another brand.
    """
    async with database.connection() as connection:
        return _seen(await store.find(connection, post_id), post_id, brands)


async def approve(
    database: Database,
    urls: FeedUrls,
    due: DuePosts,
    post_id: UUID,
    version: int,
    caller: Caller,
    *,
    publish_at: datetime | None,
    at_once: bool = False,
) -> PendingPost:
    """Approves exactly this version: for a time, else `at_once`, else for the account's next free slot, or now without slots.

    Raises:
        UnknownPostError, NoSuchVersionError, PostConflictError: see domain.py.
        PastTimeError: `publish_at` lies in the past.
    """
    async with database.transaction() as tx:
        pending = _seen(await store.lock(tx.connection, post_id), post_id, caller.brands)
        if not domain.approve(pending, version, publish_at, at_once=at_once):
            return pending
        if publish_at is None:
            await store.note_decision(
                tx.connection,
                pending,
                PostDecisionKind.APPROVED,
                version,
                by=caller.name,
                comment=domain.AT_ONCE if at_once else "",
            )
            if pending.sent is None:
                await _post(tx, urls, pending)
            elif at_once:
                await sending.plan(tx.connection, post_id)
                database.once_committed(due.call)
            else:
                refusal = await due.plan(tx.connection, pending.sent)
                if refusal is not None:
                    raise domain.PostConflictError(
                        f"{refusal.detail}; give it a time, or say now, to post it all the same"
                    )
        else:
            if not await store.set_time(tx.connection, pending, publish_at):
                raise PastTimeError
            database.once_committed(due.call)
            await store.note_decision(
                tx.connection,
                pending,
                PostDecisionKind.SCHEDULED,
                version,
                by=caller.name,
                comment=f"to be posted on {domain.told(publish_at)}",
            )
        return await _as_it_is_now(tx, pending)


async def unschedule(database: Database, post_id: UUID, caller: Caller) -> PendingPost:
    """Cancels the set time of a post, which waits for review again.

    Raises:
        UnknownPostError, PostConflictError: see domain.py.
    """
    async with database.transaction() as tx:
        pending = _seen(await store.lock(tx.connection, post_id), post_id, caller.brands)
        if not domain.unschedule(pending):
            return pending
        await store.set_time(tx.connection, pending, None)
        await store.note_decision(
            tx.connection, pending, PostDecisionKind.CALLED_OFF, pending.version, by=caller.name
        )
        return await _as_it_is_now(tx, pending)


async def edit(
    database: Database, post_id: UUID, version: int, text: str, caller: Caller, *, comment: str
) -> PendingPost:
    """Has the post say this, as its next version, which waits.

    Raises:
        UnknownPostError, NoSuchVersionError, PostConflictError, UnusableTextError: see domain.py.
    """
    async with database.transaction() as tx:
        pending = _seen(await store.lock(tx.connection, post_id), post_id, caller.brands)
        fitting = domain.fit(pending.post.channel, text)
        if not domain.edit(pending, version, fitting, comment=comment, by=caller.name):
            return pending
        await store.set_text(tx.connection, pending, fitting)
        await store.note_decision(
            tx.connection,
            pending,
            PostDecisionKind.EDITED,
            version + 1,
            by=caller.name,
            comment=comment,
            text=fitting,
        )
        return await _as_it_is_now(tx, pending)


async def retry(database: Database, due: DuePosts, post_id: UUID, caller: Caller) -> PendingPost:
    """Sends a failed post on another platform again.

    Raises:
        UnknownPostError, PostConflictError: see domain.py.
    """
    async with database.transaction() as tx:
        pending = _seen(await store.lock(tx.connection, post_id), post_id, caller.brands)
        if not domain.retry(pending):
            return pending
        assert pending.sent is not None
        if pending.sent.account is None:
            await sending.begin_anew(tx.connection, post_id)
            send_next(tx, pending.sent)
        else:
            await sending.plan(tx.connection, post_id)
            database.once_committed(due.call)
        return await _as_it_is_now(tx, pending)


async def reject(
    database: Database, post_id: UUID, version: int, caller: Caller, *, reason: str
) -> PendingPost:
    """Rejects a post for good; its article does not change.

    Raises:
        UnknownPostError, NoSuchVersionError, PostConflictError: see domain.py.
    """
    async with database.transaction() as tx:
        pending = _seen(await store.lock(tx.connection, post_id), post_id, caller.brands)
        if not domain.reject(pending, version, reason=reason, by=caller.name):
            return pending
        await store.note_decision(
            tx.connection, pending, PostDecisionKind.REJECTED, version, by=caller.name, comment=reason
        )
        decided = await store.find(tx.connection, post_id)
        assert decided is not None
        await store.set_ended(tx.connection, decided, PostState.REJECTED)
        rejected = await _as_it_is_now(tx, pending)
        code, detail = refusal_for(rejected)
        for name in pending.asked_as:
            failed = SocialFailed(
                brand_slug=pending.post.brand_slug,
                content_id=pending.post.content_id,
                platform=name,
                reason=code,
                detail=detail,
            )
            tx.send(failed, correlation_id=pending.correlation_id)
        return rejected


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
            by = "" if pending.last is None else pending.last.by
            await store.note_decision(
                tx.connection,
                pending,
                PostDecisionKind.APPROVED,
                pending.version,
                by=by,
                comment=AS_SCHEDULED,
            )
            await _post(tx, self._urls, pending)
            await _as_it_is_now(tx, pending)
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
        await store.set_time(tx.connection, pending, None)
        await store.note_decision(
            tx.connection,
            pending,
            PostDecisionKind.CALLED_OFF,
            pending.version,
            by=OURSELVES,
            comment=held.why.detail,
        )
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


def _seen(pending: PendingPost | None, post_id: UUID, brands: Collection[str] | None) -> PendingPost:
    if pending is None or (brands is not None and pending.post.brand_slug not in brands):
        raise UnknownPostError(post_id)
    return pending


async def _as_it_is_now(tx: Transaction, before: PendingPost) -> PendingPost:
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
