"""`/recover`: signing in with a recovery code and a new password. `/me/recovery-codes`: making the codes."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from console.pages import FormData, Viewer, once, page, redirect
from console.pages.layout import texts_of
from console.pages.parts import parts_of
from console.people import store as people
from console.people.domain import LONGEST_PASSWORD, SHORTEST_PASSWORD
from console.recovery.codes import HOW_MANY, RecoveryCodes, clean_code, open_with_code
from console.sealing import token_hash
from console.sessions import store as sessions
from console.sign_in import slowing
from console.sign_in.beginning import begin_session, network, signed_in
from console.sign_in.confirming import confirm_password
from console.sign_in.passwords import lock_with_password

router = APIRouter(include_in_schema=False)
_LONGEST_NAME = 200


def _shown(request: Request, *, name: str = "", error: str | None = None, status: int = 200) -> Response:
    return page(
        request,
        None,
        "recovery/recover.html.j2",
        status,
        name=name,
        error=error,
        shortest=SHORTEST_PASSWORD,
    )


@router.get("/recover")
async def show_recover(request: Request) -> Response:
    return _shown(request)


@router.post("/recover")
async def recover(request: Request, form: FormData) -> Response:
    """Takes a code, which ends it, seals the person's own key by the new password, and ends all other sessions."""
    parts, texts = parts_of(request), texts_of(request, None)
    name, code = form.text("name")[:_LONGEST_NAME], clean_code(form.text("code")[:_LONGEST_NAME])
    password = form.raw("new_password")

    def again(error: str, status: int) -> Response:
        return _shown(request, name=name, error=error, status=status)

    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        short = texts("people.password_short", n=SHORTEST_PASSWORD)
        return again(short, HTTPStatus.UNPROCESSABLE_ENTITY)
    async with parts.connections.connection() as connection:
        if await slowing.blocked_until(connection, name, network(request)) is not None:
            return again(texts("sign_in.slowed"), HTTPStatus.TOO_MANY_REQUESTS)
        person = await people.find_by_name(connection, name)
    async with parts.connections.whole() as work:
        sealed = None
        if person is not None:
            sealed = await people.take_recovery_code(work.connection, person.id, token_hash(code))
        if person is None or sealed is None:
            await slowing.note_failure(work.connection, name, network(request))
            return again(texts("recovery.wrong"), HTTPStatus.UNAUTHORIZED)
        own_key = open_with_code(sealed, person.id, code)
        lock = await lock_with_password(parts, own_key, password)
        await people.set_lock(work.connection, person.id, lock)
        await sessions.end_sessions(work.connection, person.id)
        token = await begin_session(work.connection, request, person, own_key)
    return signed_in(redirect(request, "/me#recovery"), request, token)


@router.post("/me/recovery-codes")
async def make_codes(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Shows ten new codes, this once; the former ones end."""
    await confirm_password(request, viewer, form)
    parts = parts_of(request)

    async def act() -> Response:
        made = RecoveryCodes.generate(viewer.person.id, viewer.own_key)
        async with parts.connections.whole() as work:
            await people.replace_recovery_codes(work.connection, viewer.person.id, made.rows)
        return page(
            request,
            viewer,
            "recovery/codes.html.j2",
            codes=made.codes,
            address=parts.urls.absolute("/recover"),
            many=HOW_MANY,
        )

    return await once(request, viewer, form, act)
