"""Approves, skips, retries and moves many posts at once."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from chassis.time_zones import moment
from client import RefusedError
from console.list_filters import ListFilter
from console.mass_actions.acting import FrozenMatches, MassItem, MassPress, whole_list
from console.notices import Notice, UndoAct, told
from console.pages import Form, FormData, PageViewer, Viewer, once
from console.posts import views

ELIGIBLE: Final = {
    "approve": frozenset({"waiting"}),
    "skip": frozenset({"waiting", "scheduled"}),
    "retry": frozenset({"failed", "in_doubt"}),
    "to_slots": frozenset({"scheduled"}),
    "shift": frozenset({"scheduled"}),
}
"""States in which each button does something."""
_BATCH: Final = 200
_MOST_DAYS: Final = 366
router = APIRouter(include_in_schema=False)


@router.post("/b/{brand}/posts/many")
async def change_many(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Does one thing to the checked posts, or to all that the filter matches when the button is pressed."""
    verb = form.text("do")
    viewer.check_may(Scope.OPERATE if verb == "retry" else Scope.REVIEW)
    wanted = ListFilter.of({name: form.text(name) for name in ("q", "state", "age")}, views.STATES)
    back = f"/b/{brand}/posts{wanted.query()}".removesuffix("?")

    async def matching() -> AsyncIterator[MassItem]:
        filters = wanted.arguments(datetime.now(UTC)) | {"slug": brand, "limit": _BATCH}
        async for each in whole_list(viewer.social.list_brand_posts, **filters):
            if each["state"] in ELIGIBLE[verb]:
                yield _item(brand, each, each["due_at"])

    async def find(post_id: str) -> MassItem | None:
        post = await viewer.social.get_post(post_id)
        known = post["brand_slug"] == brand and post["state"] in ELIGIBLE[verb]
        return _item(brand, post, post["publish_at"]) if known else None

    press = MassPress(request, viewer, form, "posts.many_done.", back, matching, find)

    async def act() -> Response:
        problem = _problem(verb, form)
        return await told(request, viewer, back, Notice(problem)) if problem else await _act(press)

    return await once(request, viewer, form, act)


def _problem(verb: str, form: Form) -> str:
    """The text of what a form lacks; empty if it lacks nothing."""
    if verb not in ELIGIBLE:
        return "mass_actions.none"
    return "posts.many.no_days" if verb == "shift" and not _days(form.text("days")) else ""


def _item(brand: str, post: Any, at: str | None) -> MassItem:
    return MassItem(
        post["post_id"],
        f"{post['title']} ({post['account'] or post['channel']})",
        f"/b/{brand}/posts/{post['post_id']}",
        post["version"],
        {"at": at, "channel": post["channel"], "state": post["state"]},
    )


async def _act(press: MassPress) -> Response:
    frozen = await press.frozen()
    if not frozen.items:
        return await told(press.request, press.viewer, press.back, Notice("mass_actions.none"))
    acts = {"approve": _approve, "skip": _skip, "retry": _retry}
    return await acts.get(press.verb, _move)(press, frozen)


async def _approve(press: MassPress, frozen: FrozenMatches) -> Response:
    async def approve(item: MassItem) -> None:
        await press.viewer.social.approve_post(item.id, version=item.version)

    return await press.act(frozen, approve, undo="posts.unapprove", undone_by=lambda item: [item.id])


async def _skip(press: MassPress, frozen: FrozenMatches) -> Response:
    reason = press.form.text("reason") or press.viewer.t("posts.many.without_reason")

    async def skip(item: MassItem) -> None:
        await press.viewer.social.reject_post(item.id, version=item.version, reason=reason)

    return await press.act(
        frozen, skip, undo="posts.reopen", undone_by=lambda item: [item.id, item.more["at"]]
    )


async def _retry(press: MassPress, frozen: FrozenMatches) -> Response:
    """Sends failed posts again, and those in doubt only if a person has looked."""
    social = press.viewer.social

    async def retry(item: MassItem) -> None:
        if item.more["state"] == "failed":
            await social.retry_post(item.id)
        elif "looked" in press.form:
            await social.repeat_receipt(item.id)
        else:
            raise _refusal(press.viewer.t("posts.look_first"))

    return await press.act(frozen, retry)


async def _move(press: MassPress, frozen: FrozenMatches) -> Response:
    """Moves posts one after another, so that they keep their order and do not block each other."""
    social, zone = press.viewer.social, ZoneInfo(press.viewer.t.zone)
    days = _days(press.form.text("days")) if press.verb == "shift" else 0
    # To later days the last goes first, which makes room for the one before it.
    ordered = sorted(frozen.items, key=lambda item: item.more["at"] or "", reverse=days > 0)

    async def move(item: MassItem) -> None:
        if not days:
            await social.move_post(item.id)
            return
        local = datetime.fromisoformat(item.more["at"]).astimezone(zone)
        at = moment(local.date() + timedelta(days=days), local.time(), zone)
        await plan(press.viewer, item.id, at)

    return await press.act(
        FrozenMatches(ordered, frozen.left, frozen.known),
        move,
        parallel=1,
        undo="posts.plan",
        undone_by=lambda item: [item.id, item.more["at"]],
    )


def _days(text: str) -> int:
    """The days of a shift; 0 for what is none."""
    digits = text.removeprefix("-").removeprefix("+")
    fits = digits.isascii() and digits.isdecimal() and int(digits[:4]) <= _MOST_DAYS
    return int(text) if fits else 0


def _refusal(sentence: str) -> RefusedError:
    return RefusedError(sentence, HTTPStatus.CONFLICT, {"detail": sentence}, "social")


async def plan(viewer: PageViewer, post_id: str, at: datetime) -> None:
    """Gives a post a time, whether it waits or has another one; a post for the feed is approved for it."""
    post = await viewer.social.get_post(post_id)
    if post["channel"] == "feed" or post["state"] == "waiting":
        await viewer.social.approve_post(post_id, version=post["version"], publish_at=at)
    else:
        await viewer.social.move_post(post_id, at=at)


async def _undo_approval(viewer: PageViewer, thing: Sequence[Any]) -> None:
    await viewer.social.unschedule_post(thing[0])


async def _undo_skip(viewer: PageViewer, thing: Sequence[Any]) -> None:
    """Lets a post wait again; one that had a time gets it again unless it has gone by."""
    post_id, at = thing
    await viewer.social.reopen_post(post_id)
    if at and datetime.fromisoformat(at) > datetime.now(UTC):
        await plan(viewer, post_id, datetime.fromisoformat(at))


async def _undo_move(viewer: PageViewer, thing: Sequence[Any]) -> None:
    post_id, at = thing
    await plan(viewer, post_id, datetime.fromisoformat(at))


UNDO: Final[dict[str, UndoAct]] = {
    "posts.unapprove": _undo_approval,
    "posts.reopen": _undo_skip,
    "posts.plan": _undo_move,
}
