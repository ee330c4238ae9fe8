"""Commands made into posts and announcements."""

from collections.abc import Sequence

from envelope import DomainMessage
from envelope.brand.payloads import SocialCreate, SocialFailed, SocialPosted
from messaging import Transaction, Unprocessable
from social import domain, store
from social.domain import BrandSlug, Plan
from social.urls import FeedUrls


class Handlers:
    def __init__(self, urls: FeedUrls) -> None:
        self._urls = urls

    async def social_create(self, messages: Sequence[DomainMessage[SocialCreate]], tx: Transaction) -> None:
        """One outcome for each channel: posted, with the address of the post that stands, or failed, with the reason."""
        plans = [domain.plan(message.payload) for message in messages]
        names = {
            BrandSlug(message.payload.brand_slug): domain.brand_name(message.payload) for message in messages
        }
        posts = await store.publish(
            tx.connection, [plan.post for plan in plans if plan.post is not None], names
        )
        for message, plan in zip(messages, plans, strict=True):
            if not plan.outcomes:
                tx.fail(
                    message, Unprocessable("the command names no channel; name at least one, such as “feed”")
                )
            address = ""
            if plan.post is not None:
                brand, post_id = posts[plan.post.content_id]
                if brand != message.payload.brand_slug:
                    tx.fail(message, _of_another_brand(message.payload, brand))
                    continue
                # The post that was there first counts.
                address = self._urls.absolute(self._urls.post(brand, post_id))
            _announce(message, plan, address, tx)


def _of_another_brand(command: SocialCreate, brand: BrandSlug) -> Unprocessable:
    return Unprocessable(
        f"content {command.content_id} belongs to brand {brand!r}, whose post stands; the command says"
        f" {command.brand_slug!r}; nothing was announced"
    )


def _announce(message: DomainMessage[SocialCreate], plan: Plan, address: str, tx: Transaction) -> None:
    command = message.payload
    for channel, refusal in plan.outcomes:
        if refusal is None:
            event: SocialPosted | SocialFailed = SocialPosted(
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
                reason=refusal.reason,
                detail=refusal.detail,
            )
        tx.send(event, caused_by=message)
