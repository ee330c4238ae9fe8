"""Instagram, for professional accounts (business and creator)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from receipts import EffectAbsent, EffectFound, EffectUnclear, Refused, Step, StepInHand
from social import counting
from social.channels import graph
from social.channels.channel import READ, Channel, ChannelSender, ComposedPost, PictureSource, TextLimit

_EDGES: Final = graph.GraphEdges("media", "media_publish", "status_code", "media", "caption", "v23.0")
_MOST_ALT: Final = 1000


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    first = next(iter(post.pictures), None)
    jpeg = (
        None if first is None else first.jpeg_url or (first.url if first.media_type == "image/jpeg" else None)
    )
    return {
        "form": {"caption": post.text}
        | ({"image_url": jpeg} if jpeg else {})
        | ({"alt_text": first.alt[:_MOST_ALT]} if first and first.alt else {}),
        "since": now.isoformat(),
    }


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    return (
        Step(
            "container",
            partial(_contain, pictures),
            repeatable=True,
            unseen=True,
            seconds=graph.CONTAIN_SECONDS,
        ),
        Step("publish", partial(_publish, pictures), _find, seconds=graph.SECONDS),
        Step("address", _address, repeatable=True, unseen=True, seconds=graph.SECONDS),
    )


async def _contain(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    form = work.prepared["form"]
    if "image_url" not in form:
        raise Refused("picture", "the article has no picture as JPEG")
    return {"container": await graph.contain(work, _EDGES, form, pictures)}


async def _publish(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    container, form = work.remote["container"], work.prepared["form"]
    return await graph.publish(work, _EDGES, container, form, _EDGES.posts, pictures)


async def _address(work: StepInHand) -> Mapping[str, Any]:
    return await graph.address(work, _EDGES)


async def _find(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    caption = work.prepared["form"]["caption"]
    return await graph.find(work, _EDGES, work.remote["container"], caption, _EDGES.posts)


CHANNEL: Final = Channel(
    "instagram",
    "Instagram",
    (TextLimit("characters", 2200, counting.utf16_units),),
    headline=False,
    points=4,
    bulleted=True,
    hashtags=3,
    opening=3,
    invitation=READ,
    note="Links in captions cannot be clicked, and a post needs a picture.",
    source="https://developers.facebook.com/docs/instagram-platform/content-publishing",
    sending=ChannelSender(prepare, steps, errors=graph.ERRORS, needs_picture=True),
)
