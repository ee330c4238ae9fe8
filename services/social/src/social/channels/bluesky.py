"""Bluesky, and other servers of the AT protocol.

A post is a record under a key that we choose, so that a repeated request makes no second post and needs no look-up.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from integrations.networks.bluesky import BLUESKY
from receipts import AccountClient, AccountResponse, Content, Refused, Step, StepInHand
from receipts.answers import expect, member, quote_answer, refuse_by_words
from social import counting
from social.channels.channel import (
    Channel,
    ChannelSender,
    ComposedPost,
    Facet,
    PictureSource,
    PostMetrics,
)
from social.cutting import cut

POSTS: Final = "app.bsky.feed.post"
_MOST_BYTES_OF_A_PICTURE: Final = 2_000_000
_MOST_DESCRIPTION: Final = 300
_READ_SECONDS: Final = 10.0
_NO_APP_VIEW: Final = {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.NOT_IMPLEMENTED}
_SORTABLE: Final = "234567abcdefghijklmnopqrstuvwxyz"
_CLOCK_BITS: Final = 10


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    moment = now.astimezone(UTC)
    picture = post.pictures[0] if post.pictures else None
    return {
        "rkey": record_key(moment, post.post_id),
        "record": {
            "$type": POSTS,
            "text": post.text,
            "createdAt": f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z",
            "facets": [_facet(each) for each in post.facets],
            **({"langs": [post.language]} if post.language else {}),
        },
        "card": _card(post),
        "picture": None
        if picture is None
        else {
            "url": picture.url,
            "alt": picture.alt,
            "type": picture.media_type,
            "width": picture.width,
            "height": picture.height,
        },
    }


def record_key(moment: datetime, post_id: UUID) -> str:
    """A TID, https://atproto.com/specs/tid: microseconds, and 10 bits that distinguish posts of the same moment."""
    microseconds = int(moment.timestamp() * 1_000_000)
    number = (microseconds << _CLOCK_BITS) | (post_id.int & (1 << _CLOCK_BITS) - 1)
    return "".join(_SORTABLE[number >> shift & 31] for shift in range(60, -1, -5))


def _facet(facet: Facet) -> Mapping[str, Any]:
    kind = f"app.bsky.richtext.facet#{facet.kind}"
    feature = {"$type": kind, "uri" if facet.kind == "link" else "tag": facet.target}
    return {"index": {"byteStart": facet.start, "byteEnd": facet.end}, "features": [feature]}


def _card(post: ComposedPost) -> Mapping[str, Any] | None:
    """The link card with title, description and picture below the text."""
    if post.link is None or post.placement != "in_text":
        return None
    description = cut(post.description, lambda text: len(text) <= _MOST_DESCRIPTION)
    return {"uri": post.link, "title": post.title, "description": description}


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    post = Step("post", _post, repeatable=True, seconds=30)
    if prepared["picture"] is None:
        return [post]
    return [Step("upload", partial(_upload, pictures), repeatable=True, unseen=True, seconds=50), post]


async def _upload(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    """Uploads the card's picture; a missing or too large one is left out without a retry."""
    picture = work.prepared["picture"]
    try:
        data = await pictures.read(picture["url"])
    except Refused:
        return {}
    if len(data) > _MOST_BYTES_OF_A_PICTURE:
        return {}
    content = Content(picture["type"], data)
    answer = await work.account.request(
        "POST", "/xrpc/com.atproto.repo.uploadBlob", content=content, seconds=40
    )
    return {"blob": member(_expected(answer), "blob")}


async def _post(work: StepInHand) -> Mapping[str, Any]:
    did, handle = await _account(work)
    record = dict(work.prepared["record"])
    if (embed := _embed(work.prepared, work.remote.get("blob"))) is not None:
        record["embed"] = embed
    rkey = work.prepared["rkey"]
    body = {"repo": did, "collection": POSTS, "rkey": rkey, "record": record}
    answer = await work.account.request("POST", "/xrpc/com.atproto.repo.putRecord", json=body)
    uri = member(_expected(answer), "uri")
    return {"id": uri, "url": f"https://bsky.app/profile/{handle or did}/post/{rkey}"}


async def _account(work: StepInHand) -> tuple[str, str]:
    """DID and handle, which the gateway knows once it has checked the account."""
    facts = await work.account.facts()
    if facts.get("did"):
        return facts["did"], facts.get("handle", "")
    answer = _expected(await work.account.request("GET", "/xrpc/com.atproto.server.getSession"))
    return str(member(answer, "did")), str(member(answer, "handle"))


def _embed(prepared: Mapping[str, Any], blob: Any) -> Mapping[str, Any] | None:
    if (card := prepared["card"]) is not None:
        return {"$type": "app.bsky.embed.external", "external": card | ({"thumb": blob} if blob else {})}
    if blob is None:
        return None
    picture = prepared["picture"]
    image: dict[str, Any] = {"image": blob, "alt": picture["alt"]}
    if picture["width"] and picture["height"]:
        image["aspectRatio"] = {"width": picture["width"], "height": picture["height"]}
    return {"$type": "app.bsky.embed.images", "images": [image]}


async def _reach(account: AccountClient, uri: str) -> PostMetrics:
    """The metrics of a post from the app view, which the PDS calls for us if it has one; the PDS itself has no counts."""
    path = "/xrpc/app.bsky.feed.getPosts"
    answer = await account.request("GET", path, query={"uris": uri}, seconds=_READ_SECONDS)
    if answer.status in _NO_APP_VIEW and not _is_over(answer):
        raise Refused(
            "not_told", f"this server has no app view that counts likes and replies{quote_answer(answer)}"
        )
    posts = member(_expected(answer), "posts")
    post = next(iter(posts), None) if isinstance(posts, list) else None
    if post is None:
        raise Refused("gone", "the app view has no such post")
    shares = ("repostCount", "quoteCount")
    return PostMetrics.told(post, likes="likeCount", shares=shares, replies="replyCount")


def _expected(answer: AccountResponse) -> AccountResponse:
    return expect(answer, {HTTPStatus.OK}, {HTTPStatus.BAD_REQUEST: _refused})


def _refused(answer: AccountResponse) -> Exception:
    if _is_over(answer):
        return Refused("needs_reconnecting", f"the session is over{quote_answer(answer)}")
    return refuse_by_words("the server refuses the post", {"too big": "text_too_long"})(answer)


def _is_over(answer: AccountResponse) -> bool:
    """Whether the server refuses the session."""
    error = answer.json.get("error") if isinstance(answer.json, Mapping) else None
    return error in {"ExpiredToken", "InvalidToken"}


CHANNEL: Final = Channel(
    BLUESKY,
    (counting.grapheme_count, counting.utf8_bytes),
    sending=ChannelSender(prepare, steps, seconds=120, reach=_reach),
)
