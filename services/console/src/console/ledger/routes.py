"""Routes of the page of the ledger."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.ids import parse_id
from console.ledger import views
from console.ledger.views import LedgerFilter
from console.notices import Notice, told
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once_or_refused, page
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

SHOW: Final = "/ledger"
NAVIGATION: Final = (NavigationEntry("ledger", SHOW, 26, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)
_CHANGING: Final = frozenset({"now", "counted_until"})


async def read_ledger(
    clients: PersonClients,
    fields: Mapping[str, str],  # noqa: ARG001  (the path has none)
    query: Mapping[str, str],
) -> Any:
    """Reads what changes on the page, without the times of the answers."""
    wanted = LedgerFilter.of(query)
    found = await read_each(
        clients.monitor.get_ledger(), clients.monitor.list_ledger_messages(**wanted.arguments())
    )
    return [
        {name: value for name, value in each.items() if name not in _CHANGING}
        if isinstance(each, dict)
        else each
        for each in found
    ]


LIVE: Final = (LivePage(SHOW, read_ledger),)


@router.get(SHOW)
async def get_ledger(request: Request, viewer: Viewer) -> Response:
    """The counts of all queues, and the messages that are not done."""
    viewer.check_may(Scope.OPERATE)
    return await _show(request, viewer, LedgerFilter.of(request.query_params))


@router.post(SHOW)
async def close_messages(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Closes the checked messages with a reason, as far as they are still missing."""
    viewer.check_may(Scope.OPERATE)
    wanted = LedgerFilter.of({name: form.text(name) for name in LedgerFilter.__slots__})
    ids = [each for each in dict.fromkeys(form.all("chosen")) if parse_id(each)][: views.PAGE]

    async def act() -> Response:
        closed: Sequence[str] = ()
        if ids:
            reason = form.text("reason")
            answer = await viewer.monitor.close_missing_messages(
                ids=ids, reason=reason, by=viewer.person.name
            )
            closed = answer["closed"]
        notice = Notice("ledger.closed", {"n": len(closed)}) if closed else Notice("ledger.nothing_closed")
        return await told(request, viewer, SHOW + wanted.query(), notice)

    return await once_or_refused(request, viewer, form, act, partial(_show, request, viewer, wanted))


async def _show(
    request: Request,
    viewer: PageViewer,
    wanted: LedgerFilter,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    is_bound = viewer.person.brands is not None
    counted = listed = None
    if not is_bound:
        counted, listed = await asyncio.gather(
            viewer.ask_one("monitor", viewer.monitor.get_ledger()),
            viewer.ask_one("monitor", viewer.monitor.list_ledger_messages(**wanted.arguments())),
        )
    subjects = await _subjects(viewer, listed["items"]) if isinstance(listed, Mapping) else {}
    return page(
        request,
        viewer,
        "ledger/ledger.html.j2",
        status=status,
        refusal=refusal,
        ledger=counted,
        listed=listed,
        wanted=wanted,
        states=views.STATES,
        tones=views.TONES,
        counts=views.COUNTS,
        remedies=views.REMEDIES,
        is_bound=is_bound,
        subjects=subjects,
        brand_names=viewer.brands.by_slug,
    )


async def _subjects(
    viewer: PageViewer, messages: Sequence[Mapping[str, Any]]
) -> Mapping[str, views.MessageSubject]:
    """What the messages are about, by their ids; without those of which it is not known."""
    chains = views.chains_of(messages)
    answers = await asyncio.gather(
        *(
            viewer.ask_one(
                "orchestrator",
                viewer.orchestrator.search_for_keywords(correlation_id=each, limit=views.MOST_KEYWORDS),
            )
            for each in chains
        )
    )
    keywords = {
        chain: answer["items"]
        for chain, answer in zip(chains, answers, strict=True)
        if isinstance(answer, Mapping)
    }
    found = {
        each["message_id"]: views.subject_of(each, keywords.get(each["correlation_id"] or "", ()))
        for each in messages
    }
    return {message_id: subject for message_id, subject in found.items() if subject is not None}
