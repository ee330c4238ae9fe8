"""Webhooks (https://www.standardwebhooks.com): sends each published, changed or withdrawn article as JSON.

The gateway signs the messages. Retries of a message have the same `webhook-id`, so receivers can recognise them.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from chassis.links import public_link
from integrations.sites.webhook import WEBHOOK
from publisher.targets.edition import Edition
from publisher.targets.target import AccountTarget, RemoteState
from receipts import Refused, Step, StepInHand
from receipts.answers import expect

_TAKEN: Final = frozenset(range(200, 300))
_GONE: Final = 410


class WebhookTarget(AccountTarget):
    site: ClassVar = WEBHOOK

    def creation_steps(self, edition: Edition) -> Sequence[Step]:
        del edition
        return ()

    def update_steps(self, edition: Edition, remote_state: RemoteState) -> Sequence[Step]:
        what = "article.updated" if remote_state.is_public else "article.published"

        async def tell(work: StepInHand) -> Mapping[str, Any]:
            answered = await _send(work, what, _article_data(edition))
            link = public_link(str(answered.get("url") or ""))
            return {"url": link} if link else {}

        return (Step("tell", tell, repeatable=True, seconds=30),)

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        async def tell(work: StepInHand) -> Mapping[str, Any]:
            await _send(
                work,
                "article.unpublished",
                {"content_id": str(remote_state.content_id), "url": remote_state.url},
            )
            return {}

        return (Step("tell", tell, repeatable=True, seconds=30),)


async def _send(work: StepInHand, what: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Sends a message; returns the receiver's answer if it is a JSON object."""
    message = {"type": what, "timestamp": datetime.now(UTC).isoformat(), "data": data}
    answer = await work.account.request(
        "POST", "/", headers={"webhook-id": str(work.effect.receipt_id)}, json=message, seconds=25
    )
    if answer.status == _GONE:
        raise Refused(
            "receiver_gone", "the receiver wants no more messages (410); connect it again if that is wrong"
        )
    answer = expect(answer, ok=_TAKEN)
    return answer.json if isinstance(answer.json, dict) else {}


def _article_data(edition: Edition) -> dict[str, Any]:
    return {
        "content_id": str(edition.content_id),
        "brand": {"slug": edition.brand_slug, "name": edition.site},
        "language": edition.language,
        "slug": edition.slug,
        "title": edition.title,
        "description": edition.excerpt,
        "html": edition.html,
        "markdown": edition.markdown,
        "word_count": edition.word_count,
        "canonical_url": edition.canonical_url,
        "categories": list(edition.categories),
        "tags": list(edition.tags),
        "author": edition.author,
        "cover": edition.picture
        and edition.picture.url
        and {"url": edition.picture.url, "alt": edition.picture.alternative_text},
        "sources": [
            {"n": each.n, "title": each.name, "url": each.link, "licence": each.licence}
            for each in edition.sources
        ],
        "updated_at": edition.as_of.isoformat(),
        "version": edition.mark,
    }
