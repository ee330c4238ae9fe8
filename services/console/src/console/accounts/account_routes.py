"""Routes that connect, test and remove a brand's accounts. Secrets go to the gateway; the console stores none."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from client.connections import etag_of
from console.accounts import views
from console.accounts.kinds import (
    KINDS,
    AccountKind,
    can_return_to,
    credentials_of,
    free_name,
    kind_named,
    login_result,
    missing_field,
    settings_of,
)
from console.accounts.login_cookie import PendingLogin
from console.pages import Form, FormData, PageViewer, Viewer, done_word, once, once_shown, page, redirect
from console.pages.parts import parts_of
from console.service_clients import is_away, sentence_of
from console.sign_in.confirming import confirm_password
from integrations.networks import NETWORKS

DONE: Final = (
    "connected",
    "works",
    "no_answer",
    "refused",
    "unchecked",
    "rotated",
    "app_set",
    "target_added",
    "channel_added",
)
"""What a page says was done, by the word in its address."""
TERMINAL_ADDRESS: Final = "http://127.0.0.1:8976/callback"
"""Where a log-in of `brandctl` returns to, as `docs/connect` says."""
RETURN_PATH: Final = "/accounts/logged-in"
ALL_BRANDS: Final = "*"
_LONGEST_NAME: Final = 63
_SHOWN: Final = 10
_SIGNING: Final = "webhook"
"""The kind of account whose messages are signed by a secret of this installation."""
router = APIRouter()


def check_may_ask(viewer: PageViewer, scope: Scope) -> None:
    """Raises HTTPException 403 without the scope, and for a person who is bound to brands: all brands share accounts."""
    viewer.check_may(scope)
    if viewer.person.brands is not None:
        raise HTTPException(HTTPStatus.FORBIDDEN, viewer.t("accounts.bound"))


def may_ask(viewer: PageViewer, scope: Scope) -> bool:
    return viewer.may(scope) and viewer.person.brands is None


@router.get("/b/{brand}/accounts/connect/{kind}")
async def show_connect(request: Request, brand: str, kind: str, viewer: Viewer) -> Response:
    """The form that connects an account of a kind; with `?name=`, that connects one again."""
    check_may_ask(viewer, Scope.ADMIN)
    return await _form(request, brand, _kind(viewer, kind), viewer)


def _kind(viewer: PageViewer, name: str) -> AccountKind:
    found = KINDS.get(name)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("accounts.unknown_kind"))
    return found


def _login(viewer: PageViewer, name: str) -> AccountKind:
    found = _kind(viewer, name)
    if not found.has_login:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("accounts.unknown_kind"))
    return found


def _login_kind(kind: AccountKind) -> Any:
    """Returns the name of a kind with a log-in, which the client knows as literals."""
    return kind.name


def _return_address(request: Request) -> str:
    own = parts_of(request).urls.absolute(RETURN_PATH)
    return own if can_return_to(own) else TERMINAL_ADDRESS


async def _form(
    request: Request,
    brand: str,
    kind: AccountKind,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    """The form with what was typed, but never with what is secret."""
    calls: dict[str, Awaitable[Any]] = {"accounts": viewer.gateway.list_accounts()}
    if kind.has_login:
        calls["app"] = viewer.gateway.get_account_app(_login_kind(kind))
    parts = await viewer.gather(**calls)
    listed = parts["accounts"]["items"] if parts["accounts"] else []
    asked = (form.text("name") if form else request.query_params.get("name", ""))[:_LONGEST_NAME]
    before = next((each for each in listed if (each["name"], each["kind"]) == (asked, kind.name)), None)
    known = {key: each for key, each in before["settings"].items() if each is not None} if before else {}
    return page(
        request,
        viewer,
        "accounts/connect.html.j2",
        status=status,
        **{"app": None, **parts},
        brand=brand,
        kind=kind,
        refusal=refusal,
        done=done_word(request, DONE),
        name=asked or free_name(kind.name, brand, [each["name"] for each in listed]),
        user=form.text("user") if form else "",
        typed=settings_of(kind, form) if form else known,
        client_id=form.text("client_id") if form else "",
        return_address=(form.text("return_address") if form else "") or _return_address(request),
    )


class _RefusedForm(Exception):  # noqa: N818  (the form is shown again, with this sentence)
    pass


async def _wanted(
    brand: str, kind: AccountKind, viewer: PageViewer, form: Form, *, secret: bool
) -> tuple[str, dict[str, Any]]:
    """Returns the name and what the gateway needs besides credentials. Brands and settings that an account has stay."""
    if (missing := missing_field(kind, form, secret=secret)) is not None:
        label = viewer.t.known(f"accounts.field.{missing}", missing)
        raise _RefusedForm(viewer.t("accounts.missing", field=label))
    name = form.text("name") or kind.name
    listed = (await viewer.gateway.list_accounts())["items"]
    before: Mapping[str, Any] | None = next((each for each in listed if each["name"] == name), None)
    brands = [brand] if before is None else list(before["brands"])
    if before is not None and (
        before["kind"] != kind.name or not {brand, ALL_BRANDS} & set(before["brands"])
    ):
        raise _RefusedForm(viewer.t("accounts.name_taken", name=name))
    known = {key: each for key, each in before["settings"].items() if each is not None} if before else {}
    return name, {"kind": kind.name, "brands": brands, "settings": known | settings_of(kind, form)}


async def _or_form(
    request: Request,
    brand: str,
    kind: AccountKind,
    viewer: PageViewer,
    form: Form,
    act: Callable[[], Awaitable[Response]],
) -> Response:
    """Acts once; a refusal is shown above the form."""
    try:
        return await once(request, viewer, form, act)
    except _RefusedForm as error:
        refusal, status = str(error), int(HTTPStatus.BAD_REQUEST)
    except RefusedError as error:
        if is_away(error):
            raise
        refusal, status = sentence_of(error, viewer.t), error.status
    return await _form(request, brand, kind, viewer, form=form, refusal=refusal, status=status)


@router.post("/b/{brand}/accounts/connect/{kind}")
async def connect(request: Request, brand: str, kind: str, viewer: Viewer, form: FormData) -> Response:
    """Connects an account by its key, then asks its network whether it works."""
    check_may_ask(viewer, Scope.ADMIN)
    found = _kind(viewer, kind)
    # Outside of what is stored as the answer: a generated secret is shown once, and kept nowhere.
    made: list[str] = []
    name = form.text("name") or found.name

    async def act() -> Response:
        _, wanted = await _wanted(brand, found, viewer, form, secret=True)
        answer = await viewer.gateway.connect_account(name, **wanted, credentials=credentials_of(found, form))
        if answer["secret"]:
            made.append(answer["secret"])
        return redirect(request, f"/b/{brand}/accounts/{name}?done={await _tested(viewer, name, found)}")

    response = await _or_form(request, brand, found, viewer, form, act)
    if not made:
        return response
    return page(
        request,
        viewer,
        "accounts/secret.html.j2",
        brand=brand,
        kind=found,
        secret=made[0],
        name=name,
        is_rotated=False,
    )


async def _tested(viewer: PageViewer, name: str, kind: AccountKind, before: str | None = None) -> str:
    """Has the account's own network asked; returns what came of it, one of DONE."""
    found = await viewer.gateway.check_account(name)
    if found["state"] == "needs_reconnecting":
        return "refused"
    if not kind.can_be_checked:
        return "unchecked"
    return "no_answer" if found["checked_at"] == before or found["state"] == "unchecked" else "works"


