"""Routes of the page about a brand's accounts, channels and targets, and of the settings of a target."""

from collections.abc import Awaitable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from client import RefusedError
from console.accounts import account_routes, views
from console.accounts.account_routes import may_ask
from console.accounts.kinds import KINDS
from console.pages import (
    Form,
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once,
    once_or_refused,
    page,
    redirect,
)
from console.pages.overtaken import is_overtaken, mark_of, stored_instead
from console.sign_in.confirming import confirm_password
from integrations.sites import SITES

NAVIGATION: Final = (NavigationEntry("accounts", "/b/{brand}/accounts", 70),)
DONE: Final = ("removed", "target_set", "target_reset")
"""What a page says was done, by the word in its address."""
_FAILED: Final = 200
"""Newest failed publications that are read, for the last one of each target."""
_LONGEST_NAME: Final = 40

router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/accounts")
async def list_accounts(request: Request, brand: str, viewer: Viewer) -> Response:
    """The brand's accounts, channels and targets, each with its state or with how it went last."""
    calls: dict[str, Awaitable[Any]] = {
        "about": viewer.orchestrator.get_brand(brand, counters=False),
        "targets": viewer.publisher.list_targets(brand),
        "failed": viewer.publisher.list_publications(brand, state="failed", newest=True, limit=_FAILED),
    }
    may_list = may_ask(viewer, Scope.READ)
    if may_list:
        calls["accounts"] = viewer.gateway.list_accounts(brand=brand)
    parts = {"accounts": None, **await viewer.gather(**calls)}
    about, targets, failed = parts["about"], parts["targets"], parts["failed"]
    channels: list[str] = about["channels"] if about else []
    posts = (await viewer.gather(posts=_newest_posts(viewer, brand, channels)))["posts"]
    return page(
        request,
        viewer,
        "accounts/list.html.j2",
        **parts,
        brand=brand,
        done=done_word(request, DONE),
        posts=posts,
        tones=views.CHANNEL_TONES,
        channels=[
            views.channel_line(each["channel"], each["posted"], each["failed"])
            for each in (posts["items"] if posts else ())
        ],
        target_lines=views.target_lines(
            about["targets"] if about else [],
            targets["items"] if targets else [],
            failed["items"] if failed else [],
        ),
        may_operate=viewer.may(Scope.OPERATE),
        lines=[views.account_line(each, brand) for each in parts["accounts"]["items"]]
        if parts["accounts"]
        else [],
        kinds=list(KINDS.values()),
        may_list=may_list,
        may_connect=may_ask(viewer, Scope.ADMIN),
    )


async def _newest_posts(viewer: PageViewer, brand: str, channels: list[str]) -> Any:
    """The newest posts of each channel; None without channels, and from a social of an earlier version."""
    if not channels:
        return None
    try:
        return await viewer.social.list_newest_posts(brand, channel=channels)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


@router.get("/b/{brand}/accounts/targets")
async def show_accounts_again(
    request: Request,
    brand: str,
    viewer: Viewer,  # noqa: ARG001  (a person has to be signed in)
) -> Response:
    """A reload after a refusal leads back to the list."""
    return redirect(request, f"/b/{brand}/accounts")


@router.get("/b/{brand}/accounts/targets/{target}")
async def show_target(request: Request, brand: str, target: str, viewer: Viewer) -> Response:
    """The settings of a target."""
    return await _target(request, brand, target, viewer)


async def _target(
    request: Request,
    brand: str,
    target: str,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    parts = await viewer.gather(targets=viewer.publisher.list_targets(brand))
    before = _settings_of(parts["targets"], target) if parts["targets"] else None
    stored = {"cover": True} | dict(before or {})
    typed = stored if form is None else views.target_settings(form)
    is_late = form is not None and is_overtaken(form, before)
    return page(
        request,
        viewer,
        "accounts/target.html.j2",
        status=status,
        **parts,
        brand=brand,
        target=target,
        refusal=refusal,
        is_set=before is not None,
        settings=typed,
        seen=mark_of(before),
        meanwhile=stored_instead(*(views.target_words(each, viewer.t) for each in (typed, stored)))
        if is_late
        else {},
        labels={each: viewer.t(f"accounts.target.{each}") for each in views.TARGET_FIELDS},
        sites=list(SITES.values()),
        profiles=views.PROFILES,
        may_operate=viewer.may(Scope.OPERATE),
    )


def _settings_of(targets: Any, target: str) -> Mapping[str, Any] | None:
    """The stored settings of a target; None if it has none of its own."""
    return next((each["settings"] for each in targets["items"] if each["target"] == target), None)


@router.post("/b/{brand}/accounts/targets")
async def add_target(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Leads to the settings of a target by its name; nothing is stored yet."""
    viewer.check_may(Scope.OPERATE)
    name = form.text("name")
    if not name or len(name) > _LONGEST_NAME or not name.replace("-", "").replace("_", "").isalnum():
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("accounts.target.bad_name"))
    return redirect(request, f"/b/{brand}/accounts/targets/{name}")


@router.post("/b/{brand}/accounts/targets/{target}")
async def set_target(request: Request, brand: str, target: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the settings of a target; they apply to articles published from then on."""
    viewer.check_may(Scope.OPERATE)
    refused = partial(_target, request, brand, target, viewer, form=form)

    async def act() -> Response:
        if is_overtaken(form, _settings_of(await viewer.publisher.list_targets(brand), target)):
            return await refused(refusal=viewer.t("layout.error.overtaken"), status=HTTPStatus.CONFLICT)
        await viewer.publisher.set_target(brand, target, extra=views.target_settings(form))
        return redirect(request, f"/b/{brand}/accounts?done=target_set")

    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/accounts/targets/{target}/remove")
async def reset_target(request: Request, brand: str, target: str, viewer: Viewer, form: FormData) -> Response:
    """Removes the settings of a target; its articles stay."""
    viewer.check_may(Scope.OPERATE)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        await viewer.publisher.delete_target(brand, target)
        return redirect(request, f"/b/{brand}/accounts?done=target_reset")

    return await once(request, viewer, form, act)


# Last, since an account's name is any word after `/accounts/`.
add_routes(router, account_routes.router)
