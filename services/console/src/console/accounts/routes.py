"""Routes of the pages about a brand's accounts, channels and targets."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from console.accounts import views
from console.pages import Form, FormData, NavigationEntry, PageViewer, Viewer, once, page, redirect
from console.service_clients import is_away
from integrations.sites import SITES

NAVIGATION: Final = (NavigationEntry("accounts", "/b/{brand}/accounts", 70),)
DONE: Final = (
    "connected",
    "works",
    "no_answer",
    "refused",
    "unchecked",
    "removed",
    "target_set",
    "target_reset",
)
"""What a page says was done, by the word in its address."""
RETURN_ADDRESS: Final = "http://127.0.0.1:8976/callback"
"""Where a log-in returns to if the app is registered as `docs/connect` says."""
_SHOWN: Final = 100
_LONGEST_NAME: Final = 63
router = APIRouter(include_in_schema=False)


def _done(request: Request) -> str:
    told = request.query_params.get("done", "")
    return told if told in DONE else ""


@router.get("/b/{brand}/accounts")
async def list_accounts(request: Request, brand: str, viewer: Viewer) -> Response:
    """The brand's accounts, channels and targets, each with its state and its last failure."""
    parts = await viewer.gather(
        about=viewer.orchestrator.get_brand(brand),
        accounts=viewer.gateway.list_accounts(brand=brand),
        posts=viewer.social.list_brand_posts(brand, state="failed", limit=_SHOWN),
        targets=viewer.publisher.list_targets(brand),
        receipts=viewer.publisher.list_receipts(brand=brand, state="refused", limit=_SHOWN),
    )
    accounts = parts["accounts"]["items"] if parts["accounts"] else []
    posts = parts["posts"]["items"] if parts["posts"] else []
    about, targets, receipts = parts["about"], parts["targets"], parts["receipts"]
    return page(
        request,
        viewer,
        "accounts/list.html.j2",
        **parts,
        brand=brand,
        done=_done(request),
        lines=[views.account_line(each, brand, posts) for each in accounts],
        channels=views.channel_lines(about["channels"], accounts) if about and parts["accounts"] else (),
        target_lines=views.target_lines(
            about["targets"] if about else [],
            targets["items"] if targets else [],
            accounts,
            receipts["items"] if receipts else [],
        ),
        kinds=list(views.KINDS.values()),
        may_connect=viewer.may(Scope.ADMIN),
        may_operate=viewer.may(Scope.OPERATE),
    )


@router.get("/b/{brand}/accounts/connect/{kind}")
async def show_connect(request: Request, brand: str, kind: str, viewer: Viewer) -> Response:
    """The form that connects an account of a kind."""
    viewer.check_may(Scope.ADMIN)
    return await _form(request, brand, _kind(viewer, kind), viewer)


def _kind(viewer: PageViewer, name: str) -> views.AccountKind:
    found = views.KINDS.get(name)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("accounts.unknown_kind"))
    return found


