"""Mastodon, and servers that speak its API."""

import asyncio
import html
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from integrations.networks.mastodon import MASTODON
from receipts import (
    AccountClient,
    AccountResponse,
    EffectAbsent,
    EffectFound,
    EffectUnclear,
    NotSent,
    Part,
    Refused,
    Step,
    StepInHand,
    UnknownOutcome,
)
from receipts.answers import expect, member, quote_answer
from social import counting
from social.channels.channel import (
    Channel,
    ChannelSender,
    ComposedPost,
    PictureSource,
    PostMetrics,
)
from social.channels.lost import PAGES, READ_SECONDS, LookupWindow, PostSearch, RelativeTime, read

_CHARACTERS: Final = MASTODON.limits[0].maximum
"""Limit of a server that reports none."""
_MOST_ALTERNATIVE: Final = 1500
_A_PAGE: Final = 40
_LOOK_SECONDS: Final = 40.0
_PAGE_SECONDS: Final = 15.0
"""Timeout for a page of posts; some servers return all that they have."""
_PROCESSING: Final = {HTTPStatus.ACCEPTED, HTTPStatus.PARTIAL_CONTENT}
_MARKUP: Final = re.compile(r"<[^>]*>")


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    picture = post.pictures[0] if post.pictures else None
    return {
        "text": post.text,
        "language": None if post.language is None else post.language.partition("-")[0].lower(),
        "key": str(post.post_id),
        "link": post.link,
        "begun_at": now.astimezone(UTC).isoformat(),
        "picture": picture
        and {"url": picture.url, "alt": picture.alt[:_MOST_ALTERNATIVE], "type": picture.media_type},
    }


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    asked = Step("room", _room, repeatable=True, unseen=True)
    sent = Step("post", _post, detect=_detect, seconds=_LOOK_SECONDS)
    if prepared["picture"] is None:
        return [asked, sent]
    return [asked, Step("upload", partial(_upload, pictures), repeatable=True, unseen=True, seconds=60), sent]


async def _room(work: StepInHand) -> Mapping[str, Any]:
    """Requests the server's limit for the length of posts."""
    most = _CHARACTERS
    for path in ("/api/v2/instance", "/api/v1/instance"):
        answer = await work.account.request("GET", path)
        if answer.status != HTTPStatus.NOT_FOUND:
            document = _expected(answer, {HTTPStatus.OK}).json
            most = _most(document) if isinstance(document, Mapping) else most
            break
    if counting.mastodon_characters(work.prepared["text"]) > most:
        raise Refused("text_too_long", f"this server takes {most:,} characters")
    return {}


