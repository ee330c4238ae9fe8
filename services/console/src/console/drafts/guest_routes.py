"""`/p/{token}`: a draft for a guest, who has no account; they read one version of it and comment. No other page is reachable from it."""

from http import HTTPStatus
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from console.drafts import guest_links
from console.drafts.draft_page import PAGE_HEADERS
from console.drafts.guest_links import OpenedLink
from console.drafts.notes import MAX_NOTE
from console.pages import FormData, page, redirect
from console.pages.layout import texts_of

_LONGEST_ONCE: Final = 64
_HEADERS: Final = {"X-Robots-Tag": "noindex, nofollow"}


def guest_routes() -> APIRouter:
    routes = APIRouter(prefix="/p/{token}")

    @routes.get("")
    async def show_to_guest(request: Request, token: str) -> Response:
        opened = await guest_links.open_link(request, token)
        return await _show(request, token, opened)

    @routes.get("/page")
    async def show_page_to_guest(request: Request, token: str) -> Response:
        """The version as its page will look, for a frame."""
        opened = await guest_links.open_link(request, token)
        if opened is None:
            return await _show(request, token, None)
        return HTMLResponse(opened.page, headers={**PAGE_HEADERS, **_HEADERS})

    @routes.post("/notes")
    async def add_note_of_guest(request: Request, token: str, form: FormData) -> Response:
        """Stores a guest's comment once, however often its form is sent."""
        opened = await guest_links.open_link(request, token)
        if opened is None:
            return await _show(request, token, None)
        name, words = form.text("name")[: guest_links.MAX_NAME], form.raw("words").strip()[:MAX_NOTE]
        once = form.once
        if not name or not words or not once or len(once) > _LONGEST_ONCE:
            problem = texts_of(request, None)("drafts.guests.nothing_written")
            return await _show(request, token, opened, problem, name=name, words=words)
        stored = await guest_links.add_note(
            request,
            opened.link,
            note=uuid5(NAMESPACE_URL, f"{opened.link.id}/{once}"),
            name=name,
            words=words,
            answers=form.text("answers"),
        )
        if not stored:
            problem = texts_of(request, None)("drafts.guests.too_many")
            status = HTTPStatus.TOO_MANY_REQUESTS
            return await _show(request, token, opened, problem, name=name, words=words, status=status)
        return redirect(request, f"/p/{token}#notes")

    return routes


async def _show(
    request: Request,
    token: str,
    opened: OpenedLink | None,
    problem: str = "",
    *,
    name: str = "",
    words: str = "",
    status: int = HTTPStatus.UNPROCESSABLE_ENTITY,
) -> Response:
    if opened is None:
        status = HTTPStatus.NOT_FOUND
    response = page(
        request,
        None,
        "drafts/guest.html.j2",
        status=status if problem or opened is None else HTTPStatus.OK,
        token=token,
        link=None if opened is None else opened.link,
        threads=() if opened is None else await guest_links.threads_of(request, opened.link),
        name=name or (opened.link.guest if opened else ""),
        words=words,
        refusal=problem,
    )
    response.headers.update(_HEADERS)
    return response
