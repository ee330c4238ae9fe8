"""`/me`: language and time zone, password, and sessions of the signed-in person."""

from http import HTTPStatus
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.time_zones import zone_names
from console.identities import store as identities
from console.me.browsers import browser_name
from console.pages import FormData, PageViewer, Viewer, done_word, once, page, redirect
from console.pages.parts import parts_of, relying_party_of
from console.passkeys.store import list_passkeys
from console.people import store as people
from console.people.domain import LONGEST_PASSWORD, SHORTEST_PASSWORD
from console.sessions import store as sessions
from console.sign_in.confirming import confirm_password
from console.sign_in.passwords import check_password, lock_with_password
from console.texts import LANGUAGES, Texts

DONE: Final = ("linked", "unlinked")
"""What the page says was done, by the word in its address."""
router = APIRouter(include_in_schema=False)


async def _page(request: Request, viewer: PageViewer, error: str | None = None) -> Response:
    parts = parts_of(request)
    async with parts.connections.connection() as connection:
        found = await sessions.list_sessions(
            connection, viewer.person.id, idle=parts.settings.session_idle, age=parts.settings.session_age
        )
        passkeys = await list_passkeys(connection, viewer.person.id)
        identity = await identities.find_use(connection, viewer.person.id)
        codes_left = await people.count_recovery_codes(connection, viewer.person.id)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    return page(
        request,
        viewer,
        "me/me.html.j2",
        status,
        sessions=found,
        browser_in=lambda header: _browser_text(header, viewer.t),
        codes_left=codes_left,
        passkeys=passkeys,
        identity=identity,
        done=done_word(request, DONE),
        has_passkeys=relying_party_of(request) is not None,
        zones=sorted(zone_names()),
        languages=LANGUAGES,
        shortest=SHORTEST_PASSWORD,
        error=error,
    )


def _browser_text(user_agent: str, t: Texts) -> str:
    browser, system = browser_name(user_agent)
    if not browser:
        return t("me.unknown_browser")
    return t("me.browser_on", browser=browser, system=system) if system else browser


@router.get("/me")
async def show_me(request: Request, viewer: Viewer) -> Response:
    return await _page(request, viewer)


@router.post("/me")
async def change_profile(request: Request, viewer: Viewer, form: FormData) -> Response:
    language, zone = form.text("language"), form.text("zone")
    if zone not in zone_names():
        return await _page(request, viewer, viewer.t("me.zone_unknown"))
    if language not in LANGUAGES:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("layout.error.address"))
    person = viewer.person
    async with parts_of(request).connections.connection() as connection:
        await people.set_profile(connection, person.id, name=person.name, language=language, zone=zone)
    return redirect(request, "/me")


@router.post("/me/password")
async def change_password(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Seals the person's own key by another password, and ends all other sessions."""
    parts, password = parts_of(request), form.raw("new_password")
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        return await _page(request, viewer, viewer.t("people.password_short", n=SHORTEST_PASSWORD))
    if not viewer.person.has_password:
        await confirm_password(request, viewer, form)
    elif (wrong := await check_password(request, viewer.person, form.raw("password"))) is not None:
        return await _page(request, viewer, viewer.t(wrong))
    lock = await lock_with_password(parts, viewer.own_key, password)
    async with parts.connections.whole() as work:
        await people.set_lock(work.connection, viewer.person.id, lock)
        await sessions.end_sessions(work.connection, viewer.person.id, but=viewer.session.id)
    return redirect(request, "/me")


@router.post("/me/sessions/{session}/end")
async def end_session(request: Request, session: UUID, viewer: Viewer, form: FormData) -> Response:
    async def act() -> Response:
        async with parts_of(request).connections.connection() as connection:
            await sessions.end_session(connection, viewer.person.id, session)
        return redirect(request, "/me")

    return await once(request, viewer, form, act)
