"""What APIs have in common; takes the extra `chassis[api]`.

Every refusal is a problem (`chassis.http.problems`) whose `detail` says what to do, whoever refuses: the guard, a route, or the database.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, FastAPI, Header, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from chassis.database.pool import DatabaseUnavailableError
from chassis.http import idempotency
from chassis.http.admission import Admission, NeededScope, UnseenBrand, unseen_brand
from chassis.http.callers import Authorise, Caller, Scope
from chassis.http.conditional import entity_tag, is_known
from chassis.http.guard import DATABASE_AWAY, MAX_BODY_BYTES, Guard, shown_size
from chassis.http.idempotency import Answers, Idempotency
from chassis.http.problems import BLANK, MEDIA_TYPE, ProblemResponse
from chassis.http.reference import reference_routes
from chassis.http.service_key import API_PREFIX
from chassis.http.spans import TracedApi
from chassis.http.throttling.quotas import Quotas

MAX_ERRORS: Final = 50
"""Fields that one refusal tells of."""

Responses: TypeAlias = dict[int | str, dict[str, Any]]


class View(BaseModel):
    """What a request is answered with, or a part of it.

    What turns it into JSON is made when a request is first answered with it: a process answers with few of those it could,
    and by most refusals with none. For bodies of requests FastAPI has that made at once, or Pydantic warns of their names.
    """

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, defer_build=True)


class FieldProblem(View):
    """What is wrong with one field of a request."""

    field: Annotated[str, Field(examples=["keywords[2]"])]
    """Where it is in the body, or the name of a parameter or header; empty: the body as a whole."""
    detail: Annotated[str, Field(examples=["is blank; fill it in"])]


class Problem(View):
    """Why a request was refused (RFC 9457)."""

    type: Annotated[str, Field(examples=[BLANK])]
    """What programs tell problems of the same status apart by; `about:blank` if there is nothing to tell apart."""
    title: Annotated[str, Field(examples=["Unprocessable Entity"])]
    """The type, or else the status, in words."""
    status: Annotated[int, Field(examples=[422])]
    detail: Annotated[str, Field(examples=["name: is blank; fill it in"])]
    """A sentence that says what is wrong and what to do."""
    errors: list[FieldProblem] = []
    """Each field that is wrong, where the request cannot be understood; `detail` tells of the first of them."""


IfNoneMatch = Annotated[
    str | None, Header(description="ETag of the representation you have; 304 if it is still current.")
]


def in_utc(moment: datetime) -> datetime:
    """A time of a request as a database takes it; without a zone it is meant in UTC.

    Raises:
        ValueError: its zone moves it out of the calendar.
    """
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("is beyond the years 1 to 9999 in UTC") from None


Moment = Annotated[datetime, AfterValidator(in_utc)]


_PROBLEM: Final = {"$ref": "#/components/schemas/Problem"}


def refusal(status: HTTPStatus, description: str) -> Responses:
    """How the document speaks of what a route may refuse.

    By reference: a model given here would be built anew for each refusal of each route, at megabytes for them all.
    """
    return {status.value: {"description": description, "content": {MEDIA_TYPE: {"schema": _PROBLEM}}}}


UNKNOWN: Final = refusal(HTTPStatus.NOT_FOUND, "There is no such thing; `detail` says what to do.")
_ANY: Final = {
    **refusal(
        HTTPStatus.UNAUTHORIZED, "The key is missing or wrong; `detail` says which header it is sent in."
    ),
    **refusal(HTTPStatus.FORBIDDEN, "The key lacks the scope that `detail` names, or is bound to brands."),
    **refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY, "The request cannot be understood; `detail` says what to change."
    ),
    **refusal(
        HTTPStatus.TOO_MANY_REQUESTS,
        "The key has been used as often in this minute as it may, or many wrong keys were sent from your address; again after the"
        " `Retry-After` header.",
    ),
    **refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The database is away, or too much is asked at once; try again after the `Retry-After` header.",
    ),
}
"""What every route may refuse."""
ETAG: Final = {
    "ETag": {"description": "Changes when the representation changes.", "schema": {"type": "string"}}
}
READ: Final[Responses] = {
    200: {"headers": ETAG, "description": "As it is now."},
    304: {"description": "Not modified: If-None-Match names the current representation."},
}


def api(
    title: str,
    authorise: Authorise,
    *,
    larger_bodies: Mapping[str, int] | None = None,
    files: Mapping[str, int] | None = None,
    lists: Collection[str] = (),
    takes_api_keys: bool = False,
    answers: Answers | None = None,
    shown_once: Sequence[str] = (),
    quotas: Quotas | None = None,
    unseen: UnseenBrand = unseen_brand,
    **described: Any,
) -> FastAPI:
    """An application behind the guard, whose routes come from `router`.

    Spans and figures are the chassis's own business, which knows the chains: FastAPI's are switched off.

    Args:
        title: of the document.
        authorise: asks for the key, and says who has it.
        larger_bodies: paths of routes with the bytes that a body may have there; elsewhere it is `MAX_BODY_BYTES`.
        files: paths of routes to which files are sent as they are, with the bytes that one may have; describe them to
            readers of the document by `file_body`.
        lists: paths of routes that take text/plain and text/csv beside JSON.
        takes_api_keys: whether it knows callers by API keys beside the service key, as its document is to say.
        answers: where answers to POSTs with an `Idempotency-Key` are kept, together with their effects.
        shown_once: paths of routes whose answers must not be kept.
        quotas: counts what each caller asks.
        unseen: the sentence for a caller who is bound to other brands than that of the path.
        described: further arguments of FastAPI, for its document.
    """
    app = FastAPI(
        title=title,
        version="1",
        telemetry={"tracing": False, "metrics": False, "logs": False},
        # Their address would be made of the Host header, which says what the client likes.
        redirect_slashes=False,
        # Their pages run scripts from elsewhere, on the origin of the API; `/docs` is our own.
        docs_url=None,
        redoc_url=None,
        **described,
    )
    app.router.routes += reference_routes(app)
    if answers is not None:
        app.add_middleware(Idempotency, answers=answers, shown_once=shown_once)
    # Within the guard: whoever has no key does not get a word into our traces.
    app.add_middleware(TracedApi)
    app.add_middleware(
        Guard,
        authorise=authorise,
        larger_bodies=larger_bodies,
        files=files,
        lists=lists,
        quotas=quotas,
        admit=Admission(app.router.routes, unseen),
    )
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(DatabaseUnavailableError, _unavailable)
    app.add_exception_handler(Exception, _failed)
    sizes = {**(larger_bodies or {}), **(files or {})}
    repeatable = None if answers is None else frozenset(shown_once)
    app.openapi = _completed(  # type: ignore[method-assign]
        app.openapi, sizes, takes_api_keys=takes_api_keys, shown_once=repeatable
    )
    return app


def file_body(*media_types: str) -> dict[str, Any]:
    """`openapi_extra` of a route that takes a file: the body is read as it came, by `request.body()`."""
    anything = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": dict.fromkeys(media_types, anything)}}


def needs(scope: Scope, *, of_all_brands: bool = False) -> Any:
    """What a route depends on: a caller with the scope, which the document names; others are refused with 403.

    Among the `dependencies` of a route, or as an argument `caller` by one of the names below.

    Args:
        scope: that the caller's key needs.
        of_all_brands: whether a caller who is bound to brands is refused likewise, before anything is looked up.
    """
    return Security(NeededScope(scope, of_all_brands), scopes=[scope.value])


MayRead = Annotated[Caller, needs(Scope.READ)]
MaySubmit = Annotated[Caller, needs(Scope.SUBMIT)]
MayReview = Annotated[Caller, needs(Scope.REVIEW)]
MayOperate = Annotated[Caller, needs(Scope.OPERATE)]
MayAdminister = Annotated[Caller, needs(Scope.ADMIN)]


def router(path: str = "", *, tags: list[str] | None = None) -> APIRouter:
    """For routes under `/v1` and the path, with what all of them refuse. Each names the scope it needs, by `needs`.

    Args:
        path: begins with a slash, or is empty.
        tags: the headings under which they are documented.
    """
    headings: dict[str, Any] = {"tags": tags} if tags else {}
    prefix = f"{API_PREFIX.rstrip('/')}{path}"
    return APIRouter(prefix=prefix, responses=_ANY, **headings)


def add_routes(to: FastAPI | APIRouter, *routers: APIRouter) -> None:
    """The routes of the routers, as they are.

    `include_router` would build every one of them anew, to give it prefixes and answers that ours have from `router` already: half of
    what an application takes to be made, in time and in memory.
    """
    routes = to.router.routes if isinstance(to, FastAPI) else to.routes
    for each in routers:
        routes.extend(each.routes)


def _completed(
    describe: Callable[[], dict[str, Any]],
    larger_bodies: Mapping[str, int],
    *,
    takes_api_keys: bool,
    shown_once: Collection[str] | None,
) -> Callable[[], dict[str, Any]]:
    """The OpenAPI document, with what the framework does not know.

    Every operation with a body names the size that the guard lets through, and what refusals refer to is there.
    """

    def openapi() -> dict[str, Any]:
        document = describe()
        document.setdefault("components", {}).setdefault("schemas", {}).update(_problem_schemas())
        if takes_api_keys:
            document["components"]["securitySchemes"]["ApiKey"] = {"type": "http", "scheme": "bearer"}
        for path, operations in document["paths"].items():
            size = shown_size(larger_bodies.get(path, MAX_BODY_BYTES))
            for method, operation in operations.items():
                if method == "post" and shown_once is not None and path not in shown_once:
                    idempotency.describe(operation, _PROBLEM)
                if takes_api_keys:
                    needed = [scope for each in operation["security"] for scope in each.get("ServiceKey", ())]
                    operation["security"] = [{"ServiceKey": needed}, {"ApiKey": needed}]
                if "requestBody" in operation:
                    operation["responses"]["413"] = {
                        "description": f"The request body is larger than {size}.",
                        "content": {MEDIA_TYPE: {"schema": _PROBLEM}},
                    }
        return document

    return openapi


def _problem_schemas() -> dict[str, Any]:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    return {**schema.pop("$defs"), "Problem": schema}


def conditional(document: str | bytes, if_none_match: str | None, *, etag: str | None = None) -> Response:
    """The JSON document, or 304 if the client has it already. Always to be asked again: what it tells of changes.

    Its `etag` is made of it, unless the route has one that says more.
    """
    etag = etag or entity_tag(document)
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if if_none_match is not None and is_known(etag, if_none_match):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(document, headers=headers, media_type="application/json")


def _field_problem(error: Mapping[str, Any]) -> FieldProblem:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"][1:]).lstrip(
        "."
    )
    field = "".join(char if char.isprintable() else "?" for char in place[:120])
    # They may quote what cannot be encoded.
    return FieldProblem(
        field=field.encode(errors="replace").decode(),
        detail=_complaint(error).encode(errors="replace").decode(),
    )


_COMPLAINTS: Final = {
    "missing": "is missing; it is required",
    "extra_forbidden": "is not a field of this request; remove it or correct its spelling",
    "model_attributes_type": "the request body must be a JSON object",
    "string_type": "must be a string",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "too_long": "has more than {max_length:,} entries, which is the limit; split the list",
    "string_too_long": "has more than {max_length:,} characters; shorten it",
    "string_too_short": "is blank; fill it in or leave it out",
    "string_pattern_mismatch": "does not match {pattern}",
    "enum": "must be {expected}",
    "uuid_parsing": "is not a UUID",
    "value_error": "{error}",
}
"""What is said of pydantic's error types; for others, what pydantic says."""


