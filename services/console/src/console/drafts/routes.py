"""`/b/{brand}/drafts`: the list of drafts, and decisions about many at once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import ClientError
from console.drafts.draft_routes import draft_routes, read_draft
from console.drafts.guest_routes import guest_routes
from console.drafts.views import (
    AGES,
    AUTHORS,
    DECIDABLE,
    STATES,
    ChosenDraft,
    DraftQuery,
    chosen_drafts,
    is_id,
)
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once, page
from console.watching.pages import LivePage

NAVIGATION: Final = (NavigationEntry("drafts", "/b/{brand}/drafts", order=20),)
LIVE: Final = (LivePage("/b/{brand}/drafts/{content_id}", read_draft),)
PAGE_SIZE: Final = 25
MOST_AT_ONCE: Final = 500
"""Drafts that one press decides about."""
_PARALLEL: Final = 5
_BATCH: Final = 100
_MOST_COUNTED: Final = 1_000
_DONE: Final = frozenset({"approve", "schedule", "reject", "return", "unschedule"})

router = APIRouter()


@router.get("/b/{brand}/drafts")
async def list_drafts(request: Request, brand: str, viewer: Viewer) -> Response:
    return await _list(request, brand, viewer)


@router.post("/b/{brand}/drafts/decide")
async def decide_many(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Approves or rejects the checked drafts, or all that the filter matches when the button is pressed."""
    viewer.check_may(Scope.REVIEW)

    async def act() -> Response:
        verb, reason = form.text("do"), form.text("reason")
        query = DraftQuery.of({name: form.text(name) for name in ("q", "state", "author", "age")})
        if verb not in {"approve", "reject"}:
            return await _list(request, brand, viewer, query=query)
        if verb == "reject" and not reason:
            problem = viewer.t("drafts.many.no_reason")
            return await _list(request, brand, viewer, query=query, refusal=problem)
        is_all = form.text("which") == "all"
        chosen, is_cut = chosen_drafts(form.all("chosen")), False
        if is_all:
            chosen, is_cut = await _all_matching(viewer, brand, query)
        if not chosen:
            return await _list(request, brand, viewer, query=query, refusal=viewer.t("drafts.many.none"))
        outcome = await _decide_all(viewer, brand, chosen[:MOST_AT_ONCE], verb, reason)
        if is_cut:
            outcome.left = await _count_behind(viewer, brand, query, chosen[-1].content_id)
        elif is_all:
            outcome.later = await _count_behind(viewer, brand, query, chosen[-1].content_id)
        return await _list(request, brand, viewer, query=query, outcome=outcome)

    return await once(request, viewer, form, act)


@dataclass
class ManyOutcome:
    """What became of many drafts."""

    verb: str
    done: int
    refused: list[tuple[ChosenDraft, str]]
    """With what the service says."""
    later: int = 0
    """Drafts that matched the filter only after the button was pressed; nothing was done about them."""
    left: int = 0
    """Drafts beyond MOST_AT_ONCE; nothing was done about them. At most _MOST_COUNTED are counted."""


async def _decide_all(
    viewer: PageViewer, brand: str, chosen: list[ChosenDraft], verb: str, reason: str
) -> ManyOutcome:
    limit = asyncio.Semaphore(_PARALLEL)
    outcome = ManyOutcome(verb, 0, [])

    async def decide(draft: ChosenDraft) -> None:
        async with limit:
            try:
                # The key may see several brands, and this page is of one.
                known = await viewer.orchestrator.get_draft(draft.content_id)
                if known["brand_slug"] != brand:
                    return
                if verb == "approve":
                    await viewer.orchestrator.approve_draft(draft.content_id, version=draft.version)
                else:
                    await viewer.orchestrator.reject_draft(
                        draft.content_id, version=draft.version, reason=reason
                    )
            except ClientError as error:
                outcome.refused.append((draft, str(error)))
            else:
                outcome.done += 1

    await asyncio.gather(*map(decide, chosen))
    return outcome


async def _all_matching(viewer: PageViewer, brand: str, query: DraftQuery) -> tuple[list[ChosenDraft], bool]:
    """Returns the drafts that the filter matches now and that can be decided about, up to MOST_AT_ONCE, and whether there are more."""
    found: list[ChosenDraft] = []
    async for each in _decidable(viewer, brand, query):
        found.append(each)
        if len(found) > MOST_AT_ONCE:
            return found[:MOST_AT_ONCE], True
    return found, False


async def _count_behind(viewer: PageViewer, brand: str, query: DraftQuery, last: str) -> int:
    """Returns how many matching drafts that can be decided about follow one in the list, up to _MOST_COUNTED."""
    counted = 0
    async for _ in _decidable(viewer, brand, query, after=last):
        counted += 1
        if counted == _MOST_COUNTED:
            break
    return counted


async def _decidable(
    viewer: PageViewer, brand: str, query: DraftQuery, *, after: str | None = None
) -> AsyncIterator[ChosenDraft]:
    filters = query.filters(datetime.now(UTC))
    while True:
        listed = await viewer.orchestrator.list_drafts(brand=brand, **filters, after=after, limit=_BATCH)
        for each in listed["items"]:
            if each["state"] in DECIDABLE:
                yield ChosenDraft(each["content_id"], each["version"])
        after = listed["next"]
        if after is None:
            return


async def _list(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    query: DraftQuery | None = None,
    outcome: ManyOutcome | None = None,
    refusal: str | None = None,
) -> Response:
    query = query or DraftQuery.of(request.query_params)
    filters = query.filters(datetime.now(UTC))
    parts = await viewer.gather(
        drafts=viewer.orchestrator.list_drafts(
            brand=brand, **filters, after=query.after or None, limit=PAGE_SIZE
        ),
        counted=viewer.orchestrator.get_draft_count(brand=brand, **filters),
    )
    done, of = request.query_params.get("done", ""), request.query_params.get("of", "")
    values: dict[str, Any] = {
        "brand": brand,
        "query": query,
        "states": STATES,
        "authors": AUTHORS,
        "ages": AGES,
        "decidable": DECIDABLE,
        "may_review": viewer.may(Scope.REVIEW),
        "most": MOST_AT_ONCE,
        "outcome": outcome,
        "refusal": refusal,
        "done": done if done in _DONE and is_id(of) else "",
        "done_id": of,
        **parts,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refusal else HTTPStatus.OK
    return page(request, viewer, "drafts/list.html.j2", status=status, **values)


router.include_router(draft_routes())
router.include_router(guest_routes())
