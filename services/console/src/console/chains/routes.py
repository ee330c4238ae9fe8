"""Routes of a chain's page, and of its file."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import message_chains
from client.errors import ClientError, RefusedError
from client.message_services import CHAIN_SERVICES
from console.chains import views
from console.list_files.answers import file_answer
from console.list_files.writing import PAGE_ROWS, Format, ListPages
from console.pages import PageViewer, Viewer, page, redirect
from console.pages.parts import parts_of
from console.service_clients import PersonClients
from console.urls import chain_path
from console.watching.pages import LivePage, read_each

if TYPE_CHECKING:
    from client.services.orchestrator import KeywordState

PAGE: Final = "/chains/{correlation_id}"
FIND: Final = "/chains"
_LONGEST: Final = 200
"""Characters of a correlation id."""
router = APIRouter(include_in_schema=False)


async def read_chain(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Reads what changes on the page, without the times of the answers."""
    places = message_chains.read_places(query.get("after", ""))
    chain = fields["correlation_id"]
    calls = (
        getattr(clients, each).list_messages(correlation_id=chain, after=place, limit=views.PAGE_SIZE)
        for each, place in places.items()
    )
    found = await read_each(*calls)
    return [each["items"] if isinstance(each, Mapping) else each for each in found]


LIVE: Final = (LivePage(PAGE, read_chain),)


def _check(viewer: PageViewer, correlation_id: str) -> None:
    viewer.check_may(Scope.OPERATE)
    if viewer.person.brands is not None:
        raise HTTPException(HTTPStatus.FORBIDDEN, viewer.t("chains.bound"))
    if len(correlation_id) > _LONGEST or "\0" in correlation_id:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("chains.no_id"))


async def _ask_each(
    viewer: PageViewer,
    services: Mapping[str, Any] | tuple[str, ...],
    call: Callable[[Any, str], Awaitable[Any]],
) -> dict[str, Any]:
    """Asks services side by side; one that is away or refuses has an `Away` or a `Refused`."""
    answers = await asyncio.gather(
        *(viewer.ask_one(each, call(getattr(viewer, each), each)) for each in services)
    )
    return dict(zip(services, answers, strict=True))


def _calls(viewer: PageViewer, correlation_id: str, after: str) -> Awaitable[Any]:
    """Asks the gateway for the calls that it made for the chain."""
    return viewer.gateway.list_chain_calls(
        correlation_id=correlation_id, after=views.id_of(after), limit=views.CALLS_SIZE
    )


@router.get("/chains/{correlation_id}/calls.{ending}")
async def show_calls_file(correlation_id: str, ending: Format, viewer: Viewer) -> Response:
    """The calls of the gateway for the chain as a file, the oldest first."""
    _check(viewer, correlation_id)

    async def read(after: str | None) -> Mapping[str, Any]:
        found = await viewer.gateway.list_chain_calls(
            correlation_id=correlation_id, after=after, limit=PAGE_ROWS
        )
        return {"items": [views.call_row(each) for each in found["items"]], "next": found["next"]}

    try:
        first = await read(None)
    except ClientError as error:
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, viewer.t("chains.no_file")) from error
    return file_answer(viewer.t, ListPages(first, read), views.CALL_COLUMNS, "chain-calls", ending)


@router.get(FIND)
async def find_chains(request: Request, viewer: Viewer) -> Response:
    """The chains of a keyword, an article, a post or a message, whose spelling or id is in the address."""
    _check(viewer, "")
    text = request.query_params.get("q", "").replace("\0", "").strip()[:_LONGEST]
    answers = await _ask_about(viewer, text) if text else []
    return page(
        request,
        viewer,
        "chains/find.html.j2",
        text=text,
        found=views.chains_of(answers),
        away=[each for each in answers if not isinstance(each, Mapping)],
    )


async def _ask_about(viewer: PageViewer, text: str) -> list[Any]:
    """Asks each service for what has the text as its spelling or id."""
    keywords = viewer.orchestrator.search_for_keywords
    known = views.id_of(text)
    if known is None:
        return [await viewer.ask_one("orchestrator", keywords(keyword=text, limit=PAGE_ROWS))]
    content_id: UUID | str = known
    try:
        post = await viewer.social.get_post(known)
    except RefusedError as error:
        if error.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
            raise
    except ClientError:
        pass  # the next question to it says that it is away
    else:
        content_id = post["content_id"]
    found = await _ask_each(
        viewer,
        CHAIN_SERVICES,
        lambda client, _: client.list_messages(message_id=known, limit=1),
    )
    of_article = await viewer.ask_one("orchestrator", keywords(content_id=content_id, limit=1))
    of_chain = await viewer.ask_one("orchestrator", keywords(correlation_id=str(known), limit=1))
    # Only the ledger knows a message that was lost on its way.
    of_ledger = await viewer.ask_one(
        "monitor", viewer.monitor.list_ledger_messages(message_id=known, limit=1)
    )
    return [of_article, of_chain, of_ledger, *found.values()]


@router.get("/b/{brand}/drafts/{content_id}/chain")
async def show_chain_of_draft(request: Request, brand: str, content_id: str, viewer: Viewer) -> Response:
    """Leads to the chain in which an article was written, or says that it is not known."""
    viewer.check_may(Scope.OPERATE)
    draft = await viewer.orchestrator.get_draft(content_id)
    if draft["brand_slug"] != brand:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("chains.no_id"))
    try:
        workflow = await viewer.orchestrator.get_workflow(content_id)
        cycle = await viewer.orchestrator.get_cycle(workflow["cycle_id"])
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        # Old cycles leave the database, and articles stay.
        return page(request, viewer, "chains/unknown.html.j2", draft=draft)
    return redirect(request, chain_path(cycle["correlation_id"]))


