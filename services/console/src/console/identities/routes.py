"""`/sign-in/provider` and `/sign-in/callback`: signing in, accepting an invitation and confirming at the identity provider.

The provider is reached by links, as the content policy lets no form lead to another site.
"""

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.identities import store
from console.identities.store import IdentityTakenError
from console.identity_provider import attempts
from console.identity_provider.attempts import Attempt, Purpose
from console.identity_provider.client import ProvenIdentity, ProviderRefusedError
from console.invitations.accepting import accept
from console.pages import FormData, Viewer, once, page, redirect
from console.pages.layout import texts_of
from console.pages.parts import parts_of
from console.pages.signed_out import show_sign_in_form
from console.pages.viewer import CONFIRMED_FOR, find_viewer
from console.people import store as people
from console.people.store import NameTakenError
from console.sealing import SealedError, new_key
from console.sessions import store as sessions
from console.sessions.next_page import sign_in_path
from console.sign_in import slowing
from console.sign_in.beginning import begin_session, network, signed_in
from console.sign_in.confirming import confirm_password
from console.urls import HOME

router = APIRouter(include_in_schema=False)
_SKEW: Final = timedelta(minutes=1)
_LONGEST: Final = 2_000


@router.get("/sign-in/provider")
async def begin_to_sign_in(request: Request, next: str = HOME) -> Response:  # noqa: A002  (the name in the address)
    return await _leave(request, Purpose.SIGN_IN, next_page=next)


@router.get("/sign-in/provider/confirm")
async def begin_to_confirm(request: Request) -> Response:
    """For a person without a password, in a tab beside the form that asks."""
    if await find_viewer(request) is None:
        return redirect(request, sign_in_path(request))
    return await _leave(request, Purpose.CONFIRM)


@router.get("/start/{token}/provider")
@router.get("/invitations/{token}/provider")
async def begin_to_accept(request: Request, token: str) -> Response:
    return await _leave(request, Purpose.ACCEPT, invitation=token[:100])


@router.get("/sign-in/callback")
async def come_back(
    request: Request, state: str = "", code: str = "", iss: str = "", error: str = ""
) -> Response:
    """Takes the code only in the browser that began, once, and from the issuer that it was begun at."""
    urls = parts_of(request).urls
    attempt = Attempt.read(request, urls, state[:_LONGEST])
    if attempt is None:
        return _refused(request, "identities.not_begun", HTTPStatus.BAD_REQUEST)
    if iss and iss != attempt.issuer:
        response = _refused(request, "identities.refused", HTTPStatus.BAD_REQUEST)
    elif error or not code or len(code) > _LONGEST:
        # What the provider says of it could be anybody's words.
        response = _refused(request, "identities.cancelled", HTTPStatus.UNAUTHORIZED)
    else:
        try:
            response = await _finish(request, attempt, code)
        except ProviderRefusedError as refusal:
            response = _refused(request, refusal.text, refusal.status)
    attempts.forget(response, urls, attempt.state)
    return response


async def _leave(
    request: Request, purpose: Purpose, *, next_page: str = HOME, invitation: str = ""
) -> Response:
    parts = parts_of(request)
    try:
        issuer = (await parts.provider.describe())["issuer"]
        attempt = Attempt.begin(issuer, purpose, next_page=next_page, invitation=invitation)
        response = RedirectResponse(await parts.provider.address(attempt), HTTPStatus.SEE_OTHER)
    except ProviderRefusedError as refusal:
        return _refused(request, refusal.text, refusal.status)
    attempt.write(request, response, parts.urls)
    return response


async def _finish(request: Request, attempt: Attempt, code: str) -> Response:
    """Raises ProviderRefusedError."""
    parts = parts_of(request)
    async with parts.connections.connection() as connection:
        if await slowing.is_network_blocked(connection, network(request)):
            raise ProviderRefusedError("sign_in.slowed", HTTPStatus.TOO_MANY_REQUESTS)
    try:
        proven = await parts.provider.exchange(attempt, code)
        match attempt.purpose:
            case Purpose.SIGN_IN:
                return await _sign_in(request, attempt, proven)
            case Purpose.ACCEPT:
                return await _accept(request, attempt, proven)
            case Purpose.CONFIRM:
                return await _confirm(request, proven)
            case Purpose.LINK:
                return await _link(request, attempt, proven)
    except ProviderRefusedError as refusal:
        if refusal.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            async with parts.connections.connection() as connection:
                await slowing.note_network_failure(connection, network(request))
        raise


async def _sign_in(request: Request, attempt: Attempt, proven: ProvenIdentity) -> Response:
    parts = parts_of(request)
    async with parts.connections.whole() as work:
        found = await store.find_identity(work.connection, proven.issuer, proven.subject)
        person = None if found is None else await people.find_person(work.connection, found.person)
        if found is None or person is None:
            raise ProviderRefusedError("identities.unknown", HTTPStatus.FORBIDDEN)
        token = await begin_session(
            work.connection,
            request,
            person,
            _opened(proven, found.sealed),
            confirmed_at=proven.authenticated_at,
            ends_at=_end(request),
        )
    return signed_in(redirect(request, attempt.next_page), request, token)


