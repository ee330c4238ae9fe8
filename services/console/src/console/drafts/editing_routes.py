"""`/b/{brand}/drafts/{content_id}/…`: changes a draft's text, each as a new version."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from console.drafts.editing import FIELDS, Conflict, diff_lines, field_text, find_conflict, without_block
from console.drafts.showing import find_draft, refusals_shown, show_draft, version_of
from console.pages import Form, FormData, PageViewer, Viewer, once, page, redirect
from console.service_clients import sentence_of


def add_editing(routes: APIRouter) -> None:
    _add_writing(routes)
    _add_changing(routes)


def _add_writing(routes: APIRouter) -> None:
    @routes.post("/save")
    async def save_draft(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Stores the text as the next version of the one that it began from; of two people, the second sees both changes."""
        viewer.check_may(Scope.REVIEW)
        await find_draft(viewer, brand, content_id)
        base, written = version_of(form), _written(form)

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
        await find_draft(viewer, brand, content_id)
        checked = await viewer.orchestrator.check_article_text(
            content_id, body_markdown=form.raw("body_markdown"), version=version_of(form)
        )
        return page(request, viewer, "drafts/checked.html.j2", brand=brand, checked=checked)


def _add_changing(routes: APIRouter) -> None:
    @routes.post("/cut")
    async def cut_block(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Takes one paragraph out, as an edit."""
        viewer.check_may(Scope.REVIEW)
        await find_draft(viewer, brand, content_id)
        version = version_of(form)

        async def act() -> Response:
            marked = await viewer.orchestrator.get_article_sentences(content_id, version=version)
            shown = await viewer.orchestrator.get_article_version(content_id, version)
            at = form.text("block")
            if not (at.isascii() and at.isdecimal() and int(at) < len(marked["blocks"])):
                return await show_draft(request, brand, content_id, viewer)
            block = marked["blocks"][int(at)]
            body = without_block(shown["body_markdown"], block["start"], block["end"])
            saved = await viewer.orchestrator.edit_draft(
                content_id, version=version, body_markdown=body, comment=viewer.t("drafts.text.cut_comment")
            )
            return redirect(request, f"/b/{brand}/drafts/{content_id}?cut={saved['version']}#text")

        return await once(request, viewer, form, refusals_shown(request, brand, content_id, viewer, act))

    @routes.post("/keep")
    async def keep_sentence(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Puts a sentence back that the checks cut, in the person's name."""
        viewer.check_may(Scope.REVIEW)
        await find_draft(viewer, brand, content_id)
        number = form.text("number")

        async def act() -> Response:
            if number.isascii() and number.isdecimal():
                await viewer.orchestrator.keep_cut_sentence(
                    content_id, version=version_of(form), number=int(number)
                )
            return redirect(request, f"/b/{brand}/drafts/{content_id}#text")

        return await once(request, viewer, form, refusals_shown(request, brand, content_id, viewer, act))

    @routes.post("/restore")
    async def restore_version(
        request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
    ) -> Response:
        """Stores an earlier text once more, as the newest version."""
        viewer.check_may(Scope.REVIEW)
        draft = await find_draft(viewer, brand, content_id)

        async def act() -> Response:
            number = version_of(form, "restored")
            earlier = await viewer.orchestrator.get_article_version(content_id, number)
            texts = {name: field_text(earlier, name) for name in (*FIELDS, "key_points")}
            await viewer.orchestrator.edit_draft(
                content_id,
                version=version_of(form) or draft["version"],
                **_as_edit(texts),
                comment=viewer.t("drafts.versions.restored", n=number),
            )
            return redirect(request, f"/b/{brand}/drafts/{content_id}#text")

        return await once(request, viewer, form, refusals_shown(request, brand, content_id, viewer, act))


def _written(form: Form) -> dict[str, str]:
    """The written texts, by field."""
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
    """Shows the editor with every typed word; if another person saved first, with their change merged."""
    draft = await find_draft(viewer, brand, content_id)
    conflict: Conflict | None = None
    changes: Any = None
    if error.status == HTTPStatus.CONFLICT and draft["version"] > base:
        changes = await viewer.orchestrator.compare_article_versions(
            content_id, from_=base, to=draft["version"]
        )
        before = await viewer.orchestrator.get_article_version(content_id, base)
        newest = await viewer.orchestrator.get_article_version(content_id, draft["version"])
        conflict = find_conflict(before, written, newest)
    return await show_draft(
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
