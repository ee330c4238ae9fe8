"""Moves posts, puts them first, calls them off, and reorders queues.

Each change is one transaction with the account's lock; the same request again changes nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection
from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import SocialFailed
from messaging import Database, Transaction
from review.decisions import told
from social import problem_codes as codes
from social.calendar import entries, store
from social.calendar.entries import PostCalendarEntry
from social.calendar.slots import AccountSlots, NoSlotError, PostingRules
from social.sending import DuePosts
from social.sending.store import plan

log = structlog.get_logger(__name__)

CALLED_OFF: Final = "called_off"
"""State and reason of a post that a person called off."""
_MOVABLE: Final = {"planned": "", "called_off": CALLED_OFF}
"""Movable states, with the reason that they need, if any."""


class UnknownEntryError(RefusalError):
    """The caller may see no such post with a time."""

    def __init__(self, post_id: UUID) -> None:
        super().__init__(
            codes.UNKNOWN_ENTRY,
            f"no post {post_id} has a time on another platform; GET /v1/calendar lists those that have one. One that is expected has it once"
            " the one before it is out, and one for the built-in feed is approved for a time: POST /v1/posts/{post_id}/approve",
        )


class NotMovableError(RefusalError):
    """It is too late for the move, or the time is taken; the message says what happened and what to do."""

    def __init__(self, detail: str) -> None:
        super().__init__(codes.NOT_MOVABLE, detail)


async def move(
    database: Database,
    due: DuePosts,
    post_id: UUID,
    at: datetime | None,
    caller: Caller,
    *,
    at_once: bool = False,
) -> PostCalendarEntry:
    """Moves a post to a time, to now (`at_once`), or to its account's next free slot; restores one that was called off.

    Raises:
        UnknownEntryError: the caller may see no such post.
        NotMovableError: it is out or being sent; the time is taken or quiet, or there is no slot.
        RefusalError: the time lies in the past.
    """
    async with database.transaction() as tx:
        entry = await _locked(tx.connection, post_id, caller)
        _check_movable(entry)
        planned = entry.state == "planned"
        assert entry.account is not None
        if at_once:
            if not planned or entry.in_queue or entry.at > await store.now(tx.connection):
                await plan(tx.connection, post_id)
                database.once_committed(due.call)
            return await _as_it_is_now(tx, entry, caller)
        if planned and (entry.in_queue if at is None else entry.at == at):
            return entry
        stored = await store.find_rules(tx.connection, entry.brand_slug, entry.account)
        now = await store.now(tx.connection)
        account = None
        if stored is not None:
            taken = await store.taken_times(tx.connection, entry.account, now, but=[post_id])
            account = AccountSlots(stored.rules, taken)
        if at is None:
            if account is None or stored is None or not stored.rules.has_slots:
                raise _without_slots(entry.brand_slug, entry.account)
            found = _next(account, now)
        else:
            found = at
            _check_free(at, now, account, None if stored is None else stored.rules)
        await plan(tx.connection, post_id, found, in_queue=at is None)
        database.once_committed(due.call)
        return await _as_it_is_now(tx, entry, caller)


async def put_first(database: Database, post_id: UUID, caller: Caller) -> PostCalendarEntry:
    """Gives a planned post the next free slot; the others of its queue follow.

    Raises:
        UnknownEntryError, NotMovableError: see `move`.
    """
    async with database.transaction() as tx:
        entry = await _locked(tx.connection, post_id, caller)
        _check_movable(entry)
        if entry.state != "planned":
            raise NotMovableError(f"post {post_id} was called off; give it a time first")
        assert entry.account is not None
        await _requeue(tx.connection, entry.brand_slug, entry.account, [post_id])
        return await _as_it_is_now(tx, entry, caller)


async def call_off(database: Database, post_id: UUID, caller: Caller) -> PostCalendarEntry:
    """Calls a post off: it does not go out unless it gets a time again.

    Raises:
        UnknownEntryError, NotMovableError: see `move`.
    """
    async with database.transaction() as tx:
        entry = await _locked(tx.connection, post_id, caller)
        _check_movable(entry)
        if entry.state == CALLED_OFF:
            return entry
        row = await tx.connection.fetchrow(
            """
            update channel_posts set state = $2, in_queue = false, held_until = null, reason = $2, detail = $3,
                   moves = moves + 1, moved_at = clock_timestamp()
            where post_id = $1 returning asked_as, correlation_id
            """,
            post_id,
            CALLED_OFF,
            f"{caller.name} took it out of the calendar",
        )
        assert row is not None
        if entry.repetition == 0:
            failed = SocialFailed(
                brand_slug=entry.brand_slug,
                content_id=entry.content_id,
                platform=row["asked_as"],
                reason=CALLED_OFF,
                detail=f"post {post_id} was called off by {caller.name}",
            )
            tx.send(failed, correlation_id=row["correlation_id"])
        return await _as_it_is_now(tx, entry, caller)


async def reorder(
    database: Database, brand: str, account: str, post_ids: Sequence[UUID], caller: Caller
) -> list[PostCalendarEntry]:
    """Reorders the queue of a brand's account, unnamed posts last; returns the queue.

    Raises:
        NotMovableError: one of them is not in the queue, or the account has no slots.
    """
    async with database.transaction() as tx:
        await store.lock_accounts(tx.connection, [account])
        queued = {each.post_id for each in await store.queue(tx.connection, brand, account)}
        for each in post_ids:
            if each not in queued:
                raise NotMovableError(
                    f"post {each} has no slot of {account}; GET /v1/calendar/{each} tells how it stands"
                )
        await _requeue(tx.connection, brand, account, post_ids)
        log.info("queue_reordered", brand=brand, account=account, by=caller.name)
        return await queue_of(tx.connection, brand, account)


async def queue_of(connection: Connection, brand: str, account: str) -> list[PostCalendarEntry]:
    """Posts with a slot of an account, in order."""
    queued = await store.queue(connection, brand, account)
    return await entries.of_ids(connection, [each.post_id for each in queued])


async def _requeue(connection: Connection, brand: str, account: str, first: Sequence[UUID]) -> None:
    """Assigns all slots of the queue anew, to these posts first."""
    stored = await store.find_rules(connection, brand, account)
    if stored is None or not stored.rules.has_slots:
        raise _without_slots(brand, account)
    queued = [each.post_id for each in await store.queue(connection, brand, account)]
    order = [*first, *(each for each in queued if each not in set(first))]
    now = await store.now(connection)
    free = AccountSlots(stored.rules, await store.taken_times(connection, account, now, but=order))
    after, times = now, {}
    for each in order:
        times[each] = after = _next(free, after)
    await store.set_times(connection, times, in_queue=True)


def _next(account: AccountSlots, after: datetime) -> datetime:
    try:
        return account.take(after)
    except NoSlotError:
        raise NotMovableError("the account has no free slot; give it more of them") from None


def _check_free(
    at: datetime, now: datetime, account: AccountSlots | None, rules: PostingRules | None
) -> None:
    if at <= now:
        raise RefusalError(
            codes.PAST_TIME, "at: has gone by; take a later time, or leave it out for the next free slot"
        )
    if account is None or rules is None:
        return
    if (near := account.too_close(at)) is not None:
        minutes = int(rules.spacing.total_seconds() // 60)
        raise NotMovableError(
            f"another post goes out on {told(near)}, and posts of this account are {minutes} minutes apart; the next time that is"
            f" free is {told(account.free_from(at))}"
        )
    if rules.quiet is not None and rules.quiet.holds(at):
        ends = rules.quiet.period(at).ends
        raise NotMovableError(f"that is within the account's quiet hours, which end on {told(ends)}")


def _check_movable(entry: PostCalendarEntry) -> None:
    why = _MOVABLE.get(entry.state)
    if why is None or (why and entry.reason != why):
        detail = f": {entry.detail}" if entry.detail else ""
        raise NotMovableError(
            f"post {entry.post_id} is {entry.state.replace('_', ' ')}{detail}; only what is planned can be moved"
        )


def _without_slots(brand: str, account: str) -> NotMovableError:
    return NotMovableError(
        f"{account} has no slots for {brand}; give a time, or set them with PUT /v1/brands/{brand}/accounts/{account}/slots"
    )


async def _locked(connection: Connection, post_id: UUID, caller: Caller) -> PostCalendarEntry:
    """Locks the account and then the post until the transaction ends; slot assignment locks in the same order."""
    before = await entries.find(connection, post_id, caller.brands)
    if before is None or before.account is None:
        raise UnknownEntryError(post_id)
    await store.lock_accounts(connection, [before.account])
    await connection.execute("select from channel_posts where post_id = $1 for update", post_id)
    entry = await entries.find(connection, post_id, caller.brands)
    if entry is None or entry.account != before.account:
        raise UnknownEntryError(post_id)
    return entry


async def _as_it_is_now(tx: Transaction, before: PostCalendarEntry, caller: Caller) -> PostCalendarEntry:
    (after,) = await entries.of_ids(tx.connection, [before.post_id])
    log.info(
        "post_moved",
        post_id=str(after.post_id),
        brand=after.brand_slug,
        account=after.account,
        before=f"{before.state} {before.at.isoformat()}",
        after=f"{after.state} {after.at.isoformat()}",
        by=caller.name,
    )
    return after
