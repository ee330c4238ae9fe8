"""Reports to the monitor that a post is out after an earlier command failed, so that it closes that dead letter."""

from datetime import datetime
from uuid import UUID

from envelope import Message
from envelope.brand.payloads import WorkFinished
from envelope.brand.work import sending_id
from messaging import Transaction
from social.sending.domain import ChannelPost


async def report_sent(tx: Transaction, post: ChannelPost, caused_by: Message | None = None) -> None:
    """Publishes `work.finished` if an earlier command for the post failed; None: a person confirmed the post."""
    finished_by: UUID | None = None if caused_by is None else caused_by.event_id
    if post.ended_by is None or post.ended_by == finished_by:
        return
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    report = WorkFinished(
        brand_slug=post.brand_slug,
        work_id=sending_id(post.brand_slug, post.post_id),
        covers_until=now,
        finished_at=now,
        finished_by=finished_by,
    )
    tx.send(report, caused_by=caused_by, correlation_id=post.correlation_id)