@router.get("/chains/{correlation_id}/messages.{ending}")
async def show_file(correlation_id: str, ending: Format, viewer: Viewer) -> Response:
    """The chain as a file, the newest message first."""
    _check(viewer, correlation_id)

    async def read(after: str | None) -> Mapping[str, Any]:
        places = message_chains.read_places(after or "")
        answers = await asyncio.gather(
            *(
                getattr(viewer, each).list_messages(
                    correlation_id=correlation_id, after=place, limit=PAGE_ROWS
                )
                for each, place in places.items()
            )
        )
        found = message_chains.merge(dict(zip(places, answers, strict=True)), places, size=PAGE_ROWS)
        return {"items": [views.row_of(each) for each in found.items], "next": found.next}

    # A service that is away would leave a hole in the file that nobody sees.
    try:
        first = await read(None)
    except ClientError as error:
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, viewer.t("chains.no_file")) from error
    columns = views.JSON_COLUMNS if ending == "json" else views.COLUMNS
    return file_answer(viewer.t, ListPages(first, read), columns, "chain", ending)


async def _read_longer(
    viewer: PageViewer, correlation_id: str, found: Mapping[str, Any], last_keywords: Any
) -> tuple[dict[str, Any], list[Any]]:
    """Reads what waits and what goes on, by service and by state, where the chain is longer than its first page: else it is on that."""
    longer = tuple(name for name, answer in found.items() if views.has_more(answer))
    states: tuple[KeywordState, ...] = views.UNDER_WAY if views.has_more(last_keywords) else ()
    waiting, under_way = await asyncio.gather(
        _ask_each(
            viewer,
            longer,
            lambda client, _: client.list_messages(
                correlation_id=correlation_id, state="waiting", limit=views.MOST_FAILURES
            ),
        ),
        asyncio.gather(
            *(
                viewer.ask_one(
                    "orchestrator",
                    viewer.orchestrator.search_for_keywords(
                        correlation_id=correlation_id, state=each, limit=views.MOST_KEYWORDS
                    ),
                )
                for each in states
            )
        ),
    )
    short = {name: views.those_in(("waiting",), found[name]) for name in found if name not in longer}
    return short | waiting, under_way or [views.those_in(views.UNDER_WAY, last_keywords)]


@router.get(PAGE)
async def show_chain(request: Request, correlation_id: str, viewer: Viewer) -> Response:
    """The failures of a chain, what waits, runs or comes next, and its last messages; older ones by the address."""
    _check(viewer, correlation_id)
    after = request.query_params.get("after", "")[:1000]
    places = message_chains.read_places(after)
    is_first = not after
    as_tree = request.query_params.get("view") == "tree"

    async def nothing() -> dict[str, Any]:
        return {"items": []}

    found, letters, missing, last_keywords, calls = await asyncio.gather(
        _ask_each(
            viewer,
            places,
            lambda client, name: client.list_messages(
                correlation_id=correlation_id,
                after=places[name],
                limit=views.PAGE_SIZE,
                running=is_first,
            ),
        ),
        viewer.ask_one(
            "monitor",
            viewer.monitor.list_dead_letters(correlation_id=correlation_id, limit=views.MOST_FAILURES)
            if is_first
            else nothing(),
        ),
        viewer.ask_one(
            "monitor",
            viewer.monitor.list_ledger_messages(
                correlation_id=correlation_id, state="missing", limit=views.MOST_FAILURES
            )
            if is_first
            else nothing(),
        ),
        viewer.ask_one(
            "orchestrator",
            viewer.orchestrator.search_for_keywords(correlation_id=correlation_id, limit=views.MOST_KEYWORDS)
            if is_first
            else nothing(),
        ),
        viewer.ask_one("gateway", _calls(viewer, correlation_id, request.query_params.get("calls", "")))
        if is_first
        else nothing(),
    )
    waiting, under_way = (
        await _read_longer(viewer, correlation_id, found, last_keywords) if is_first else ({}, [])
    )
    answered = {name: answer for name, answer in found.items() if isinstance(answer, Mapping)}
    line = message_chains.merge(answered, places, size=views.PAGE_SIZE)
    return page(
        request,
        viewer,
        "chains/chain.html.j2",
        chain=correlation_id,
        is_first=is_first,
        after=after,
        line=line,
        lines=views.lines_of(line.items, as_tree=as_tree),
        as_tree=as_tree,
        times_of=message_chains.times_of,
        duration=message_chains.duration,
        next_keywords=views.keywords_of(under_way, correlation_id),
        posts=[
            (keyword, post)
            for keyword in views.keywords_of([last_keywords], correlation_id)
            for post in keyword["posts"]
        ],
        found=found,
        waiting=views.waiting_of(waiting),
        running=views.running_of(found),
        letters=views.letters_of(letters),
        missing=missing["items"] if isinstance(missing, Mapping) else [],
        monitor=letters,
        calls=calls,
        call_lines=views.calls_of(calls, viewer.t),
        calls_spent=views.spent_of(calls, viewer.t),
        next_calls=calls["next"] if isinstance(calls, Mapping) and is_first else None,
        is_first_calls=not request.query_params.get("calls"),
        since=views.since_of(found.values()),
        traces=views.jaeger_search(
            parts_of(request).settings.jaeger_public_url, correlation_id, datetime.now(UTC)
        ),
    )
