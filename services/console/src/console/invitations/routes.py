"""`/start/{token}` and `/invitations/{token}`: a person chooses a password and is signed in."""

from http import HTTPStatus
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.time_zones import zone_names
from console.invitations.accepting import accept
from console.pages import FormData, page, redirect
from console.pages.layout import texts_of
from console.pages.parts import parts_of
from console.people import store
from console.people.domain import LONGEST_PASSWORD, SHORTEST_PASSWORD, clean_name
from console.people.store import Invitation, NameTakenError
from console.sealing import new_key, token_hash
from console.sign_in.beginning import begin_session, signed_in
from console.sign_in.passwords import lock_with_password

router = APIRouter(include_in_schema=False)
_LONGEST_NAME: Final = 80


@router.get("/start/{token}")
@router.get("/invitations/{token}")
async def show_invitation(request: Request, token: str) -> Response:
    async with parts_of(request).connections.connection() as connection:
        found = await store.find_invitation(connection, token_hash(token))
    return _shown(request, found, name="" if found is None else found.name)


@router.post("/start/{token}")
@router.post("/invitations/{token}")
async def accept_invitation(request: Request, token: str, form: FormData) -> Response:
    parts, texts = parts_of(request), texts_of(request, None)
    name, password = clean_name(form.text("name")), form.raw("password")
    async with parts.connections.connection() as connection:
        found = await store.find_invitation(connection, token_hash(token))
    error = None
    if found is not None and found.person is None and not 1 <= len(name) <= _LONGEST_NAME:
        error = texts("people.name_missing")
    elif not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        error = texts("people.password_short", n=SHORTEST_PASSWORD)
    if found is None or error:
        return _shown(request, found, name=name, error=error)
    own_key = new_key()
    lock = await lock_with_password(parts, own_key, password)
    try:
        async with parts.connections.whole() as work:
            person = await accept(
                work.connection,
                request,
                token,
                own_key,
                lock=lock,
                name=name,
                zone=zone if (zone := form.text("zone")) in zone_names() else "UTC",
            )
            if person is None:  # another request was faster
                return _shown(request, None, name=name)
            session = await begin_session(work.connection, request, person, own_key)
    except NameTakenError:
        return _shown(request, found, name=name, error=texts("people.name_taken"))
    return signed_in(redirect(request, "/"), request, session)


def _shown(request: Request, found: Invitation | None, *, name: str, error: str | None = None) -> Response:
    status = HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK
    if error:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    return page(
        request,
        None,
        "people/invitation.html.j2",
        status,
        invitation=found,
        name=name,
        error=error,
        with_provider=f"{request.scope['path']}/provider",
        shortest=SHORTEST_PASSWORD,
    )
