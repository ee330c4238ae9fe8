"""X. A post with a link costs thirteen times as much, anywhere in the thread."""

import html
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from integrations.networks import READ
from integrations.networks.x import X
from receipts import (
    AccountResponse,
    DoubtfulOutcome,
    EffectAbsent,
    EffectFound,
    EffectUnclear,
    NotSent,
    Part,
    Refused,
    Step,
    StepInHand,
)
from receipts.answers import Errors, expect, quote_answer, refuse_by_status, refuse_by_words
from social import counting
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource
from social.channels.lost import (
    PAGES,
    READ_SECONDS,
    LookupWindow,
    PostSearch,
    comparable,
    confirmed_id,
    earliest,
    read,
    too_many,
)
from social.channels.uploads import UPLOAD_SECONDS, bytes_of, picture_of, unseen

_SECONDS: Final = 18.0
_LISTED: Final = 100
_MOST_ALT: Final = 1000


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    return {
        "text": post.text,
        "link": post.link if post.placement == "in_text" else None,
        "comment": post.link if post.placement == "first_comment" else None,
        "picture": picture_of(post),
        "since": now.isoformat(),
    }


def steps(prepared: Mapping[str, Any], pictures: PictureSource) -> Sequence[Step]:
    post = Step("post", partial(_post, pictures), _find_post, seconds=_SECONDS)
    if not prepared["comment"]:
        return (post,)
    return (post, Step("comment", _comment, _find_comment, seconds=_SECONDS))


# -- the post ----------------------------------------------------------------------------------------------------------


async def _post(pictures: PictureSource, work: StepInHand) -> Mapping[str, Any]:
    media = await unseen(_uploaded(pictures, work))
    body = {"text": work.prepared["text"]} | ({"media": {"media_ids": [media]}} if media else {})
    answer = await work.account.request("POST", "/2/tweets", json=body)
    if _is_repeated(answer):
        return await _earlier(work, _find_post)
    made = expect(answer, errors=_ERRORS).json["data"]["id"]
    return {"id": made, "url": _address(made)}


async def _uploaded(pictures: PictureSource, work: StepInHand) -> str | None:
    picture = work.prepared["picture"]
    data = None if picture is None else await bytes_of(pictures, picture)
    if picture is None or data is None:
        return None
    parts = [
        Part("media", data, picture["media_type"], "picture"),
        Part("media_category", "tweet_image"),
        Part("media_type", picture["media_type"]),
    ]
    answer = await work.account.request("POST", "/2/media/upload", parts=parts, seconds=UPLOAD_SECONDS)
    media = str(expect(answer, errors=_ERRORS).json["data"]["id"])
    if picture["alt"]:
        described = {"id": media, "metadata": {"alt_text": {"text": picture["alt"][:_MOST_ALT]}}}
        answer = await work.account.request(
            "POST", "/2/media/metadata", json=described, seconds=UPLOAD_SECONDS / 2
        )
        expect(answer, errors=_ERRORS)
    return media


