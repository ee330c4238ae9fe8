"""Threads."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from receipts import EffectAbsent, EffectFound, EffectUnclear, Step, StepInHand
from social import counting
from social.channels import graph
from social.channels.channel import READ, Channel, ChannelSender, ComposedPost, PictureSource, TextLimit
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
    of_post = (
        Step(
            "container",
            partial(_contain, pictures),
            repeatable=True,
            unseen=True,
            seconds=graph.CONTAIN_SECONDS,
        ),
        Step("publish", partial(_publish, pictures), _find, seconds=graph.SECONDS),
        # Before the comment: should that be refused, it is to be told where the post is.
        Step("address", _address, repeatable=True, unseen=True, seconds=graph.SECONDS),
    )
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


async def _contain(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    return {"container": await graph.contain(work, _EDGES, work.prepared["form"], pictures)}


async def _publish(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    container, form = work.remote["container"], work.prepared["form"]
    return await graph.publish(work, _EDGES, container, form, _EDGES.posts, pictures)


async def _address(work: StepInHand) -> Mapping[str, Any]:
    return await graph.address(work, _EDGES)


async def _find(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    text = work.prepared["form"]["text"]
    return await graph.find(work, _EDGES, work.remote["container"], text, _EDGES.posts)


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
    "threads",
    "Threads",
    (TextLimit("characters", 500, counting.threads_characters),),
    headline=False,
    points=2,
    bulleted=True,
    hashtags=1,
    opening=1,
    note="Emoji count by their bytes. One hashtag a post.",
    source="https://developers.facebook.com/documentation/threads/posts",
    sending=ChannelSender(
        prepare,
        steps,
        errors=graph.ERRORS,
        seconds=94.0,  # its steps together, at their slowest
        placements=("in_text", "first_comment", "none"),
    ),
)
