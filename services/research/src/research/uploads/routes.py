"""`/v1/brands/{slug}/documents`: upload, list, remove and release documents of a brand."""

from collections.abc import Callable
from datetime import date, datetime
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AfterValidator, ConfigDict

from chassis.http.api import (
    UNKNOWN,
    MayAdminister,
    MayOperate,
    MayRead,
    MaySubmit,
    View,
    file_body,
    refusal,
    router,
)
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import BODY_TOO_LARGE, RefusalError
from chassis.links import public_link
from envelope.brand.payloads import BrandSlug
from messaging import Database
from reading.cleaning import one_line
from reading.formats import MAX_PDF_BYTES, SUFFIXES, max_bytes
from research import problem_codes as codes
from research.requests import SearchedText
from research.uploads import store
from research.uploads.store import Upload, UploadLimitError, UploadMetadata, UploadState

DOCUMENTS: Final = "/v1/brands/{slug}/documents"
FILES: Final = {DOCUMENTS: MAX_PDF_BYTES}
"""Routes that take a file, with its maximum size in bytes."""
MAX_ID: Final = 2**63 - 1
_BYTES: Final = "application/octet-stream"
_FORMATS: Final = ", ".join(sorted(SUFFIXES))


class UploadView(View):
    """A document of a brand."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    name: str
    """Name of the uploaded file."""
    size: int
    """Bytes."""
    state: UploadState
    """`waiting`: it is unread. `read`: research searches it. `skipped`: it holds no usable text. `set_aside`: research
    stopped reading it."""
    problem: str | None
    """Why research does not search it."""
    title: str
    """The title that articles use; empty until research has read it."""
    author: str | None
    url: str | None
    """The address that articles link to."""
    licence: str | None
    published_on: date | None
    own: bool
    """Whether it is the brand's own text."""
    passages: int
    """Number of its searchable passages."""
    uploaded_at: datetime


class UploadList(View):
    items: list[UploadView]
    next: int | None
    """Start of the next page: send it as `after`."""
    counts: dict[str, int]
    """Number of the brand's documents in each state."""


class ReleasedUpload(View):
    id: int


def _name(given: str) -> str:
    """Return the last part of the name, as clients may send a path."""
    name = PurePosixPath(one_line(given).replace("\\", "/")).name
    if PurePosixPath(name).suffix.lower() not in SUFFIXES:
        raise ValueError(f"must end in one of {_FORMATS}, so that research knows the format")
    return name


def _line(given: str | None) -> str | None:
    return one_line(given or "") or None


def _address(given: str | None) -> str | None:
    if given is None:
        return None
    address = public_link(given.strip())
    if address is None:
        raise ValueError("must be a web address such as https://example.com/guide")
    return address


Slug = Annotated[BrandSlug, Path(description="The brand.")]
UploadId = Annotated[int, Path(ge=1, le=MAX_ID)]
Name = Annotated[
    str,
    Query(
        description="Name of the file; its suffix is the format.", max_length=200, examples=["handbook.pdf"]
    ),
    AfterValidator(_name),
]
Title = Annotated[
    str | None,
    Query(description="Title that articles use; by default the document's own.", max_length=200),
    AfterValidator(_line),
]
Address = Annotated[
    str | None,
    Query(description="Address that articles link to; by default the document's own.", max_length=2000),
    AfterValidator(_address),
]
Licence = Annotated[
    str | None,
    Query(description="Licence of the document; by default as it states itself.", max_length=200),
    AfterValidator(_line),
]
Own = Annotated[bool | None, Query(description="Whether it is the brand's own text.")]


