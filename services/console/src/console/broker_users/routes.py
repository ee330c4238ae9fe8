"""Routes of the pages about users at the broker: list, make, new password, remove, what was refused."""

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.broker_users import views
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    once_shown,
    page,
    redirect,
)
from console.pages.parts import parts_of
from console.people import store as people
from console.sign_in.confirming import confirm_password

if TYPE_CHECKING:
    from client.services.monitor import answers

LIST: Final = "/broker-users"
NAVIGATION: Final = (NavigationEntry("broker_users", LIST, 30, Scope.OPERATE),)
DONE: Final = ("shown", "removed")
"""What the page says was done, by the word in its address."""
_MOST_KEYS: Final = 200
router = APIRouter(include_in_schema=False)


def _check_may_see(viewer: PageViewer) -> None:
    """Raises HTTPException 403 for people who do not operate all brands."""
    viewer.check_may(Scope.OPERATE)
    if viewer.person.brands is not None:
        raise HTTPException(HTTPStatus.FORBIDDEN, viewer.t("broker_users.all_brands"))


def _check_may_change(viewer: PageViewer) -> None:
    _check_may_see(viewer)
    viewer.check_owner()


@router.get(LIST)
async def list_users(request: Request, viewer: Viewer) -> Response:
    """The users with what each may do, where they connect, and the form for another."""
    _check_may_see(viewer)
    return await _list(request, viewer)


async def _list(
    request: Request,
    viewer: PageViewer,
    *,
    made: "answers.BrokerCredentials | None" = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    parts = await viewer.gather(found=viewer.monitor.list_broker_users())
    found = parts["found"]
    keys = await _keys(viewer)
    by_id = {each["key_id"]: each for each in keys}
    users = found["items"] if found else []
    return page(
        request,
        viewer,
        "broker_users/list.html.j2",
        status=status,
        **parts,
        lines=[views.user_line(each["user"], each["key_id"], by_id.get(each["key_id"])) for each in users],
        offered=views.keys_without_user(
            keys, {each["key_id"] for each in users} | (await _people(request)).keys()
        ),
        example=views.example_of(found["address"], found["exchange"], found["routing_key"]) if found else "",
        tones=views.TONES,
        made=made,
        refusal=refusal,
        done=done_word(request, DONE),
    )


async def _keys(viewer: PageViewer) -> list[Any]:
    """The newest keys, for those who may see them; others see the ids of keys."""
    if not viewer.person.is_owner:
        return []
    keys = await viewer.ask_one("orchestrator", viewer.orchestrator.list_keys(limit=_MOST_KEYS))
    return list(keys["items"]) if isinstance(keys, dict) else []


async def _people(request: Request) -> dict[str, str]:
    """Names of people by the id of their key, which is for the console alone."""
    async with parts_of(request).connections.connection() as connection:
        return {each.key_id: each.name for each in await people.list_people(connection)}


@router.post(LIST)
async def add_user(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Makes the user of a key, and shows its password in this answer alone."""
    _check_may_change(viewer)
    await confirm_password(request, viewer, form)
    if (name := (await _people(request)).get(form.text("key_id"))) is not None:
        refusal = viewer.t("broker_users.of_person", name=name)
        return await _list(request, viewer, refusal=refusal, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    async def act() -> Response:
        made = await viewer.monitor.add_broker_user(key_id=form.text("key_id"))
        return await _list(request, viewer, made=made)

    return await once_shown(request, viewer, form, act, f"{LIST}?done=shown", partial(_list, request, viewer))


@router.get(f"{LIST}/{{key_id}}")
async def show_user(request: Request, key_id: str, viewer: Viewer) -> Response:
    """A user, and its last commands that were refused, with the reasons."""
    _check_may_see(viewer)
    return await _user(request, key_id, viewer)


async def _user(
    request: Request,
    key_id: str,
    viewer: PageViewer,
    *,
    made: "answers.BrokerCredentials | None" = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    parts = await viewer.gather(found=viewer.monitor.list_broker_users())
    users = parts["found"]["items"] if parts["found"] else []
    user = next((each for each in users if each["key_id"] == key_id), None)
    if parts["found"] and user is None and not refusal:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("broker_users.unknown"))
    by_id = {each["key_id"]: each for each in await _keys(viewer)}
    refused = None
    if viewer.person.is_owner:
        refused = await viewer.ask_one("orchestrator", viewer.orchestrator.list_refused_commands(key_id))
    return page(
        request,
        viewer,
        "broker_users/user.html.j2",
        status=status,
        **parts,
        key_id=key_id,
        line=None if user is None else views.user_line(user["user"], key_id, by_id.get(key_id)),
        refused=refused,
        tones=views.TONES,
        made=made,
        refusal=refusal,
        done=done_word(request, DONE),
    )


@router.post(f"{LIST}/{{key_id}}/renew")
async def renew_password(request: Request, key_id: str, viewer: Viewer, form: FormData) -> Response:
    """Gives a user another password and shows it in this answer alone."""
    _check_may_change(viewer)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        made = await viewer.monitor.rotate_broker_user(key_id)
        return await _user(request, key_id, viewer, made=made)

    refused = partial(_user, request, key_id, viewer)
    return await once_shown(request, viewer, form, act, f"{LIST}/{key_id}?done=shown", refused)


@router.post(f"{LIST}/{{key_id}}/remove")
async def remove_user(request: Request, key_id: str, viewer: Viewer, form: FormData) -> Response:
    """Removes a user and closes its connections."""
    _check_may_change(viewer)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        await viewer.monitor.remove_broker_user(key_id)
        return redirect(request, f"{LIST}?done=removed")

    return await once_or_refused(request, viewer, form, act, partial(_user, request, key_id, viewer))
