"""`/sign-in` and `/sign-out`: signing in by password."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from console.pages import FormData, page, redirect
from console.pages.layout import texts_of
from console.pages.parts import parts_of
from console.pages.viewer import find_viewer
from console.people import store as people
from console.sealing import token_hash
from console.sessions import cookies
from console.sessions import store as sessions
from console.sign_in import slowing
from console.sign_in.beginning import begin_session, network, signed_in
from console.sign_in.passwords import open_with_password
from console.urls import HOME, safe_next

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def show_sign_in(request: Request, next: str = HOME) -> Response:  # noqa: A002  (the name in the address)
    if await find_viewer(request) is not None:
        return redirect(request, safe_next(next))
    return page(request, None, "sign_in/sign_in.html.j2", next_page=safe_next(next), name="", error=None)


@router.post("/sign-in")
async def sign_in(request: Request, form: FormData) -> Response:
    parts, texts = parts_of(request), texts_of(request, None)
    name, next_page = form.text("name")[:200], safe_next(form.text("next", HOME))

    def again(error: str, status: int) -> Response:
        return page(
            request, None, "sign_in/sign_in.html.j2", status, next_page=next_page, name=name, error=error
        )

    async with parts.connections.connection() as connection:
        if await slowing.blocked_until(connection, name, network(request)) is not None:
            return again(texts("sign_in.slowed"), HTTPStatus.TOO_MANY_REQUESTS)
        person = await people.find_by_name(connection, name)
        lock = None if person is None else await people.find_lock(connection, person.id)
    own_key = await open_with_password(parts, lock, form.raw("password"))
    async with parts.connections.whole() as work:
        if person is None or own_key is None:
            await slowing.note_failure(work.connection, name, network(request))
            return again(texts("sign_in.wrong"), HTTPStatus.UNAUTHORIZED)
        token = await begin_session(work.connection, request, person, own_key)
    return signed_in(redirect(request, next_page), request, token)


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    parts = parts_of(request)
    if (token := cookies.read(request, parts.urls)) is not None:
        async with parts.connections.connection() as connection:
            await sessions.end_by_token(connection, token_hash(token))
    response = redirect(request, "/sign-in")
    cookies.clear(response, parts.urls)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response