def upload_routes(database: Database, look: Callable[[], None]) -> APIRouter:
    """Build the routes. They call `look` after each change, to start a scan."""
    routes = router(DOCUMENTS.removeprefix("/v1"))

    @routes.post(
        "",
        status_code=HTTPStatus.CREATED,
        summary="Upload a document",
        response_model=UploadView,
        responses={
            200: {
                "model": UploadView,
                "description": "The brand has it already; the new title, address or licence replace the old ones.",
            },
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "The brand has as many documents, or bytes, as it may."),
        },
        openapi_extra=file_body(_BYTES),
    )
    async def add_document(
        request: Request,
        response: Response,
        caller: MaySubmit,
        slug: Slug,
        name: Name,
        title: Title = None,
        url: Address = None,
        licence: Licence = None,
        own: Own = None,
    ) -> UploadView:
        """Send the file as the body; the same bytes twice are one document."""
        caller.check_visible(slug)
        content = await _content(request, name)
        try:
            async with database.transaction() as tx:
                upload, is_new = await store.add(
                    tx.connection, slug, name, content, UploadMetadata(title, url, licence, own)
                )
        except UploadLimitError as error:
            raise RefusalError(codes.DOCUMENTS_FULL, str(error)) from error
        database.once_committed(look)
        response.status_code = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return UploadView.model_validate(upload)

    @routes.get("", summary="List documents of a brand, oldest first", responses=UNKNOWN)
    async def list_documents(
        caller: MayRead,
        slug: Slug,
        state: UploadState | None = None,
        q: SearchedText = None,
        after: Annotated[int, Query(description="`next` of the page before.", ge=0, le=MAX_ID)] = 0,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> UploadList:
        caller.check_visible(slug)
        async with database.connection() as connection:
            found = await store.list_uploads(
                connection, slug, state=state, after=after, limit=limit + 1, text=q
            )
            counts = await store.count_by_state(connection, slug)
        return UploadList(
            items=[UploadView.model_validate(each) for each in found[:limit]],
            next=found[limit - 1].id if len(found) > limit else None,
            counts=counts,
        )

    @routes.get("/{upload_id}", summary="One document of a brand", responses=UNKNOWN)
    async def get_document(caller: MayRead, slug: Slug, upload_id: UploadId) -> UploadView:
        caller.check_visible(slug)
        async with database.connection() as connection:
            upload = await store.get(connection, slug, upload_id)
        return UploadView.model_validate(_existing(upload, slug, upload_id))

    _add_file_route(routes, database)

    @routes.delete(
        "/{upload_id}",
        status_code=HTTPStatus.NO_CONTENT,
        summary="Remove a document and its indexed text",
        responses=UNKNOWN,
    )
    async def remove_document(caller: MaySubmit, slug: Slug, upload_id: UploadId) -> None:
        """Articles that quote it stay as they are, and so does their research."""
        caller.check_visible(slug)
        async with database.transaction() as tx:
            removed = await store.remove(tx.connection, slug, upload_id)
        if not removed:
            raise _unknown(slug, upload_id)
        database.once_committed(look)

    @routes.post(
        "/{upload_id}/release",
        status_code=HTTPStatus.ACCEPTED,
        summary="Read a skipped or set-aside document again",
        responses={**UNKNOWN, **refusal(HTTPStatus.CONFLICT, "There is nothing to release.")},
    )
    async def release_document(caller: MayOperate, slug: Slug, upload_id: UploadId) -> ReleasedUpload:
        caller.check_visible(slug)
        async with database.transaction() as tx:
            state = await store.release(tx.connection, slug, upload_id)
        if state is None:
            raise _unknown(slug, upload_id)
        if state in {UploadState.READ, UploadState.WAITING}:
            raise RefusalError(
                codes.NOTHING_TO_RELEASE,
                f"Document {upload_id} of {slug} is {state}: there is nothing to release.",
            )
        database.once_committed(look)
        return ReleasedUpload(id=upload_id)

    return routes


def _add_file_route(routes: APIRouter, database: Database) -> None:
    @routes.get(
        "/{upload_id}/file",
        summary="The file of a document, as it was uploaded",
        response_class=Response,
        responses={
            200: {
                "description": "The bytes.",
                "content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}},
            },
            **UNKNOWN,
        },
    )
    async def get_document_file(caller: MayAdminister, slug: Slug, upload_id: UploadId) -> Response:
        caller.check_visible(slug)
        async with database.connection() as connection:
            content = await store.get_file(connection, slug, upload_id)
        if content is None:
            raise _unknown(slug, upload_id)
        # A file of strangers: no browser may show it as a page of this address.
        headers = {"Content-Disposition": "attachment", "Cache-Control": "no-store"}
        return Response(content, media_type=_BYTES, headers=headers)


async def _content(request: Request, name: str) -> bytes:
    content = await request.body()
    if not content:
        raise RefusalError(codes.EMPTY_FILE, "the file is empty; send it as the body")
    if len(content) > max_bytes(name):
        raise RefusalError(
            BODY_TOO_LARGE,
            f"{name} is larger than {max_bytes(name) // 1_000_000} MB; split it",
        )
    return content


def _existing(upload: Upload | None, slug: str, upload_id: int) -> Upload:
    if upload is None:
        raise _unknown(slug, upload_id)
    return upload


def _unknown(slug: str, upload_id: int) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_DOCUMENT,
        f"{slug} has no document {upload_id}; take the id from the list of its documents.",
    )
