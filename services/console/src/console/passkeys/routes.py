"""`/me/passkeys`: adding, naming and removing passkeys. `/sign-in/passkey`: signing in with one."""

from http import HTTPStatus
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chassis import Connection
from console.pages import Form, FormData, PageViewer, Viewer, once, page, redirect
from console.pages.layout import texts_of
from console.pages.parts import parts_of, relying_party_of
from console.pages.signed_out import UnsentForm, show_sign_in_form
from console.passkeys import ceremonies, store
from console.passkeys.ceremonies import PasskeyRefusedError
from console.people import store as people
from console.people.domain import Person, clean_name
from console.sealing import PRF_INPUT, SealedError
from console.sign_in.beginning import begin_session, signed_in
from console.sign_in.confirming import confirm_password
from console.sign_in.going_on import go_on
from console.urls import HOME, safe_next

router = APIRouter(include_in_schema=False)
_LONGEST_NAME: Final = 80


@router.post("/me/passkeys/add")
async def begin_to_add(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Shows the page on which the browser makes a passkey."""
    await confirm_password(request, viewer, form)
    return await _adding(request, viewer, form)


@router.post("/me/passkeys")
async def add_passkey(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Stores a passkey that the browser has made, with the person's own key sealed by it."""
    await confirm_password(request, viewer, form)
    parts, person = parts_of(request), viewer.person
    party, challenge = relying_party_of(request), ceremonies.read_bytes(form.text("challenge"))

    async def act() -> Response:
        async with parts.connections.whole() as work:
            is_asked = party is not None and await store.take_challenge(work.connection, challenge, person.id)
            refusal = viewer.t("passkeys.failed")
            if party is not None and is_asked:
                try:
                    made = ceremonies.check_registration(party, form.raw("credential"), challenge)
                    sealed = ceremonies.seal_with_passkey(
                        viewer.own_key, form.text("prf"), made.credential_id
                    )
                except PasskeyRefusedError as error:
                    refusal = viewer.t(error.text)
                else:
                    await store.insert_passkey(work.connection, person.id, _name(form, viewer), made, sealed)
                    return redirect(request, "/me#passkeys")
        return await _adding(request, viewer, form, refusal)

    return await once(request, viewer, form, act)


@router.post("/me/passkeys/{passkey}/rename")
async def rename(request: Request, passkey: UUID, viewer: Viewer, form: FormData) -> Response:
    async def act() -> Response:
        async with parts_of(request).connections.connection() as connection:
            await store.rename_passkey(connection, viewer.person.id, passkey, _name(form, viewer))
        return redirect(request, "/me#passkeys")

    return await once(request, viewer, form, act)


@router.post("/me/passkeys/{passkey}/remove")
async def remove(request: Request, passkey: UUID, viewer: Viewer, form: FormData) -> Response:
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        async with parts_of(request).connections.connection() as connection:
            await store.delete_passkey(connection, viewer.person.id, passkey)
        return redirect(request, "/me#passkeys")

    return await once(request, viewer, form, act)


@router.post("/sign-in/passkey/begin")
async def begin_to_sign_in(request: Request) -> Response:
    """Answers what the browser asks a passkey to sign."""
    party = relying_party_of(request)
    if party is None:
        return JSONResponse({}, HTTPStatus.CONFLICT)
    challenge = ceremonies.new_challenge()
    async with parts_of(request).connections.connection() as connection:
        await store.insert_challenge(connection, challenge, None)
    return JSONResponse({"challenge": ceremonies.written(challenge), "rpId": party.id})


@router.post("/sign-in/passkey")
async def sign_in_with_passkey(request: Request, form: FormData) -> Response:
    parts = parts_of(request)
    try:
        async with parts.connections.whole() as work:
            person, own_key = await _open(request, work.connection, form)
            token = await begin_session(work.connection, request, person, own_key)
    except PasskeyRefusedError as error:
        return show_sign_in_form(
            request,
            HTTPStatus.UNAUTHORIZED,
            next_page=safe_next(form.text("next", HOME)),
            error=texts_of(request, None)(error.text),
            unsent=UnsentForm.read(form),
        )
    return signed_in(go_on(request, form, person), request, token)


async def _open(request: Request, connection: Connection, form: Form) -> tuple[Person, bytes]:
    """Returns who has proved themselves, and their own key. Raises PasskeyRefusedError."""
    party, challenge = relying_party_of(request), ceremonies.read_bytes(form.text("challenge"))
    credential_id = ceremonies.read_bytes(form.text("credential_id"))
    if party is None or not await store.take_challenge(connection, challenge, None):
        raise PasskeyRefusedError("passkeys.failed")
    passkey = await store.find_passkey(connection, credential_id)
    person = None if passkey is None else await people.find_person(connection, passkey.person)
    if passkey is None or person is None:
        raise PasskeyRefusedError("passkeys.unknown")
    sign_count = ceremonies.check_authentication(
        party,
        form.raw("credential"),
        challenge,
        public_key=passkey.public_key,
        sign_count=passkey.sign_count,
    )
    try:
        own_key = ceremonies.open_with_passkey(passkey.sealed, form.text("prf"), credential_id)
    except SealedError as error:
        raise PasskeyRefusedError("passkeys.failed") from error
    await store.note_use(connection, passkey.id, sign_count)
    return person, own_key


def _name(form: Form, viewer: PageViewer) -> str:
    return clean_name(form.text("name"))[:_LONGEST_NAME] or viewer.t("passkeys.unnamed")


async def _adding(request: Request, viewer: PageViewer, form: Form, error: str | None = None) -> Response:
    """Shows the page that makes a passkey, for a challenge of its own."""
    parts, party, challenge = parts_of(request), relying_party_of(request), ceremonies.new_challenge()
    async with parts.connections.connection() as connection:
        known = await store.list_credential_ids(connection, viewer.person.id)
        if party is not None and len(known) < store.MOST_PASSKEYS:
            await store.insert_challenge(connection, challenge, viewer.person.id)
    if party is None:
        error = viewer.t("passkeys.needs_https")
    elif len(known) >= store.MOST_PASSKEYS:
        party, error = None, viewer.t("passkeys.too_many", n=store.MOST_PASSKEYS)
    options = None
    if party is not None:
        options = ceremonies.registration_options(
            party, parts.settings.installation_name, viewer.person, challenge, known
        )
    return page(
        request,
        viewer,
        "passkeys/add.html.j2",
        HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        name=_name(form, viewer),
        options=options,
        challenge=ceremonies.written(challenge),
        prf_input=PRF_INPUT,
        error=error,
    )
