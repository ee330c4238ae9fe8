"""`python -m faults.workers.posting`: social as it is, with little time for each step, and a journal of what it claims and what it tries.

A line of the journal is a post that was claimed, or an attempt to send one, with its times in seconds since 1970. `after` is the
requested wait before the next one, null if there was to be none; `waited`: it waited for something, so that the attempt does not count.
"""

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import PostSend
from messaging import Context, Record, Transaction, WaitFor, command_line
from receipts import EffectInDoubt, EffectPerformed, NotSentYet, Step
from social.app import build
from social.channels import CHANNELS, Channel, ChannelSender, PictureSource
from social.domain import PostRefusal
from social.sending import store
from social.sending.domain import ChannelPost
from social.sending.due import send_next
from social.sending.handlers import PostSender
from social.settings import Settings

JOURNAL: Final = "JOURNAL"
STEP_SECONDS: Final = 12.0
"""Instead of 15 to 60; and what is sent shows up at once at the fakes."""
SETTLES_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 1.0
"""Between attempts, however many there were; as the environment has it for `POST_RETRY_SECONDS`."""


def _hurry() -> None:
    for name, channel in CHANNELS.items():
        if channel.sending is not None:
            CHANNELS[name] = _hurried(channel, channel.sending)


def _hurried(channel: Channel, sending: ChannelSender) -> Channel:
    def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
        return [
            replace(step, seconds=min(step.seconds, STEP_SECONDS), settles_seconds=SETTLES_SECONDS)
            for step in sending.steps(prepared, pictures)
        ]

    return replace(channel, sending=replace(sending, steps=steps))


def _keep_journal(path: Path) -> None:
    claim_due, perform = store.claim_due, PostSender._perform

    def note(**line: Any) -> None:
        with path.open("a") as journal:
            journal.write(json.dumps(line) + "\n")

    async def claimed(connection: Connection, *, at_once: int) -> list[ChannelPost]:
        posts = await claim_due(connection, at_once=at_once)
        for post in posts:
            note(claimed=str(post.post_id))
        return posts

    async def tried(self: PostSender, post: ChannelPost) -> EffectPerformed | EffectInDoubt:
        begun, after, waited = time.time(), None, False
        try:
            return await perform(self, post)
        except NotSentYet:
            after = PAUSE_SECONDS
            raise
        except WaitFor as error:
            after, waited = 0.0 if error.after is None else error.after.total_seconds(), True
            raise
        finally:
            note(tried=str(post.post_id), begun=begun, ended=time.time(), after=after, waited=waited)

    store.claim_due = claimed
    PostSender._perform = tried  # type: ignore[method-assign]


# -- what is taken away, to show that somebody notices -----------------------------------------------------------------


_SEEN_FOR_SECONDS: Final = 1.0
"""Until what was seen is taken; long enough for the other replica to see it, too."""


def _claims() -> None:
    """Claims due posts without a lock: several replicas may claim the same one."""

    async def claim_due(connection: Connection, *, at_once: int) -> list[ChannelPost]:
        seen = await connection.fetch(
            "select post_id from channel_posts where state = 'planned' and due_at <= clock_timestamp() limit $1",
            at_once,
        )
        await asyncio.sleep(_SEEN_FOR_SECONDS)
        rows = await connection.fetch(
            """
            update channel_posts set state = 'sending', claimed_at = clock_timestamp() where post_id = any ($1::uuid[])
            returning channel_posts.*
            """,
            [row["post_id"] for row in seen],
        )
        return [store.channel_post(row) for row in rows]

    store.claim_due = claim_due


def _channels() -> None:
    """What fails on one channel is sent again on all, once for each article."""
    again = PostSender._again
    begun_anew: set[UUID] = set()

    def everywhere(
        self: PostSender,
        message: DomainMessage[PostSend],
        context: Context,
        post: ChannelPost,
        why: PostRefusal,
    ) -> Record:
        record = again(self, message, context, post, why)
        if post.content_id in begun_anew:
            return record
        begun_anew.add(post.content_id)

        async def all_again(tx: Transaction) -> None:
            await record(tx)
            rows = await tx.connection.fetch(
                "update channel_posts set state = 'sending' where content_id = $1 and state = 'posted' returning *",
                post.content_id,
            )
            await tx.connection.execute(
                "update receipts set state = 'ready', done = '{}', remote = '{}', step = null where receipt_id = any ($1::uuid[])",
                [row["post_id"] for row in rows],
            )
            for row in rows:
                send_next(tx, store.channel_post(row))

        return all_again

    PostSender._again = everywhere  # type: ignore[method-assign]


MUTATIONS: Final = {"claims": _claims, "channels": _channels}


if __name__ == "__main__":
    if mutation := os.environ.get("MUTATION"):
        MUTATIONS[mutation]()
    _hurry()
    _keep_journal(Path(os.environ[JOURNAL]))
    command_line("social", Settings, build)
