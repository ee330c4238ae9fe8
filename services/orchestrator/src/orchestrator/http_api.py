"""The HTTP API: brands, batches of keywords and their progress, articles by id."""

import hashlib
import json
import re
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, FastAPI, Header, HTTPException, Path, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import APIKeyHeader
from pydantic import BaseModel

from chassis import Connection, DatabaseUnavailableError
from chassis.observing import chains
from envelope import new_event_id
from envelope.brand.payloads import ResearchRequested
from messaging import Database
from orchestrator import content_store, store
from orchestrator.api_models import (
    SLUG_PATTERN,
    BrandRequest,
    BrandView,
    ContentList,
    ContentView,
    CycleAccepted,
    CycleView,
    Problem,
    ResearchRequest,
    problem_of,
)
from orchestrator.domain import BrandSlug, CycleId
from orchestrator.http_guard import Authorise, Guard
from orchestrator.store import Cycle, NewCycle

MAX_SLUG: Final = 63
MAX_IDEMPOTENCY_KEY: Final = 200
MAX_IDS: Final = 50

Slug = Annotated[
    str,
    Path(
        description=f"Lower-case letters and digits, joined by single hyphens, at most {MAX_SLUG} characters.",
        examples=["daily-grind"],
        json_schema_extra={"pattern": SLUG_PATTERN, "maxLength": MAX_SLUG},
    ),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        description=f"Any 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters that name this request. Sent again with "
        "the same body, it returns the cycle of the first time instead of beginning another.",
        examples=["campaign-2026-07"],
    ),
]
IfNoneMatch = Annotated[
    str | None, Header(description="ETag of the representation you have; 304 if it is still current.")
]
Responses = dict[int | str, dict[str, Any]]

REFUSALS: Final[Responses] = {
    401: {"model": Problem, "description": "The header X-Service-Key is missing or wrong."},
    422: {"model": Problem, "description": "The request cannot be understood; `detail` says what to change."},
    503: {"model": Problem, "description": "The database is away; try again after the `Retry-After` header."},
}
UNKNOWN: Final[Responses] = {
    404: {"model": Problem, "description": "There is no such thing; `detail` says what to do."}
}
TOO_LARGE: Final[Responses] = {
    413: {"model": Problem, "description": "The request body is larger than 4 MiB."}
}
REUSED_KEY: Final[Responses] = {
    409: {"model": Problem, "description": "The Idempotency-Key was used for another body."}
}
_ETAG = {"ETag": {"description": "Changes when the representation changes.", "schema": {"type": "string"}}}
_LOCATION = {"Location": {"description": "Address of the resource.", "schema": {"type": "string"}}}
READ: Final[Responses] = {
    200: {"headers": _ETAG, "description": "As it is now."},
    304: {"description": "Not modified: If-None-Match names the current representation."},
}

DESCRIPTION = """
Turns keywords into published, promoted articles.

1. `PUT /v1/brands/{slug}`: say who writes.
2. `POST /v1/brands/{slug}/research`: hand in keywords; the answer names a cycle.
3. `GET /v1/cycles/{cycle_id}`: watch it; each keyword ends as completed, refused or failed, with links and reasons.

Every request needs the header `X-Service-Key`. Every refusal is `{"detail": "a sentence that says what to do"}`.
"""


def http_api(database: Database, authorise: Authorise) -> FastAPI:
    """The application; `authorise` raises HTTPException 401 for a request without the service's key."""
    app = FastAPI(
        title="Brand Engine: orchestrator",
        version="1",
        description=DESCRIPTION,
        license_info={"name": "MIT"},
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
        },  # messaging has them, and knows the chains
        openapi_tags=[
            {"name": "brands", "description": "Who writes, in what language, for which site and channels."},
            {"name": "cycles", "description": "Batches of keywords and their progress."},
            {"name": "content", "description": "The articles."},
        ],
    )
    app.include_router(_brands(database))
    app.include_router(_cycles(database))
    app.include_router(_content(database))
    app.add_middleware(Guard, authorise=authorise)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(DatabaseUnavailableError, _unavailable)
    return app


