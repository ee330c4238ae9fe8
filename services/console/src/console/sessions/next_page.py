"""The address of the sign-in page, with the page to go on to."""

from urllib.parse import urlencode

from starlette.requests import Request

from console.urls import HOME, safe_next


def sign_in_path(request: Request, page: str = "/sign-in") -> str:
    """Returns the path of a page that goes on to the present one, or to that which its form is on."""
    path = HOME
    if request.method == "GET":
        query = f"?{request.url.query}" if request.url.query else ""
        path = safe_next(request.scope["path"] + query)
    return page if path == HOME else f"{page}?{urlencode({'next': path})}"