def _complaint(error: Mapping[str, Any]) -> str:
    if error["type"] == "missing" and len(error["loc"]) == 1:
        return "the request has no body; send a JSON object"
    template = _COMPLAINTS.get(error["type"])
    return template.format(**error.get("ctx", {})) if template else str(error["msg"])


_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail, headers = error.detail, error.headers
    match error.status_code:
        case HTTPStatus.NOT_FOUND if request.scope.get("route") is None:
            detail = "there is nothing at this path; /docs lists what there is"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            detail = f"this path does not take {request.method}; /docs lists what there is"
            headers = {"Allow": ", ".join(method for method in _METHODS if _takes(request, method))}
    return ProblemResponse(error.status_code, detail, headers)


def _takes(request: Request, method: str) -> bool:
    """Whether any route does at the path: the one that refused knows its own method alone."""
    scope = {**request.scope, "method": method}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)


async def _failed(_: Request, __: Exception) -> Response:
    return ProblemResponse(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "this failed for a reason of ours, which is in the log; try again later",
    )


async def _invalid(_: Request, error: Exception) -> Response:
    """The first complaint as one sentence, e.g. `names[2]: is blank; leave it out …`, and all of them by field."""
    assert isinstance(error, RequestValidationError)
    found = [_field_problem(each) for each in error.errors()[:MAX_ERRORS]]
    first = found[0]
    return ProblemResponse(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"{first.field}: {first.detail}" if first.field else first.detail,
        errors=[each.model_dump() for each in found],
    )


async def _unavailable(request: Request, _: Exception) -> Response:
    return await _refused(request, DATABASE_AWAY)
