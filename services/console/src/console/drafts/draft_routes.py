"""`/b/{brand}/drafts/{content_id}`: one draft with its evidence and its versions, and the decisions about it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from chassis.http.callers import Scope
from client import ClientError, RefusedError
from console.drafts.decided import decided
from console.drafts.draft_page import PAGE_HEADERS
from console.drafts.editing import diff_lines
from console.drafts.editing_routes import add_editing
from console.drafts.proposal_routes import add_proposals
from console.drafts.sharing_routes import add_guest_links, add_notes
from console.drafts.showing import (
    MAX_VERSION,
    check_id,
    evidence_of,
    find_draft,
    refusals_shown,
    show_draft,
    version_of,
)
from console.drafts.views import is_id, time_in_zone
from console.pages import FormData, Viewer, once, page
from console.service_clients import PersonClients, is_away

Number = Annotated[int, Path(ge=1, le=MAX_VERSION)]
Version = Annotated[int | None, Query(ge=1, le=MAX_VERSION)]


async def read_draft(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (no filters)
    """Reads the news for an open draft's page: a newer version, or a decision. None for an unknown draft."""
    if not is_id(fields["content_id"]):
        return None
    try:
        draft = await clients.orchestrator.get_draft(fields["content_id"])
    except RefusedError as error:
        if is_away(error) or error.status == HTTPStatus.UNAUTHORIZED:
            raise
        return None
    if draft["brand_slug"] != fields["brand"]:
        return None
    return [draft[name] for name in ("version", "made_by", "state", "reading")]


def draft_routes() -> APIRouter:
    routes = APIRouter(prefix="/b/{brand}/drafts/{content_id}")
    _add_reading(routes)
    add_editing(routes)
    # First, since the paths of decisions have a word in the place of `looked`.
    _add_looking(routes)
    _add_deciding(routes)
    add_notes(routes)
    add_guest_links(routes)
    add_proposals(routes)
    return routes


def _add_reading(routes: APIRouter) -> None:
    @routes.get("")
    async def show(
        request: Request,
        brand: str,
        content_id: str,
        viewer: Viewer,
        version: Version = None,
        sentence: Annotated[int | None, Query(ge=1, le=MAX_VERSION)] = None,
    ) -> Response:
        return await show_draft(request, brand, content_id, viewer, version=version, sentence=sentence)

    @routes.get("/page")
    async def show_draft_page(
        brand: str, content_id: str, viewer: Viewer, version: Annotated[int, Query(ge=1, le=MAX_VERSION)]
    ) -> Response:
        """The version as its page will look, for a frame."""
        check_id(viewer, content_id)
        try:
            document = await viewer.publisher.get_draft_page(brand, content_id, version=version)
        except ClientError as error:
            status = error.status if isinstance(error, RefusedError) else HTTPStatus.SERVICE_UNAVAILABLE
            text = viewer.t("drafts.page.missing")
            return HTMLResponse(f"<!DOCTYPE html><title>…</title><p>{text}</p>", status, headers=PAGE_HEADERS)
        return HTMLResponse(document, headers=PAGE_HEADERS)

    @routes.get("/sentences/{number}")
    async def show_sentence(
        request: Request,
        brand: str,
        content_id: str,
        number: Number,
        viewer: Viewer,
        version: Annotated[int, Query(ge=1, le=MAX_VERSION)],
    ) -> Response:
        """The passages of one sentence, as a part of the draft's page."""
        draft = await find_draft(viewer, brand, content_id)
        marked = await viewer.orchestrator.get_article_sentences(content_id, version=version)
        shown = await viewer.orchestrator.get_article_version(content_id, version)
        evidence = await evidence_of(viewer, marked, shown, number)
        return page(
            request,
            viewer,
            "drafts/sentence.html.j2",
            brand=brand,
            draft=draft,
            evidence=evidence,
            version=version,
        )

    @routes.get("/versions/{first}..{second}")
    async def compare_versions(
        request: Request, brand: str, content_id: str, first: Number, second: Number, viewer: Viewer
    ) -> Response:
        draft = await find_draft(viewer, brand, content_id)
        found = await viewer.orchestrator.compare_article_versions(content_id, from_=first, to=second)
        return page(
            request,
            viewer,
            "drafts/diff.html.j2",
            brand=brand,
            draft=draft,
            first=first,
            second=second,
            lines=diff_lines(found["diff"]),
            is_cut=found["is_cut"],
            once_needed=viewer.may(Scope.REVIEW),
        )


def _add_looking(routes: APIRouter) -> None:
    @routes.post("/decisions/looked")
    async def look_at_draft(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Says that a person has looked at the draft, and decides nothing."""
        viewer.check_may(Scope.REVIEW)
        draft = await find_draft(viewer, brand, content_id)

        async def act() -> Response:
            await viewer.orchestrator.mark_reviewed(content_id, idempotency_key=form.once or None)
            return await decided(request, viewer, draft, "looked", form.text("next"))

        return await once(
            request, viewer, form, refusals_shown(request, brand, content_id, viewer, act, form)
        )


def _add_deciding(routes: APIRouter) -> None:
    @routes.post("/decisions/{verb}")
    async def decide_draft(
        request: Request, brand: str, content_id: str, verb: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Approves, approves for a time, calls that off, returns or rejects exactly the version that the person saw."""
        viewer.check_may(Scope.REVIEW)
        draft = await find_draft(viewer, brand, content_id)
        version, words = version_of(form), form.text("words")
        orchestrator = viewer.orchestrator

        async def act() -> Response:
            match verb:
                case "approve":
                    await orchestrator.approve_draft(content_id, version=version)
                case "schedule":
                    at = time_in_zone(form.text("at"), viewer.person.zone)
                    if at is None:
                        problem = viewer.t("drafts.decide.no_time", zone=viewer.person.zone)
                        return await show_draft(
                            request, brand, content_id, viewer, refusal=problem, typed=form
                        )
                    await orchestrator.approve_draft(content_id, version=version, publish_at=at)
                case "unschedule":
                    await orchestrator.unschedule_draft(content_id)
                case "return" | "reject" if not words:
                    problem = viewer.t("drafts.decide.no_words")
                    return await show_draft(request, brand, content_id, viewer, refusal=problem, typed=form)
                case "return":
                    await orchestrator.return_draft(content_id, version=version, comment=words)
                case "reject":
                    await orchestrator.reject_draft(content_id, version=version, reason=words)
                case _:
                    raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("drafts.unknown"))
            return await decided(request, viewer, draft, verb, form.text("next"))

        return await once(
            request, viewer, form, refusals_shown(request, brand, content_id, viewer, act, form)
        )
