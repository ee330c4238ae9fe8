"""`/b/{brand}/drafts/{content_id}`: one draft with its evidence, its editor, its versions, and the decisions about it."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from chassis.http.callers import Scope
from client import ClientError, RefusedError
from console.drafts import guest_links, notes
from console.drafts.context import sentence_evidence
from console.drafts.decided import decided
from console.drafts.draft_page import PAGE_HEADERS
from console.drafts.editing import (
    FIELDS,
    Conflict,
    DiffLine,
    diff_lines,
    field_text,
    find_conflict,
    without_block,
)
from console.drafts.views import DECIDABLE, block_groups, count_verdicts, is_id, neighbours, time_in_zone
from console.pages import Away, Form, FormData, PageViewer, Viewer, once, page, redirect
from console.pages.parts import parts_of
from console.service_clients import PersonClients, is_away, sentence_of

MAX_VERSION: Final = 2**31 - 1
_QUEUE: Final = 100
"""Drafts among which the next and the one before are looked for."""
Number = Annotated[int, Path(ge=1, le=MAX_VERSION)]
Version = Annotated[int | None, Query(ge=1, le=MAX_VERSION)]
Act = Callable[[], Awaitable[Response]]


async def read_draft(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (no filters)
    """What a person who has the draft open should hear of: a newer version, or a decision. None for an unknown draft."""
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
    _reading(routes)
    _writing(routes)
    _changing(routes)
    _deciding(routes)
    _noting(routes)
    _inviting_guests(routes)
    return routes


def _reading(routes: APIRouter) -> None:
    @routes.get("")
    async def show_draft(
        request: Request,
        brand: str,
        content_id: str,
        viewer: Viewer,
        version: Version = None,
        sentence: Annotated[int | None, Query(ge=1, le=MAX_VERSION)] = None,
    ) -> Response:
        return await _show(request, brand, content_id, viewer, version=version, sentence=sentence)

    @routes.get("/page")
    async def show_draft_page(
        brand: str, content_id: str, viewer: Viewer, version: Annotated[int, Query(ge=1, le=MAX_VERSION)]
    ) -> Response:
        """The version as its page will look, for a frame."""
        _check_id(viewer, content_id)
        try:
            document = await viewer.publisher.get_draft_page(brand, content_id, version=version)
        except ClientError:
            text = viewer.t("drafts.page.missing")
            return HTMLResponse(
                f"<!DOCTYPE html><title>…</title><p>{text}</p>", HTTPStatus.BAD_GATEWAY, headers=PAGE_HEADERS
            )
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
        draft = await _find(viewer, brand, content_id)
        marked = await viewer.orchestrator.get_article_sentences(content_id, version=version)
        shown = await viewer.orchestrator.get_article_version(content_id, version)
        evidence = await _evidence(viewer, marked, shown, number)
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
        draft = await _find(viewer, brand, content_id)
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


def _writing(routes: APIRouter) -> None:
    @routes.post("/save")
    async def save_draft(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Stores the text as the next version of the one that it began from; of two people, the second sees both changes."""
        viewer.check_may(Scope.REVIEW)
        await _find(viewer, brand, content_id)
        base, written = _version_of(form), _written(form)

        async def act() -> Response:
            try:
                saved = await viewer.orchestrator.edit_draft(
                    content_id, version=base, **_as_edit(written), comment=form.text("comment")
                )
            except RefusedError as error:
                return await _not_saved(request, brand, content_id, viewer, form, base, written, error)
            return redirect(request, f"/b/{brand}/drafts/{content_id}?saved={saved['version']}#text")

        return await once(request, viewer, form, act)

    @routes.post("/check")
    async def check_text(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Compares a text that is being typed with what the draft rests on. Nothing is stored, so it may be sent again."""
        viewer.check_may(Scope.REVIEW)
        await _find(viewer, brand, content_id)
        checked = await viewer.orchestrator.check_article_text(
            content_id, body_markdown=form.raw("body_markdown"), version=_version_of(form)
        )
        return page(request, viewer, "drafts/checked.html.j2", brand=brand, checked=checked)


def _changing(routes: APIRouter) -> None:
    @routes.post("/cut")
    async def cut_block(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Takes one paragraph out, as an edit."""
        viewer.check_may(Scope.REVIEW)
        await _find(viewer, brand, content_id)
        version = _version_of(form)

        async def act() -> Response:
            marked = await viewer.orchestrator.get_article_sentences(content_id, version=version)
            shown = await viewer.orchestrator.get_article_version(content_id, version)
            at = form.text("block")
            if not (at.isascii() and at.isdecimal() and int(at) < len(marked["blocks"])):
                return await _show(request, brand, content_id, viewer)
            block = marked["blocks"][int(at)]
            body = without_block(shown["body_markdown"], block["start"], block["end"])
            saved = await viewer.orchestrator.edit_draft(
                content_id, version=version, body_markdown=body, comment=viewer.t("drafts.text.cut_comment")
            )
            return redirect(request, f"/b/{brand}/drafts/{content_id}?cut={saved['version']}#text")

        return await once(request, viewer, form, _told(request, brand, content_id, viewer, act))

    @routes.post("/keep")
    async def keep_sentence(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Puts a sentence back that the checks cut, in the person's name."""
        viewer.check_may(Scope.REVIEW)
        await _find(viewer, brand, content_id)
        number = form.text("number")

        async def act() -> Response:
            if number.isascii() and number.isdecimal():
                await viewer.orchestrator.keep_cut_sentence(
                    content_id, version=_version_of(form), number=int(number)
                )
            return redirect(request, f"/b/{brand}/drafts/{content_id}#text")

        return await once(request, viewer, form, _told(request, brand, content_id, viewer, act))

    @routes.post("/restore")
    async def restore_version(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Stores an earlier text once more, as the newest version."""
        viewer.check_may(Scope.REVIEW)
        draft = await _find(viewer, brand, content_id)

        async def act() -> Response:
            number = _version_of(form, "restored")
            earlier = await viewer.orchestrator.get_article_version(content_id, number)
            texts = {name: field_text(earlier, name) for name in (*FIELDS, "key_points")}
            await viewer.orchestrator.edit_draft(
                content_id,
                version=_version_of(form) or draft["version"],
                **_as_edit(texts),
                comment=viewer.t("drafts.versions.restored", n=number),
            )
            return redirect(request, f"/b/{brand}/drafts/{content_id}#text")

        return await once(request, viewer, form, _told(request, brand, content_id, viewer, act))


def _deciding(routes: APIRouter) -> None:
    @routes.post("/decisions/{verb}")
    async def decide_draft(
        request: Request, brand: str, content_id: str, verb: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Approves, approves for a time, calls that off, returns or rejects exactly the version that the person saw."""
        viewer.check_may(Scope.REVIEW)
        draft = await _find(viewer, brand, content_id)
        version, words = _version_of(form), form.text("words")
        orchestrator = viewer.orchestrator

        async def act() -> Response:
            match verb:
                case "approve":
                    await orchestrator.approve_draft(content_id, version=version)
                case "schedule":
                    at = time_in_zone(form.text("at"), viewer.person.zone)
                    if at is None:
                        problem = viewer.t("drafts.decide.no_time", zone=viewer.person.zone)
                        return await _show(request, brand, content_id, viewer, refusal=problem, typed=form)
                    await orchestrator.approve_draft(content_id, version=version, publish_at=at)
                case "unschedule":
                    await orchestrator.unschedule_draft(content_id)
                case "return" | "reject" if not words:
                    problem = viewer.t("drafts.decide.no_words")
                    return await _show(request, brand, content_id, viewer, refusal=problem, typed=form)
                case "return":
                    await orchestrator.return_draft(content_id, version=version, comment=words)
                case "reject":
                    await orchestrator.reject_draft(content_id, version=version, reason=words)
                case _:
                    raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("drafts.unknown"))
            return await decided(request, viewer, draft, verb, form.text("next"))

        return await once(request, viewer, form, _told(request, brand, content_id, viewer, act, form))


def _noting(routes: APIRouter) -> None:
    @routes.post("/notes")
    async def add_note(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Adds a note, or an answer to one. Everybody who may see the brand may write them."""
        await _find(viewer, brand, content_id)

        async def act() -> Response:
            words = form.raw("words").strip()[: notes.MAX_NOTE]
            if words:
                await notes.add(
                    request, brand=brand, content_id=content_id, person=viewer.person, words=words,
                    answers=form.text("answers"),
                )  # fmt: skip
            return redirect(request, f"/b/{brand}/drafts/{content_id}#notes")

        return await once(request, viewer, form, act)

    @routes.post("/notes/{note}/settle")
    async def settle_note(
        request: Request, brand: str, content_id: str, note: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Marks a thread as settled, or opens it again."""
        await _find(viewer, brand, content_id)

        async def act() -> Response:
            if is_id(note):
                await notes.settle(request, content_id=content_id, note=note, is_settled="open" not in form)
            return redirect(request, f"/b/{brand}/drafts/{content_id}#notes")

        return await once(request, viewer, form, act)


def _inviting_guests(routes: APIRouter) -> None:
    @routes.post("/guests")
    async def make_guest_link(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Makes a link for somebody without an account; it is shown once, in the answer."""
        viewer.check_may(Scope.REVIEW)
        await _find(viewer, brand, content_id)
        version, guest = _version_of(form), form.text("guest")[: guest_links.MAX_NAME]

        async def act() -> Response:
            address, problem = await _made_link(request, brand, content_id, viewer, version, guest)
            return await _show(
                request, brand, content_id, viewer, refusal=problem, guest_address=address,
                status=HTTPStatus.UNPROCESSABLE_ENTITY,
            )  # fmt: skip

        return await once(request, viewer, form, _told(request, brand, content_id, viewer, act))

    @routes.post("/guests/{link}/withdraw")
    async def withdraw_guest_link(
        request: Request, brand: str, content_id: str, link: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Ends a link at once; what its guest wrote stays."""
        viewer.check_may(Scope.REVIEW)
        await _find(viewer, brand, content_id)

        async def act() -> Response:
            if is_id(link):
                await guest_links.withdraw(request, content_id=content_id, link=link)
            return redirect(request, f"/b/{brand}/drafts/{content_id}#guests")

        return await once(request, viewer, form, act)


async def _made_link(
    request: Request, brand: str, content_id: str, viewer: PageViewer, version: int, guest: str
) -> tuple[str, str | None]:
    """Makes a link; returns its address, or an empty one with the reason."""
    if not guest:
        return "", viewer.t("drafts.guests.no_name")
    try:
        document = await viewer.publisher.get_draft_page(brand, content_id, version=version)
    except ClientError as error:
        if isinstance(error, RefusedError) and not is_away(error):
            raise
        return "", viewer.t("drafts.page.missing")
    if len(document) > guest_links.MAX_PAGE:
        return "", viewer.t("drafts.guests.too_large")
    try:
        token = await guest_links.make(
            request, brand=brand, content_id=content_id, version=version, guest=guest,
            person=viewer.person, document=document,
        )  # fmt: skip
    except guest_links.TooManyLinksError:
        return "", viewer.t("drafts.guests.too_many_links", n=guest_links.MOST_OF_DRAFT)
    return parts_of(request).urls.absolute(f"/p/{token}"), None


def _told(
    request: Request, brand: str, content_id: str, viewer: PageViewer, act: Act, typed: Form | None = None
) -> Act:
    """The same act, whose refusal is shown on the draft's page with everything that was typed."""

    async def told() -> Response:
        try:
            return await act()
        except RefusedError as error:
            return await _show(
                request,
                brand,
                content_id,
                viewer,
                refusal=sentence_of(error, viewer.t),
                typed=typed,
                status=error.status,
            )

    return told


def _check_id(viewer: PageViewer, content_id: str) -> None:
    if not is_id(content_id):
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("drafts.unknown"))


async def _find(viewer: PageViewer, brand: str, content_id: str) -> Any:
    """Returns a draft of this brand. Raises HTTPException 404."""
    _check_id(viewer, content_id)
    draft = await viewer.orchestrator.get_draft(content_id)
    if draft["brand_slug"] != brand:
        raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("drafts.unknown"))
    return draft


def _version_of(form: Form, name: str = "version") -> int:
    text = form.text(name)
    fits = text.isascii() and text.isdecimal() and 0 < int(text[:12]) <= MAX_VERSION
    if not fits:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"the form names no version: {name}")
    return int(text)


def _written(form: Form) -> dict[str, str]:
    """What a person wrote, by field."""
    return {
        name: form.raw(name) if name in {"body_markdown", "key_points"} else form.text(name)
        for name in (*FIELDS, "key_points")
        if name in form
    }


def _as_edit(written: dict[str, str]) -> dict[str, Any]:
    edit: dict[str, Any] = dict(written)
    if "key_points" in edit:
        edit["key_points"] = [each.strip() for each in edit["key_points"].split("\n") if each.strip()]
    return edit


async def _not_saved(
    request: Request,
    brand: str,
    content_id: str,
    viewer: PageViewer,
    form: Form,
    base: int,
    written: dict[str, str],
    error: RefusedError,
) -> Response:
    """Shows the editor with every word that was typed; if somebody else was faster, with their change joined in."""
    draft = await _find(viewer, brand, content_id)
    conflict: Conflict | None = None
    changes: Any = None
    if error.status == HTTPStatus.CONFLICT and draft["version"] > base:
        changes = await viewer.orchestrator.compare_article_versions(
            content_id, from_=base, to=draft["version"]
        )
        before = await viewer.orchestrator.get_article_version(content_id, base)
        newest = await viewer.orchestrator.get_article_version(content_id, draft["version"])
        conflict = find_conflict(before, written, newest)
    return await _show(
        request,
        brand,
        content_id,
        viewer,
        refusal=None if conflict else sentence_of(error, viewer.t),
        conflict=conflict,
        conflict_base=base,
        changes=diff_lines(changes["diff"]) if changes else (),
        written=conflict.merged if conflict else written,
        typed=form,
        status=error.status,
    )


async def _evidence(viewer: PageViewer, marked: Any, shown: Any, number: int) -> Any:
    """The evidence of a sentence; without the source's text where research no longer has it, or is away."""
    research: Any = None
    try:
        research = await viewer.research.get_research(marked["research_id"])
    except ClientError:
        research = None
    return sentence_evidence(marked, number, research, shown["sources"])


async def _show(
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
    draft = await _find(viewer, brand, content_id)
    number = version or draft["version"]
    orchestrator = viewer.orchestrator
    parts = await viewer.gather(
        shown=orchestrator.get_article_version(content_id, number),
        marked=orchestrator.get_article_sentences(content_id, version=number),
        versions=orchestrator.list_article_versions(content_id, limit=100),
        decisions=orchestrator.list_draft_decisions(content_id),
        queue=orchestrator.list_drafts(brand=brand, limit=_QUEUE),
    )
    away = next((each for each in parts.values() if isinstance(each, Away)), None)
    if away is not None:
        return page(request, viewer, "drafts/away.html.j2", brand=brand, away=away)
    marked, shown = parts["marked"], parts["shown"]
    before, following = neighbours(parts["queue"]["items"], content_id)
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
        evidence=await _evidence(viewer, marked, shown, sentence) if sentence else None,
        texts={**texts, **(written or {})},
        versions=list(reversed(parts["versions"]["items"])),
        decisions=parts["decisions"]["items"],
        threads=await notes.threads(request, content_id),
        guest_links=await guest_links.links_of(request, content_id) if viewer.may(Scope.REVIEW) else (),
        guest_address=guest_address,
        before=before,
        following=following,
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
