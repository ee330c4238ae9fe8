"""Instagram, for professional accounts (business and creator)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from integrations.networks.instagram import INSTAGRAM
from receipts import Refused, Step
from social import counting
from social.channels import graph
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource

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
    return graph.post_steps(_EDGES, pictures, _check_picture)


def _check_picture(form: graph.Form) -> None:
    if "image_url" not in form:
        raise Refused("picture", "the article has no picture as JPEG")


CHANNEL: Final = Channel(
    INSTAGRAM,
    (counting.utf16_units,),
    sending=ChannelSender(prepare, steps),
)
