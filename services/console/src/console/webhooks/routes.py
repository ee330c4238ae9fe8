"""Routes of the pages about a brand's webhooks: list, add, change, try, turn on and off, deliveries, send again."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from console import event_types
from console.ids import parse_id
from console.list_filters import midnight_of, read_day, read_fields
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
from console.webhooks import views
from console.webhooks.views import WebhookFields

if TYPE_CHECKING:
    from client.services.events import answers

NAVIGATION: Final = (NavigationEntry("webhooks", "/b/{brand}/webhooks", 75, Scope.OPERATE, is_rare=True),)
DONE: Final = ("saved", "removed", "enabled", "disabled", "resent", "resending", "nothing")
"""What the page says was done, by the word in its address."""
_SHOWN: Final = 20
router = APIRouter(include_in_schema=False)


def _list_path(brand: str) -> str:
    return f"/b/{brand}/webhooks"


def _path(brand: str, name: str) -> str:
    return f"/b/{brand}/webhooks/named/{name}"


@router.get("/b/{brand}/webhooks")
async def list_webhooks(request: Request, brand: str, viewer: Viewer) -> Response:
    viewer.check_may(Scope.OPERATE)
    parts = await viewer.gather(found=viewer.events.list_webhooks(brand))
    return page(
        request,
        viewer,
        "webhooks/list.html.j2",
        **parts,
        tones=views.STATE_TONES,
        done=done_word(request, DONE),
    )


@router.get("/b/{brand}/webhooks/new")
async def show_new(request: Request, brand: str, viewer: Viewer) -> Response:
    viewer.check_may(Scope.OPERATE)
    return await _new(request, brand, viewer, WebhookFields())


async def _new(
    request: Request,
    brand: str,
    viewer: PageViewer,
    fields: WebhookFields,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    accounts = await _accounts(viewer, brand)
    return page(
        request,
        viewer,
        "webhooks/new.html.j2",
        status=status,
        **_form_values(accounts, fields),
        refusal=refusal,
    )


async def _accounts(viewer: PageViewer, brand: str) -> Any:
    """The accounts of the brand; the gateway refuses keys that are bound to brands, whose people type the name."""
    return await viewer.ask_one("gateway", viewer.gateway.list_accounts(brand=brand))


def _form_values(accounts: Any, fields: WebhookFields) -> dict[str, Any]:
    listed = accounts["items"] if isinstance(accounts, dict) else []
    return {
        "accounts": accounts,
        "fields": fields,
        "choices": views.account_choices(listed, fields.account),
        "orders": views.ORDERS,
        "event_types": event_types.with_chosen(event_types.OF_BRANDS, fields.types),
    }


@router.post("/b/{brand}/webhooks/new")
async def add_webhook(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Makes a webhook; one that exists is not overwritten."""
    viewer.check_may(Scope.OPERATE)
    fields = views.typed_fields(form)

    async def act() -> Response:
        if not fields.account:
            refusal = viewer.t("webhooks.needs_account")
            return await _new(
                request, brand, viewer, fields, refusal=refusal, status=HTTPStatus.UNPROCESSABLE_ENTITY
            )
        if await _if_known(viewer, brand, fields.name):
            refusal = viewer.t("webhooks.exists", name=fields.name)
            return await _new(request, brand, viewer, fields, refusal=refusal, status=HTTPStatus.CONFLICT)
        await _store(viewer, brand, fields.name, fields)
        return redirect(request, f"{_path(brand, fields.name)}?done=saved")

    return await once_or_refused(request, viewer, form, act, partial(_new, request, brand, viewer, fields))


async def _if_known(viewer: PageViewer, brand: str, name: str) -> bool:
    try:
        await viewer.events.get_webhook(brand, name)
    except RefusedError as error:
        # A malformed name is refused when the webhook is stored.
        if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}:
            return False
        raise
    return True


async def _store(viewer: PageViewer, brand: str, name: str, fields: WebhookFields) -> None:
    await viewer.events.set_webhook(brand, name, account=fields.account, extra=views.wanted_webhook(fields))


@router.get("/b/{brand}/webhooks/named/{name}")
async def show_webhook(request: Request, brand: str, name: str, viewer: Viewer) -> Response:
    """A webhook with its backlog and what was sent last."""
    viewer.check_may(Scope.OPERATE)
    return await _webhook(request, brand, name, viewer)