@router.post("/b/{brand}/accounts/app/{kind}")
async def set_app(request: Request, brand: str, kind: str, viewer: Viewer, form: FormData) -> Response:
    """Tells the gateway as what a network knows this installation."""
    check_may_ask(viewer, Scope.ADMIN)
    found = _login(viewer, kind)

    async def act() -> Response:
        secret = form.raw("client_secret").strip()
        given = {"client_secret": secret} if secret else {}
        await viewer.gateway.set_account_app(
            _login_kind(found), client_id=form.text("client_id"), extra=given
        )
        return redirect(request, f"/b/{brand}/accounts/connect/{found.name}?done=app_set")

    return await _or_form(request, brand, found, viewer, form, act)


@router.post("/b/{brand}/accounts/login/{kind}")
async def begin_login(request: Request, brand: str, kind: str, viewer: Viewer, form: FormData) -> Response:
    """Begins the network's log-in, and shows the link to it."""
    check_may_ask(viewer, Scope.ADMIN)
    found = _login(viewer, kind)
    name = form.text("name") or found.name

    async def act() -> Response:
        _, wanted = await _wanted(brand, found, viewer, form, secret=False)
        address = form.text("return_address") or _return_address(request)
        begun = await viewer.gateway.begin_account_login(name, redirect_uri=address, **wanted)
        return _login_page(
            request, brand, found, viewer, name=name, state=begun["state"], link=begun["authorize_url"],
            comes_back=address == parts_of(request).urls.absolute(RETURN_PATH),
        )  # fmt: skip

    response = await _or_form(request, brand, found, viewer, form, act)
    # Set for every answer, also for that of a second press, since the browser may drop the first.
    PendingLogin(brand, found.name, name).write(response, parts_of(request).urls)
    return response


def _login_page(
    request: Request,
    brand: str,
    kind: AccountKind,
    viewer: PageViewer,
    *,
    name: str,
    state: str,
    link: str = "",
    comes_back: bool = False,
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
        comes_back=comes_back,
        refusal=refusal,
    )


@router.get(RETURN_PATH)
async def show_logged_in(request: Request, viewer: Viewer) -> Response:
    """The browser comes back from the network's log-in. Nothing is done until the person says so."""
    check_may_ask(viewer, Scope.ADMIN)
    pending = PendingLogin.read(request)
    kind = None if pending is None else KINDS.get(pending.kind)
    if pending is None or kind is None or not viewer.may_see(pending.brand):
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("accounts.login.lost"))
    state = request.query_params.get("state", "")
    found = login_result(str(request.url), state)
    return page(
        request,
        viewer,
        "accounts/logged_in.html.j2",
        brand=pending.brand,
        kind=kind,
        name=pending.name,
        state=state,
        address=str(request.url) if found.code else "",
        refusal=_why_not(viewer, found.refusal),
    )


