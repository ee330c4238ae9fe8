"""Common code of Instagram and Threads: create an invisible container of a post, then publish it.

The container's number is stored before the publication. Later attempts use the same container, and its status says whether it was
published.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from receipts import (
    AccountResponse,
    EffectAbsent,
    EffectFound,
    EffectUnclear,
    NotSent,
    Refused,
    Step,
    StepInHand,
    UnknownOutcome,
)
from receipts.answers import expect, quote_answer
from social.channels.channel import PictureSource
from social.channels.fetched import explain_failed_fetch, wait_for_publisher
from social.channels.lost import PAGES, LookupWindow, PostSearch, age, comparable, read, too_many
from social.channels.uploads import UPLOAD_SECONDS, unseen

SECONDS: Final = 18.0
CONTAIN_SECONDS: Final = 22.0
"""Timeout of a container's request, with checks of the publisher before and after it."""
_POLLS: Final = (0.0, 0.4, 0.8, 1.6, 3.2)
"""Pauses before requests for a container's status, in seconds; in total well below the time of a step."""
_PICTURE_URL: Final = "image_url"
_LIMITED: Final = timedelta(minutes=15)
_LIMITED_FOR_TODAY: Final = timedelta(hours=1)
_REFUSING: Final = 4
"""Status classes, in hundreds, after which nothing was done."""
_LISTED: Final = 50
_READ_SECONDS: Final = 4.0
_ADDRESS_WITHIN: Final = timedelta(minutes=15)
"""Time since the first attempt after which a published post counts as posted without its address."""
_ADDRESS_AGAIN: Final = timedelta(seconds=10)

# https://developers.facebook.com/docs/graph-api/guides/error-handling, …/instagram-platform/reference/error-codes
_RECONNECT: Final = frozenset({102, 190})
_TOO_MANY: Final = frozenset({4, 17, 32, 341, 613, 80001, 80002, 80004})
_PERMISSION: Final = frozenset({3, 10, *range(200, 300)})
_PICTURE: Final = frozenset({36000, 36001, 36003})
"""The fetched picture is unfit: too large, not JPEG, too narrow."""
_UNFETCHED: Final = 9004
_UNFETCHED_SUBCODES: Final = frozenset({2207003, 2207052})
"""Fetching took too long and failed."""
_LONG: Final = frozenset({36004})
_FULL_FOR_TODAY: Final = 2207042
_SPAM: Final = 2207051
_NOT_READY_CODES: Final = frozenset({2207027, 4279009})


@dataclass(frozen=True, slots=True)
class GraphEdges:
    """Names in the API of Instagram or Threads."""

    make: str
    publish: str
    status: str
    posts: str
    text: str
    version: str

    def of(self, user: str, edge: str) -> str:
        return f"/{self.version}/{user}/{edge}"

    def node(self, number: str) -> str:
        return f"/{self.version}/{number}"


Form = Mapping[str, str]
"""The fields of a request that creates a container."""


class PictureNotFetchedError(Refused):
    """The platform could not fetch the picture, and created nothing."""

    def __init__(self, said: str) -> None:
        super().__init__("picture", said)


