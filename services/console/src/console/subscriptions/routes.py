"""Routes of the pages about subscriptions: what their readers have before them, and their dead letters."""

import asyncio
import re
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console import event_types
from console.pages import (
    Form,
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once,
    once_or_refused,
    page,
    redirect,
)
from console.webhooks.views import as_text, typed_types

LIST: Final = "/subscriptions"
NAVIGATION: Final = (NavigationEntry("subscriptions", LIST, 29, Scope.OPERATE),)
DONE: Final = ("made", "removed", "revived")
"""What the page says was done, by the word in its address."""
_SHOWN: Final = 20
_LONGEST_PLACE: Final = 19
_NAME: Final = re.compile("[a-z0-9][a-z0-9-]{0,62}")
router = APIRouter(include_in_schema=False)


@router.get(LIST)
async def list_subscriptions(request: Request, viewer: Viewer) -> Response:
    """The subscriptions, each with its backlog."""
    viewer.check_may(Scope.OPERATE)
    return await _list(request, viewer)


async def _list(
    request: Request,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    after = request.query_params.get("after", "").replace("\0", "")[:63]
    parts = await viewer.gather(found=viewer.events.list_subscriptions(after=after or None, limit=_SHOWN))
    found = parts["found"]
    names = [each["name"] for each in found["items"]] if found else []
    # One that is removed at this moment has no backlog; the others are shown.
    backlogs = await asyncio.gather(
        *(viewer.ask_one("events", viewer.events.get_subscription(name)) for name in names)
    )
    return page(
        request,
        viewer,
        "subscriptions/list.html.j2",
        status=status,
        **parts,
        typed=form,
        types=typed_types(form) if form else (),
        brands=form.all("brands") if form else [],
        event_types=event_types.with_chosen(event_types.ALL, typed_types(form) if form else ()),
        refusal=refusal,
        backlogs={name: each for name, each in zip(names, backlogs, strict=True) if isinstance(each, dict)},
        is_continued=bool(after),
        done=done_word(request, DONE),
    )


@router.post(LIST)
async def make_subscription(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Makes a subscription; one that is there for other events is not changed."""
    viewer.check_may(Scope.OPERATE)
    name, most = form.text("name"), form.text("max_deliveries", "10")
    show = partial(_list, request, viewer, form=form)
    if not _NAME.fullmatch(name):
        refusal = viewer.t("subscriptions.no_name", name=name[:63])
        return await show(refusal=refusal, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    async def act() -> Response:
        await viewer.events.set_subscription(
            name,
            brands=form.all("brands") or None,
            types=list(typed_types(form)) or None,
            begin="oldest" if form.text("begin") == "oldest" else "now",
            # Text that is no number is refused there.
            max_deliveries=int(most)
            if most.isascii() and most.isdigit() and len(most) < _LONGEST_PLACE
            else 0,
        )
        return redirect(request, f"{LIST}/{name}?done=made")

    return await once_or_refused(request, viewer, form, act, show)


@router.get("/subscriptions/{name}")
async def show_subscription(request: Request, name: str, viewer: Viewer) -> Response:
    viewer.check_may(Scope.OPERATE)
    return await _subscription(request, name, viewer)


async def _subscription(
    request: Request, name: str, viewer: PageViewer, *, refusal: str = "", status: int = HTTPStatus.OK
) -> Response:
    after = _place(request.query_params.get("after", ""))
    parts = await viewer.gather(
        found=viewer.events.get_subscription(name),
        dead=viewer.events.list_dead_events(name, after=after, limit=_SHOWN),
    )
    return page(
        request,
        viewer,
        "subscriptions/subscription.html.j2",
        status=status,
        **parts,
        name=name,
        is_continued=after is not None,
        refusal=refusal,
        as_text=as_text,
        done=done_word(request, DONE),
    )


def _place(text: str) -> int | None:
    """Reads a place in the log; None for a text that is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST_PLACE else None


@router.post("/subscriptions/{name}/revive")
async def revive_dead_letters(request: Request, name: str, viewer: Viewer, form: FormData) -> Response:
    """Delivers the dead letter at a place anew, or without a place all of them."""
    viewer.check_may(Scope.OPERATE)
    place = _place(form.text("place"))
    wanted: dict[str, Any] = {} if place is None else {"places": [place]}

    async def act() -> Response:
        await viewer.events.revive_dead_events(name, extra=wanted, idempotency_key=form.once)
        return redirect(request, f"{LIST}/{name}?done=revived")

    return await once_or_refused(request, viewer, form, act, partial(_subscription, request, name, viewer))


@router.post("/subscriptions/{name}/remove")
async def remove_subscription(request: Request, name: str, viewer: Viewer, form: FormData) -> Response:
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.events.delete_subscription(name)
        return redirect(request, f"{LIST}?done=removed")

    return await once(request, viewer, form, act)
