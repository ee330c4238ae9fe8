"""Threads."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from integrations.networks import READ
from integrations.networks.threads import THREADS
from receipts import EffectAbsent, EffectFound, EffectUnclear, Step, StepInHand
from social import counting
from social.channels import graph
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource
from social.channels.lost import confirmed_id

_EDGES: Final = graph.GraphEdges("threads", "threads_publish", "status", "threads", "text", "v1.0")
_REPLIES: Final = "replies"
_MOST_ALT: Final = 1000


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    first = next(iter(post.pictures), None)
    form = {"media_type": "IMAGE" if first else "TEXT", "text": post.text}
    if first:
        form |= {"image_url": first.url, "alt_text": first.alt[:_MOST_ALT]}
    return {
        "form": form,
        "comment": f"{READ}{post.link}" if post.placement == "first_comment" and post.link else None,
        "since": now.isoformat(),
    }


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    # The address comes before the comment: should that be refused, it is to be told where the post is.
    of_post = graph.post_steps(_EDGES, pictures)
    if not prepared["comment"]:
        return of_post
    return (
        *of_post,
        Step(
            "comment container",
            partial(_contain_comment, pictures),
            repeatable=True,
            unseen=True,
            seconds=graph.SECONDS,
        ),
        Step("comment", partial(_comment, pictures), _find_comment, seconds=graph.SECONDS),
    )


# -- the link in an answer to it ---------------------------------------------------------------------------------------


def _answer(work: StepInHand) -> Mapping[str, str]:
    return {"media_type": "TEXT", "text": work.prepared["comment"], "reply_to_id": confirmed_id(work.remote)}


async def _contain_comment(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    return {"comment_container": await graph.contain(work, _EDGES, _answer(work), pictures)}


async def _comment(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    container = work.remote["comment_container"]
    made = await graph.publish(work, _EDGES, container, _answer(work), _REPLIES, pictures)
    return {"comment_id": made.get("id", "")}


async def _find_comment(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    container = work.remote["comment_container"]
    found = await graph.find(work, _EDGES, container, work.prepared["comment"], _REPLIES)
    return (
        EffectFound({"comment_id": found.remote.get("id", "")}) if isinstance(found, EffectFound) else found
    )


CHANNEL: Final = Channel(
    THREADS,
    (counting.threads_characters,),
    sending=ChannelSender(prepare, steps, seconds=94.0),  # its steps together, at their slowest
)
