"""Requests the sending of due posts. Every replica runs it; row locks divide the work."""

from typing import Protocol

from chassis import Connection
from chassis.polling import Alarm
from envelope import Message
from envelope.brand.payloads import PostSend
from messaging import Database, Transaction
from social.domain import PostRefusal
from social.sending import store
from social.sending.domain import ChannelPost, PostTime


class PostScheduler(Protocol):
    """Assigns times to posts without a set time."""

    async def place(self, connection: Connection, post: ChannelPost) -> PostTime | PostRefusal:
        """When a post with known account and text goes out, or why it does not. The caller locks its row and plans it."""

    async def space_out(self, connection: Connection) -> None:
        """Spaces overdue posts out; call it before claiming due posts, in the same transaction."""


class DuePosts:
    """Claims due posts, a bounded number of each channel at a time, and publishes `post.send` for each.

    Claim and command are one transaction, so that each post gets one command.

    Args:
        database: the service's database.
        times: assigns times to posts.
        at_once: most posts of one channel in sending.
    """

    def __init__(self, database: Database, times: PostScheduler, *, at_once: int) -> None:
        self._database = database
        self._times = times
        self._at_once = at_once
        self.alarm = Alarm()

    def call(self) -> None:
        """Signals that a post has become due on this replica."""
        self.alarm.ring()

    async def plan(self, connection: Connection, post: ChannelPost) -> PostRefusal | None:
        """Assigns a post its time, now or later, or returns why it does not go out. The caller holds its row lock."""
        time = await self._times.place(connection, post)
        if isinstance(time, PostRefusal):
            return time
        await store.plan(connection, post.post_id, time.due_at, in_queue=time.in_queue)
        self._database.once_committed(self.call)
        return None

    async def tick(self) -> int:
        """Claims due posts and publishes their commands; returns their number."""
        async with self._database.transaction() as tx:
            await self._times.space_out(tx.connection)
            posts = await store.claim_due(tx.connection, at_once=self._at_once)
            for post in posts:
                send_next(tx, post)
        return len(posts)


def send_next(tx: Transaction, post: ChannelPost, *, caused_by: Message | None = None) -> None:
    """Publishes `post.send` for the next step of a post."""
    command = PostSend(
        brand_slug=post.brand_slug, content_id=post.content_id, post_id=post.post_id, channel=post.asked_as
    )
    tx.send(command, caused_by=caused_by, correlation_id=post.correlation_id)
