"""The loop that has posts sent when they are due. Every replica runs it; row locks share out what there is."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Final, Protocol

from chassis import Connection
from envelope import Message
from envelope.brand.payloads import PostSend
from messaging import Database, Transaction
from social.domain import PostRefusal
from social.sending import store
from social.sending.domain import ChannelPost, PostTime

SHORTEST_SLEEP: Final = timedelta(milliseconds=100)
"""Between two looks while more is due than may be sent at once."""


class PostScheduler(Protocol):
    """When posts go out whose time no person sets."""

    async def place(self, connection: Connection, post: ChannelPost) -> PostTime | PostRefusal:
        """When a post goes out whose account and text are known, or why it does not; the caller has its row locked, and plans it."""

    async def space_out(self, connection: Connection) -> None:
        """Has those that were missed go out one after the other; asked before what is due is claimed, in that transaction."""


class Alarm:
    """Wakes loops that sleep until something is due, when that has come earlier than they know."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def ring(self) -> None:
        """Something has another time, here and now."""
        rung, self._next = self._next, asyncio.Event()
        rung.set()

    def next(self) -> asyncio.Event:
        """Set when it rings from now on: to be asked for before a loop looks at what is due, so that no ring is missed."""
        return self._next


async def sleep_until(rung: asyncio.Event, pause: timedelta) -> None:
    """Returns when the alarm rings, and after the pause at the latest."""
    with suppress(TimeoutError):
        await asyncio.wait_for(rung.wait(), pause.total_seconds())


class DuePosts:
    """Claims posts that are due, a bounded number of each channel at a time, and has them sent.

    The claim and the command are one transaction, so each post is asked for once.

    Args:
        database: the service's.
        times: gives posts their times.
        at_once: posts of one channel that are being sent at a time.
        tick: how late a time that was set on another replica may be seen.
    """

    def __init__(
        self,
        database: Database,
        times: PostScheduler,
        *,
        at_once: int,
        tick: timedelta = timedelta(seconds=5),
    ) -> None:
        self._database = database
        self._times = times
        self._tick = tick
        self._at_once = at_once
        self.alarm = Alarm()

    def call(self) -> None:
        """Something has become due, here and now."""
        self.alarm.ring()

    async def plan(self, connection: Connection, post: ChannelPost) -> PostRefusal | None:
        """Gives a post its time, now or later; or says why it is not posted. The caller has its row locked."""
        time = await self._times.place(connection, post)
        if isinstance(time, PostRefusal):
            return time
        await store.plan(connection, post.post_id, time.due_at, in_queue=time.in_queue)
        self._database.once_committed(self.call)
        return None

    async def run(self) -> None:
        """Goes on until it is cancelled, asleep until the next is due."""
        while True:
            rung = self.alarm.next()
            await self.tick()
            await sleep_until(rung, await self._rest())

    async def tick(self) -> int:
        """Has what is due sent; returns how many."""
        async with self._database.transaction() as tx:
            await self._times.space_out(tx.connection)
            posts = await store.claim_due(tx.connection, at_once=self._at_once)
            for post in posts:
                send_next(tx, post)
        return len(posts)

    async def _rest(self) -> timedelta:
        async with self._database.connection() as connection:
            due = await store.until_next(connection)
        if due is None:
            return self._tick
        return min(max(due, SHORTEST_SLEEP), self._tick)


def send_next(tx: Transaction, post: ChannelPost, *, caused_by: Message | None = None) -> None:
    """Asks for the next step of a post."""
    command = PostSend(
        brand_slug=post.brand_slug, content_id=post.content_id, post_id=post.post_id, channel=post.asked_as
    )
    tx.send(command, caused_by=caused_by, correlation_id=post.correlation_id)
