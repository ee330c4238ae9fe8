"""Routes of the page about API keys: list, make, give another secret, revoke."""

import re
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.keys import views
from console.keys.views import KeyFields, KeyLine
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once,
    once_or_refused,
    once_shown,
    page,
    redirect,
)
from console.pages.parts import parts_of
from console.people import store as people
from console.sign_in.confirming import confirm_password

if TYPE_CHECKING:
    from client.services.orchestrator import answers

NAVIGATION: Final = (NavigationEntry("keys", "/keys", 40, Scope.ADMIN),)
DONE: Final = ("revoked", "shown", "limited")
"""What the page says was done, by the word in its address."""
_PAGE: Final = 50
_PLACE: Final = re.compile("[0-9A-Za-z]{1,20}")
router = APIRouter(include_in_schema=False)


@router.get("/keys")
async def list_keys(request: Request, viewer: Viewer) -> Response:
    """All keys without their secrets, and the form for another."""
    viewer.check_owner()
    return await _list(request, viewer)


async def _list(
    request: Request,
    viewer: PageViewer,
    *,
    fields: KeyFields | None = None,
    made: "answers.NewKeyView | None" = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    after = request.query_params.get("after", "")
    after = after if _PLACE.fullmatch(after) else ""
    parts = await viewer.gather(keys=viewer.orchestrator.list_keys(after=after, limit=_PAGE))
    keys = parts["keys"]
    names = await _people(request)
    return page(
        request,
        viewer,
        "keys/list.html.j2",
        status=status,
        **parts,
        lines=[KeyLine(each, names.get(each["key_id"])) for each in keys["items"]] if keys else [],
        after=after,
        fields=fields or KeyFields(),
        is_open=fields is not None,
        made=made,
        refusal=refusal,
        scopes=views.SCOPES,
        tones=views.STATE_TONES,
        done=done_word(request, DONE),
    )


async def _people(request: Request) -> dict[str, str]:
    """Names of people by the id of their key."""
    async with parts_of(request).connections.connection() as connection:
        return {each.key_id: each.name for each in await people.list_people(connection)}


@router.post("/keys")
async def make_key(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Makes a key and shows it in this answer alone."""
    viewer.check_owner()
    fields = views.typed_fields(form)
    if not fields.scopes:
        nothing = viewer.t("keys.allows_nothing")
        return await _list(
            request, viewer, fields=fields, refusal=nothing, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        wanted = views.wanted_key(fields, viewer.person.zone)
        made = await viewer.orchestrator.create_key(
            name=wanted.pop("name"), scopes=wanted.pop("scopes"), extra=wanted
        )
        return await _list(request, viewer, made=made)

    refused = partial(_list, request, viewer, fields=fields)
    return await once_shown(request, viewer, form, act, "/keys?done=shown", refused)


@router.post("/keys/{key_id}/rotate")
async def rotate_key(request: Request, key_id: str, viewer: Viewer, form: FormData) -> Response:
    """Gives a key another secret and shows it in this answer alone."""
    viewer.check_owner()
    await confirm_password(request, viewer, form)
    await _check_no_persons(request, viewer, key_id)
    grace = views.GRACE.get(form.text("grace"), views.GRACE["none"])

    async def act() -> Response:
        made = await viewer.orchestrator.rotate_key(key_id, grace_seconds=int(grace.total_seconds()))
        return await _list(request, viewer, made=made)

    refused = partial(_list, request, viewer)
    return await once_shown(request, viewer, form, act, "/keys?done=shown", refused)


@router.post("/keys/{key_id}/limit")
async def limit_key(request: Request, key_id: str, viewer: Viewer, form: FormData) -> Response:
    """Sets how often a key may be used in a minute; requests of the present minute count."""
    viewer.check_owner()
    await confirm_password(request, viewer, form)
    await _check_no_persons(request, viewer, key_id)

    async def act() -> Response:
        per_minute = views.wanted_limit(form.text("per_minute"))
        await viewer.orchestrator.update_key(
            key_id,
            per_minute=per_minute,  # type: ignore[arg-type]  # a text that is no number is refused there
        )
        return redirect(request, "/keys?done=limited")

    return await once_or_refused(request, viewer, form, act, partial(_list, request, viewer))


@router.post("/keys/{key_id}/revoke")
async def revoke_key(request: Request, key_id: str, viewer: Viewer, form: FormData) -> Response:
    """Revokes a key, which works nowhere from the next request on."""
    viewer.check_owner()
    await confirm_password(request, viewer, form)
    await _check_no_persons(request, viewer, key_id)

    async def act() -> Response:
        await viewer.orchestrator.revoke_key(key_id)
        return redirect(request, "/keys?done=revoked")

    return await once(request, viewer, form, act)


async def _check_no_persons(request: Request, viewer: PageViewer, key_id: str) -> None:
    """Raises HTTPException 422 for the key of a person of the console, who would be locked out."""
    name = (await _people(request)).get(key_id)
    if name is not None:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("keys.of_person", name=name))


@router.get("/keys/{key_id}/rotate")
@router.get("/keys/{key_id}/revoke")
async def show_list_again(
    request: Request,
    key_id: str,  # noqa: ARG001  (of the address)
    viewer: Viewer,  # noqa: ARG001  (a person has to be signed in)
) -> Response:
    """A reload of the page with a secret leads to the list, and changes nothing."""
    return redirect(request, "/keys")