async def _find_post(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    wanted, link = comparable(work.prepared["text"]), work.prepared["link"]

    def is_it(post: Mapping[str, Any]) -> bool:
        return _answers(post) is None and (_says(post) == wanted or link in _links(post))

    found = await _find(work, is_it, work.prepared["text"])
    return EffectFound({"id": found, "url": _address(found)}) if isinstance(found, str) else found


# -- the link in an answer to it ---------------------------------------------------------------------------------------


async def _comment(work: StepInHand) -> Mapping[str, Any]:
    text = f"{READ}{work.prepared['comment']}"
    body = {"text": text, "reply": {"in_reply_to_tweet_id": _answered(work)}}
    answer = await work.account.request("POST", "/2/tweets", json=body)
    if _is_repeated(answer):
        return await _earlier(work, _find_comment)
    return {"comment_id": expect(answer, errors=_ERRORS).json["data"]["id"]}


async def _find_comment(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    answered = _answered(work)
    found = await _find(work, lambda post: _answers(post) == answered)
    return EffectFound({"comment_id": found}) if isinstance(found, str) else found


def _answered(work: StepInHand) -> str:
    return confirmed_id(work.remote, r"(?<=/status/)\d+")


# -- looking -----------------------------------------------------------------------------------------------------------


async def _find(
    work: StepInHand, is_it: Callable[[Mapping[str, Any]], bool], sent: str = ""
) -> str | EffectAbsent | EffectUnclear:
    """The id of the account's post since the first attempt that is ours; `sent`: its text, if another may be ours as well."""
    user = (await work.account.facts()).get("id") or await _user(work)
    query = {
        "max_results": str(_LISTED),
        "start_time": earliest(work).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tweet.fields": "created_at,entities,referenced_tweets",
    }
    search = PostSearch(work, sent)
    for _ in range(PAGES):
        answer = await read(partial(_page, work, user, dict(query)))
        window = LookupWindow.of(work, answer.clock)
        for post in answer.json.get("data", ()):
            made = datetime.fromisoformat(post["created_at"])
            said = _says(post) if _answers(post) is None else ""
            if search.is_ours(window, made, said, is_same=is_it(post)):
                return str(post["id"])
        following = answer.json.get("meta", {}).get("next_token")
        if not following:
            return search.missing(window)
        query["pagination_token"] = following
    return too_many(PAGES * _LISTED)


async def _page(work: StepInHand, user: str, query: Mapping[str, str]) -> AccountResponse:
    answer = await work.account.request("GET", f"/2/users/{user}/tweets", query=query, seconds=READ_SECONDS)
    return expect(answer, errors=_ERRORS)


async def _user(work: StepInHand) -> str:
    answer = await work.account.request("GET", "/2/users/me")
    return str(expect(answer, errors=_ERRORS).json["data"]["id"])


async def _earlier(work: StepInHand, find: Any) -> Mapping[str, Any]:
    """Finds the post that X reports as a duplicate, which an earlier attempt of ours may have made.

    Raises:
        DoubtfulOutcome: the duplicate may be ours.
        Refused: the duplicate is not ours.
    """
    found = await unseen(find(work))
    if isinstance(found, EffectFound):
        return found.remote
    if isinstance(found, EffectUnclear):
        raise DoubtfulOutcome(f"X says that this account has posted the same text before; {found.detail}")
    raise Refused("duplicate", "X says that this account has posted the same text before")


def _is_repeated(answer: AccountResponse) -> bool:
    return answer.status == HTTPStatus.FORBIDDEN and "duplicate content" in quote_answer(answer)


def _says(post: Mapping[str, Any]) -> str:
    """The text as we sent it: X returns short links, `&<>` as entities, and pictures as a link at the end."""
    text = str(post["text"])
    for each in _urls(post):
        meant = (
            "" if f"/status/{post['id']}/" in each.get("expanded_url", "") else each.get("expanded_url", "")
        )
        text = text.replace(each["url"], meant)
    return comparable(html.unescape(text))


def _links(post: Mapping[str, Any]) -> set[str]:
    return {each[name] for each in _urls(post) for name in ("expanded_url", "unwound_url") if each.get(name)}


def _urls(post: Mapping[str, Any]) -> Sequence[Mapping[str, str]]:
    found: Sequence[Mapping[str, str]] = post.get("entities", {}).get("urls", ())
    return found


def _answers(post: Mapping[str, Any]) -> str | None:
    related = post.get("referenced_tweets", ())
    return next((str(each["id"]) for each in related if each["type"] == "replied_to"), None)


def _address(post: str) -> str:
    return f"https://x.com/i/web/status/{post}"


# -- what X says ---------------------------------------------------------------------------------------------------------


def _limited(answer: AccountResponse) -> NotSent:
    """A rate limit, until the end of the fifteen minutes or of the day."""
    headers = answer.headers
    whole_day = headers.get("x-user-limit-24hour-remaining") == "0"
    reset = headers.get("x-user-limit-24hour-reset" if whole_day else "x-rate-limit-reset", "")
    now = datetime.now(UTC)
    at = datetime.fromtimestamp(int(reset), UTC) if reset.isdecimal() else now + timedelta(minutes=15)
    return NotSent(
        "limit",
        f"X lets this account post no more for now{quote_answer(answer)}",
        max(at, now + timedelta(seconds=1)),
    )


def _forbidden(answer: AccountResponse) -> Refused:
    return Refused("forbidden", f"X does not let this account post it{quote_answer(answer)}")


_ERRORS: Final[Errors] = {
    **refuse_by_status("X", {401: "needs_reconnecting", 402: "no_credits"}),
    HTTPStatus.BAD_REQUEST: refuse_by_words("X does not take it", {"too long": "text_too_long"}),
    HTTPStatus.FORBIDDEN: _forbidden,
    HTTPStatus.TOO_MANY_REQUESTS: _limited,
}

CHANNEL: Final = Channel(
    X,
    (counting.x_weight,),
    sending=ChannelSender(prepare, steps),
)
