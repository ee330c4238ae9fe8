"""Routes of the page about a brand's newsletter."""

from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.ids import parse_id
from console.list_filters import safe_link
from console.newsletter import views
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    page,
    redirect,
)

NAVIGATION: Final = (NavigationEntry("newsletter", "/b/{brand}/newsletter", 85, is_rare=True),)
DONE: Final = ("on", "off", "removed", "again")
_LETTERS: Final = 20
_SUBSCRIBERS: Final = 50
_PAGE: Final = 200

router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/newsletter")
async def show_newsletter(request: Request, brand: str, viewer: Viewer) -> Response:
    """Whether it goes out, who subscribes, and the last letters."""
    return await _show(request, brand, viewer)


async def _show(
    request: Request, brand: str, viewer: PageViewer, *, refusal: str = "", status: int = 200
) -> Response:
    may_operate = viewer.may(Scope.OPERATE)
    wanted: dict[str, Any] = {
        "state": viewer.publisher.get_newsletter_state(brand),
        "letters": viewer.publisher.list_letters(brand, limit=_LETTERS),
    }
    if may_operate:
        # The addresses are personal data: whoever only reads the brand does not see them.
        after = request.query_params.get("after", "") if request.method == "GET" else ""
        wanted["subscribers"] = viewer.publisher.list_subscribers(
            brand, limit=_SUBSCRIBERS, after=parse_id(after)
        )
    parts = await viewer.gather(**wanted)
    state = parts["state"]
    return page(
        request,
        viewer,
        "newsletter/newsletter.html.j2",
        status=status,
        **{"subscribers": None, **parts},
        brand=brand,
        done=done_word(request, DONE),
        refusal=refusal,
        missing=views.missing(state) if state else "",
        safe=safe_link,
        may_operate=may_operate,
    )


@router.post("/b/{brand}/newsletter/on")
async def turn_on(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Turns it on, or sends by another account."""

    async def act() -> None:
        await viewer.publisher.enable_newsletter(brand, account=form.text("account") or None)

    return await _done(request, brand, viewer, form, act, "on")


@router.post("/b/{brand}/newsletter/off")
async def turn_off(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Turns it off; subscribers stay."""

    async def act() -> None:
        await viewer.publisher.disable_newsletter(brand)

    return await _done(request, brand, viewer, form, act, "off")


@router.post("/b/{brand}/newsletter/subscribers/{subscriber}/remove")
async def remove_subscriber(
    request: Request, brand: str, subscriber: UUID, viewer: Viewer, form: FormData
) -> Response:
    """Deletes one address."""

    async def act() -> None:
        await viewer.publisher.remove_subscriber(brand, subscriber)

    return await _done(request, brand, viewer, form, act, "removed")


@router.post("/b/{brand}/newsletter/letters/{letter}/again")
async def send_again(request: Request, brand: str, letter: UUID, viewer: Viewer, form: FormData) -> Response:
    """Sends a letter again to the subscribers in doubt, who may have it already."""

    async def act() -> None:
        await viewer.publisher.repeat_letter(brand, letter)

    return await _done(request, brand, viewer, form, act, "again")


async def _done(
    request: Request, brand: str, viewer: PageViewer, form: FormData, work: Any, word: str
) -> Response:
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await work()
        return redirect(request, f"/b/{brand}/newsletter?done={word}")

    async def refused(refusal: str, status: int) -> Response:
        return await _show(request, brand, viewer, refusal=refusal, status=status)

    return await once_or_refused(request, viewer, form, act, refused)


@router.get("/b/{brand}/newsletter/subscribers.csv")
async def subscribers_file(brand: str, viewer: Viewer) -> Response:
    """All addresses as a file, for people who may see them."""
    viewer.check_may(Scope.OPERATE)
    found: list[Any] = []
    after: UUID | None = None
    while True:
        told = await viewer.publisher.list_subscribers(brand, limit=_PAGE, after=after)
        found += told["items"]
        if told["next"] is None:
            break
        after = UUID(str(told["next"]))
    headers = {
        "Content-Disposition": f'attachment; filename="{brand}-subscribers.csv"',
        "Cache-Control": "private, no-store",
    }
    return Response(views.as_csv(found), media_type="text/csv; charset=utf-8", headers=headers)
