"""One draft for a person: found, shown as its page, and with it what a service refuses."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import ClientError, RefusedError
from console.drafts import guest_links, notes
from console.drafts.context import sentence_evidence
from console.drafts.editing import FIELDS, Conflict, DiffLine, diff_lines, field_text
from console.drafts.views import DECIDABLE, block_groups, count_verdicts, is_id
from console.pages import Away, Form, PageViewer, page
from console.service_clients import sentence_of

MAX_VERSION: Final = 2**31 - 1
Act = Callable[[], Awaitable[Response]]


def check_id(viewer: PageViewer, content_id: str) -> None:
    if not is_id(content_id):
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("drafts.unknown"))


async def find_draft(viewer: PageViewer, brand: str, content_id: str) -> Any:
    """Returns a draft of this brand. Raises HTTPException 404."""
    check_id(viewer, content_id)
    draft = await viewer.orchestrator.get_draft(content_id)
    if draft["brand_slug"] != brand:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("drafts.unknown"))
    return draft


def version_of(form: Form, name: str = "version") -> int:
    text = form.text(name)
    fits = text.isascii() and text.isdecimal() and 0 < int(text[:12]) <= MAX_VERSION
    if not fits:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"the form names no version: {name}")
    return int(text)


def refusals_shown(
    request: Request, brand: str, content_id: str, viewer: PageViewer, act: Act, typed: Form | None = None
) -> Act:
    """Wraps an act so that the draft's page shows its refusal, with everything that was typed."""

    async def told() -> Response:
        try:
            return await act()
        except RefusedError as error:
            return await show_draft(
                request,
                brand,
                content_id,
                viewer,
                refusal=sentence_of(error, viewer.t),
                typed=typed,
                status=error.status,
            )

    return told


def shown_proposals(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The proposals with the lines of their diffs."""
    return [{**each, "lines": diff_lines(each["diff"])} for each in found]


async def evidence_of(viewer: PageViewer, marked: Any, shown: Any, number: int) -> Any:
    """The evidence of a sentence; without the source's text where research no longer has it, or is away."""
    research: Any = None
    try:
        research = await viewer.research.get_research(marked["research_id"])
    except ClientError:
        research = None
    return sentence_evidence(marked, number, research, shown["sources"])


async def show_draft(
    request: Request,
    brand: str,
    content_id: str,
    viewer: PageViewer,
    *,
    version: int | None = None,
    sentence: int | None = None,
    refusal: str | None = None,
    conflict: Conflict | None = None,
    conflict_base: int = 0,
    changes: tuple[DiffLine, ...] = (),
    written: Any = None,
    typed: Form | None = None,
    guest_address: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    draft = await find_draft(viewer, brand, content_id)
    number = version or draft["version"]
    orchestrator = viewer.orchestrator
    parts = await viewer.gather(
        shown=orchestrator.get_article_version(content_id, number),
        marked=orchestrator.get_article_sentences(content_id, version=number),
        versions=orchestrator.list_article_versions(content_id, limit=100),
        decisions=orchestrator.list_draft_decisions(content_id),
        proposed=orchestrator.list_proposals(content_id),
    )
    away = next((each for each in parts.values() if isinstance(each, Away)), None)
    if away is not None:
        return page(request, viewer, "drafts/away.html.j2", brand=brand, away=away)
    marked, shown = parts["marked"], parts["shown"]
    texts = {name: field_text(shown, name) for name in (*FIELDS, "key_points")}
    asked = request.query_params
    return page(
        request,
        viewer,
        "drafts/draft.html.j2",
        status=status if refusal or conflict else HTTPStatus.OK,
        brand=brand,
        draft=draft,
        shown=shown,
        number=number,
        is_newest=number == draft["version"],
        groups=block_groups(marked),
        counted=count_verdicts(marked),
        evidence=await evidence_of(viewer, marked, shown, sentence) if sentence else None,
        texts={**texts, **(written or {})},
        versions=list(reversed(parts["versions"]["items"])),
        decisions=parts["decisions"]["items"],
        proposals=shown_proposals(parts["proposed"]["items"]),
        threads=await notes.threads(request, content_id),
        guest_links=await guest_links.links_of(request, content_id) if viewer.may(Scope.REVIEW) else (),
        guest_address=guest_address,
        before=draft["before"],
        following=draft["following"],
        refusal=refusal,
        conflict=conflict,
        conflict_base=conflict_base,
        changes=changes,
        typed={name: typed.raw(name) if typed else "" for name in ("words", "at", "comment")},
        saved=asked.get("saved", "") if asked.get("saved", "").isdecimal() else "",
        cut=asked.get("cut", "") if asked.get("cut", "").isdecimal() else "",
        done=asked.get("done", "") if is_id(asked.get("of", "")) else "",
        done_id=asked.get("of", ""),
        may_review=viewer.may(Scope.REVIEW),
        can_decide=viewer.may(Scope.REVIEW) and draft["state"] in {*DECIDABLE, "returned", "taken_down"},
        can_edit=viewer.may(Scope.REVIEW) and draft["state"] not in {"returned", "rejected", "taken_down"},
        zone=viewer.person.zone,
    )
