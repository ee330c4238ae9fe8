"""`/sign-in` and `/sign-out`: signing in by password."""

from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from console.pages import FormData, redirect
from console.pages.layout import texts_of
from console.pages.parts import parts_of
from console.pages.signed_out import UnsentForm, show_sign_in_form
from console.pages.viewer import find_viewer
from console.people import store as people
from console.sealing import token_hash
from console.sessions import cookies
from console.sessions import store as sessions
from console.sign_in import slowing
from console.sign_in.beginning import begin_session, network, signed_in
from console.sign_in.going_on import go_on
from console.sign_in.passwords import PasswordRefusedError, open_own_key, open_with_password
from console.texts import Texts
from console.urls import HOME, safe_next

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def show_sign_in(request: Request, next: str = HOME) -> Response:  # noqa: A002  (the name in the address)
    if await find_viewer(request) is not None:
        return redirect(request, safe_next(next))
    return show_sign_in_form(request, HTTPStatus.OK, next_page=safe_next(next))


@router.post("/sign-in")
async def sign_in(request: Request, form: FormData) -> Response:
    """Signs in and redirects to the next page, or shows the form that was sent after the session had ended."""
    parts, texts = parts_of(request), texts_of(request, None)
    name, next_page = form.text("name")[:200], safe_next(form.text("next", HOME))
    unsent = UnsentForm.read(form)

    def again(error: str, status: int) -> Response:
        return show_sign_in_form(request, status, next_page=next_page, name=name, error=error, unsent=unsent)

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
    return signed_in(go_on(request, form, person), request, token)


@router.get("/session")
async def check_session(request: Request, person: UUID) -> Response:
    """Answers 204 if the tab's person is signed in, 401 without a session or with another person's."""
    viewer = await find_viewer(request, touch=False)
    lasts = viewer is not None and viewer.person.id == person
    return Response(status_code=HTTPStatus.NO_CONTENT if lasts else HTTPStatus.UNAUTHORIZED)


@router.post("/sign-in/again")
async def sign_in_again(request: Request, form: FormData) -> Response:
    """Signs the tab's person in without leaving the page; a refusal is a plain sentence."""
    parts = parts_of(request)
    try:
        person_id = UUID(form.text("person"))
    except ValueError:
        return PlainTextResponse(texts_of(request, None)("layout.error.address"), HTTPStatus.BAD_REQUEST)
    async with parts.connections.connection() as connection:
        person = await people.find_person(connection, person_id)
    if person is None:
        return PlainTextResponse(texts_of(request, None)("sign_in.removed"), HTTPStatus.UNAUTHORIZED)
    try:
        own_key = await open_own_key(request, person, form.raw("password"))
    except PasswordRefusedError as error:
        return PlainTextResponse(Texts(parts.texts, person.language)(error.text), error.status)
    async with parts.connections.whole() as work:
        token = await begin_session(work.connection, request, person, own_key)
    return signed_in(Response(status_code=HTTPStatus.NO_CONTENT), request, token)


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
