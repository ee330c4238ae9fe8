"""Pinterest. A pin has its picture's bytes with it, so it is one request; a lost one is looked up on its board."""

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from integrations.networks.pinterest import PINTEREST

from receipts import AccountResponse, EffectAbsent, EffectFound, EffectUnclear, Refused, Step, StepInHand
from receipts.answers import Errors, expect, refuse_by_status, refuse_by_words
from social import counting
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource
from social.channels.lost import PAGES, READ_SECONDS, LookupWindow, PostSearch, comparable, read, too_many
from social.channels.uploads import bytes_of, picture_of, unseen

_MOST_TITLE: Final = 100
_MOST_ALT: Final = 500
_LISTED: Final = 100


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    return {
        "text": post.text,
        "title": post.title[:_MOST_TITLE],
        "link": post.link,
        "picture": picture_of(post),
        "since": now.isoformat(),
    }


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    return (Step("post", partial(_post, pictures), _find, seconds=18.0),)


async def _post(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    picture = work.prepared["picture"]
    data = None if picture is None else await unseen(bytes_of(pictures, picture))
    if data is None:
        raise Refused("picture", "the article has no picture")
    body = {
        "board_id": await _board(work),
        "title": work.prepared["title"],
        "description": work.prepared["text"],
        "link": work.prepared["link"],
        "alt_text": picture["alt"][:_MOST_ALT],
        "media_source": {
            "source_type": "image_base64",
            "content_type": picture["media_type"],
            "data": base64.b64encode(data).decode(),
        },
    }
    answer = await work.account.request("POST", "/v5/pins", json=body)
    return _remote(expect(answer, errors=_ERRORS).json)


async def _find(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    board, wanted = await _board(work), comparable(work.prepared["text"])
    search, query = PostSearch(work, work.prepared["text"]), {"page_size": str(_LISTED)}
    for _ in range(PAGES):
        answer = await read(partial(_page, work, board, dict(query)))
        window, pins = LookupWindow.of(work, answer.clock), answer.json["items"]
        for each in pins:
            said = comparable(each.get("description") or "")
            if search.is_ours(window, _made(each), said, is_same=said == wanted):
                return EffectFound(_remote(each))
        following = answer.json.get("bookmark")
        if not following or (pins and _made(pins[-1]) < window.opens):
            return search.missing(window)
        query["bookmark"] = following
    return too_many(PAGES * _LISTED)


async def _page(work: StepInHand, board: str, query: Mapping[str, str]) -> AccountResponse:
    answer = await work.account.request("GET", f"/v5/boards/{board}/pins", query=query, seconds=READ_SECONDS)
    return expect(answer, errors=_ERRORS)


async def _board(work: StepInHand) -> str:
    if board := (await work.account.facts()).get("board"):
        return board
    raise Refused("no_board", f"its board is not known: brandctl accounts check {work.account.name}")


def _made(pin: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(pin["created_at"]).replace(tzinfo=UTC)


def _remote(pin: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"id": str(pin["id"]), "url": f"https://www.pinterest.com/pin/{pin['id']}/"}


_ERRORS: Final[Errors] = {
    **refuse_by_status("Pinterest", {401: "needs_reconnecting", 403: "forbidden"}),
    HTTPStatus.BAD_REQUEST: refuse_by_words("Pinterest does not take it", {"too long": "text_too_long"}),
}

CHANNEL: Final = Channel(PINTEREST, (counting.utf16_units,), sending=ChannelSender(prepare, steps))
