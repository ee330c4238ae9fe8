"""Routes of the import of a brand: upload an archive in pieces, look at it, import it, continue."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from uuid import uuid4

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from chassis import Connections
from client import RefusedError
from client.archive_reading import ArchiveError
from client.brand_import import SLUG
from console.brand_archives import store
from console.brand_archives.running import TooManyImportsError, sentence_of_break
from console.brand_archives.store import TooManyArchivesError, UploadedArchive
from console.brand_imports import views
from console.ids import parse_id
from console.pages import FormData, PageViewer, Viewer, done_word, once, page, redirect
from console.pages.parts import parts_of
from console.service_clients import PersonClients
from console.sign_in.confirming import confirm_password
from console.watching.pages import LivePage

LIST: Final = "/import"
DONE: Final = ("removed", "not_begun")
"""What a page says was done, by the word in its address."""
_LONGEST_SLUG: Final = 63
router = APIRouter(include_in_schema=False)


async def read_nothing(
    clients: PersonClients,  # noqa: ARG001  (of every reading)
    fields: Mapping[str, str],  # noqa: ARG001
    query: Mapping[str, str],  # noqa: ARG001
) -> Any:
    """The page shows the console's own rows alone."""
    return None


async def read_import(connections: Connections, fields: Mapping[str, str]) -> Any:
    """How far an import is."""
    archive = parse_id(fields["archive"])
    if archive is None:
        return None
    async with connections.connection() as connection:
        found = await store.find(connection, archive)
    return found and [found.state, found.progress]


LIVE: Final = (LivePage(f"{LIST}/{{archive}}", read_nothing, read_import),)


def _check_may(viewer: PageViewer) -> None:
    """Raises HTTPException 403 for people who are no owners of all brands."""
    viewer.check_owner()
    if viewer.person.brands is not None:
        raise HTTPException(HTTPStatus.FORBIDDEN, viewer.t("brand_imports.all_brands"))


@router.get(LIST)
async def show_imports(request: Request, viewer: Viewer) -> Response:
    """The field for a file, and the archives of the last 30 days."""
    _check_may(viewer)
    async with viewer.connections.connection() as connection:
        listed = await store.list_latest(connection)
    return page(
        request,
        viewer,
        "brand_imports/list.html.j2",
        listed=listed,
        tones=views.TONES,
        most=store.MAX_BYTES,
        piece=store.PIECE_BYTES,
        done=done_word(request, DONE),
    )


