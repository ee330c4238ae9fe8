"""`/b/{brand}/receipts`: what was sent to other servers, and decisions about articles in doubt there."""

from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.drafts.views import is_id
from console.pages import FormData, PageViewer, Viewer, once_or_refused, page, redirect
from console.receipts import views

_PAGE = 50
router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/receipts")
async def list_receipts(request: Request, brand: str, viewer: Viewer) -> Response:
    """The newest first, of each service; all but what arrived, or those in one state."""
    query = request.query_params
    state = views.state_of(query)
    services: dict[str, Any] = {"social": viewer.social, "publisher": viewer.publisher}
    parts = await viewer.gather(
        **{
            name: service.list_receipts(
                brand=brand, state=state or None, after=views.after_of(query, name), limit=_PAGE
            )
            for name, service in services.items()
        }
    )
    return page(
        request,
        viewer,
        "receipts/list.html.j2",
        brand=brand,
        state=state,
        states=views.STATES,
        lists={
            name: (found, [views.receipt_line(brand, name, each) for each in found["items"]] if found else [])
            for name, found in parts.items()
        },
        is_later={name: views.after_of(query, name) is not None for name in services},
    )


@router.get("/b/{brand}/receipts/{receipt_id}")
async def show_receipt(request: Request, brand: str, receipt_id: str, viewer: Viewer) -> Response:
    """An article at another place, with each attempt to put it there. A post has its own page."""
    return await _show(request, brand, receipt_id, viewer)


async def _show(
    request: Request,
    brand: str,
    receipt_id: str,
    viewer: PageViewer,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
    address: str = "",
) -> Response:
    receipt = await _receipt(viewer, brand, receipt_id)
    return page(
        request,
        viewer,
        "receipts/receipt.html.j2",
        status=status,
        brand=brand,
        receipt=receipt,
        line=views.receipt_line(brand, "publisher", receipt),
        refusal=refusal,
        address=address,
        may_review=viewer.may(Scope.REVIEW),
        may_operate=viewer.may(Scope.OPERATE),
    )


async def _receipt(viewer: PageViewer, brand: str, receipt_id: str) -> Any:
    receipt = await viewer.publisher.get_receipt(receipt_id) if is_id(receipt_id) else None
    # The key may see several brands, and this page is of one.
    if receipt is None or receipt["brand_slug"] != brand:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return receipt


@router.post("/b/{brand}/receipts/{receipt_id}/confirm")
async def confirm(request: Request, brand: str, receipt_id: str, viewer: Viewer, form: FormData) -> Response:
    """Says that the article is there: it is not sent again."""
    viewer.check_may(Scope.REVIEW)
    remote = {name: value for name in ("url", "id") if (value := form.text(name))}

    async def act() -> Response:
        await _receipt(viewer, brand, receipt_id)
        await viewer.publisher.confirm_receipt(receipt_id, remote=remote)
        return redirect(request, f"/b/{brand}/receipts/{receipt_id}")

    refused = partial(_show, request, brand, receipt_id, viewer, address=form.text("url"))
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/receipts/{receipt_id}/repeat")
async def repeat(request: Request, brand: str, receipt_id: str, viewer: Viewer, form: FormData) -> Response:
    """Has the article sent again, after a person has looked."""
    viewer.check_may(Scope.OPERATE)
    refused = partial(_show, request, brand, receipt_id, viewer)
    if "looked" not in form:
        sentence = viewer.t("receipts.look_first")
        return await refused(refusal=sentence, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    async def act() -> Response:
        await _receipt(viewer, brand, receipt_id)
        await viewer.publisher.repeat_receipt(receipt_id)
        return redirect(request, f"/b/{brand}/receipts/{receipt_id}")

    return await once_or_refused(request, viewer, form, act, refused)
