"""Subjects: which keywords mean the same, so that they get one article; joined and separated by a person."""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.notices import Notice, Undo, UndoAct, told
from console.pages import Form, FormData, PageViewer, Viewer, once_or_refused, page

_PAGE: Final = 50
_DECISIONS: Final = 50
MAX_KEYWORD: Final = 200
_LONGEST_KEY: Final = 2_000
router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/keywords/subjects")
async def show_subjects(request: Request, brand: str, viewer: Viewer) -> Response:
    """Subjects with an article or with work under way, and what people have decided about them."""
    return await _show(request, brand, viewer)


async def _show(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    asked = request.query_params
    wanted = asked.get("q", "").replace("\0", "").strip()[:MAX_KEYWORD]
    after = asked.get("after", "").replace("\0", "")[:_LONGEST_KEY]
    parts = await viewer.gather(
        found=viewer.orchestrator.list_subjects(
            brand, keyword=wanted or None, after=after or None, limit=_PAGE
        ),
        decisions=viewer.orchestrator.list_subject_decisions(brand, limit=_DECISIONS),
    )
    return page(
        request,
        viewer,
        "keywords/subjects.html.j2",
        status=status,
        **parts,
        brand=brand,
        refusal=refusal,
        wanted=wanted,
        after=after,
        typed={name: form.raw(name) if form else "" for name in ("keyword", "other")},
        most=MAX_KEYWORD,
        may_operate=viewer.may(Scope.OPERATE),
    )


@router.post("/b/{brand}/keywords/subjects")
async def decide(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Makes two keywords one subject, or gives a keyword a subject of its own; for keywords submitted from then on."""
    viewer.check_may(Scope.OPERATE)
    verb, keyword, other = form.text("do"), form.text("keyword"), form.text("other")
    if verb not in {"join", "split"}:
        raise HTTPException(HTTPStatus.NOT_FOUND)

    async def act() -> Response:
        ask = viewer.orchestrator.create_subject_decision
        if verb == "join":
            answer = await ask(
                brand, kind="join", keyword=keyword, other=other, idempotency_key=form.once or None
            )
            undo = Undo("keywords.subjects", [[keyword, brand, ""]])
        else:
            known = await viewer.orchestrator.list_subjects(brand, keyword=keyword, limit=1)
            with_it = [
                each for one in known["items"] for each in one["keywords"] if each.lower() != keyword.lower()
            ]
            answer = await ask(brand, kind="split", keyword=keyword, idempotency_key=form.once or None)
            # What stood alone has nothing that it could be joined with again.
            undo = Undo("keywords.subjects", [[keyword, brand, with_it[0]]] if with_it else [])
        done = verb if answer["changed"] else "nothing"
        notice = Notice(
            f"keywords.subjects_done.{done}",
            {"keyword": keyword, "other": other},
            undo=undo if answer["changed"] and undo.things else None,
        )
        return await told(request, viewer, f"/b/{brand}/keywords/subjects", notice)

    refused = partial(_show, request, brand, viewer, form=form)
    return await once_or_refused(request, viewer, form, act, refused)


async def _take_back(viewer: PageViewer, thing: Sequence[Any]) -> None:
    """A join is taken back by a split, and a split by a join with what it was separated from."""
    keyword, brand, other = thing
    ask = viewer.orchestrator.create_subject_decision
    if other:
        await ask(brand, kind="join", keyword=keyword, other=other)
    else:
        await ask(brand, kind="split", keyword=keyword)


UNDO: Final[dict[str, UndoAct]] = {"keywords.subjects": _take_back}
