"""LinkedIn, for a person or an organisation."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

import regex

from integrations.networks import READ
from integrations.networks.linkedin import LINKEDIN
from receipts import (
    AccountResponse,
    Content,
    DoubtfulOutcome,
    EffectAbsent,
    EffectFound,
    EffectUnclear,
    NotSent,
    Refused,
    Step,
    StepInHand,
    UnknownOutcome,
)
from receipts.answers import Errors, expect, quote_answer, refuse_by_status
from social import counting
from social.channels.channel import Channel, ChannelSender, ComposedPost, PictureSource
from social.channels.lost import (
    PAGES,
    READ_SECONDS,
    LookupWindow,
    PostSearch,
    RelativeTime,
    age,
    comparable,
    confirmed_id,
    is_uncertain,
    read,
    too_many,
)
from social.channels.uploads import UPLOAD_SECONDS, bytes_of, picture_of, unseen

# https://learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format: an unescaped reserved
# character can end the post there. A # that begins a hashtag is meant as one.
_RESERVED = regex.compile(r"[\\|{}@\[\]()<>*_~]|#(?![\p{L}\p{N}])")
_HASHTAG = regex.compile(r"\{hashtag\|\\?#\|([^}]*)\}")

_HEADERS: Final = {"LinkedIn-Version": "202606", "X-Restli-Protocol-Version": "2.0.0"}
_SECONDS: Final = 18.0
_COMPARED: Final = timedelta(hours=1)
"""Time after the first attempt within which LinkedIn surely refuses a second as a duplicate; observed for days."""
_URN = regex.compile(r"urn:li:(?:share|ugcPost|activity):(\d+)")
_LISTED: Final = 50
_MOST_TITLE: Final = 400
_MOST_ALT: Final = 4086


def escaped(text: str) -> str:
    """The text as LinkedIn's API takes it ("little" text format)."""
    return _RESERVED.sub(r"\\\g<0>", text)


def _units(text: str) -> int:
    return counting.utf16_units(escaped(text))