def _router(tag: str) -> APIRouter:
    # The guard checks the key before this one sees a request; here it is for the OpenAPI document alone.
    key = APIKeyHeader(name="X-Service-Key", scheme_name="ServiceKey", auto_error=False)
    return APIRouter(prefix="/v1", tags=[tag], responses=REFUSALS, dependencies=[Security(key)])


def _brands(database: Database) -> APIRouter:
    router = _router("brands")

    @router.put(
        "/brands/{slug}",
        summary="Create or replace a brand",
        responses={
            200: {"headers": _ETAG, "description": "The brand existed and is now as given."},
            201: {"model": BrandView, "headers": _LOCATION | _ETAG, "description": "The brand is new."},
            **TOO_LARGE,
        },
    )
    async def put_brand(slug: Slug, request: BrandRequest, response: Response) -> BrandView:
        """Sending the same again changes nothing. Cycles that run keep the channels and target they began with."""
        checked = _checked_slug(slug)
        async with database.transaction() as tx:
            brand, is_new = await store.upsert_brand(tx.connection, slug=checked, **request.model_dump())
        if is_new:
            response.status_code = HTTPStatus.CREATED
            response.headers["Location"] = f"/v1/brands/{slug}"
        view = BrandView.of(brand)
        response.headers["ETag"] = _etag(view.model_dump_json())
        return view

    @router.get(
        "/brands/{slug}", summary="Read a brand", response_model=BrandView, responses={**READ, **UNKNOWN}
    )
    async def get_brand(slug: Slug, if_none_match: IfNoneMatch = None) -> Response:
        async with database.connection() as connection:
            brand = await store.find_brand(connection, _checked_slug(slug))
        if brand is None:
            raise _unknown_brand(slug)
        return _conditional(BrandView.of(brand), if_none_match)

    @router.post(
        "/brands/{slug}/research",
        summary="Turn keywords into articles",
        status_code=HTTPStatus.ACCEPTED,
        responses={
            202: {"headers": _LOCATION, "description": "Accepted; watch the cycle at `Location`."},
            **UNKNOWN,
            **REUSED_KEY,
            **TOO_LARGE,
        },
    )
    async def post_research(
        slug: Slug, request: ResearchRequest, response: Response, idempotency_key: IdempotencyKey = None
    ) -> CycleAccepted:
        """Accepts the keywords as one cycle. Each is researched, written, published and promoted by itself."""
        wanted = NewCycle(
            cycle_id=CycleId(new_event_id()),
            correlation_id=str(new_event_id()),
            brand_slug=_checked_slug(slug),
            priority=request.priority,
            keywords=request.keywords,
            idempotency_key=_checked_idempotency_key(idempotency_key),
            request_digest=_digest(request),
        )
        cycle = await begin_cycle(database, wanted)
        chains.name_chain(cycle.correlation_id)
        response.headers["Location"] = f"/v1/cycles/{cycle.cycle_id}"
        return CycleAccepted.of(cycle)

    return router


def _cycles(database: Database) -> APIRouter:
    router = _router("cycles")

    @router.get(
        "/cycles/{cycle_id}",
        summary="Watch a cycle",
        response_model=CycleView,
        responses={**READ, **UNKNOWN},
    )
    async def get_cycle(cycle_id: UUID, if_none_match: IfNoneMatch = None) -> Response:
        """Progress of all keywords, in the order they were handed in."""
        async with database.connection() as connection:
            cycle = await store.find_cycle(connection, cycle_id)
            rows = await store.keywords_of(connection, cycle_id) if cycle else []
        if cycle is None:
            raise HTTPException(
                HTTPStatus.NOT_FOUND,
                f"there is no cycle {cycle_id}; cycles are kept for a limited time after they end",
            )
        return _conditional(CycleView.of(cycle, rows), if_none_match)

    return router