async def _upload(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    picture = work.prepared["picture"]
    data = await pictures.read(picture["url"])
    file = Part("file", data, picture["type"], f"cover.{picture['type'].rpartition('/')[2]}")
    parts = [file, Part("description", picture["alt"])]
    answer = await work.account.request("POST", "/api/v2/media", parts=parts, seconds=40)
    media_id = str(member(_expected(answer, {HTTPStatus.OK, HTTPStatus.ACCEPTED}), "id"))
    while answer.status in _PROCESSING:
        await asyncio.sleep(1)
        answer = await work.account.request("GET", f"/api/v1/media/{media_id}")
        _expected(answer, {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT})
    return {"media_id": media_id}


async def _post(work: StepInHand) -> Mapping[str, Any]:
    body: dict[str, Any] = {"status": work.prepared["text"], "visibility": "public"}
    if work.prepared["language"]:
        body["language"] = work.prepared["language"]
    if "media_id" in work.remote:
        body["media_ids"] = [work.remote["media_id"]]
    # The key makes a repetition within the hour the same post; servers of other makes ignore it, so a lost one is looked up.
    headers = {"Idempotency-Key": work.prepared["key"]}
    answer = await work.account.request("POST", "/api/v1/statuses", json=body, headers=headers)
    _expected(answer, {HTTPStatus.OK})
    return {"id": str(member(answer, "id")), "url": member(answer, "url")}


async def _detect(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    me = await read(partial(_read, work, "/api/v1/accounts/verify_credentials", {}))
    path = f"/api/v1/accounts/{member(me, 'id')}/statuses"
    window = LookupWindow.of(work, me.clock)
    query = {"limit": str(_A_PAGE)}
    search, seen = PostSearch(work, work.prepared["text"]), 0
    for _ in range(PAGES):
        answer = await read(partial(_read, work, path, dict(query)))
        page = answer.whole_items if answer.truncated else answer.json
        if not isinstance(page, list):
            raise UnknownOutcome("the list of the account's posts cannot be read")
        for each in page:
            is_same = _says(each, work.prepared)
            if search.is_ours(window, _created(each), _text(each), is_same=is_same):
                return EffectFound({"id": str(each["id"]), "url": each.get("url") or each.get("uri")})
        if (page and window.place(_created(page[-1])) is RelativeTime.BEFORE) or not (
            page or answer.truncated
        ):
            return search.missing(window)
        # A server may ignore how many are asked for, and list all that it has; or where the page begins, and list the same again.
        if not page or query.get("max_id") == str(page[-1]["id"]):
            break
        seen += len(page)
        query["max_id"] = str(page[-1]["id"])
    return EffectUnclear(f"it is none of the account's latest {seen} posts; look further back")


async def _read(work: StepInHand, path: str, query: Mapping[str, str]) -> AccountResponse:
    return _expected(
        await work.account.request("GET", path, query=query, seconds=_PAGE_SECONDS), {HTTPStatus.OK}
    )


async def _reach(account: AccountClient, status_id: str) -> PostMetrics:
    path = f"/api/v1/statuses/{quote(status_id, safe='')}"
    answer = await account.request("GET", path, seconds=READ_SECONDS)
    if answer.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        raise Refused("gone", "the server has no such post any more")
    status = _expected(answer, {HTTPStatus.OK}).json
    shares = ("reblogs_count", "quotes_count")
    return PostMetrics.told(status, likes="favourites_count", shares=shares, replies="replies_count")


def _expected(answer: AccountResponse, ok: set[HTTPStatus]) -> AccountResponse:
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS and (reset := _reset(answer)) is not None:
        raise NotSent("limit", f"the server has been asked too often{quote_answer(answer)}", reset)
    return expect(answer, ok, {HTTPStatus.FORBIDDEN: _forbidden, HTTPStatus.UNPROCESSABLE_ENTITY: _refused})


def _forbidden(answer: AccountResponse) -> Exception:
    return Refused("forbidden", f"the server refuses this account{quote_answer(answer)}")


def _refused(answer: AccountResponse) -> Exception:
    if answer.json is None and not answer.text.strip():
        # Seen on snac: that is how it answers a token that it does not know.
        return Refused("needs_reconnecting", "the server does not know the token; connect the account again")
    return Refused("refused", f"the server refuses the post{quote_answer(answer)}")


def _reset(answer: AccountResponse) -> datetime | None:
    try:
        moment = datetime.fromisoformat(answer.headers["x-ratelimit-reset"])
    except (KeyError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _most(instance: Mapping[str, Any]) -> int:
    """`configuration.statuses.max_characters`, or its name on older servers."""
    configured = instance.get("configuration") or {}
    for found in ((configured.get("statuses") or {}).get("max_characters"), instance.get("max_toot_chars")):
        if isinstance(found, int) and found > 0:
            return found
    return _CHARACTERS


def _says(status: Any, prepared: Mapping[str, Any]) -> bool:
    """Whether the status contains our link, or our first line."""
    content = html.unescape(str(status.get("content", "")))
    wanted = prepared["link"] or prepared["text"].splitlines()[0]
    return wanted in content or wanted in _MARKUP.sub("", content)


def _text(status: Any) -> str:
    return html.unescape(_MARKUP.sub("", str(status.get("content", ""))))


def _created(status: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(str(status["created_at"]))
    except (KeyError, TypeError, ValueError):
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


CHANNEL: Final = Channel(
    MASTODON,
    (counting.mastodon_characters,),
    sending=ChannelSender(prepare, steps, seconds=120, reach=_reach),
)
