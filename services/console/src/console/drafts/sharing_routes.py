"""`/b/{brand}/drafts/{content_id}/…`: notes beside a draft, and links for guests."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import ClientError, RefusedError
from console.drafts import guest_links, notes
from console.drafts.showing import find_draft, refusals_shown, show_draft, version_of
from console.drafts.views import is_id
from console.pages import FormData, PageViewer, Viewer, once, redirect
from console.pages.parts import parts_of
from console.service_clients import is_away


def add_notes(routes: APIRouter) -> None:
    @routes.post("/notes")
    async def add_note(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Adds a note, or an answer to one. All people who may see the brand may write notes."""
        await find_draft(viewer, brand, content_id)

        async def act() -> Response:
            words = form.raw("words").strip()[: notes.MAX_NOTE]
            if words:
                await notes.add(
                    request, brand=brand, content_id=content_id, person=viewer.person, words=words,
                    answers=form.text("answers"),
                )  # fmt: skip
            return redirect(request, f"/b/{brand}/drafts/{content_id}#notes")

        return await once(request, viewer, form, act)

    @routes.post("/notes/{note}/settle")
    async def settle_note(
        request: Request, brand: str, content_id: str, note: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Marks a thread as settled, or opens it again."""
        await find_draft(viewer, brand, content_id)

        async def act() -> Response:
            if is_id(note):
                await notes.settle(request, content_id=content_id, note=note, is_settled="open" not in form)
            return redirect(request, f"/b/{brand}/drafts/{content_id}#notes")

        return await once(request, viewer, form, act)


def add_guest_links(routes: APIRouter) -> None:
    @routes.post("/guests")
    async def make_guest_link(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Makes a link for a guest without an account; the answer shows it, this once."""
        viewer.check_may(Scope.REVIEW)
        await find_draft(viewer, brand, content_id)
        version, guest = version_of(form), form.text("guest")[: guest_links.MAX_NAME]

        async def act() -> Response:
            address, problem = await _made_link(request, brand, content_id, viewer, version, guest)
            return await show_draft(
                request, brand, content_id, viewer, refusal=problem, guest_address=address,
                status=HTTPStatus.UNPROCESSABLE_ENTITY,
            )  # fmt: skip

        return await once(request, viewer, form, refusals_shown(request, brand, content_id, viewer, act))

    @routes.post("/guests/{link}/withdraw")
    async def withdraw_guest_link(
        request: Request, brand: str, content_id: str, link: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Ends a link at once; what its guest wrote stays."""
        viewer.check_may(Scope.REVIEW)
        await find_draft(viewer, brand, content_id)

        async def act() -> Response:
            if is_id(link):
                await guest_links.withdraw(request, content_id=content_id, link=link)
            return redirect(request, f"/b/{brand}/drafts/{content_id}#guests")

        return await once(request, viewer, form, act)


async def _made_link(
    request: Request, brand: str, content_id: str, viewer: PageViewer, version: int, guest: str
) -> tuple[str, str | None]:
    """Makes a link; returns its address, or an empty one with the reason."""
    if not guest:
        return "", viewer.t("drafts.guests.no_name")
    try:
        document = await viewer.publisher.get_draft_page(brand, content_id, version=version)
    except ClientError as error:
        if isinstance(error, RefusedError) and not is_away(error):
            raise
        return "", viewer.t("drafts.page.missing")
    if len(document) > guest_links.MAX_PAGE:
        return "", viewer.t("drafts.guests.too_large")
    try:
        token = await guest_links.make(
            request, brand=brand, content_id=content_id, version=version, guest=guest,
            person=viewer.person, document=document,
        )  # fmt: skip
    except guest_links.TooManyLinksError:
        return "", viewer.t("drafts.guests.too_many_links", n=guest_links.MOST_OF_DRAFT)
    return parts_of(request).urls.absolute(f"/p/{token}"), None
