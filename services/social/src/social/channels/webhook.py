"""Any receiver of signed messages, https://www.standardwebhooks.com: a newsletter, a chat, another scheduler.

The gateway signs. `webhook-id` is the same in every attempt, so that receivers can drop duplicates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from integrations.networks.webhook import WEBHOOK
from receipts import AccountResponse, Refused, Step, StepInHand
from receipts.answers import expect, quote_answer
from social import counting
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource

_TAKEN: Final = frozenset(
    {
        HTTPStatus.OK,
        HTTPStatus.CREATED,
        HTTPStatus.ACCEPTED,
        HTTPStatus.NON_AUTHORITATIVE_INFORMATION,
        HTTPStatus.NO_CONTENT,
    }
)
_MOST_CHARACTERS: Final = 10_000


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    return {
        "id": f"post-{post.post_id}",
        "body": {
            "type": "post.created",
            "timestamp": now.astimezone(UTC).isoformat(),
            "data": {
                "post_id": str(post.post_id),
                "brand": post.brand_slug,
                "content_id": str(post.content_id),
                "title": post.title,
                "text": post.text,
                "link": post.link,
                "hashtags": list(post.hashtags),
                "language": post.language,
                "pictures": [asdict(each) for each in post.pictures],
            },
        },
    }


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    return [Step("post", _post, repeatable=True, seconds=30)]


async def _post(work: StepInHand) -> Mapping[str, Any]:
    headers = {"webhook-id": work.prepared["id"]}
    answer = await work.account.request("POST", "/", json=work.prepared["body"], headers=headers)
    expect(answer, _TAKEN, {HTTPStatus.GONE: _gone, HTTPStatus.UNAUTHORIZED: _unsigned})
    url = answer.json.get("url") if isinstance(answer.json, Mapping) else None
    return {"url": url} if _is_address(url) else {}


def _gone(answer: AccountResponse) -> Exception:
    return Refused("needs_reconnecting", f"the receiver wants no more messages{quote_answer(answer)}")


def _unsigned(answer: AccountResponse) -> Exception:
    return Refused("needs_reconnecting", f"the receiver does not accept the signature{quote_answer(answer)}")


def _is_address(url: Any) -> bool:
    return isinstance(url, str) and urlsplit(url).scheme in {"http", "https"}


CHANNEL: Final = Channel(
    WEBHOOK,
    (counting.utf16_units,),
    sending=ChannelSender(prepare, steps),
)
