"""Any system that takes signed messages (https://www.standardwebhooks.com): each article as JSON, when it is published, changed or taken away.

The gateway signs. A message has the same `webhook-id` however often it is sent, by which receivers know it.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from chassis.links import public_link
from publisher.targets.edition import Edition
from publisher.targets.target import Standing
from receipts import Refused, Step, StepInHand
from receipts.answers import expect

_TAKEN: Final = frozenset(range(200, 300))
_GONE: Final = 410


class Webhook:
    kind: ClassVar = "webhook"

    def place(self, edition: Edition) -> Sequence[Step]:
        del edition
        return ()

    def bring(self, edition: Edition, standing: Standing) -> Sequence[Step]:
        what = "article.updated" if standing.is_public else "article.published"

        async def tell(work: StepInHand) -> Mapping[str, Any]:
            answered = await _send(work, what, _told(edition))
            link = public_link(str(answered.get("url") or ""))
            return {"url": link} if link else {}

        return (Step("tell", tell, repeatable=True, seconds=30),)

    def withdraw(self, standing: Standing) -> Sequence[Step]:
        async def tell(work: StepInHand) -> Mapping[str, Any]:
            await _send(
                work, "article.unpublished", {"content_id": str(standing.content_id), "url": standing.url}
            )
            return {}

        return (Step("tell", tell, repeatable=True, seconds=30),)


async def _send(work: StepInHand, what: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the receiver answered, if that is a JSON object."""
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


def _told(edition: Edition) -> dict[str, Any]:
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