async def _form(
    request: Request,
    brand: str,
    kind: views.AccountKind,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    """The form with what was typed, but never with what is secret."""
    parts = await viewer.gather(accounts=viewer.gateway.list_accounts())
    taken = [each["name"] for each in parts["accounts"]["items"]] if parts["accounts"] else []
    asked = request.query_params.get("name", "")[:_LONGEST_NAME]
    return page(
        request,
        viewer,
        "accounts/connect.html.j2",
        status=status,
        brand=brand,
        kind=kind,
        refusal=refusal,
        name=form.text("name") if form else asked or views.free_name(kind.name, brand, taken),
        user=form.text("user") if form else "",
        typed=views.settings_of(kind, form) if form else {},
        return_address=form.text("return_address", RETURN_ADDRESS) if form else RETURN_ADDRESS,
    )


class _RefusedForm(Exception):  # noqa: N818  (the form is shown again, with this sentence)
    pass


async def _wanted(
    brand: str, kind: views.AccountKind, viewer: PageViewer, form: Form, *, secret: bool
) -> tuple[str, dict[str, Any]]:
    """Returns the name and what the gateway needs besides credentials. Brands and settings that an account has stay."""
    if (missing := views.missing_field(kind, form, secret=secret)) is not None:
        label = viewer.t.known(f"accounts.field.{missing}", missing)
        raise _RefusedForm(viewer.t("accounts.missing", field=label))
    name = form.text("name") or kind.name
    listed = (await viewer.gateway.list_accounts())["items"]
    before: Mapping[str, Any] | None = next((each for each in listed if each["name"] == name), None)
    brands = [brand] if before is None else list(before["brands"])
    if before is not None and (
        before["kind"] != kind.name or not {brand, views.ALL_BRANDS} & set(before["brands"])
    ):
        raise _RefusedForm(viewer.t("accounts.name_taken", name=name))
    known = {key: each for key, each in before["settings"].items() if each is not None} if before else {}
    return name, {"kind": kind.name, "brands": brands, "settings": known | views.settings_of(kind, form)}


async def _or_form(
    request: Request,
    brand: str,
    kind: views.AccountKind,
    viewer: PageViewer,
    form: Form,
    act: Callable[[], Awaitable[Response]],
) -> Response:
    """Acts once; what is refused is said above the form."""
    try:
        return await once(request, viewer, form, act)
    except _RefusedForm as error:
        return await _form(
            request, brand, kind, viewer, form=form, refusal=str(error), status=HTTPStatus.BAD_REQUEST
        )
    except RefusedError as error:
        if is_away(error) or error.status == HTTPStatus.UNAUTHORIZED:
            raise
        refusal = str(error.problem.get("detail") or error)
        return await _form(request, brand, kind, viewer, form=form, refusal=refusal, status=error.status)


@router.post("/b/{brand}/accounts/connect/{kind}")
async def connect(request: Request, brand: str, kind: str, viewer: Viewer, form: FormData) -> Response:
    """Connects an account by its key, then asks its site whether it works."""
    viewer.check_may(Scope.ADMIN)
    found = _kind(viewer, kind)
    # Outside of what is stored as the answer: a secret is shown once, and kept nowhere.
    made: list[str] = []

    async def act() -> Response:
        name, wanted = await _wanted(brand, found, viewer, form, secret=True)
        credentials = views.credentials_of(found, form)
        answer = await viewer.gateway.connect_account(name, **wanted, credentials=credentials)
        if answer["secret"]:
            made.append(answer["secret"])
        return redirect(request, f"/b/{brand}/accounts/{name}?done={await _tested(viewer, name, found)}")

    response = await _or_form(request, brand, found, viewer, form, act)
    if not made:
        return response
    shown = page(
        request,
        viewer,
        "accounts/secret.html.j2",
        brand=brand,
        kind=found,
        secret=made[0],
        name=form.text("name"),
    )
    shown.headers["Cache-Control"] = "no-store"
    return shown


async def _tested(viewer: PageViewer, name: str, kind: views.AccountKind, before: str | None = None) -> str:
    """Has the account's own site asked; returns what came of it, one of DONE."""
    found = await viewer.gateway.check_account(name)
    if found["state"] == "needs_reconnecting":
        return "refused"
    if not kind.can_be_checked:
        return "unchecked"
    return "no_answer" if found["checked_at"] == before or found["state"] == "unchecked" else "works"


@router.post("/b/{brand}/accounts/login/{kind}")
async def begin_login(request: Request, brand: str, kind: str, viewer: Viewer, form: FormData) -> Response:
    """Begins the provider's log-in, and shows the link to it."""
    viewer.check_may(Scope.ADMIN)
    found = _kind(viewer, kind)

    async def act() -> Response:
        name, wanted = await _wanted(brand, found, viewer, form, secret=False)
        begun = await viewer.gateway.begin_account_login(
            name, redirect_uri=form.text("return_address", RETURN_ADDRESS), **wanted
        )
        return _login_page(request, brand, found, viewer, name, begun["state"], begun["authorize_url"])

    return await _or_form(request, brand, found, viewer, form, act)


def _login_page(
    request: Request,
    brand: str,
    kind: views.AccountKind,
    viewer: PageViewer,
    name: str,
    state: str,
    link: str,
    refusal: str = "",
) -> Response:
    return page(
        request,
        viewer,
        "accounts/login.html.j2",
        status=HTTPStatus.BAD_REQUEST if refusal else HTTPStatus.OK,
        brand=brand,
        kind=kind,
        name=name,
        state=state,
        link=link if link.startswith(("https://", "http://")) else "",
        refusal=refusal,
    )


@router.get("/b/{brand}/accounts/login/{kind}")
async def show_login_again(request: Request, brand: str, kind: str, viewer: Viewer) -> Response:
    """A reload of a log-in begins with the form again."""
    viewer.check_may(Scope.ADMIN)
    return redirect(request, f"/b/{brand}/accounts/connect/{_kind(viewer, kind).name}")


@router.post("/b/{brand}/accounts/login/{kind}/complete")
async def complete_login(request: Request, brand: str, kind: str, viewer: Viewer, form: FormData) -> Response:
    """Connects the account with the address that the log-in ended at."""
    viewer.check_may(Scope.ADMIN)
    found = _kind(viewer, kind)
    name, state = form.text("name"), form.text("state")
    pasted = views.pasted_login(form.text("address"), state)
    if not pasted.code:
        refusal = (
            viewer.t("accounts.login.refused", why=pasted.refusal)
            if pasted.refusal
            else viewer.t("accounts.login.other")
        )
        return _login_page(request, brand, found, viewer, name, state, form.text("link"), refusal)

    async def act() -> Response:
        account = await viewer.gateway.complete_account_login(name, code=pasted.code, state=state)
        done = "refused" if account["state"] == "needs_reconnecting" else "connected"
        return redirect(request, f"/b/{brand}/accounts/{name}?done={done}")

    return await _or_form(request, brand, found, viewer, form, act)


@router.get("/b/{brand}/accounts/login/{kind}/complete")
async def show_complete_again(request: Request, brand: str, kind: str, viewer: Viewer) -> Response:
    """A reload after a refusal begins with the form again."""
    return await show_login_again(request, brand, kind, viewer)


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
    parts = await viewer.gather(
        targets=viewer.publisher.list_targets(brand), accounts=viewer.gateway.list_accounts(brand=brand)
    )
    listed = parts["targets"]["items"] if parts["targets"] else []
    before = next((each["settings"] for each in listed if each["target"] == target), None)
    accounts = parts["accounts"]["items"] if parts["accounts"] else []
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
        settings={"cover": True} | dict(before or {}) if form is None else views.target_settings(form),
        sites=list(SITES.values()),
        choices=[each["name"] for each in accounts if each["kind"] in SITES],
        profiles=views.PROFILES,
        may_operate=viewer.may(Scope.OPERATE),
    )