def prepare(post: ComposedPost, now: datetime) -> Mapping[str, Any]:
    return {
        "commentary": escaped(post.text),
        "title": post.title[:_MOST_TITLE],
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
    author = await _author(work)
    image = await unseen(_uploaded(pictures, work, author))
    body = {
        "author": author,
        "commentary": work.prepared["commentary"],
        "visibility": "PUBLIC",
        "distribution": {
            "feedDistribution": "MAIN_FEED",
            "targetEntities": [],
            "thirdPartyDistributionChannels": [],
        },
        "lifecycleState": "PUBLISHED",
        "isReshareDisabledByAuthor": False,
    } | _content(work.prepared, image)
    answer = await work.account.request("POST", "/rest/posts", headers=_HEADERS, json=body)
    if (earlier := _named(answer)) is not None:
        return _earlier(work, answer, earlier)
    return _remote(_made(expect(answer, errors=_ERRORS)))


def _content(prepared: Mapping[str, Any], image: str | None) -> dict[str, Any]:
    """A card for the link, since LinkedIn makes none for posts over the API; else the picture."""
    alt = (prepared["picture"] or {}).get("alt", "")[:_MOST_ALT]
    if prepared["link"]:
        article = {"source": prepared["link"], "title": prepared["title"]}
        shown = {"thumbnail": image, "thumbnailAltText": alt} if image else {}
        return {"content": {"article": article | shown}}
    return {"content": {"media": {"id": image, "altText": alt}}} if image else {}


async def _uploaded(pictures: PictureSource, work: StepInHand, owner: str) -> str | None:
    picture = work.prepared["picture"]
    data = None if picture is None else await bytes_of(pictures, picture)
    if picture is None or data is None:
        return None
    answer = await work.account.request(
        "POST",
        "/rest/images",
        query={"action": "initializeUpload"},
        headers=_HEADERS,
        json={"initializeUploadRequest": {"owner": owner}},
        seconds=UPLOAD_SECONDS / 2,
    )
    told = expect(answer, errors=_ERRORS).json["value"]
    address = urlsplit(told["uploadUrl"])
    answer = await work.account.request(
        "PUT",
        address.path,
        query=dict(parse_qsl(address.query, keep_blank_values=True)),
        content=Content(picture["media_type"], data),
        seconds=UPLOAD_SECONDS,
    )
    expect(answer, errors=_ERRORS)
    return str(told["image"])


async def _find_post(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    author = await _author(work)
    query = {"q": "author", "author": author, "count": str(_LISTED), "sortBy": "CREATED"}
    wanted = _comparable(work.prepared["commentary"])
    search = PostSearch(work, _comparable(work.prepared["commentary"].partition("\n")[0]))
    for page in range(PAGES):
        # What is posted meanwhile moves the others on: one may be seen twice, and none is missed.
        answer = await read(partial(_page, work, query | {"start": str(page * _LISTED)}))
        if answer is None:
            # Persons' tokens may write and not read. Within that time LinkedIn itself keeps the same text from being posted twice, and
            # names the one that is there. That is no help where another text may be out.
            if age(work) < _COMPARED and not is_uncertain(work):
                return EffectAbsent(is_certain=False)
            return EffectUnclear("LinkedIn does not let this account look its posts up; look at its page")
        window = LookupWindow.of(work, answer.clock)
        recent = [each for each in answer.json["elements"] if _published(each) >= window.opens]
        for each in recent:
            said = _comparable(each.get("commentary", ""))
            if search.is_ours(window, _published(each), said, is_same=said == wanted):
                return EffectFound(_remote(each["id"]))
        if len(recent) < _LISTED:
            return search.missing(window)
    return too_many(PAGES * _LISTED)


def _published(post: Mapping[str, Any]) -> datetime:
    return datetime.fromtimestamp(post.get("publishedAt", post.get("createdAt", 0)) / 1000, UTC)


async def _page(work: StepInHand, query: Mapping[str, str]) -> AccountResponse | None:
    """None: the account may not read."""
    headers = _HEADERS | {"X-RestLi-Method": "FINDER"}
    answer = await work.account.request(
        "GET", "/rest/posts", query=query, headers=headers, seconds=READ_SECONDS
    )
    if answer.status == HTTPStatus.FORBIDDEN:
        return None
    return expect(answer, errors=_ERRORS)


# -- the link in a comment ---------------------------------------------------------------------------------------------


async def _comment(work: StepInHand) -> Mapping[str, Any]:
    post = _answered(work)
    body = {
        "actor": await _author(work),
        "object": post,
        "message": {"text": f"{READ}{work.prepared['comment']}"},
    }
    answer = await work.account.request("POST", _comments(post), headers=_HEADERS, json=body)
    return {"comment_id": _made(expect(answer, errors=_ERRORS))}


async def _find_comment(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
    author = await _author(work)
    comments = await read(partial(_commented, work))
    if comments is None:
        return EffectUnclear(
            "LinkedIn does not let this account look comments up; look whether its post has the link below it"
        )
    for each in comments:
        if each.get("actor") == author and work.prepared["comment"] in each.get("message", {}).get(
            "text", ""
        ):
            return EffectFound({"comment_id": str(each["id"])})
    return EffectAbsent()


async def _commented(work: StepInHand) -> Sequence[Mapping[str, Any]] | None:
    """None: the account may not read."""
    path = _comments(_answered(work))
    answer = await work.account.request("GET", path, headers=_HEADERS, seconds=READ_SECONDS)
    if answer.status == HTTPStatus.FORBIDDEN:
        return None
    comments: Sequence[Mapping[str, Any]] = expect(answer, errors=_ERRORS).json["elements"]
    return comments


def _answered(work: StepInHand) -> str:
    return confirmed_id(work.remote, _URN.pattern)


def _comments(post: str) -> str:
    return f"/rest/socialActions/{quote(post, safe='')}/comments"


# -- who and which -----------------------------------------------------------------------------------------------------


async def _author(work: StepInHand) -> str:
    """The author of the account's posts; raises Refused if the gateway does not know it."""
    facts = await work.account.facts()
    if author := facts.get("author") or (f"urn:li:person:{facts['id']}" if facts.get("id") else None):
        return author
    raise Refused(
        "no_author", f"it is not known whose posts these are: brandctl accounts check {work.account.name}"
    )


def _made(answer: AccountResponse) -> str:
    """The id of the new post; raises UnknownOutcome if the answer lacks it."""
    made = answer.headers.get("x-restli-id") or answer.headers.get("x-linkedin-id")
    if not made:
        raise UnknownOutcome("LinkedIn made it and did not say under which id")
    return made


def _named(answer: AccountResponse) -> str | None:
    """The earlier post that LinkedIn's duplicate error names."""
    said = str(answer.json)
    if answer.status != HTTPStatus.UNPROCESSABLE_ENTITY or "duplicate" not in said.lower():
        return None
    found = _URN.search(said)
    return found[0] if found else None


def _earlier(work: StepInHand, answer: AccountResponse, urn: str) -> Mapping[str, Any]:
    """That post, if it was made since our first attempt: then it is ours, and an attempt before has arrived after all.

    Its number says when it was made: all bits but the last 22 are milliseconds since 1970.

    Raises:
        DoubtfulOutcome: it may be ours.
        Refused: it is older.
    """
    number = _URN.fullmatch(urn)
    assert number
    made = datetime.fromtimestamp((int(number[1]) >> 22) / 1000, UTC)
    window = LookupWindow.of(work, answer.clock)
    time = window.place(made)
    if time is RelativeTime.SINCE:
        return _remote(urn)
    if time is RelativeTime.NEAR or window.doubt:
        raise DoubtfulOutcome(
            f"LinkedIn says that the same is there, from about the time when this was sent: {_remote(urn)['url']}"
        )
    raise Refused("duplicate", f"LinkedIn says that the same was posted before: {_remote(urn)['url']}")


def _remote(urn: str) -> Mapping[str, Any]:
    return {"id": urn, "url": f"https://www.linkedin.com/feed/update/{urn}/"}


def _comparable(commentary: str) -> str:
    """The text in comparable form: LinkedIn may return hashtags as templates, and other escapes than ours."""
    return comparable(_HASHTAG.sub(r"#\1", commentary).replace("\\", ""))


# -- what LinkedIn says ------------------------------------------------------------------------------------------------


def _limited(answer: AccountResponse) -> NotSent:
    """A rate limit: until midnight UTC for a daily one, else for five minutes; answers do not give the time."""
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    by_day = " DAY " in quote_answer(answer).upper()
    retry_at = midnight if by_day else now + timedelta(minutes=5)
    return NotSent("limit", f"LinkedIn takes no more of this account for now{quote_answer(answer)}", retry_at)


def _unfit(answer: AccountResponse) -> Refused:
    code = (answer.json or {}).get("code", "") if isinstance(answer.json, dict) else ""
    reason = "text_too_long" if code == "FIELD_LENGTH_TOO_LONG" else "refused"
    return Refused(reason, f"LinkedIn does not take it{quote_answer(answer)}")


_ERRORS: Final[Errors] = {
    HTTPStatus.BAD_REQUEST: _unfit,
    HTTPStatus.UNPROCESSABLE_ENTITY: _unfit,
    **refuse_by_status("LinkedIn", {401: "needs_reconnecting", 403: "forbidden", 426: "version_retired"}),
    HTTPStatus.TOO_MANY_REQUESTS: _limited,
}

CHANNEL: Final = Channel(
    LINKEDIN,
    (_units,),
    escape=escaped,
    sending=ChannelSender(prepare, steps),
)