def _content(database: Database) -> APIRouter:
    router = _router("content")

    @router.get(
        "/content/{content_id}",
        summary="Read an article",
        response_model=ContentView,
        responses={**READ, **UNKNOWN},
    )
    async def get_content(content_id: UUID, if_none_match: IfNoneMatch = None) -> Response:
        async with database.connection() as connection:
            content = await content_store.find_content(connection, content_id)
        if content is None:
            raise HTTPException(
                HTTPStatus.NOT_FOUND,
                f"there is no article {content_id}; if it is being written, try again later",
            )
        return _conditional(ContentView.of(content), if_none_match)

    @router.get("/content", summary="Read several articles", response_model=ContentList)
    async def get_several(
        content_id: Annotated[list[UUID], Query(alias="id", min_length=1, max_length=MAX_IDS)],
    ) -> Response:
        """Each with the `ETag` it has when it is read alone; those that are unknown are left out."""
        async with database.connection() as connection:
            found = await content_store.find_contents(connection, content_id)
        items = [_listed(ContentView.of(content).model_dump_json()) for content in found]
        return Response(f'{{"items":[{",".join(items)}]}}', media_type="application/json")

    return router


def _listed(document: str) -> str:
    return f'{{"etag":{json.dumps(_etag(document))},"content":{document}}}'


async def begin_cycle(database: Database, wanted: NewCycle) -> Cycle:
    """Stores a cycle and asks research for each keyword, in one transaction; or finds the one begun under the same key.

    Raises:
        HTTPException: 404 for an unknown brand, 409 for a key used with another body.
    """
    async with database.transaction() as tx:
        if await store.find_brand(tx.connection, wanted.brand_slug) is None:
            raise _unknown_brand(wanted.brand_slug)
        if await store.begin_cycle(tx.connection, wanted):
            for keyword in wanted.keywords:
                tx.send(
                    ResearchRequested(
                        brand_slug=wanted.brand_slug, keyword=keyword, priority=wanted.priority
                    ),
                    correlation_id=wanted.correlation_id,
                )
            cycle = await store.find_cycle(tx.connection, wanted.cycle_id)
        else:
            cycle = await _begun_before(tx.connection, wanted)
    assert cycle is not None
    return cycle


async def _begun_before(connection: Connection, wanted: NewCycle) -> Cycle | None:
    assert wanted.idempotency_key is not None
    cycle = await store.find_cycle_by_idempotency_key(connection, wanted.brand_slug, wanted.idempotency_key)
    if cycle is not None and cycle.request_digest != wanted.request_digest:
        raise HTTPException(
            HTTPStatus.CONFLICT,
            f"this Idempotency-Key was used for another request (cycle {cycle.cycle_id}); use a new key for a new request",
        )
    return cycle


def _checked_slug(slug: str) -> BrandSlug:
    if len(slug) > MAX_SLUG or re.fullmatch(SLUG_PATTERN, slug) is None or slug.endswith("\n"):
        raise HTTPException(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"the brand's slug must be lower-case letters and digits, joined by single hyphens, at most {MAX_SLUG} "
            "characters, such as 'daily-grind'",
        )
    return BrandSlug(slug)


def _checked_idempotency_key(key: str | None) -> str | None:
    if key is None or (key.isascii() and key.isprintable() and 1 <= len(key) <= MAX_IDEMPOTENCY_KEY):
        return key
    raise HTTPException(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"Idempotency-Key must be 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters; leave it out if you need none",
    )


def _unknown_brand(slug: str) -> HTTPException:
    return HTTPException(
        HTTPStatus.NOT_FOUND, f"there is no brand '{slug}'; create it first with PUT /v1/brands/{slug}"
    )


def _digest(request: ResearchRequest) -> bytes:
    return hashlib.sha256(json.dumps([request.priority, request.keywords]).encode()).digest()


def _etag(document: str) -> str:
    return f'"{hashlib.sha256(document.encode()).hexdigest()[:32]}"'


def _conditional(view: BaseModel, if_none_match: str | None) -> Response:
    """The view, or 304 if the client has it already. Always to be asked again: progress and addresses change."""
    document = view.model_dump_json()
    etag = _etag(document)
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    known = {tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")}
    if known & {etag, "*"}:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(document, headers=headers, media_type="application/json")


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"detail": problem_of(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)


async def _unavailable(_: Request, __: Exception) -> Response:
    return JSONResponse(
        {"detail": "the database is away; try again in a few seconds"},
        HTTPStatus.SERVICE_UNAVAILABLE,
        {"Retry-After": "5"},
    )
