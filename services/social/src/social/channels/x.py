"""X. A post with a link in it costs thirteen times as much, wherever in the thread the link stands."""

import html
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from receipts import Absent, Answer, DoubtfulOutcome, Found, NotSent, Part, Refused, Step, Unclear, Work
from receipts.answers import Errors, expect, quoted
from social import counting
from social.channels.channel import READ, Channel, Composed, Limit, Pictures, Sending
from social.channels.lost import PAGES, READ_SECONDS, Time, Window, comparable, confirmed_id, earliest, read
from social.channels.uploads import UPLOAD_SECONDS, bytes_of, picture_of, unseen

_SECONDS: Final = 18.0
_LISTED: Final = 100
_MOST_ALT: Final = 1000


def prepare(post: Composed, now: datetime) -> Mapping[str, Any]:
    return {
        "text": post.text,
        "link": post.link if post.placement == "in_text" else None,
        "comment": post.link if post.placement == "first_comment" else None,
        "picture": picture_of(post),
        "since": now.isoformat(),
    }


def steps(prepared: Mapping[str, Any], pictures: Pictures) -> Sequence[Step]:
    post = Step("post", partial(_post, pictures), _find_post, seconds=_SECONDS)
    if not prepared["comment"]:
        return (post,)
    return (post, Step("comment", _comment, _find_comment, seconds=_SECONDS))


# -- the post ----------------------------------------------------------------------------------------------------------


async def _post(pictures: Pictures, work: Work) -> Mapping[str, Any]:
    media = await unseen(_uploaded(pictures, work))
    body = {"text": work.prepared["text"]} | ({"media": {"media_ids": [media]}} if media else {})
    answer = await work.account.request("POST", "/2/tweets", json=body)
    if _is_repeated(answer):
        return await _earlier(work, _find_post)
    made = expect(answer, errors=_ERRORS).json["data"]["id"]
    return {"id": made, "url": _address(made)}


async def _uploaded(pictures: Pictures, work: Work) -> str | None:
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


async def _find_post(work: Work) -> Found | Absent | Unclear:
    wanted, link = comparable(work.prepared["text"]), work.prepared["link"]

    def is_it(post: Mapping[str, Any]) -> bool:
        return _answers(post) is None and (_says(post) == wanted or link in _links(post))

    def is_alike(window: Window, post: Mapping[str, Any]) -> bool:
        made, said = datetime.fromisoformat(post["created_at"]), _says(post)
        return _answers(post) is None and window.may_be_ours(work, made, said, work.prepared["text"])

    found = await _find(work, is_it, is_alike)
    return Found({"id": found, "url": _address(found)}) if isinstance(found, str) else found


# -- the link in an answer to it ---------------------------------------------------------------------------------------


async def _comment(work: Work) -> Mapping[str, Any]:
    text = f"{READ}{work.prepared['comment']}"
    body = {"text": text, "reply": {"in_reply_to_tweet_id": _answered(work)}}
    answer = await work.account.request("POST", "/2/tweets", json=body)
    if _is_repeated(answer):
        return await _earlier(work, _find_comment)
    return {"comment_id": expect(answer, errors=_ERRORS).json["data"]["id"]}


async def _find_comment(work: Work) -> Found | Absent | Unclear:
    answered = _answered(work)
    found = await _find(work, lambda post: _answers(post) == answered)
    return Found({"comment_id": found}) if isinstance(found, str) else found


def _answered(work: Work) -> str:
    return confirmed_id(work.remote, r"(?<=/status/)\d+")


# -- looking -----------------------------------------------------------------------------------------------------------


async def _find(
    work: Work,
    is_it: Callable[[Mapping[str, Any]], bool],
    is_alike: Callable[[Window, Mapping[str, Any]], bool] = lambda _window, _post: False,
) -> str | Absent | Unclear:
    """The id of the account's post since the first attempt that is like ours; `is_alike`: that may be ours, if none is."""
    user = (await work.account.facts()).get("id") or await _user(work)
    query = {
        "max_results": str(_LISTED),
        "start_time": earliest(work).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tweet.fields": "created_at,entities,referenced_tweets",
    }
    is_near = may_be = False
    for _ in range(PAGES):
        answer = await read(partial(_page, work, user, dict(query)))
        window = Window.of(work, answer.clock)
        posts = answer.json.get("data", ())
        may_be = may_be or any(is_alike(window, post) for post in posts)
        for post in filter(is_it, posts):
            time = window.place(datetime.fromisoformat(post["created_at"]))
            if time is Time.SINCE:
                return str(post["id"])
            is_near = is_near or time is Time.NEAR
        following = answer.json.get("meta", {}).get("next_token")
        if not following:
            return window.missing(is_near=is_near, is_alike=may_be)
        query["pagination_token"] = following
    return _too_many()


