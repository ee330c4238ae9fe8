"""Routes of the pages about money: of a brand, and of all brands together."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.money import views
from console.pages import (
    Form,
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    page,
    redirect,
)
from console.pages.overtaken import is_overtaken, mark_of, stored_instead

NAVIGATION: Final = (
    NavigationEntry("money", "/b/{brand}/money", 110, is_rare=True),
    NavigationEntry("money", "/money", 5),
)
DONE: Final = ("caps", "stopped", "resumed")
"""What the page says was done, by the word in its address."""
_CALLS: Final = 25
_ARTICLES: Final = 200
_LONGEST: Final = 100
router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/money")  # noqa: FAST003  (read from the path, which /money lacks)
@router.get("/money")
async def show_money(request: Request, viewer: Viewer) -> Response:
    """Shows spending by day and provider, the caps, and each call."""
    return await _show(request, viewer)


async def _show(
    request: Request,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    meanwhile: Mapping[str, str] | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    if viewer.person.brands is not None:
        # The gateway is shared by all brands, and tells those alone who may see all.
        return page(request, viewer, "money/money.html.j2", status=status, bound=True, refusal=refusal)
    brand: str | None = request.path_params.get("brand")
    query = request.query_params
    wanted = query.get("days", "")
    days = int(wanted) if wanted in set(map(str, views.SPANS)) else views.SPANS[1]
    after, text = query.get("after", "")[:_LONGEST], query.get("q", "").strip()[:_LONGEST]
    calls: dict[str, Any] = {
        "spend": viewer.gateway.get_spend(brand=brand),
        "daily": viewer.gateway.summarize_daily_spend(brand=brand, days=days, zone=viewer.person.zone),
        "ledger": viewer.gateway.list_spend_calls(brand=brand, after=after or None, limit=_CALLS),
    }
    if brand is not None:
        month = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        calls["articles"] = viewer.orchestrator.search_for_articles(brand=brand, since=month, limit=_ARTICLES)
    parts = await viewer.gather(**calls)
    spend, articles = parts["spend"], parts.get("articles")
    shown = views.spender_of(spend, brand or views.ALL) if spend else None
    found = views.spenders(spend, text) if spend and brand is None else ()
    return page(
        request,
        viewer,
        "money/money.html.j2",
        status=status,
        **parts,
        bound=False,
        here=f"/b/{brand}/money" if brand else "/money",
        done=done_word(request, DONE),
        refusal=refusal,
        days=days,
        spans=views.SPANS,
        after=after,
        text=text,
        shown=shown,
        all_stopped=spend.get("all_stopped") if spend and brand else None,
        spenders=found[: views.MOST_BRANDS],
        left_out=len(found) - views.MOST_BRANDS,
        chart=views.chart(parts["daily"]) if parts["daily"] else None,
        providers=views.by_provider(spend["providers"]) if spend else (),
        written=len(articles["items"]) if articles and articles["next"] is None else 0,
        caps=_caps(shown, form),
        seen=mark_of(_caps(shown, None)),
        meanwhile=meanwhile or {},
        why=form.text("why") if form else "",
        dollars=lambda micros: views.dollars(micros, viewer.t),
        share=views.share,
        may_operate=viewer.may(Scope.OPERATE),
        may_administer=viewer.may(Scope.ADMIN),
    )


def _caps(shown: views.Spender | None, form: Form | None) -> dict[str, str]:
    """The caps as the form has them: as they were typed, or else those that hold."""
    if form is not None and "day" in form:
        return {name: form.text(name) for name in ("day", "month")}
    if shown is None:
        return {"day": "", "month": ""}
    return {name: views.plain_dollars(getattr(shown, name)["cap"]) for name in ("day", "month")}


async def _change(request: Request, viewer: PageViewer, form: Form, done: str, call: Any) -> Response:
    brand = request.path_params.get("brand")

    async def act() -> Response:
        await call(brand or views.ALL)
        return redirect(request, f"/b/{brand}/money?done={done}" if brand else f"/money?done={done}")

    refused = partial(_show, request, viewer, form=form)
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/money/caps")  # noqa: FAST003  (read from the path, which /money lacks)
@router.post("/money/caps")
async def set_caps(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Says how much may be spent in a day and a month; an empty field restores the installation's cap."""
    viewer.check_may(Scope.ADMIN)
    brand: str | None = request.path_params.get("brand")
    refused = partial(_show, request, viewer, form=form)

    async def act() -> Response:
        stored = _caps(
            views.spender_of(await viewer.gateway.get_spend(brand=brand), brand or views.ALL), None
        )
        if is_overtaken(form, stored):
            return await refused(
                refusal=viewer.t("layout.error.overtaken"),
                status=HTTPStatus.CONFLICT,
                meanwhile=stored_instead(_caps(None, form), stored),
            )
        day, month = (views.typed_dollars(form.text(name)) for name in ("day", "month"))
        await viewer.gateway.set_spend_cap(brand or views.ALL, day=day, month=month)
        return redirect(request, f"/b/{brand}/money?done=caps" if brand else "/money?done=caps")

    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/money/stop")  # noqa: FAST003  (read from the path, which /money lacks)
@router.post("/money/stop")
async def stop_spending(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Spends nothing from now on; what waits for it waits."""
    viewer.check_may(Scope.OPERATE)
    why = form.text("why")
    return await _change(
        request, viewer, form, "stopped", lambda scope: viewer.gateway.stop_spending(scope=scope, why=why)
    )


@router.post("/b/{brand}/money/resume")  # noqa: FAST003  (read from the path, which /money lacks)
@router.post("/money/resume")
async def resume_spending(request: Request, viewer: Viewer, form: FormData) -> Response:
    viewer.check_may(Scope.OPERATE)
    return await _change(
        request, viewer, form, "resumed", lambda scope: viewer.gateway.resume_spending(scope=scope)
    )
