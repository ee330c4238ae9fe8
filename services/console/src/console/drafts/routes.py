"""`/b/{brand}/drafts`: the list of drafts, and decisions about many at once."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from console.drafts import decided, notes
from console.drafts.draft_routes import draft_routes, read_draft
from console.drafts.guest_routes import guest_routes
from console.drafts.views import (
    AGES,
    AUTHORS,
    DECIDABLE,
    STATES,
    DraftQuery,
    chosen_drafts,
    is_id,
)
from console.mass_actions.acting import MOST_AT_ONCE, MassItem, MassPress, whole_list
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, done_word, once, page, redirect
from console.saved_views import saved_views
from console.watching.pages import LivePage

NAVIGATION: Final = (NavigationEntry("drafts", "/b/{brand}/drafts", order=20),)
UNDO: Final = decided.UNDO
LIVE: Final = (LivePage("/b/{brand}/drafts/{content_id}", read_draft, notes.read_changes),)
PAGE_SIZE: Final = 25
_BATCH: Final = 100
_PROPOSALS: Final = 10
"""Proposals of the brand that the list names; the drafts have all of theirs."""
_DONE: Final = frozenset({"approve", "schedule", "reject", "return", "unschedule", "looked"})
"""What was done to a draft, by the word in the address."""
_ALL_LOOKED: Final = "all_looked"

router = APIRouter()


@router.get("/b/{brand}/drafts")
async def list_drafts(request: Request, brand: str, viewer: Viewer) -> Response:
    return await _list(request, brand, viewer)


@router.post("/b/{brand}/drafts/looked")
async def look_at_all(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Says that a person has looked at all that waits, without deciding: the brand goes on writing."""
    viewer.check_may(Scope.REVIEW)

    async def act() -> Response:
        await viewer.orchestrator.mark_brand_reviewed(brand, idempotency_key=form.once or None)
        return redirect(request, f"/b/{brand}/drafts?done={_ALL_LOOKED}")

    return await once(request, viewer, form, act)


@router.get("/b/{brand}/drafts/decide")
@router.get("/b/{brand}/drafts/looked")
async def show_list_again(request: Request, brand: str, viewer: Viewer) -> Response:  # noqa: ARG001  (a person has to be signed in)
    """A refused press is answered at its own address, where a person may reload; it is no draft's."""
    return redirect(request, f"/b/{brand}/drafts")


@router.post("/b/{brand}/drafts/decide")
async def decide_many(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Approves or rejects the checked drafts, or all that the filter matches when the button is pressed."""
    viewer.check_may(Scope.REVIEW)
    verb, reason = form.text("do"), form.text("reason")
    query = DraftQuery.of({name: form.text(name) for name in ("q", "state", "author", "age")})
    back = f"/b/{brand}/drafts{query.address()}".removesuffix("?")

    async def matching() -> AsyncIterator[MassItem]:
        filters = query.filters(datetime.now(UTC)) | {"brand": brand, "limit": _BATCH}
        async for each in whole_list(viewer.orchestrator.list_drafts, **filters):
            if each["state"] in DECIDABLE:
                yield _mass_item(brand, each, each["version"])

    find = partial(_find, viewer, brand)
    press = MassPress(request, viewer, form, "drafts.many_done.", back, matching, find)

    async def decide(item: MassItem) -> None:
        if verb == "approve":
            await viewer.orchestrator.approve_draft(item.id, version=item.version)
        else:
            await viewer.orchestrator.reject_draft(item.id, version=item.version, reason=reason)

    async def act() -> Response:
        if verb not in {"approve", "reject"}:
            return await _list(request, brand, viewer, query=query)
        is_whole = verb == "approve" or bool(reason)
        frozen = await press.frozen() if is_whole else None
        if frozen is None or not frozen.items:
            problem = viewer.t("mass_actions.none" if is_whole else "drafts.many.no_reason")
            return await _list(request, brand, viewer, query=query, refusal=problem)
        return await press.act(frozen, decide)

    return await once(request, viewer, form, act)


async def _find(viewer: PageViewer, brand: str, value: str) -> MassItem | None:
    for chosen in chosen_drafts([value]):
        # The key may see several brands, and this page is of one.
        known = await viewer.orchestrator.get_draft(chosen.content_id)
        if known["brand_slug"] == brand:
            return _mass_item(brand, known, chosen.version)
    return None


def _mass_item(brand: str, draft: Any, version: int) -> MassItem:
    title = draft["title"] or draft["keyword"]
    return MassItem(draft["content_id"], title, f"/b/{brand}/drafts/{draft['content_id']}", version)


async def _list(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    query: DraftQuery | None = None,
    refusal: str | None = None,
) -> Response:
    query = query or DraftQuery.of(request.query_params)
    filters = query.filters(datetime.now(UTC))
    parts = await viewer.gather(
        drafts=viewer.orchestrator.list_drafts(
            brand=brand, **filters, after=query.after or None, limit=PAGE_SIZE
        ),
        counted=viewer.orchestrator.get_draft_count(brand=brand, **filters),
        proposed=viewer.orchestrator.list_open_proposals(brand=brand, limit=_PROPOSALS),
    )
    done, of = request.query_params.get("done", ""), request.query_params.get("of", "")
    values: dict[str, Any] = {
        "brand": brand,
        "query": query,
        "saved": await saved_views(viewer, brand, "drafts", query.address()),
        "states": STATES,
        "authors": AUTHORS,
        "ages": AGES,
        "decidable": DECIDABLE,
        "may_review": viewer.may(Scope.REVIEW),
        "most_at_once": MOST_AT_ONCE,
        "refusal": refusal,
        "done": done if done in _DONE and is_id(of) else "",
        "done_id": of,
        "all_looked": done_word(request, (_ALL_LOOKED,)),
        **parts,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refusal else HTTPStatus.OK
    return page(request, viewer, "drafts/list.html.j2", status=status, **values)


add_routes(router, draft_routes(), guest_routes())
