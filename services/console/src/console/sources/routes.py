"""Routes of the pages about where research looks, and about documents."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from chassis.http.callers import Scope
from console.ids import parse_id
from console.list_filters import safe_link
from console.pages import (
    Form,
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once,
    once_or_refused,
    page,
    redirect,
)
from console.service_clients import UPLOAD_SECONDS, PersonClients
from console.sources import views
from console.sources.views import DocumentFilter
from console.watching.pages import LivePage, read_each

NAVIGATION: Final = (NavigationEntry("sources", "/b/{brand}/sources", 90),)
DONE: Final = ("saved", "released", "removed")
"""What a page says was done, by the word in its address."""
MAX_FILE_BYTES: Final = 10_000_000
"""Of the largest file that research takes; it says which are too large for their kind."""
router = APIRouter(include_in_schema=False)


async def read_sources(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The documents that the page lists with its filters."""
    return await read_each(
        _documents(clients, fields["brand"], DocumentFilter.of(query, views.STATES)),
    )


LIVE: Final = (LivePage("/b/{brand}/sources", read_sources),)


def _documents(clients: PersonClients, brand: str, wanted: DocumentFilter) -> Any:
    return clients.research.list_documents(
        brand,
        q=wanted.text or None,
        state=wanted.state or None,  # type: ignore[arg-type]  # one of them
        after=wanted.number,
        limit=views.PAGE_SIZE,
    )


@router.get("/b/{brand}/sources")
async def show_sources(request: Request, brand: str, viewer: Viewer) -> Response:
    """Where research may look, and the brand's own documents that match the filters in the address."""
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
    wanted = DocumentFilter.of(request.query_params, views.STATES)
    parts = await viewer.gather(
        settings=viewer.research.get_sources(brand), found=_documents(viewer, brand, wanted)
    )
    settings = parts["settings"]
    return page(
        request,
        viewer,
        "sources/sources.html.j2",
        status=status,
        **parts,
        done=done_word(request, DONE),
        refusal=refusal,
        wanted=wanted,
        states=views.STATES,
        tones=views.TONES,
        releasable=views.RELEASABLE,
        size=views.size,
        freshness=views.FRESHNESS,
        queries=views.QUERIES,
        fields=views.typed_fields(form) if form else views.fields_of(settings) if settings else {},
        was=views.fingerprint(settings) if settings else "",
        most=MAX_FILE_BYTES,
        sees_folder=viewer.person.brands is None,
        may_operate=viewer.may(Scope.OPERATE),
        may_submit=viewer.may(Scope.SUBMIT),
    )


@router.post("/b/{brand}/sources")
async def save_sources(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Replaces the sources of research, unless another person changed them since the form was shown."""
    viewer.check_may(Scope.OPERATE)

    refused = partial(_show, request, brand, viewer, form=form)

    async def act() -> Response:
        known = await viewer.research.get_sources(brand)
        if views.fingerprint(known) != form.text("was"):
            return await refused(refusal=viewer.t("sources.changed"), status=HTTPStatus.CONFLICT)
        await viewer.research.set_sources(brand, extra=views.settings_of(form))
        return redirect(request, f"/b/{brand}/sources?done=saved")

    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/sources/documents")
async def add_document(request: Request, brand: str, viewer: Viewer) -> Response:
    """Takes a file as the body, sent by the page's script, which shows the sentence of the answer."""
    viewer.check_may(Scope.SUBMIT)
    about = request.query_params
    content = await _content(request, viewer)
    form = Form([("once", about.get("once", ""))])

    async def act() -> Response:
        added = await viewer.research_for_uploads.add_document(
            brand,
            content,
            name=about.get("name", ""),
            url=about.get("url") or None,
            licence=about.get("licence") or None,
            own=True if "own" in about else None,
        )
        return PlainTextResponse(viewer.t("sources.uploaded", name=added["name"]), HTTPStatus.CREATED)

    async def refused(refusal: str, status: int) -> Response:
        return PlainTextResponse(refusal, status)

    return await once_or_refused(request, viewer, form, act, refused, patience=UPLOAD_SECONDS)


async def _content(request: Request, viewer: PageViewer) -> bytes:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MAX_FILE_BYTES:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, viewer.t("sources.too_large"))
    return bytes(content)


