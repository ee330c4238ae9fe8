"""The part of `social.create` for other platforms: a row and a `post.send` for each channel."""

from collections.abc import Sequence
from datetime import datetime

from envelope import DomainMessage
from envelope.brand.payloads import SocialCreate
from messaging import Transaction, last_commit_loss
from social.domain import BrandSlug
from social.sending import domain, store
from social.sending.domain import ChannelPostState
from social.sending.due import send_next
from social.sending.handlers import failed, posted
from social.urls import FeedUrls

Message = DomainMessage[SocialCreate]


async def ask(
    asked: Sequence[tuple[Message, Sequence[str]]], tx: Transaction, urls: FeedUrls
) -> list[tuple[Message, BrandSlug]]:
    """Stores new posts with a `post.send` for each, and publishes the outcomes of existing ones.

    Returns the messages about articles with posts of another brand, each with that brand; these have no effect.
    """
    if not asked:
        return []
    loss = (
        await last_commit_loss(tx.connection)
        if any(message.payload.asked_since is not None for message, _ in asked)
        else None
    )
    lost_until = None if loss is None else loss.noticed_at
    wanted = [
        (message, domain.new_posts(message.payload, names, message.correlation_id, lost_until=lost_until))
        for message, names in asked
    ]
    fresh = await store.add(tx.connection, [post for _, posts in wanted for post in posts])
    # Before they are read.
    await store.note_known(tx.connection, [post for _, posts in wanted for post in posts])
    standing = await store.named(tx.connection, [post.post_id for _, posts in wanted for post in posts])
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    begun = set(fresh)
    others: list[tuple[Message, BrandSlug]] = []
    for message, posts in wanted:
        stands = [standing[post.post_id] for post in posts]
        other = next(
            (post.brand_slug for post in stands if post.brand_slug != message.payload.brand_slug), None
        )
        if other is not None:
            others.append((message, other))
            continue
        for post in stands:
            if post.post_id in fresh:
                # A batch may hold the command twice.
                fresh.discard(post.post_id)
                send_next(tx, post, caused_by=message)
            elif post.post_id in begun:
                continue
            elif post.state in {ChannelPostState.NEW, ChannelPostState.SENDING}:
                # Whoever asks again has waited for hours: the command that was to bring it on its way may be lost. A second one
                # does nothing twice.
                send_next(tx, post, caused_by=message)
            elif post.state is ChannelPostState.POSTED:
                tx.send(posted(urls, post, post.post_url), caused_by=message)
            elif (why := domain.told(post, now)) is not None:
                tx.send(failed(post, why), caused_by=message)
    return others