async def _webhook(
    request: Request,
    brand: str,
    name: str,
    viewer: PageViewer,
    *,
    fields: WebhookFields | None = None,
    tried: "answers.WebhookTest | None" = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    # Any: the client knows the outcomes as literals.
    wanted: Any = read_fields(request.query_params, ("outcome",), choices={"outcome": views.OUTCOMES})[
        "outcome"
    ]
    parts = await viewer.gather(
        webhook=viewer.events.get_webhook(brand, name),
        deliveries=viewer.events.list_webhook_deliveries(
            brand,
            name,
            outcome=wanted or None,
            after=parse_id(request.query_params.get("after", "")),
            limit=_SHOWN,
        ),
    )
    accounts = await _accounts(viewer, brand)
    webhook = parts["webhook"]
    shown = fields or (views.fields_of(webhook) if webhook else WebhookFields(name=name))
    return page(
        request,
        viewer,
        "webhooks/webhook.html.j2",
        status=status,
        **parts,
        **_form_values(accounts, shown),
        name=name,
        tried=tried,
        refusal=refusal,
        outcome=wanted,
        outcomes=views.OUTCOMES,
        is_continued="after" in request.query_params,
        tones=views.STATE_TONES,
        outcome_tones=views.OUTCOME_TONES,
        done=done_word(request, DONE),
    )


@router.post("/b/{brand}/webhooks/named/{name}")
async def change_webhook(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the settings, unless another person changed them since the form was shown."""
    viewer.check_may(Scope.OPERATE)
    fields = views.typed_fields(form)

    async def act() -> Response:
        # One that was removed meanwhile is not made again.
        now = views.version_of(await viewer.events.get_webhook(brand, name))
        if fields.version != now:
            return await _webhook(
                request,
                brand,
                name,
                viewer,
                fields=replace(fields, version=now),
                refusal=viewer.t("layout.error.overtaken"),
                status=HTTPStatus.CONFLICT,
            )
        await _store(viewer, brand, name, fields)
        return redirect(request, f"{_path(brand, name)}?done=saved")

    return await _acting(request, brand, name, viewer, form, act, fields)


async def _acting(
    request: Request,
    brand: str,
    name: str,
    viewer: PageViewer,
    form: Form,
    act: Callable[[], Awaitable[Response]],
    fields: WebhookFields | None = None,
) -> Response:
    """Acts once; a refusal is shown on the webhook's page."""
    refused = partial(_webhook, request, brand, name, viewer, fields=fields)
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/webhooks/named/{name}/enable")
async def enable_webhook(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Turns it on; with `skip`, only what happens from now on is sent."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.events.enable_webhook(brand, name, skip_missed="skip" in form, idempotency_key=form.once)
        return redirect(request, f"{_path(brand, name)}?done=enabled")

    return await _acting(request, brand, name, viewer, form, act)


@router.post("/b/{brand}/webhooks/named/{name}/disable")
async def disable_webhook(
    request: Request, brand: str, name: str, viewer: Viewer, form: FormData
) -> Response:
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.events.disable_webhook(brand, name, idempotency_key=form.once)
        return redirect(request, f"{_path(brand, name)}?done=disabled")

    return await _acting(request, brand, name, viewer, form, act)


@router.post("/b/{brand}/webhooks/named/{name}/test")
async def try_webhook(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Sends a test event now and shows what the receiver answered."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        told = await viewer.events.test_webhook(brand, name, idempotency_key=form.once)
        return await _webhook(request, brand, name, viewer, tried=told)

    return await _acting(request, brand, name, viewer, form, act)


@router.post("/b/{brand}/webhooks/named/{name}/resend")
async def send_again(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Sends one event again (`place`), all since a day (`since`), or all that were given up."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        day, place = form.text("since"), form.text("place")
        since = read_day(day)
        if day and since is None:
            refusal = viewer.t("webhooks.no_day")
            return await _webhook(
                request, brand, name, viewer, refusal=refusal, status=HTTPStatus.UNPROCESSABLE_ENTITY
            )
        wanted: dict[str, Any] = {"dead": True}
        if since is not None:
            wanted = {"since": midnight_of(since, viewer.person.zone).isoformat()}
        elif place:
            wanted = {"places": [int(place) if place.isascii() and place.isdigit() else place]}
        told = await viewer.events.send_events_again(brand, name, extra=wanted, idempotency_key=form.once)
        word = "resending" if since is not None else ("resent" if told["resent"] else "nothing")
        return redirect(request, f"{_path(brand, name)}?done={word}")

    return await _acting(request, brand, name, viewer, form, act)


@router.post("/b/{brand}/webhooks/named/{name}/remove")
async def remove_webhook(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.events.delete_webhook(brand, name)
        return redirect(request, f"{_list_path(brand)}?done=removed")

    return await once(request, viewer, form, act)


@router.get("/b/{brand}/webhooks/named/{name}/deliveries/{delivery_id}")
async def show_delivery(
    request: Request, brand: str, name: str, delivery_id: UUID, viewer: Viewer
) -> Response:
    """What was sent, and what came back."""
    viewer.check_may(Scope.OPERATE)
    found = await viewer.events.get_webhook_delivery(brand, name, delivery_id)
    return page(
        request,
        viewer,
        "webhooks/delivery.html.j2",
        found=found,
        name=name,
        event=None if found["event"] is None else views.as_text(found["event"]),
        tones=views.OUTCOME_TONES,
    )