@router.get("/b/{brand}/sources/folder")
async def show_folder(request: Request, brand: str, viewer: Viewer) -> Response:  # noqa: ARG001  (checked by the viewer)
    """The files of the folder, which all brands share, for people who may see all of them."""
    _check_sees_folder(viewer)
    wanted = DocumentFilter.of(request.query_params, views.FILE_STATES)
    parts = await viewer.gather(
        found=viewer.research.list_corpus_documents(
            q=wanted.text or None,
            state=wanted.state or None,  # type: ignore[arg-type]  # one of them
            after=wanted.after or None,
            limit=views.PAGE_SIZE,
        )
    )
    return page(
        request,
        viewer,
        "sources/folder.html.j2",
        **parts,
        done=done_word(request, ("released",)),
        wanted=wanted,
        states=views.FILE_STATES,
        tones=views.TONES,
        releasable=views.RELEASABLE,
        size=views.size,
        may_operate=viewer.may(Scope.OPERATE),
    )


def _check_sees_folder(viewer: PageViewer) -> None:
    if viewer.person.brands is not None:
        raise HTTPException(HTTPStatus.FORBIDDEN, viewer.t("sources.folder_bound"))


@router.post("/b/{brand}/sources/folder/{document}/release")
async def release_file(
    request: Request, brand: str, document: int, viewer: Viewer, form: FormData
) -> Response:
    """Has research read a file of the folder again."""
    viewer.check_may(Scope.OPERATE)
    _check_sees_folder(viewer)

    async def act() -> Response:
        await viewer.research.release_corpus_document(document, idempotency_key=form.once)
        return redirect(request, f"/b/{brand}/sources/folder?done=released")

    return await once(request, viewer, form, act)


@router.get("/b/{brand}/sources/documents/{document}")
async def show_document(request: Request, brand: str, document: int, viewer: Viewer) -> Response:
    """A document of the brand: what research made of it, and what can be done."""
    parts = await viewer.gather(found=viewer.research.get_document(brand, document))
    if parts["found"]:
        parts |= await viewer.gather(citing=_citing(request, viewer, brand, parts["found"]["name"]))
    return page(
        request,
        viewer,
        "sources/document.html.j2",
        **parts,
        document=document,
        tones=views.TONES,
        releasable=views.RELEASABLE,
        size=views.size,
        safe=safe_link,
        may_operate=viewer.may(Scope.OPERATE),
        may_submit=viewer.may(Scope.SUBMIT),
    )


def _citing(request: Request, viewer: PageViewer, brand: str, name: str) -> Any:
    """The brand's articles that cite the document; later pages of them are in the address."""
    return viewer.orchestrator.get_sentences_of_source(
        path=name, brand=brand, after=parse_id(request.query_params.get("after", "")), limit=views.CITING
    )


@router.post("/b/{brand}/sources/documents/{document}/release")
async def release_document(
    request: Request, brand: str, document: int, viewer: Viewer, form: FormData
) -> Response:
    """Has research read a document of the brand again."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.research.release_document(brand, document, idempotency_key=form.once)
        return redirect(request, f"/b/{brand}/sources?done=released")

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/sources/documents/{document}/remove")
async def remove_document(
    request: Request, brand: str, document: int, viewer: Viewer, form: FormData
) -> Response:
    """Takes a document out of research; articles that quote it stay."""
    viewer.check_may(Scope.SUBMIT)

    async def act() -> Response:
        await viewer.research.remove_document(brand, document)
        return redirect(request, f"/b/{brand}/sources?done=removed")

    return await once(request, viewer, form, act)
