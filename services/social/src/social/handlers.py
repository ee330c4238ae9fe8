"""Handles `social.create`: stores posts and publishes their outcomes."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from envelope import DomainMessage
from envelope.brand.payloads import SocialCreate, SocialFailed, SocialPosted
from messaging import Transaction, Unprocessable
from messaging.erasure import is_of_erased_brand
from social import domain, store
from social.domain import BrandSlug, PostPlan, PostRefusal
from social.erasure import ERASURES
from social.review import HeldPost, PendingPost, hold, refusal_for
from social.sending import elsewhere
from social.urls import FeedUrls

EVERYTHING: Final = "everything"
"""Value of `approval`: a person reviews every post before it goes out."""


class Handlers:
    def __init__(self, urls: FeedUrls, *, has_gateway: bool = False) -> None:
        self._urls = urls
        self._has_gateway = has_gateway

    async def social_create(self, messages: Sequence[DomainMessage[SocialCreate]], tx: Transaction) -> None:
        """Publishes one outcome for each channel: posted, with the address, or failed, with the reason.

        If the brand reviews its posts, they wait for a person.
        """
        known = await ERASURES.erasure_times(
            tx.connection, {message.payload.brand_slug for message in messages}
        )
        messages = [
            message
            for message in messages
            if not is_of_erased_brand(message.payload.brand_slug, message.timestamp, known)
        ]
        plans = [domain.plan(message.payload, has_gateway=self._has_gateway) for message in messages]
        names = {
            BrandSlug(message.payload.brand_slug): domain.brand_name(message.payload) for message in messages
        }
        held = await self._held(messages, plans, names, tx)
        posts = await store.publish(
            tx.connection,
            [plan.post for plan in plans if plan.post is not None and plan.post.content_id not in held],
            names,
            chains={message.payload.content_id: message.correlation_id for message in messages},
        )
        for message, plan in zip(messages, plans, strict=True):
            if not plan.outcomes and not plan.elsewhere:
                tx.fail(
                    message, Unprocessable("the command names no channel; name at least one, such as “feed”")
                )
            address, waits = "", None
            if plan.post is not None:
                waits = held.get(plan.post.content_id)
                # An existing post of the article counts.
                brand, post_id = (
                    (waits.post.brand_slug, waits.post.post_id) if waits else posts[plan.post.content_id]
                )
                if brand != message.payload.brand_slug:
                    tx.fail(message, _of_another_brand(message.payload, brand))
                    continue
                address = self._urls.absolute(self._urls.post(brand, post_id))
            _announce(message, plan, address, waits, tx)
        asked = [
            (message, plan.elsewhere)
            for message, plan in zip(messages, plans, strict=True)
            if plan.elsewhere and message.event_id not in tx.failures
        ]
        for message, brand in await elsewhere.ask(asked, tx, self._urls):
            tx.fail(message, _of_another_brand(message.payload, brand))

    async def _held(
        self,
        messages: Sequence[DomainMessage[SocialCreate]],
        plans: Sequence[PostPlan],
        names: Mapping[BrandSlug, str],
        tx: Transaction,
    ) -> dict[UUID, PendingPost]:
        """Posts that wait for review or were rejected, by article."""
        wanted = [
            HeldPost(
                post=plan.post,
                display_name=names[plan.post.brand_slug],
                asked_as=tuple(name for name, refusal in plan.outcomes if refusal is None),
                correlation_id=message.correlation_id,
            )
            for message, plan in zip(messages, plans, strict=True)
            if plan.post is not None
            and message.payload.approval == EVERYTHING
            # A post that the database lost was reviewed and out before.
            and not domain.is_known_in_feed(message.payload)
        ]
        return await hold(
            tx.connection, wanted, [plan.post.content_id for plan in plans if plan.post is not None]
        )


def _of_another_brand(command: SocialCreate, brand: BrandSlug) -> Unprocessable:
    return Unprocessable(
        f"content {command.content_id} belongs to brand {brand!r}, whose post stands; the command says"
        f" {command.brand_slug!r}; nothing was announced"
    )


def _announce(
    message: DomainMessage[SocialCreate],
    plan: PostPlan,
    address: str,
    waits: PendingPost | None,
    tx: Transaction,
) -> None:
    command = message.payload
    for channel, refusal in plan.outcomes:
        event: SocialPosted | SocialFailed
        if refusal is None and waits is None:
            event = SocialPosted(
                brand_slug=command.brand_slug,
                content_id=command.content_id,
                platform=channel,
                post_url=address,
            )
        else:
            event = SocialFailed(
                brand_slug=command.brand_slug,
                content_id=command.content_id,
                platform=channel,
                **_why(refusal, waits),
            )
        tx.send(event, caused_by=message)


def _why(refusal: PostRefusal | None, waits: PendingPost | None) -> dict[str, str]:
    if refusal is not None:
        return {"reason": refusal.reason, "detail": refusal.detail}
    assert waits is not None
    reason, detail = refusal_for(waits)
    return {"reason": reason, "detail": detail}
