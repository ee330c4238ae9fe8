"""Routes of the pages about audits."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.audits import views
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    page,
    redirect,
)

NAVIGATION: Final = (NavigationEntry("audits", "/b/{brand}/audits", 100, is_rare=True),)
_PAGE: Final = 20
_MOST_LETTERS: Final = 50
_LONGEST: Final = 60
router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/audits")
async def list_audits(request: Request, brand: str, viewer: Viewer) -> Response:
    """The audits that are kept, and what the latest found."""
    return await _list(request, brand, viewer)


async def _list(
    request: Request, brand: str, viewer: PageViewer, *, refusal: str = "", status: int = HTTPStatus.OK
) -> Response:
    after = request.query_params.get("after", "")[:_LONGEST]
    parts = await viewer.gather(
        found=viewer.orchestrator.list_audits(brand, after=after or None, limit=_PAGE)
    )
    found = parts["found"]
    latest = None
    if found and found["items"] and not after:
        latest = await viewer.orchestrator.get_audit(brand, found["items"][0]["audit_id"])
    groups = views.groups_of(latest, brand, viewer.person.scopes) if latest else ()
    return page(
        request,
        viewer,
        "audits/list.html.j2",
        status=status,
        **parts,
        done="",
        refusal=refusal,
        after=after,
        audit=latest,
        groups=groups,
        # The page says anyway who may audit.
        lacking=[each for each in views.lacking(groups) if each is not Scope.SUBMIT],
        total=views.total,
        may_submit=viewer.may(Scope.SUBMIT),
    )


@router.post("/b/{brand}/audits")
async def audit_brand(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Audits the brand now; articles with old research are rewritten as far as the brand allows."""
    viewer.check_may(Scope.SUBMIT)

    async def act() -> Response:
        audit = await viewer.orchestrator.audit_brand(brand, idempotency_key=form.once)
        return redirect(request, f"/b/{brand}/audits/{audit['audit_id']}?done=audited")

    refused = partial(_list, request, brand, viewer)
    return await once_or_refused(request, viewer, form, act, refused)


@router.get("/b/{brand}/audits/{audit_id}")
async def show_audit(request: Request, brand: str, audit_id: UUID, viewer: Viewer) -> Response:
    """Shows the findings of an audit."""
    return await _show(request, brand, audit_id, viewer)


async def _show(
    request: Request,
    brand: str,
    audit_id: UUID,
    viewer: PageViewer,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    audit = await viewer.orchestrator.get_audit(brand, audit_id)
    groups = views.groups_of(audit, brand, viewer.person.scopes)
    return page(
        request,
        viewer,
        "audits/audit.html.j2",
        status=status,
        done=done_word(request, views.DONE),
        refusal=refusal,
        audit=audit,
        groups=groups,
        lacking=views.lacking(groups),
    )


@router.post("/b/{brand}/audits/{audit_id}/remedy")
async def remedy_finding(
    request: Request, brand: str, audit_id: UUID, viewer: Viewer, form: FormData
) -> Response:
    """Does what mends a finding of the audit."""
    if not any(viewer.may(scope) for _, scope in views.REMEDIES.values()):
        raise HTTPException(HTTPStatus.FORBIDDEN, viewer.t("layout.error.role"))
    audit = await viewer.orchestrator.get_audit(brand, audit_id)
    finding = views.finding_at(audit, form.text("finding"))
    if finding is None or finding["kind"] not in views.REMEDIES:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("audits.no_remedy"))
    remedy, scope = views.REMEDIES[finding["kind"]]
    viewer.check_may(scope)

    async def act() -> Response:
        await _REMEDIES[remedy](viewer, brand, finding, form.once)
        return redirect(request, f"/b/{brand}/audits/{audit_id}?done={remedy}")

    refused = partial(_show, request, brand, audit_id, viewer)
    return await once_or_refused(request, viewer, form, act, refused)


async def _rewrite(viewer: PageViewer, brand: str, finding: Mapping[str, Any], once: str) -> None:
    article = await viewer.orchestrator.get_article(finding["id"])
    await _submit_keyword(viewer, brand, article["keyword"], once, refresh=True)


async def _submit(viewer: PageViewer, brand: str, finding: Mapping[str, Any], once: str) -> None:
    await _submit_keyword(viewer, brand, finding["subject"], once)


async def _submit_keyword(
    viewer: PageViewer, brand: str, keyword: str, once: str, *, refresh: bool = False
) -> None:
    await viewer.orchestrator.submit_keywords(
        brand, keyword.encode(), refresh=refresh, idempotency_key=once, content_type="text/plain"
    )


async def _publish(viewer: PageViewer, brand: str, finding: Mapping[str, Any], once: str) -> None:  # noqa: ARG001  (as the others)
    # The article's own home: the brand's first target may be another one by now.
    home = (await viewer.orchestrator.list_placements(finding["id"]))["home"]
    await viewer.orchestrator.request_placement(finding["id"], home, idempotency_key=once)


async def _take_down(viewer: PageViewer, brand: str, finding: Mapping[str, Any], once: str) -> None:  # noqa: ARG001  (as the others)
    await viewer.orchestrator.take_down_article(
        finding["id"],
        reason=viewer.t("audits.taken_down", detail=finding.get("detail") or finding["advice"])[:500],
        idempotency_key=once,
    )


async def _replay(viewer: PageViewer, brand: str, finding: Mapping[str, Any], once: str) -> None:  # noqa: ARG001  (as the others)
    """Replays the dead letters that hold a keyword. Raises HTTPException 409: none is left."""
    cycle = await viewer.orchestrator.get_cycle(finding["id"])
    letters = await viewer.monitor.list_dead_letters(
        correlation_id=cycle["correlation_id"],
        keyword=finding["subject"],
        state="open",
        replayable=True,
        limit=_MOST_LETTERS,
    )
    if not letters["items"]:
        raise HTTPException(HTTPStatus.CONFLICT, viewer.t("audits.no_letter"))
    for letter in letters["items"]:
        await viewer.monitor.replay_dead_letter(
            letter["id"], by=viewer.person.name, idempotency_key=f"{once}-{letter['id']}"
        )


async def _resume(viewer: PageViewer, brand: str, finding: Mapping[str, Any], once: str) -> None:
    await viewer.orchestrator.resume_schedule(brand, finding["id"], idempotency_key=once)


_REMEDIES: Final = {
    "rewrite": _rewrite,
    "submit": _submit,
    "publish": _publish,
    "take_down": _take_down,
    "replay": _replay,
    "resume": _resume,
}