async def _page(work: Work, user: str, query: Mapping[str, str]) -> Answer:
    answer = await work.account.request("GET", f"/2/users/{user}/tweets", query=query, seconds=READ_SECONDS)
    return expect(answer, errors=_ERRORS)


async def _user(work: Work) -> str:
    answer = await work.account.request("GET", "/2/users/me")
    return str(expect(answer, errors=_ERRORS).json["data"]["id"])


async def _earlier(work: Work, find: Any) -> Mapping[str, Any]:
    """What X means by a duplicate, if we have sent it: an attempt before has arrived after all.

    Raises:
        DoubtfulOutcome: it may be ours.
        Refused: it was somebody else, or another time.
    """
    found = await unseen(find(work))
    if isinstance(found, Found):
        return found.remote
    if isinstance(found, Unclear):
        raise DoubtfulOutcome(f"X says that this account has posted the same text before; {found.detail}")
    raise Refused("duplicate", "X says that this account has posted the same text before")


def _is_repeated(answer: Answer) -> bool:
    return answer.status == HTTPStatus.FORBIDDEN and "duplicate content" in quoted(answer)


def _says(post: Mapping[str, Any]) -> str:
    """The text as it was sent: X tells addresses shortened, `&<>` as entities, and pictures as an address at the end."""
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


def _too_many() -> Unclear:
    return Unclear(
        f"X lists more than {PAGES * _LISTED} posts since the first attempt; look whether it is among them"
    )


# -- what X says ---------------------------------------------------------------------------------------------------------


def _limited(answer: Answer) -> NotSent:
    """For the window of fifteen minutes, or for the day."""
    headers = answer.headers
    whole_day = headers.get("x-user-limit-24hour-remaining") == "0"
    reset = headers.get("x-user-limit-24hour-reset" if whole_day else "x-rate-limit-reset", "")
    now = datetime.now(UTC)
    at = datetime.fromtimestamp(int(reset), UTC) if reset.isdecimal() else now + timedelta(minutes=15)
    return NotSent(
        "limit",
        f"X lets this account post no more for now{quoted(answer)}",
        max(at, now + timedelta(seconds=1)),
    )


def _unfit(answer: Answer) -> Refused:
    said = quoted(answer)
    return Refused("text_too_long" if "too long" in said else "refused", f"X does not take it{said}")


def _forbidden(answer: Answer) -> Refused:
    return Refused("forbidden", f"X does not let this account post it{quoted(answer)}")


_ERRORS: Final[Errors] = {
    HTTPStatus.BAD_REQUEST: _unfit,
    HTTPStatus.UNAUTHORIZED: lambda answer: Refused("needs_reconnecting", f"X answered 401{quoted(answer)}"),
    HTTPStatus.PAYMENT_REQUIRED: lambda answer: Refused("no_credits", f"X answered 402{quoted(answer)}"),
    HTTPStatus.FORBIDDEN: _forbidden,
    HTTPStatus.TOO_MANY_REQUESTS: _limited,
}

CHANNEL: Final = Channel(
    "x",
    "X",
    (Limit("weighted characters", 280, counting.x_weight),),
    headline=False,
    points=1,
    bulleted=False,
    hashtags=1,
    note="Links count 23, emoji and CJK characters 2.",
    source="https://docs.x.com/fundamentals/counting-characters",
    sending=Sending(
        prepare,
        steps,
        errors={
            "needs_reconnecting": "X's token has expired or was taken back: connect the account again",
            "no_credits": "the X developer account has no credits left: buy some at console.x.com, then retry the post",
            "duplicate": "this account has posted the same text before; edit the post, or leave it",
            "forbidden": "X does not let this account post: look whether it is locked, and whether its app may write",
            "text_too_long": "X counts the text longer than 280; edit the post",
        },
        placements=("in_text", "first_comment", "none"),
    ),
)
