"""Assigns times to new and to missed posts, from the slots of their accounts."""

from datetime import timedelta
from typing import Final

import structlog

from chassis import Connection
from review.decisions import told
from social.calendar import store
from social.calendar.slots import AccountSlots, NoSlotError, spaced_times
from social.domain import PostRefusal
from social.sending.domain import ChannelPost, PostTime

log = structlog.get_logger(__name__)

APART: Final = timedelta(days=30)
"""Default time between posts of an account with the same text or link."""


class SlotScheduler:
    """Assigns times to posts; those of an account without rules go out at once."""

    async def place(self, connection: Connection, post: ChannelPost) -> PostTime | PostRefusal:
        """The next free slot or now, or why the post does not go out; its account and text are set.

        The caller holds the post's row lock, and plans the post in this transaction.
        """
        assert post.account is not None
        await store.lock_accounts(connection, [post.account])
        stored = await store.find_rules(connection, post.brand_slug, post.account)
        if refusal := await _duplicate(connection, post, APART if stored is None else stored.apart):
            return refusal
        # Repetitions give their slots to new posts.
        await store.free_evergreen_slots(connection, post.account)
        if stored is None:
            return PostTime()
        rules, now = stored.rules, await store.now(connection)
        try:
            at = AccountSlots(
                rules, await store.taken_times(connection, post.account, now, but=[post.post_id])
            ).take(now)
        except NoSlotError:
            return PostRefusal("no_slot", f"every slot of {post.account} is taken; give it more of them")
        return PostTime(at if at > now else None, in_queue=rules.has_slots)

    async def space_out(self, connection: Connection) -> None:
        """Spaces overdue posts out, so that they do not go out all at once.

        Call it before claiming due posts, in the same transaction.
        """
        late = await store.overdue(connection)
        await store.lock_accounts(connection, [account for _, account in late])
        for brand, account in late:
            stored = await store.find_rules(connection, brand, account)
            if stored is None:
                continue
            now = await store.now(connection)
            posts, last = await store.to_come(connection, brand, account)
            times = spaced_times(stored.rules, last, [each.due_at for each in posts], now)
            moved = {each.post_id: at for each, at in zip(posts, times, strict=True) if at != each.due_at}
            if moved:
                await store.set_times(connection, moved)
                log.info("posts_spaced_out", brand=brand, account=account, posts=len(moved))


async def _duplicate(connection: Connection, post: ChannelPost, apart: timedelta) -> PostRefusal | None:
    if not apart or post.occurrence > 0:
        return None
    assert post.account is not None
    found = await store.find_duplicate(connection, post.post_id, post.account, apart)
    if found is None:
        return None
    other, at, says_the_same = found
    what = "text" if says_the_same else "link"
    return PostRefusal(
        f"duplicate_{what}",
        f"post {other} of {told(at)} on {post.account} has the same {what}; such posts are kept"
        f" {apart.days} days apart (duplicates_days of the account's slots)",
    )