async def _accept(request: Request, attempt: Attempt, proven: ProvenIdentity) -> Response:
    """Makes the invited person, or gives a person another way in; there is no password then."""
    own_key = new_key()
    sealed = proven.seal(own_key)
    try:
        async with parts_of(request).connections.whole() as work:
            person = await accept(work.connection, request, attempt.invitation, own_key)
            if person is None:
                return redirect(request, f"/invitations/{attempt.invitation}")
            await store.put_identity(work.connection, person.id, proven.issuer, proven.subject, sealed)
            token = await begin_session(
                work.connection,
                request,
                person,
                own_key,
                confirmed_at=proven.authenticated_at,
                ends_at=_end(request),
            )
    except NameTakenError:
        raise ProviderRefusedError("people.name_taken", HTTPStatus.CONFLICT) from None
    except IdentityTakenError:
        raise ProviderRefusedError("identities.taken", HTTPStatus.CONFLICT) from None
    return signed_in(redirect(request, HOME), request, token)


async def _link(request: Request, attempt: Attempt, proven: ProvenIdentity) -> Response:
    """Lets the signed-in person in with the account, too; it replaces a former one. The password stays."""
    viewer = await find_viewer(request)
    if viewer is None:
        return redirect(request, "/sign-in")
    # The cookie of the attempt is no proof: who has the browser can write it.
    if attempt.person != str(viewer.person.id) or not viewer.is_confirmed:
        raise ProviderRefusedError("identities.link_again", HTTPStatus.FORBIDDEN)
    try:
        async with parts_of(request).connections.connection() as connection:
            await store.put_identity(
                connection, viewer.person.id, proven.issuer, proven.subject, proven.seal(viewer.own_key)
            )
    except IdentityTakenError:
        raise ProviderRefusedError("identities.taken", HTTPStatus.CONFLICT) from None
    return redirect(request, "/me?done=linked#identity")


@router.post("/me/identity")
async def begin_to_link(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Shows the link to the provider. A link elsewhere cannot begin this: it could lead to an account that is not the person's."""
    await confirm_password(request, viewer, form)
    parts = parts_of(request)
    try:
        issuer = (await parts.provider.describe())["issuer"]
        attempt = Attempt.begin(issuer, Purpose.LINK, person=str(viewer.person.id))
        address = await parts.provider.address(attempt)
    except ProviderRefusedError as refusal:
        name = parts.provider.name or "OpenID Connect"
        raise HTTPException(refusal.status, viewer.t(refusal.text, provider=name)) from None
    response = page(request, viewer, "identities/link.html.j2", address=address)
    attempt.write(request, response, parts.urls)
    return response


@router.post("/me/identity/remove")
async def unlink(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Lets the person in by password alone."""
    if not viewer.person.has_password:
        raise HTTPException(HTTPStatus.CONFLICT, viewer.t("identities.only_way"))
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        async with parts_of(request).connections.connection() as connection:
            await store.remove_identity(connection, viewer.person.id)
        return redirect(request, "/me?done=unlinked#identity")

    return await once(request, viewer, form, act)


async def _confirm(request: Request, proven: ProvenIdentity) -> Response:
    viewer = await find_viewer(request)
    if viewer is None:
        return redirect(request, "/sign-in")
    then = proven.authenticated_at
    async with parts_of(request).connections.connection() as connection:
        found = await store.find_identity(connection, proven.issuer, proven.subject)
        if found is None or found.person != viewer.person.id:
            raise ProviderRefusedError("identities.somebody_else", HTTPStatus.FORBIDDEN)
        if then is not None and datetime.now(UTC) - then > CONFIRMED_FOR + _SKEW:
            raise ProviderRefusedError("identities.not_again", HTTPStatus.FORBIDDEN)
        await sessions.confirm_session(connection, viewer.session.id)
    return page(request, viewer, "identities/confirmed.html.j2")


def _opened(proven: ProvenIdentity, sealed: bytes) -> bytes:
    try:
        return proven.unseal(sealed)
    except SealedError:  # the gateway's secret is another than it was
        raise ProviderRefusedError("identities.changed", HTTPStatus.FORBIDDEN) from None


def _end(request: Request) -> datetime:
    return datetime.now(UTC) + timedelta(hours=parts_of(request).settings.oidc_session_hours)


def _refused(request: Request, text: str, status: int) -> Response:
    texts = texts_of(request, None)
    return show_sign_in_form(
        request, status, error=texts(text, provider=parts_of(request).provider.name or "OpenID Connect")
    )
