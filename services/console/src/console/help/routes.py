"""`/help/connect/{name}`: how accounts of a kind are connected, and what is sent to them."""

from http import HTTPStatus

from fastapi import APIRouter
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from console.help.guides import guide
from console.pages import Viewer, page

router = APIRouter(include_in_schema=False)


@router.get("/help/connect/{name}")
async def show_guide(request: Request, name: str, viewer: Viewer) -> Response:
    found = guide(name)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("layout.error.not_found"))
    title, text = found
    # The documentation of this version, written by its makers, without HTML.
    return page(request, viewer, "help/guide.html.j2", title=title, text=Markup(text))  # noqa: S704
