"""The address of the sign-in page, with the page to go on to."""

from urllib.parse import urlencode

from starlette.requests import Request

from console.urls import HOME, safe_next


def sign_in_path(request: Request) -> str:
    """Returns the path of the sign-in page that leads back to the present page."""
    path = HOME
    if request.method == "GET":
        query = f"?{request.url.query}" if request.url.query else ""
        path = safe_next(request.scope["path"] + query)
    return "/sign-in" if path == HOME else f"/sign-in?{urlencode({'next': path})}"