def post_steps(
    edges: GraphEdges, pictures: PictureSource, check: Callable[[Form], None] | None = None
) -> tuple[Step, ...]:
    """The container, its publication, and the address of the post, from the prepared `form`.

    `check` raises Refused for a form that the platform would not take.
    """

    async def container(work: StepInHand) -> Mapping[str, Any]:
        if check is not None:
            check(work.prepared["form"])
        return {"container": await contain(work, edges, work.prepared["form"], pictures)}

    async def publication(work: StepInHand) -> Mapping[str, Any]:
        form = work.prepared["form"]
        return await publish(work, edges, work.remote["container"], form, edges.posts, pictures)

    async def look(work: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
        text = work.prepared["form"][edges.text]
        return await find(work, edges, work.remote["container"], text, edges.posts)

    return (
        Step("container", container, repeatable=True, unseen=True, seconds=CONTAIN_SECONDS),
        Step("publish", publication, look, seconds=SECONDS),
        Step("address", partial(address, edges), repeatable=True, unseen=True, seconds=SECONDS),
    )


async def contain(work: StepInHand, edges: GraphEdges, form: Form, pictures: PictureSource) -> str:
    """Creates a container, which is invisible and expires after a day; returns its number.

    Raises:
        NotSent: also if the publisher is away, so that the picture is unavailable; then no attempt counts.
    """
    user = await _user(work)
    url = form.get(_PICTURE_URL)
    if url is not None:
        await wait_for_publisher(pictures, url)
    answer = await work.account.request("POST", edges.of(user, edges.make), form=form, seconds=UPLOAD_SECONDS)
    try:
        return str(answered(answer).json["id"])
    except PictureNotFetchedError as error:
        if url is None:
            raise
        raise await explain_failed_fetch(pictures, url, error.detail) from error


async def publish(
    work: StepInHand,
    edges: GraphEdges,
    container: str,
    form: Form,
    posts: str,
    pictures: PictureSource,
) -> Mapping[str, str]:
    """Publishes the container once it is ready, or a new one if it has expired.

    `form` is the request that created the container; `posts` the edge that lists published posts.

    Raises:
        NotSent: it is not ready yet, or its picture cannot be fetched now.
        Refused: the container failed for good.
    """
    user = await _user(work)
    status = await unseen(_ready(work, edges, container, form, pictures))
    if status in {"EXPIRED", "ERROR"}:
        container = await unseen(contain(work, edges, form, pictures))
        status = await unseen(_ready(work, edges, container, form, pictures))
    if status == "PUBLISHED":
        found = await unseen(find(work, edges, container, form[edges.text], posts))
        return found.remote if isinstance(found, EffectFound) else {}
    if status != "FINISHED":
        came_to_nothing = f"its container came to nothing: {status}"
        if _PICTURE_URL in form:
            raise await explain_failed_fetch(pictures, form[_PICTURE_URL], came_to_nothing)
        raise Refused("refused", came_to_nothing)
    answer = await work.account.request(
        "POST", edges.of(user, edges.publish), form={"creation_id": container}
    )
    return {"id": str(answered(answer).json["id"])}


async def address(edges: GraphEdges, work: StepInHand) -> Mapping[str, str]:
    """Requests the address of a published post, which the answer to the publication lacks.

    Raises:
        NotSent: the request failed; no attempt counts.
    """
    number = work.remote.get("id")
    if not number or work.remote.get("url"):
        return {}
    try:
        return {"url": await read(partial(_permalink, work, edges.node(str(number))))}
    except (UnknownOutcome, Refused, LookupError, TypeError, ValueError):
        now = datetime.now(UTC)
        if age(work) > _ADDRESS_WITHIN:
            return {}
        raise NotSent(
            "no_address", "it is out, and its address is not known yet", now + _ADDRESS_AGAIN
        ) from None


async def _permalink(work: StepInHand, path: str) -> str:
    query = {"fields": "permalink"}
    answer = await work.account.request("GET", path, query=query, seconds=_READ_SECONDS)
    return str(answered(answer).json["permalink"])


async def _user(work: StepInHand) -> str:
    """The account's number; raises Refused if the gateway does not know it."""
    if number := (await work.account.facts()).get("id"):
        return number
    raise Refused("no_user", f"its number is not known: brandctl accounts check {work.account.name}")


async def _ready(
    work: StepInHand, edges: GraphEdges, container: str, form: Form, pictures: PictureSource
) -> str:
    """The container's final status; raises NotSent while it is in progress."""
    status = ""
    for pause in _POLLS:
        await asyncio.sleep(pause)
        if (status := await _status(work, edges, container)) != "IN_PROGRESS":
            return status
    if _PICTURE_URL in form:
        await wait_for_publisher(pictures, form[_PICTURE_URL])
    raise NotSent("not_ready", "the picture is still being fetched")


async def _status(work: StepInHand, edges: GraphEdges, container: str) -> str:
    answer = await work.account.request(
        "GET", edges.node(container), query={"fields": edges.status}, seconds=_READ_SECONDS
    )
    return str(answered(answer).json[edges.status])


async def find(
    work: StepInHand, edges: GraphEdges, container: str, text: str, posts: str
) -> EffectFound | EffectAbsent | EffectUnclear:
    """Looks for the post among those since the first attempt, and checks the container's status."""
    user = await _user(work)
    query = {"fields": f"id,permalink,timestamp,{edges.text}", "limit": str(_LISTED)}
    search, wanted = PostSearch(work), comparable(text)
    missing: EffectAbsent | EffectUnclear = too_many(PAGES * _LISTED)
    for _ in range(PAGES):
        answer = await read(partial(_page, work, edges.of(user, posts), dict(query)))
        window, page = LookupWindow.of(work, answer.clock), answer.json["data"]
        recent = [each for each in page if _made(each) >= window.opens]
        for each in recent:
            said = comparable(each.get(edges.text, ""))
            if search.is_ours(window, _made(each), said, is_same=said == wanted):
                return EffectFound({"id": str(each["id"]), "url": each.get("permalink", "")})
        following = answer.json.get("paging", {}).get("cursors", {}).get("after")
        if len(recent) < _LISTED or not following:
            missing = search.missing(window)
            break
        query["after"] = following
    if await read(partial(_status, work, edges, container)) == "PUBLISHED":
        return EffectFound({})
    return missing


def _made(post: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(post["timestamp"])


async def _page(work: StepInHand, path: str, query: Mapping[str, str]) -> AccountResponse:
    return answered(await work.account.request("GET", path, query=query, seconds=_READ_SECONDS))


# -- Meta's errors -----------------------------------------------------------------------------------------------------


def answered(answer: AccountResponse) -> AccountResponse:
    """The answer unless it is an error; raises NotSent, Refused or UnknownOutcome for errors."""
    error = answer.json.get("error") if isinstance(answer.json, dict) else None
    if not isinstance(error, dict) or answer.status // 100 != _REFUSING:
        return expect(answer)
    code, subcode = error.get("code"), error.get("error_subcode")
    said = f"{quote_answer(answer)} ({code}{f', {subcode}' if subcode else ''})"
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or code in _TOO_MANY or subcode == _FULL_FOR_TODAY:
        pause = _LIMITED_FOR_TODAY if subcode == _FULL_FOR_TODAY else _LIMITED
        raise NotSent("limit", f"the account may post no more for now{said}", datetime.now(UTC) + pause)
    if subcode in _NOT_READY_CODES:
        raise NotSent("not_ready", f"it is not ready yet{said}")
    if error.get("is_transient") is True:
        raise NotSent("busy", f"it cannot take it just now{said}")
    if code == _UNFETCHED or subcode in _UNFETCHED_SUBCODES:
        raise PictureNotFetchedError(f"the picture could not be fetched{said}")
    raise Refused(_reason(code, subcode), f"it was refused{said}")


def _reason(code: Any, subcode: Any) -> str:
    if code in _RECONNECT:
        return "needs_reconnecting"
    if subcode == _SPAM:
        return "spam"
    named: Sequence[tuple[frozenset[int], str]] = (
        (_PERMISSION, "forbidden"),
        (_PICTURE, "picture"),
        (_LONG, "text_too_long"),
    )
    return next((reason for codes, reason in named if code in codes), "refused")
