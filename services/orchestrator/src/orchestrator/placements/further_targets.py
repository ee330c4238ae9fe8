"""Sends articles from their home to further targets, and stores the answers.

The home goes first, as the others name its address as the canonical one. If publishing there fails, the others get nothing. Answers
of further targets change nothing about the keyword, which the home completes.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias, TypeVar
from uuid import UUID

import structlog

from envelope import DomainMessage
from envelope.brand.payloads import ContentPublish, ContentPublished, ContentPublishFailed, DeadLetterRecorded
from messaging import Transaction
from orchestrator.placements import store
from orchestrator.placements.domain import further

log = structlog.get_logger(__name__)

MAX_REASON: Final = 500

Answer: TypeAlias = ContentPublished | ContentPublishFailed | DeadLetterRecorded
MessageT = TypeVar("MessageT", bound=DomainMessage)  # type: ignore[type-arg]


async def record_target_answers(tx: Transaction, events: Sequence[MessageT]) -> list[MessageT]:
    """Stores the answers of further targets; returns the other events."""
    about = {id(event): place for event in events if (place := _place(event.payload))}
    if not about:
        return list(events)
    known = await store.known(tx.connection, set(about.values()))
    others = []
    for event in events:
        place = about.get(id(event))
        if place is None or place not in known:
            others.append(event)
            continue
        content_id, target = place
        url = event.payload.published_url if isinstance(event.payload, ContentPublished) else None
        reason = None if url else _why(event.payload)
        await store.note_answered(tx.connection, content_id, target, url=url, reason=reason)
        log.info("target_answered", content_id=str(content_id), target=target, url=url, reason=reason)
    return others


async def publish_to_further_targets(tx: Transaction, events: Sequence[DomainMessage]) -> None:  # type: ignore[type-arg]
    """Sends articles that their home has published to further targets, once for each state of an article."""
    at_home = {
        event.payload.content_id: event for event in events if isinstance(event.payload, ContentPublished)
    }
    if not at_home:
        return
    for content_id, placed in (await store.find_placed(tx.connection, at_home)).items():
        event, published = at_home[content_id], at_home[content_id].payload
        targets = further(placed.targets, published.target or placed.home)
        if not targets or placed.taken_down or placed.brand_slug != published.brand_slug:
            continue
        for target in await store.note_asked(tx.connection, content_id, targets, as_of=published.as_of):
            tx.send(
                ContentPublish(
                    brand_slug=placed.brand_slug,
                    content_id=content_id,
                    target=target,
                    canonical_url=published.published_url,
                ),
                caused_by=event,
            )


def _place(payload: object) -> tuple[UUID, str] | None:
    """The article and the target that an event names, if any."""
    match payload:
        case ContentPublished(content_id=UUID() as content_id, target=str() as target):
            return content_id, target
        case ContentPublishFailed(content_id=content_id, target=target):
            return content_id, target
        case DeadLetterRecorded(
            message_type="content.publish", content_id=UUID() as content_id, target=str() as target
        ):
            return content_id, target
        case _:
            return None


def _why(answer: object) -> str:
    match answer:
        case DeadLetterRecorded():
            why = f"dead letter on {answer.queue}: {answer.reason}: {answer.detail}"
        case ContentPublishFailed():
            why = f"{answer.reason}: {answer.detail}" if answer.detail else answer.reason
        case _:
            why = "no reason was given"
    return why if len(why) <= MAX_REASON else f"{why[: MAX_REASON - 1]}…"
