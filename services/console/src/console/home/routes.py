"""`/`: the person's brands."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from console.pages import Viewer, page

router = APIRouter(include_in_schema=False)


@router.get("/")
async def show_home(request: Request, viewer: Viewer) -> Response:
    return page(request, viewer, "home/brands.html.j2")
