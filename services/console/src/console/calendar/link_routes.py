"""`/c/{token}.ics`: a brand's calendar for other programs; and the buttons that make and revoke such addresses."""

import asyncio
from http import HTTPStatus
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from client import ClientError, RefusedError
from client.calendars import join_calendars
from console.calendar import links
from console.notices import Notice, told
from console.pages import FormData, Viewer, once, page
from console.pages.once import once_shown
from console.pages.parts import parts_of
from console.service_clients import PersonClients, is_away
from console.sign_in.confirming import confirm_password

_MEDIA_TYPE: Final = "text/calendar; charset=utf-8"
_RETRY_SECONDS: Final = "300"
router = APIRouter(include_in_schema=False)


@router.post("/b/{brand}/calendar/links")
async def make_link(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Makes an address, which is shown in this answer alone."""
    viewer.check_owner()
    await confirm_password(request, viewer, form)
    back = f"/b/{brand}/calendar"
    name = " ".join(form.text("name").split()) or viewer.t("calendar.links.unnamed")

    async def act() -> Response:
        try:
            token = await links.make(viewer, brand, name)
        except links.TooManyCalendarLinksError:
            return await told(request, viewer, back, Notice("calendar.links.full", {"n": links.MOST}))
        except links.SameNameError:
            return await told(request, viewer, back, Notice("calendar.links.same_name"))
        address = parts_of(request).urls.absolute(f"/c/{token}.ics")
        return page(request, viewer, "calendar/link.html.j2", brand=brand, name=name, address=address)

    return await once_shown(request, viewer, form, act, f"{back}#files")


@router.post("/b/{brand}/calendar/links/{link}/revoke")
async def revoke_link(request: Request, brand: str, link: UUID, viewer: Viewer, form: FormData) -> Response:
    """Ends an address, which calendar programs then find nothing at."""
    viewer.check_owner()

    async def act() -> Response:
        await links.revoke(viewer, brand, link)
        final: list[tuple[str, dict[str, str]]] = [("notices.final", {})]
        return await told(
            request, viewer, f"/b/{brand}/calendar", Notice("calendar.links.revoked", more=final)
        )

    return await once(request, viewer, form, act)


@router.get("/c/{token}.ics")
async def read_calendar(request: Request, token: str) -> Response:
    """The brand's articles, posts and schedules as iCalendar. An unknown token and a revoked one are alike."""
    parts = parts_of(request)
    opened = await links.open_link(parts.connections, token)
    if opened is None:
        return _refused()
    clients = PersonClients(parts.services, lambda: opened.key)
    try:
        texts = await asyncio.gather(
            clients.orchestrator.get_calendar_feed(brand=opened.brand),
            clients.social.get_calendar_feed(brand=opened.brand),
        )
    except ClientError as error:
        if isinstance(error, RefusedError) and not is_away(error):
            return _refused()
        # A program keeps what it has, and asks again.
        return PlainTextResponse(
            "The calendar cannot be read now.",
            HTTPStatus.SERVICE_UNAVAILABLE,
            headers={"Retry-After": _RETRY_SECONDS},
        )
    return Response(join_calendars(opened.brand, texts), media_type=_MEDIA_TYPE)


def _refused() -> Response:
    return PlainTextResponse("There is no calendar at this address.", HTTPStatus.NOT_FOUND)
