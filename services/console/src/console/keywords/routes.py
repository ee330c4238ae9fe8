"""Routes of the pages about keywords."""

from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from client import RefusedError
from console.keywords import cycles, mass, subjects, views
from console.list_filters import ListFilter, safe_link
from console.mass_actions.acting import MOST_AT_ONCE
from console.money.views import typed_dollars
from console.notices import Notice, told
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once, once_or_refused, page, redirect
from console.saved_views import saved_views
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

if TYPE_CHECKING:
    from client.services.orchestrator import answers

NAVIGATION: Final = (NavigationEntry("keywords", "/b/{brand}/keywords", 20),)
_MOST_LETTERS: Final = 20
_TOPICS: Final = 24
"""Keywords that the form suggests."""
_GONE: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
_MAY_CANCEL: Final = frozenset({"waiting", "running", "stuck"})
UNDO: Final = {**mass.UNDO, **cycles.UNDO, **subjects.UNDO}
router = APIRouter(include_in_schema=False)
add_routes(router, mass.router, cycles.router, subjects.router)


async def read_list(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Reads the list with its filters."""
    wanted, brand = ListFilter.of(query, views.STATES), fields["brand"]
    return await read_each(_search(clients, brand, wanted), cycles.newest(clients, brand))


async def read_keyword(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (no filters)
    """Where a keyword stands; None for an unknown one."""
    item = await _found(clients, fields["brand"], fields["keyword"])
    content_id = item["content_id"] if item else None
    own = content_id if item and content_id and not item["has_standing_article"] else None
    return [item, await _known(clients.orchestrator.get_workflow(own)) if own else None]


async def read_suggestions(
    clients: PersonClients,
    fields: Mapping[str, str],
    query: Mapping[str, str],  # noqa: ARG001  (no filters)
) -> Any:
    """How many documents are read and wait, and the newest keyword: with them the suggestions change."""
    documents, keywords = await read_each(
        clients.research.list_documents(fields["brand"], limit=1),
        clients.orchestrator.search_for_keywords(brand=fields["brand"], limit=1),
    )
    newest = [[each["cycle_id"], each["position"]] for each in keywords.get("items", ())]
    return [documents.get("counts", documents), newest or keywords.get("away")]


LIVE: Final = (
    LivePage("/b/{brand}/keywords", read_list),
    LivePage("/b/{brand}/keywords/add", read_suggestions),
    LivePage("/b/{brand}/keywords/{keyword}", read_keyword),
)


@router.get("/b/{brand}/keywords")
async def list_keywords(request: Request, brand: str, viewer: Viewer) -> Response:
    """Keywords that match the filters in the address, with the progress of what is under way."""
    wanted = ListFilter.of(request.query_params, views.STATES)
    parts = await viewer.gather(
        found=_search(viewer, brand, wanted, counted=True), newest=cycles.newest(viewer, brand)
    )
    found, newest = parts["found"], parts["newest"]
    handed_in = request.query_params.get("handed_in", "")
    return page(
        request,
        viewer,
        "keywords/list.html.j2",
        found=found,
        counted=found["count"] if found else None,
        brand=brand,
        newest=newest,
        cycles=newest["items"] if newest else [],
        may_operate=viewer.may(Scope.OPERATE),
        saved=await saved_views(viewer, brand, "keywords", wanted.query()),
        wanted=wanted,
        states=views.STATES,
        lines=[views.keyword_line(each) for each in found["items"]] if found else [],
        next=found["next"] if found else None,
        handed_in=int(handed_in) if handed_in.isdecimal() and len(handed_in) < 6 else 0,  # noqa: PLR2004
        may_submit=viewer.may(Scope.SUBMIT),
        most_at_once=MOST_AT_ONCE,
        priorities=mass.PRIORITIES,
        verbs=[
            verb
            for verb, states in mass.ELIGIBLE.items()
            if viewer.may(Scope.SUBMIT) and (not wanted.state or wanted.state in states)
        ],
    )


@router.get("/b/{brand}/keywords/add")
async def show_form(request: Request, brand: str, viewer: Viewer) -> Response:
    """The form in which keywords are typed, pasted or read from a file."""
    return await _form(request, brand, viewer)


async def _form(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
    **typed: Any,
) -> Response:
    values = {
        "typed": "",
        "priority": "normal",
        "refresh": False,
        "distinct": False,
        "chosen": [],
        "deadline_hours": "",
        "max_cost": "",
        **typed,
    }
    parts = await viewer.gather(
        topics=viewer.research.list_topics(brand, limit=_TOPICS),
        documents=viewer.research.list_documents(brand, state="waiting", limit=1),
        before=viewer.orchestrator.list_keyword_spellings(brand),
    )
    return page(
        request,
        viewer,
        "keywords/add.html.j2",
        status=status,
        brand=brand,
        refusal=refusal,
        suggested=views.suggested(parts["topics"], parts["before"]),
        quoted_briefly=views.count_quoted_briefly(parts["topics"]),
        unread=parts["documents"]["counts"]["waiting"] if parts["documents"] else 0,
        **parts,
        **values,
    )


@router.post("/b/{brand}/keywords/add")
async def submit_keywords(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Submits the list as it was typed; a refused one stays in the form, with what is wrong."""
    viewer.check_may(Scope.SUBMIT)
    text, chosen = form.raw("keywords"), form.all("topic")[:_TOPICS]
    priority = form.text("priority", "normal")
    typed: dict[str, Any] = {
        "typed": text,
        "priority": priority,
        "refresh": "refresh" in form,
        "distinct": "distinct" in form,
        "chosen": chosen,
        "deadline_hours": form.text("deadline_hours"),
        "max_cost": form.text("max_cost"),
    }
    submitted = views.with_chosen(text, chosen)
    if not submitted.strip():
        return await _form(
            request,
            brand,
            viewer,
            refusal=viewer.t("keywords.empty_list"),
            status=HTTPStatus.BAD_REQUEST,
            **typed,
        )

    async def submit() -> Response:
        accepted = await viewer.orchestrator.submit_keywords(
            brand,
            submitted.encode(),
            priority=priority,  # type: ignore[arg-type]  # the service checks it
            refresh=typed["refresh"],
            distinct=typed["distinct"],
            # As typed: the service checks them.
            deadline_hours=typed["deadline_hours"] or None,
            max_cost=typed_dollars(typed["max_cost"]),  # type: ignore[arg-type]
            idempotency_key=form.once or None,
            content_type=views.list_type(submitted),
        )
        return redirect(request, f"/b/{brand}/keywords?handed_in={accepted['total']}")

    refused = partial(_form, request, brand, viewer, **typed)
    return await once_or_refused(request, viewer, form, submit, refused)


@router.get("/b/{brand}/keywords/many")
async def show_keywords_again(request: Request, brand: str, viewer: Viewer) -> Response:  # noqa: ARG001  (a person has to be signed in)
    return redirect(request, f"/b/{brand}/keywords")


@router.get("/b/{brand}/keywords/{keyword_id}")
async def show_keyword(request: Request, brand: str, keyword_id: str, viewer: Viewer) -> Response:
    """A keyword: where it stands, what it waits for, why it ended, what would help, and what happened."""
    item = await _find(viewer, brand, keyword_id)
    content_id = item["content_id"]
    own = content_id if content_id and not item["has_standing_article"] else None
    parts = await viewer.gather(
        workflow=_known(viewer.orchestrator.get_workflow(own)) if own else _nothing(),
        content=_known(viewer.orchestrator.get_article(content_id)) if content_id else _nothing(),
        decisions=_known(viewer.orchestrator.list_draft_decisions(own)) if own else _nothing(),
        letters=_known(
            viewer.monitor.list_dead_letters(
                correlation_id=item["correlation_id"], keyword=item["keyword"], limit=_MOST_LETTERS
            )
        )
        if viewer.may(Scope.OPERATE)
        else _nothing(),
        # The gateway is shared by all brands, and tells those alone who may see all.
        calls=viewer.ask_one(
            "gateway", viewer.gateway.list_chain_calls(correlation_id=item["correlation_id"], limit=1)
        )
        if viewer.person.brands is None
        else _nothing(),
    )
    workflow, content = parts["workflow"] or None, parts["content"] or None
    line = views.keyword_line(item)
    return page(
        request,
        viewer,
        "keywords/keyword.html.j2",
        brand=brand,
        item=item,
        line=line,
        steps=views.steps_of(item),
        advice=views.advice_for(item, workflow),
        events=views.events_of(
            item,
            workflow=workflow,
            content=content,
            decisions=(parts["decisions"] or {}).get("items", ()),
            letters=(parts["letters"] or {}).get("items", ()),
        ),
        why=views.why(item),
        workflow=parts["workflow"],
        letters=parts["letters"],
        content=content,
        limits=views.limits_of(item, parts["calls"], viewer.t),
        published=safe_link(item["published_url"]),
        safe=safe_link,
        is_open=item["state"] not in views.ENDED,
        is_ended=item["state"] in views.ENDED and item["state"] != "completed",
        is_stuck=bool(workflow and workflow["state"] == "stuck"),
        may_cancel=bool(workflow and workflow["state"] in _MAY_CANCEL and item["state"] == "writing"),
        may_submit=viewer.may(Scope.SUBMIT),
        may_operate=viewer.may(Scope.OPERATE),
    )


@router.post("/b/{brand}/keywords/{keyword_id}/again")
async def submit_again(
    request: Request, brand: str, keyword_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Submits the same keyword once more, as a new one."""
    viewer.check_may(Scope.SUBMIT)
    item = await _find(viewer, brand, keyword_id)

    async def submit() -> Response:
        if item["state"] not in mass.ELIGIBLE["again"]:
            # Another person was faster, or the page is old.
            why = viewer.t(f"keywords.not_again.{item['state']}")
            path = f"/b/{brand}/keywords/{keyword_id}"
            refused = [(item["keyword"], "", why)]
            return await told(request, viewer, path, Notice("keywords.none_again", refused=refused))
        accepted = await viewer.orchestrator.submit_keywords(
            brand,
            item["keyword"].encode(),
            priority=item["priority"],
            idempotency_key=form.once or None,
            content_type="text/plain",
        )
        # The page of the new one: that of the old one stays as it is.
        path = views.path_of(brand, accepted["cycle_id"], 1)
        return await told(request, viewer, path, Notice("keywords.again_done", {"keyword": item["keyword"]}))

    return await once(request, viewer, form, submit)


@router.post("/b/{brand}/keywords/{keyword_id}/retry")
async def retry_writing(
    request: Request, brand: str, keyword_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Has a stuck article written on."""
    viewer.check_may(Scope.OPERATE)
    item = await _find(viewer, brand, keyword_id)

    async def retry() -> Response:
        await viewer.orchestrator.retry_workflow(item["content_id"] or "", idempotency_key=form.once or None)
        return redirect(request, f"/b/{brand}/keywords/{keyword_id}")

    return await once(request, viewer, form, retry)


@router.post("/b/{brand}/keywords/{keyword_id}/cancel")
async def cancel_writing(
    request: Request, brand: str, keyword_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Stops the writing of an article, for good."""
    viewer.check_may(Scope.OPERATE)
    item = await _find(viewer, brand, keyword_id)

    async def cancel() -> Response:
        await viewer.orchestrator.cancel_workflow(item["content_id"] or "", idempotency_key=form.once or None)
        return redirect(request, f"/b/{brand}/keywords/{keyword_id}")

    return await once(request, viewer, form, cancel)


async def _find(viewer: PageViewer, brand: str, keyword_id: str) -> "answers.FoundKeywordView":
    """Reads a keyword by its address: it is the first of the list after its cursor. Raises HTTPException 404."""
    item = await _found(viewer, brand, keyword_id)
    if item is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("keywords.unknown"))
    return item


def _search(
    clients: PersonClients, brand: str, wanted: ListFilter, *, counted: bool = False
) -> "Coroutine[Any, Any, answers.FoundKeywordsView]":
    return clients.orchestrator.search_for_keywords(
        brand=brand, counted=counted, **wanted.arguments(datetime.now(UTC))
    )


async def _found(clients: PersonClients, brand: str, keyword_id: str) -> "answers.FoundKeywordView | None":
    wanted = views.KeywordId.of(keyword_id)
    if wanted is not None:
        found = await clients.orchestrator.search_for_keywords(brand=brand, after=wanted.behind, limit=1)
        for item in found["items"]:
            if (item["cycle_id"], item["position"]) == (wanted.cycle_id, wanted.position):
                return item
    return None


async def _nothing() -> None:
    return None


async def _known(call: Any) -> Any:
    """The answer; None if the service does not know it, or no longer has it."""
    try:
        return await call
    except RefusedError as error:
        if error.status in _GONE:
            return None
        raise
