"""`/people`: owners see, invite and remove people, and end their sessions."""

from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from client.people_keys import PER_MINUTE, key_name
from console.pages import Form, FormData, NavigationEntry, PageViewer, Viewer, once, page, redirect
from console.pages.parts import parts_of
from console.people import store
from console.people.api import LINK_GOOD_FOR
from console.people.domain import SCOPES, Role, clean_name
from console.sealing import new_token, seal, token_hash, token_key
from console.sessions import store as sessions
from console.sign_in.confirming import confirm_password
from console.team.mailing import MadeInvitation, is_address, mail_link
from console.texts import LANGUAGES

router = APIRouter(include_in_schema=False)
NAVIGATION: Final = (NavigationEntry("team", "/people", order=10, scope=Scope.ADMIN),)
MAILED_LINK_GOOD_FOR: Final = timedelta(days=1)
"""Longer than a link that is handed over: mail is read later."""
_LONGEST_NAME: Final = 80


async def _page(
    request: Request,
    viewer: PageViewer,
    made: MadeInvitation | None = None,
    *,
    form: Form | None = None,
    error: str | None = None,
) -> Response:
    async with parts_of(request).connections.connection() as connection:
        found = await store.list_people(connection)
        invitations = await store.list_invitations(connection)
    return page(
        request,
        viewer,
        "team/people.html.j2",
        HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        people=found,
        invitations=invitations,
        now=datetime.now(UTC),
        roles=list(Role),
        made=made,
        languages=LANGUAGES,
        form=form or Form([]),
        error=error,
    )


@router.get("/people")
async def show_people(request: Request, viewer: Viewer) -> Response:
    viewer.check_owner()
    return await _page(request, viewer)


@router.post("/people/invite")
async def invite(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Makes the person's API key with the owner's own, and mails the link, or shows it once."""
    viewer.check_owner()
    await confirm_password(request, viewer, form)
    name, role, brands = clean_name(form.text("name")), form.text("role"), form.all("brands")
    address = form.text("address")
    if not 1 <= len(name) <= _LONGEST_NAME or role not in list(Role):
        return await _page(request, viewer, form=form, error=viewer.t("people.name_missing"))
    if address and not is_address(address):
        return await _page(request, viewer, form=form, error=viewer.t("team.address_wrong"))
    async with parts_of(request).connections.connection() as connection:
        if await store.find_by_name(connection, name) is not None:
            return await _page(request, viewer, form=form, error=viewer.t("people.name_taken"))
    seen = frozenset(brands) if brands and role != Role.OWNER else None

    async def act() -> Response:
        await _revoke_unneeded(request, viewer)
        parts, token = parts_of(request), new_token()
        good_until = datetime.now(UTC) + (MAILED_LINK_GOOD_FOR if address else LINK_GOOD_FOR)
        make_key = partial(
            viewer.orchestrator.create_key,
            scopes=[scope.value for scope in sorted(SCOPES[Role(role)])],
            brands=None if seen is None else sorted(seen),
            per_minute=PER_MINUTE,
        )
        try:  # audit logs of the services show the key's name
            made = await make_key(name=key_name(name))
        except RefusedError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            made = await make_key(name=f"{key_name(name)}-{token_hash(token).hex()[:6]}")
        async with parts.connections.connection() as connection:
            await store.insert_invitation(
                connection,
                token_hash(token),
                person=None,
                name=name,
                role=Role(role),
                brands=seen,
                key_id=made["about"]["key_id"],
                sealed_key=seal(made["key"].encode(), token_key(token), "invitation"),
                invited_by=viewer.person.name,
                expires_at=good_until,
            )
        link = parts.urls.absolute(f"/invitations/{token}")
        if not address:
            return await _page(request, viewer, MadeInvitation(link, good_until))
        mailed = await mail_link(
            viewer,
            link,
            good_until,
            address=address,
            name=name,
            language=form.text("language"),
            installation=parts.settings.installation_name,
        )
        return await _page(request, viewer, mailed)

    return await once(request, viewer, form, act)


@router.post("/people/{person}/end-sessions")
async def end_sessions(request: Request, person: UUID, viewer: Viewer, form: FormData) -> Response:
    viewer.check_owner()

    async def act() -> Response:
        async with parts_of(request).connections.connection() as connection:
            await sessions.end_sessions(connection, person)
        return redirect(request, "/people")

    return await once(request, viewer, form, act)


@router.post("/people/{person}/remove")
async def remove(request: Request, person: UUID, viewer: Viewer, form: FormData) -> Response:
    """Revokes the person's API key and ends all their sessions; owners cannot remove themselves."""
    viewer.check_owner()
    await confirm_password(request, viewer, form)
    if person == viewer.person.id:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("team.not_yourself"))

    async def act() -> Response:
        async with parts_of(request).connections.connection() as connection:
            await store.delete_person(connection, person)
        await _revoke_unneeded(request, viewer)
        return redirect(request, "/people")

    return await once(request, viewer, form, act)


@router.post("/people/invitations/{key_id}/withdraw")
async def withdraw(request: Request, key_id: str, viewer: Viewer, form: FormData) -> Response:
    """Ends an invitation and revokes its key."""
    viewer.check_owner()

    async def act() -> Response:
        async with parts_of(request).connections.connection() as connection:
            await store.withdraw_invitation(connection, key_id)
        await _revoke_unneeded(request, viewer)
        return redirect(request, "/people")

    return await once(request, viewer, form, act)


async def _revoke(viewer: PageViewer, key_id: str) -> None:
    """Revokes a key with the owner's own, unless it is gone already."""
    try:
        await viewer.orchestrator.revoke_key(key_id)
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


async def _revoke_unneeded(request: Request, viewer: PageViewer) -> None:
    """Revokes the keys of removed people and unused invitations; the console has no key of its own to do it earlier."""
    connections = parts_of(request).connections
    async with connections.connection() as connection:
        unneeded = await store.list_keys_to_revoke(connection)
    for key_id in unneeded:
        await _revoke(viewer, key_id)
        async with connections.connection() as connection:
            await store.forget_revoked_key(connection, key_id)