def _why_not(viewer: PageViewer, refusal: str) -> str:
    return viewer.t("accounts.login.refused", why=refusal) if refusal else viewer.t("accounts.login.other")


@router.post("/b/{brand}/accounts/login/{kind}/complete")
async def complete_login(request: Request, brand: str, kind: str, viewer: Viewer, form: FormData) -> Response:
    """Connects the account with the address that the log-in ended at."""
    check_may_ask(viewer, Scope.ADMIN)
    found = _kind(viewer, kind)
    name, state = form.text("name"), form.text("state")
    ended = login_result(form.text("address"), state)
    if not ended.code:
        refusal = _why_not(viewer, ended.refusal)
        return _login_page(
            request, brand, found, viewer, name=name, state=state, link=form.text("link"), refusal=refusal
        )

    async def act() -> Response:
        account = await viewer.gateway.complete_account_login(name, code=ended.code, state=state)
        done = {"needs_reconnecting": "refused", "unchecked": "no_answer"}.get(account["state"], "connected")
        return redirect(request, f"/b/{brand}/accounts/{name}?done={done}")

    return await _or_form(request, brand, found, viewer, form, act)


@router.get("/b/{brand}/accounts/app/{kind}")
@router.get("/b/{brand}/accounts/login/{kind}")
@router.get("/b/{brand}/accounts/login/{kind}/complete")
async def show_connect_again(request: Request, brand: str, kind: str, viewer: Viewer) -> Response:
    """A reload of a refusal, or of a log-in, leads back to the form."""
    check_may_ask(viewer, Scope.ADMIN)
    return redirect(request, f"/b/{brand}/accounts/connect/{_kind(viewer, kind).name}")


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
    check_may_ask(viewer, Scope.READ)
    account = await _of_brand(viewer, brand, name)
    parts = await viewer.gather(
        posts=viewer.social.list_brand_posts(brand, state="failed", limit=_SHOWN),
        about=viewer.orchestrator.get_brand(brand, counters=False),
    )
    posts = parts["posts"]["items"] if parts["posts"] else []
    about = parts["about"]
    return page(
        request,
        viewer,
        "accounts/account.html.j2",
        **parts,
        brand=brand,
        done=done_word(request, DONE),
        account=account,
        line=views.account_line(account, brand, posts),
        use=views.use_of(account, about["channels"], about["targets"]) if about else "",
        may_connect=may_ask(viewer, Scope.ADMIN),
        may_operate=may_ask(viewer, Scope.OPERATE),
        has_signing_secret=account["kind"] == _SIGNING,
    )


@router.post("/b/{brand}/accounts/{name}/rotate")
async def rotate_secret(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Gives a webhook another signing secret, and shows it in this answer alone. The one before signs, too, until the next one."""
    check_may_ask(viewer, Scope.ADMIN)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        account = await _of_brand(viewer, brand, name)
        made = await viewer.gateway.rotate_account_secret(name)
        return page(
            request,
            viewer,
            "accounts/secret.html.j2",
            brand=brand,
            kind=kind_named(account["kind"]),
            secret=made["secret"],
            name=name,
            is_rotated=True,
        )

    return await once_shown(request, viewer, form, act, f"/b/{brand}/accounts/{name}?done=rotated")


@router.post("/b/{brand}/accounts/{name}/test")
async def test_account(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Asks the account's own network now."""
    check_may_ask(viewer, Scope.OPERATE)
    account = await _of_brand(viewer, brand, name)

    async def act() -> Response:
        done = await _tested(viewer, name, kind_named(account["kind"]), account["checked_at"])
        return redirect(request, f"/b/{brand}/accounts/{name}?done={done}")

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/accounts/{name}/use")
async def use_account(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Adds the account to the brand's targets or channels, behind those that it has."""
    check_may_ask(viewer, Scope.OPERATE)
    account = await _of_brand(viewer, brand, name)

    async def act() -> Response:
        about = await viewer.orchestrator.get_brand(brand, counters=False)
        wanted = views.policy_with(about["policy"], account)
        await viewer.orchestrator.set_brand(
            brand, name=wanted.pop("name"), extra=wanted, if_match=etag_of(about)
        )
        done = "channel_added" if account["kind"] in NETWORKS else "target_added"
        return redirect(request, f"/b/{brand}/accounts/{name}?done={done}")

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/accounts/{name}/remove")
async def remove_account(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Removes an account and its credentials, for all brands that use it."""
    check_may_ask(viewer, Scope.ADMIN)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        await _of_brand(viewer, brand, name)
        await viewer.gateway.disconnect_account(name)
        return redirect(request, f"/b/{brand}/accounts?done=removed")

    return await once(request, viewer, form, act)
