"""From an empty system to a first article: one form makes the brand and submits its first keywords."""

import re
import unicodedata
from http import HTTPStatus
from typing import Any, Final, Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from console.pages import Form, FormData, PageViewer, Viewer, once_or_refused, page, redirect
from console.pages.parts import parts_of

_MAX_SLUG: Final = 63
FIRST: Final = 1
"""Place of a cycle's first keyword."""
_FIELDS: Final = ("name", "slug", "language", "description", "urls", "document", "keywords")
_CHECKS: Final = ("folder", "web")
APPROVALS: Final = ("everything", "nothing")
"""What people read before it goes out."""
router = APIRouter(include_in_schema=False)


def slug_of(name: str) -> str:
    """A short name for addresses, from a brand's name; empty if it has no Latin letter or digit."""
    plain = unicodedata.normalize("NFKD", name.casefold().replace("ß", "ss"))
    letters = "".join(each for each in plain if not unicodedata.combining(each))
    return re.sub(r"[^a-z0-9]+", "-", letters)[:_MAX_SLUG].strip("-")


@router.get("/start-here")
async def show_start(request: Request, viewer: Viewer) -> Response:
    """The empty form."""
    viewer.check_owner()
    typed = {
        **dict.fromkeys(_FIELDS, ""),
        "language": viewer.person.language,
        "folder": True,
        "web": False,
        "approval": APPROVALS[0],
    }
    return page(request, viewer, "start_here/start.html.j2", typed=typed, refusal="", approvals=APPROVALS)


@router.post("/start-here")
async def begin(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Makes the brand, says where research may look, stores a text, submits the keywords, and shows their progress.

    Without keywords it leads to the form that suggests some.
    """
    viewer.check_owner()
    approval = _approval(form)
    slug = form.text("slug") or slug_of(form.text("name"))
    if not slug:
        return _again(request, viewer, form, viewer.t("start_here.no_slug"), HTTPStatus.BAD_REQUEST)

    async def make() -> Response:
        await viewer.orchestrator.set_brand(
            slug,
            name=form.text("name"),
            language=form.text("language"),
            description=form.text("description"),
            approval=approval,
            posts_approval=approval,
            # A brand of this short name is never overwritten.
            if_none_match="*",
        )
        parts_of(request).brand_names.forget(viewer.person.key_id)
        await viewer.research.set_sources(
            slug, folder="folder" in form, web={} if "web" in form else None, urls=form.text("urls").split()
        )
        if form.text("document"):
            await viewer.research.add_document(
                slug, form.raw("document").encode(), name="notes.txt", own=True, content_type="text/plain"
            )
        if not form.text("keywords"):
            return redirect(request, f"/b/{slug}/keywords/add")
        accepted = await viewer.orchestrator.submit_keywords(
            slug,
            form.raw("keywords").encode(),
            idempotency_key=form.once or None,
            content_type="text/plain",
        )
        return redirect(request, f"/b/{slug}/keywords/{accepted['cycle_id']}.{FIRST}")

    async def refused(refusal: str, status: int) -> Response:
        exists = status == HTTPStatus.PRECONDITION_FAILED
        return _again(
            request, viewer, form, viewer.t("start_here.exists", slug=slug) if exists else refusal, status
        )

    return await once_or_refused(request, viewer, form, make, refused)


def _approval(form: Form) -> Literal["everything", "nothing"]:
    return "nothing" if form.text("approval") == "nothing" else "everything"


def _again(request: Request, viewer: PageViewer, form: Form, refusal: str, status: int) -> Response:
    typed: dict[str, Any] = {name: form.raw(name) for name in _FIELDS}
    typed |= {name: name in form for name in _CHECKS} | {"approval": _approval(form)}
    return page(
        request,
        viewer,
        "start_here/start.html.j2",
        status=status,
        typed=typed,
        refusal=refusal,
        approvals=APPROVALS,
    )