@router.post(LIST)
async def begin_upload(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Begins an upload; the answer is the address that takes its pieces."""
    _check_may(viewer)
    size = int(text) if (text := form.text("size")).isascii() and text.isdigit() and len(text) < 19 else 0  # noqa: PLR2004
    if size > store.MAX_BYTES:
        return PlainTextResponse(viewer.t("brand_imports.too_large"), HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if not size:
        return PlainTextResponse(
            viewer.t("brand_imports.refused.no_archive", about=""), HTTPStatus.UNPROCESSABLE_ENTITY
        )

    async def act() -> Response:
        archive = uuid4()
        async with viewer.connections.connection() as connection:
            await store.add(connection, archive, viewer.person.id, form.text("name"), size)
        address = parts_of(request).urls.path(f"{LIST}/{archive}")
        return PlainTextResponse(address, HTTPStatus.CREATED)

    try:
        return await once(request, viewer, form, act)
    except TooManyArchivesError:
        return PlainTextResponse(viewer.t("brand_imports.too_many"), HTTPStatus.CONFLICT)


@router.post(f"{LIST}/{{archive}}/pieces/{{number}}")
async def take_piece(request: Request, archive: str, number: str, viewer: Viewer) -> Response:
    """Stores a piece as the body; sent again, it changes nothing."""
    _check_may(viewer)
    found = await _find(viewer, archive)
    place = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else -1  # noqa: PLR2004
    wanted = min(store.PIECE_BYTES, found.size - place * store.PIECE_BYTES)
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > store.PIECE_BYTES:
            break
    if place < 0 or len(content) != wanted:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("brand_imports.piece"))
    async with viewer.connections.connection() as connection:
        if not await store.add_piece(connection, found.id, place, bytes(content)):
            raise HTTPException(HTTPStatus.CONFLICT, viewer.t("brand_imports.piece"))
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.post(f"{LIST}/{{archive}}/look")
async def look(request: Request, archive: str, viewer: Viewer, form: FormData) -> Response:
    """Opens an archive that has arrived; the page then shows what is in it, or why it is refused."""
    _check_may(viewer)
    found = await _find(viewer, archive)

    async def act() -> Response:
        path = f"{LIST}/{found.id}"
        if found.state != "arriving":
            return redirect(request, path)
        async with viewer.connections.connection() as connection:
            if await store.bytes_stored(connection, found.id) != found.size:
                return redirect(request, path)
        try:
            contents = await parts_of(request).imports.look(found)
        except ArchiveError as error:
            async with viewer.connections.connection() as connection:
                await store.refuse(connection, found.id, sentence_of_break(error, viewer.t))
        else:
            told = asdict(contents) | {"archive_id": str(contents.archive_id)}
            async with viewer.connections.connection() as connection:
                await store.note_contents(connection, found.id, told)
        return redirect(request, path)

    return await once(request, viewer, form, act)


async def _find(viewer: PageViewer, archive: str) -> UploadedArchive:
    """Raises HTTPException 404: there is none, or somebody removed it."""
    wanted = parse_id(archive)
    if wanted is not None:
        async with viewer.connections.connection() as connection:
            found = await store.find(connection, wanted)
        if found is not None:
            return found
    raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("brand_imports.unknown"))


@router.get(f"{LIST}/{{archive}}")
async def show_import(request: Request, archive: str, viewer: Viewer) -> Response:
    """What is in the archive, what is here already, and how far its import is."""
    _check_may(viewer)
    return await _import(request, archive, viewer)


async def _import(
    request: Request,
    archive: str,
    viewer: PageViewer,
    *,
    slug: str | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    found = await _find(viewer, archive)
    wanted = slug or found.slug or ""
    is_done = found.state == "done"
    progress = {**(found.report or {}), "step": "orchestrator: the end"} if is_done else found.progress
    again = found.contents or {}
    return page(
        request,
        viewer,
        "brand_imports/import.html.j2",
        status=status,
        found=found,
        slug=wanted,
        tones=views.TONES,
        steps=views.step_lines(progress, is_done=is_done),
        counts=views.counts_of(found.contents) if found.contents else [],
        exported_at=views.exported_at(found.contents) if found.contents else None,
        again=views.connect_again(again.get("connect_again", [])),
        known=await _known(viewer, wanted) if found.state == "arrived" else None,
        refusal=refusal,
        done=done_word(request, DONE),
    )


async def _known(viewer: PageViewer, slug: str) -> Any:
    """The brand that has the slug here already; None for a free one. An `Away` or `Refused` says that nobody knows."""
    if not SLUG.fullmatch(slug):
        return None
    try:
        parts = await viewer.gather(known=viewer.orchestrator.get_brand(slug, counters=False))
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise
    return parts["known"]


@router.post(f"{LIST}/{{archive}}/begin")
async def begin_import(request: Request, archive: str, viewer: Viewer, form: FormData) -> Response:
    """Imports the archive, or continues, once the password was given lately."""
    _check_may(viewer)
    found = await _find(viewer, archive)
    # A continued import keeps to its slug.
    slug = form.text("slug") or found.slug or ""
    show = partial(_import, request, archive, viewer, slug=slug)
    if found.begun_at is not None:
        slug = found.slug or slug
    if not SLUG.fullmatch(slug) or len(slug) > _LONGEST_SLUG:
        refusal = viewer.t("brand_imports.refused.no_slug", about=slug)
        return await show(refusal=refusal, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    await confirm_password(request, viewer, form)
    imports = parts_of(request).imports

    async def act() -> Response:
        try:
            imports.check_room(found.id)
        except TooManyImportsError:
            return redirect(request, f"{LIST}/{found.id}?done=not_begun")
        async with viewer.connections.connection() as connection:
            is_begun = await store.begin(connection, found.id, slug)
        if is_begun:
            imports.begin(found, slug, viewer.alone(), viewer.t)
        return redirect(request, f"{LIST}/{found.id}")

    return await once(request, viewer, form, act)


@router.post(f"{LIST}/{{archive}}/remove")
async def remove(request: Request, archive: str, viewer: Viewer, form: FormData) -> Response:
    """Removes an archive from the console; what was imported stays."""
    _check_may(viewer)
    found = await _find(viewer, archive)

    async def act() -> Response:
        async with viewer.connections.connection() as connection:
            if not await store.remove(connection, found.id):
                return redirect(request, f"{LIST}/{found.id}")
        return redirect(request, f"{LIST}?done=removed")

    return await once(request, viewer, form, act)