@router.post("/b/{brand}/accounts/targets")
async def add_target(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Leads to the settings of a target by its name; nothing is stored yet."""
    viewer.check_may(Scope.OPERATE)
    name = form.text("name")[:_LONGEST_NAME]
    if not name or "/" in name or "?" in name or "#" in name:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("accounts.target.bad_name"))
    return redirect(request, f"/b/{brand}/accounts/targets/{name}")


@router.post("/b/{brand}/accounts/targets/{target}")
async def set_target(request: Request, brand: str, target: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the settings of a target; they apply to articles published from then on."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.publisher.set_target(brand, target, extra=views.target_settings(form))
        return redirect(request, f"/b/{brand}/accounts?done=target_set")

    try:
        return await once(request, viewer, form, act)
    except RefusedError as error:
        if is_away(error) or error.status == HTTPStatus.UNAUTHORIZED:
            raise
        refusal = str(error.problem.get("detail") or error)
        return await _target(request, brand, target, viewer, form=form, refusal=refusal, status=error.status)


@router.post("/b/{brand}/accounts/targets/{target}/remove")
async def reset_target(request: Request, brand: str, target: str, viewer: Viewer, form: FormData) -> Response:
    """Removes the settings of a target; its articles stay."""
    viewer.check_may(Scope.OPERATE)
    viewer.check_confirmed()

    async def act() -> Response:
        await viewer.publisher.delete_target(brand, target)
        return redirect(request, f"/b/{brand}/accounts?done=target_reset")

    return await once(request, viewer, form, act)


@router.get("/b/{brand}/accounts/targets/{target}/remove")
async def show_target_again(request: Request, brand: str, target: str, viewer: Viewer) -> Response:  # noqa: ARG001
    """Whoever has given the password again comes back here."""
    return redirect(request, f"/b/{brand}/accounts/targets/{target}")


async def _of_brand(viewer: PageViewer, brand: str, name: str) -> Mapping[str, Any]:
    """Returns an account that the brand may use; others are not found."""
    listed = (await viewer.gateway.list_accounts(brand=brand))["items"]
    found = next((each for each in listed if each["name"] == name), None)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("accounts.unknown", name=name))
    return found


@router.get("/b/{brand}/accounts/{name}")
async def show_account(request: Request, brand: str, name: str, viewer: Viewer) -> Response:
    """An account: its state, its last failure, and what can be done."""
    account = await _of_brand(viewer, brand, name)
    parts = await viewer.gather(posts=viewer.social.list_brand_posts(brand, state="failed", limit=_SHOWN))
    posts = parts["posts"]["items"] if parts["posts"] else []
    return page(
        request,
        viewer,
        "accounts/account.html.j2",
        **parts,
        brand=brand,
        done=_done(request),
        account=account,
        line=views.account_line(account, brand, posts),
        may_connect=viewer.may(Scope.ADMIN),
        may_operate=viewer.may(Scope.OPERATE),
    )


@router.post("/b/{brand}/accounts/{name}/test")
async def test_account(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Asks the account's own site now."""
    viewer.check_may(Scope.OPERATE)
    account = await _of_brand(viewer, brand, name)

    async def act() -> Response:
        kind = views.kind_named(account["kind"])
        done = await _tested(viewer, name, kind, account["checked_at"])
        return redirect(request, f"/b/{brand}/accounts/{name}?done={done}")

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/accounts/{name}/remove")
async def remove_account(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Removes an account and its credentials, for all brands that use it."""
    viewer.check_may(Scope.ADMIN)
    viewer.check_confirmed()

    async def act() -> Response:
        await _of_brand(viewer, brand, name)
        await viewer.gateway.disconnect_account(name)
        return redirect(request, f"/b/{brand}/accounts?done=removed")

    return await once(request, viewer, form, act)


@router.get("/b/{brand}/accounts/{name}/{verb}")
async def show_account_again(
    request: Request,
    brand: str,
    name: str,
    verb: str,  # noqa: ARG001  (every form leads back)
    viewer: Viewer,  # noqa: ARG001  (a person has to be signed in)
) -> Response:
    """Whoever has given the password again, or reloads a refusal, comes back here."""
    return redirect(request, f"/b/{brand}/accounts/{name}")
