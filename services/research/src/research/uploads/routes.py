"""`/v1/brands/{slug}/documents`: what a brand uploads, what became of it, and removing it."""

from collections.abc import Callable
from datetime import date, datetime
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AfterValidator, ConfigDict

from chassis.http.api import UNKNOWN, MayOperate, MayRead, MaySubmit, View, file_body, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import BODY_TOO_LARGE, UNKNOWN_BRAND, RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from research import problem_codes as codes
from research.reading.cleaning import one_line
from research.reading.facts import web_address
from research.reading.formats import MAX_PDF_BYTES, SUFFIXES, max_bytes
from research.uploads import store
from research.uploads.store import About, FullError, Upload, UploadState

DOCUMENTS: Final = "/v1/brands/{slug}/documents"
FILES: Final = {DOCUMENTS: MAX_PDF_BYTES}
"""Routes that take a file, with the bytes that it may have."""
MAX_ID: Final = 2**63 - 1
_FORMATS: Final = ", ".join(sorted(SUFFIXES))


class UploadView(View):
    """A document of a brand."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    name: str
    """Of the file, as it was given."""
    size: int
    """Bytes."""
    state: UploadState
    """`waiting`: it is still to be read. `read`: it is searched. `skipped`: it holds nothing to search. `set_aside`: reading
    it was given up."""
    problem: str | None
    """Why it is not searched."""
    title: str
    """By which articles name it; empty until it was read."""
    author: str | None
    url: str | None
    """To which articles link."""
    licence: str | None
    published_on: date | None
    own: bool
    """Whether it is the brand's own text."""
    passages: int
    """How many pieces of it are searched."""
    uploaded_at: datetime


class UploadList(View):
    items: list[UploadView]
    next: int | None
    """Where the next page begins: send it as `after`."""
    counts: dict[str, int]
    """How many of the brand's documents are in each state."""


class Released(View):
    id: int


def _name(given: str) -> str:
    """The file's own name: who uploads it may have sent a path."""
    name = PurePosixPath(one_line(given).replace("\\", "/")).name
    if PurePosixPath(name).suffix.lower() not in SUFFIXES:
        raise ValueError(f"must end in one of {_FORMATS}, which tells the format")
    return name


def _line(given: str | None) -> str | None:
    return one_line(given or "") or None


def _address(given: str | None) -> str | None:
    if given is None:
        return None
    address = web_address(given)
    if address is None:
        raise ValueError("must be an address of the web, as in https://example.com/guide")
    return address


Slug = Annotated[BrandSlug, Path(description="The brand.")]
UploadId = Annotated[int, Path(ge=1, le=MAX_ID)]
Name = Annotated[
    str,
    Query(description="Of the file; its ending tells the format.", max_length=200, examples=["handbook.pdf"]),
    AfterValidator(_name),
]
Title = Annotated[
    str | None,
    Query(description="By which articles name it; else as it says itself.", max_length=200),
    AfterValidator(_line),
]
Address = Annotated[
    str | None,
    Query(description="Where readers of articles find it; else as it says itself.", max_length=2000),
    AfterValidator(_address),
]
Licence = Annotated[
    str | None,
    Query(description="Under which it may be used; else as it says itself.", max_length=200),
    AfterValidator(_line),
]
Own = Annotated[bool | None, Query(description="Whether it is the brand's own text.")]


def upload_routes(database: Database, look: Callable[[], None]) -> APIRouter:
    """`look` has what is new read, and what was removed forgotten."""
    routes = router(DOCUMENTS.removeprefix("/v1"))

    @routes.post(
        "",
        status_code=HTTPStatus.CREATED,
        summary="Upload a document",
        response_model=UploadView,
        responses={
            200: {
                "model": UploadView,
                "description": "The brand has it already; what was said about it anew is noted.",
            },
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "The brand has as many documents, or bytes, as it may."),
        },
        openapi_extra=file_body("application/octet-stream"),
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
        """The body is the file as it is; the same bytes twice are one document."""
        _demand_visible(caller, slug)
        content = await _content(request, name)
        try:
            async with database.transaction() as tx:
                upload, is_new = await store.add(
                    tx.connection, slug, name, content, About(title, url, licence, own)
                )
        except FullError as error:
            raise RefusalError(codes.DOCUMENTS_FULL, str(error)) from error
        database.once_committed(look)
        response.status_code = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return UploadView.model_validate(upload)

    @routes.get("", summary="Documents of a brand, in the order in which they came", responses=UNKNOWN)
    async def list_documents(
        caller: MayRead,
        slug: Slug,
        state: UploadState | None = None,
        after: Annotated[int, Query(description="`next` of the page before.", ge=0, le=MAX_ID)] = 0,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> UploadList:
        _demand_visible(caller, slug)
        async with database.connection() as connection:
            found = await store.list_of(connection, slug, state=state, after=after, limit=limit + 1)
            counts = await store.counts(connection, slug)
        return UploadList(
            items=[UploadView.model_validate(each) for each in found[:limit]],
            next=found[limit - 1].id if len(found) > limit else None,
            counts=counts,
        )

    @routes.get("/{upload_id}", summary="One document of a brand", responses=UNKNOWN)
    async def get_document(caller: MayRead, slug: Slug, upload_id: UploadId) -> UploadView:
        _demand_visible(caller, slug)
        async with database.connection() as connection:
            upload = await store.get(connection, slug, upload_id)
        return UploadView.model_validate(_known(upload, slug, upload_id))

    @routes.delete(
        "/{upload_id}",
        status_code=HTTPStatus.NO_CONTENT,
        summary="Remove a document and what was read of it",
        responses=UNKNOWN,
    )
    async def remove_document(caller: MaySubmit, slug: Slug, upload_id: UploadId) -> None:
        """Articles that were written with it stay as they are, and so does the research that they were written from."""
        _demand_visible(caller, slug)
        async with database.transaction() as tx:
            removed = await store.remove(tx.connection, slug, upload_id)
        if not removed:
            raise _unknown(slug, upload_id)
        database.once_committed(look)

    @routes.post(
        "/{upload_id}/release",
        status_code=HTTPStatus.ACCEPTED,
        summary="Read a document again that was set aside or skipped",
        responses={**UNKNOWN, **refusal(HTTPStatus.CONFLICT, "There is nothing to release.")},
    )
    async def release_document(caller: MayOperate, slug: Slug, upload_id: UploadId) -> Released:
        _demand_visible(caller, slug)
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
        return Released(id=upload_id)

    return routes


def _demand_visible(caller: Caller, slug: str) -> None:
    """Raises HTTPException 404, whether or not there is such a brand."""
    if not caller.may_see(slug):
        raise RefusalError(UNKNOWN_BRAND, f"your key is for other brands than '{slug}'")


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


def _known(upload: Upload | None, slug: str, upload_id: int) -> Upload:
    if upload is None:
        raise _unknown(slug, upload_id)
    return upload


def _unknown(slug: str, upload_id: int) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_DOCUMENT,
        f"{slug} has no document {upload_id}; take the id from the list of its documents.",
    )
