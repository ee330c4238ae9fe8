"""Error pages: every error says what was wrong and what to do."""

from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from chassis.database.pool import DatabaseUnavailableError
from client import ClientError, RefusedError
from console.pages.layout import page, redirect, texts_of
from console.pages.parts import parts_of
from console.pages.signed_out import show_signed_out
from console.pages.viewer import PageViewer, PasswordNeededError, SignInNeededError
from console.sealing import PRF_INPUT
from console.service_clients import is_away, sentence_of
from console.sessions import cookies
from console.sessions.next_page import sign_in_path


def add_error_pages(app: FastAPI) -> None:
    app.add_exception_handler(SignInNeededError, _sign_in)
    app.add_exception_handler(PasswordNeededError, _confirm)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(ClientError, _service_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(DatabaseUnavailableError, _database_away)
    app.add_exception_handler(Exception, _failed)


def _viewer(request: Request) -> PageViewer | None:
    return getattr(request.state, "viewer", None)


def _error(request: Request, status: int, detail: str) -> Response:
    return page(request, _viewer(request), "layout/error.html.j2", status, detail=detail)


async def _sign_in(request: Request, _: Exception) -> Response:
    if request.headers.get("hx-request") == "true" or request.method != "GET":
        return await show_signed_out(request)
    return redirect(request, sign_in_path(request))


async def _confirm(request: Request, error: Exception) -> Response:
    assert isinstance(error, PasswordNeededError)
    viewer = _viewer(request)
    return page(
        request,
        viewer,
        "sign_in/confirm.html.j2",
        error.status_code,
        fields=error.fields,
        offers_passkey=error.offers_passkey,
        prf_input=PRF_INPUT,
        error=texts_of(request, viewer)(error.error) if error.error else None,
    )


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (above := _page_above(request)):
        return redirect(request, above)
    texts = texts_of(request, _viewer(request))
    unknown = error.status_code == HTTPStatus.NOT_FOUND and error.detail == HTTPStatus.NOT_FOUND.phrase
    return _error(request, error.status_code, texts("layout.error.not_found") if unknown else error.detail)


def _page_above(request: Request) -> str | None:
    """The page that a form's address stands below: a refused form is answered at its own, where a person may reload."""
    path: str = request.scope["path"]
    while request.method == "GET" and path != "/":
        path = path.rpartition("/")[0] or "/"
        scope = {**request.scope, "path": path, "raw_path": path.encode()}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes):
            return path
    return None


async def _service_error(request: Request, error: Exception) -> Response:
    texts = texts_of(request, _viewer(request))
    if not isinstance(error, RefusedError) or is_away(error):
        return _error(request, HTTPStatus.SERVICE_UNAVAILABLE, texts("layout.error.away"))
    if error.status == HTTPStatus.UNAUTHORIZED and error.service == "orchestrator":
        # The key was revoked, so the person is out.
        response = redirect(request, "/sign-in")
        cookies.clear(response, parts_of(request).urls)
        return response
    return _error(request, error.status, sentence_of(error, texts))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    texts = texts_of(request, _viewer(request))
    return _error(request, HTTPStatus.UNPROCESSABLE_ENTITY, texts("layout.error.address"))


async def _database_away(request: Request, _: Exception) -> Response:
    texts = texts_of(request, _viewer(request))
    return _error(request, HTTPStatus.SERVICE_UNAVAILABLE, texts("layout.error.database"))


async def _failed(request: Request, _: Exception) -> Response:
    texts = texts_of(request, _viewer(request))
    return _error(request, HTTPStatus.INTERNAL_SERVER_ERROR, texts("layout.error.failed"))
