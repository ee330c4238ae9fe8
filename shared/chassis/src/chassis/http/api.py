"""Builds the API of a service; needs the extra `chassis[api]`.

Every refusal of the guard, a route or the database is a problem (`chassis.http.problems`); its `detail` says what to do.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, Self, TypeAlias

from fastapi import APIRouter, FastAPI, Header, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount

from chassis.database.pool import DatabaseUnavailableError
from chassis.http import idempotency
from chassis.http.admission import Admission, NeededScope, UnseenBrand, unseen_brand
from chassis.http.callers import Authorise, Caller, Scope
from chassis.http.conditional import entity_tag, is_known
from chassis.http.conventions import (
    BodyTypes,
    CompressedAnswers,
    HeadRequests,
    TaggedAnswers,
    UniqueMembers,
)
from chassis.http.conventions.answers import ASKED_METHOD
from chassis.http.conventions.operations import describe_conventions
from chassis.http.guard import DATABASE_AWAY, MAX_BODY_BYTES, Guard, shown_size
from chassis.http.idempotency import AnswerStore, Idempotency
from chassis.http.problem_codes import (
    COMMON,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    ProblemCode,
    RefusalError,
    merged_codes,
)
from chassis.http.problems import MEDIA_TYPE, ProblemResponse
from chassis.http.reference import reference_routes
from chassis.http.route_index import RouteIndex
from chassis.http.service_key import API_PREFIX
from chassis.http.spans import TracedApi
from chassis.http.throttling import Quotas

MAX_ERRORS: Final = 50
"""Fields that one refusal lists."""

Responses: TypeAlias = dict[int | str, dict[str, Any]]


class View(BaseModel):
    """The base of response bodies and their parts.

    Pydantic builds the serializer at the first response, as a process uses few of its views. For request bodies FastAPI builds it
    at once, or Pydantic warns of their names.
    """

    model_config = ConfigDict(
        frozen=True, use_attribute_docstrings=True, defer_build=True, from_attributes=True
    )

    @classmethod
    def from_row(cls, row: object) -> Self:
        """Return the view of an object that has an attribute for each field."""
        return cls.model_validate(row)


class FieldProblem(View):
    """The error of one field of a request."""

    field: Annotated[str, Field(examples=["keywords[2]"])]
    """Path in the body, or the name of a parameter or header; empty: the body as a whole."""
    detail: Annotated[str, Field(examples=["is blank; fill it in"])]


class Problem(View):
    """Why a request was refused (RFC 9457)."""

    type: Annotated[str, Field(examples=["urn:brand-engine:problem:unknown_brand"])]
    """A URI of the code; `about:blank` if the status says it all."""
    title: Annotated[str, Field(examples=["Unprocessable Entity"])]
    """The type, or else the status, in words."""
    status: Annotated[int, Field(examples=[422])]
    code: Annotated[str, Field(examples=["invalid_request"])]
    """Identifies the refusal for programs; its meaning never changes. `info.x-problem-codes` lists all; later versions may add some."""
    detail: Annotated[str, Field(examples=["name: is blank; fill it in"])]
    """A sentence that says what is wrong and what to do."""
    errors: list[FieldProblem] = []
    """Each invalid field of the request; `detail` describes the first."""


IfNoneMatch = Annotated[
    str | None, Header(description="ETag of the representation you have; 304 if it is still current.")
]


def in_utc(moment: datetime) -> datetime:
    """Return a time of a request in UTC; a time without a zone counts as UTC.

    Raises:
        ValueError: in UTC it is outside the years 1 to 9999.
    """
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("is beyond the years 1 to 9999 in UTC") from None


Moment = Annotated[datetime, AfterValidator(in_utc)]


_PROBLEM: Final = {"$ref": "#/components/schemas/Problem"}


def refusal(status: HTTPStatus, description: str) -> Responses:
    """Return the OpenAPI response of a refusal.

    It is a reference: FastAPI would build a model anew for each refusal of each route, at megabytes in total.
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
"""Refusals of every route."""
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
    answers: AnswerStore | None = None,
    shown_once: Sequence[str] = (),
    quotas: Quotas | None = None,
    codes: Iterable[ProblemCode] = (),
    unseen: UnseenBrand = unseen_brand,
    **described: Any,
) -> FastAPI:
    """Build an application behind the guard; add its routes with `router` and `add_routes`.

    The chassis makes spans and metrics, as it knows the chains; FastAPI's own are off.

    Args:
        title: title of the OpenAPI document.
        authorise: checks the key and returns its caller.
        larger_bodies: maximum body size in bytes by path; elsewhere it is `MAX_BODY_BYTES`.
        files: maximum file size in bytes by path, for routes that take files; describe them with `file_body`.
        lists: paths of routes that take text/plain and text/csv beside JSON.
        takes_api_keys: whether the document mentions API keys beside the service key.
        answers: stores answers to POSTs with an `Idempotency-Key`, together with their effects.
        shown_once: paths of routes with secret answers, which are never stored.
        quotas: counts the requests of each caller.
        codes: the service's own problem codes.
        unseen: error for a caller who is bound to other brands than that of the path.
        described: further arguments of FastAPI, for the document.
    """
    app = FastAPI(
        title=title,
        version="1",
        telemetry={"tracing": False, "metrics": False, "logs": False},
        # Redirects would use the Host header, which the client controls.
        redirect_slashes=False,
        # FastAPI's pages run foreign scripts on the origin of the API; `/docs` is our own page.
        docs_url=None,
        redoc_url=None,
        **described,
    )
    index = RouteIndex(app.router.routes)
    app.router.routes += reference_routes(app)
    list_codes(app, COMMON, codes)
    app.add_middleware(TaggedAnswers)
    if answers is not None:
        app.add_middleware(Idempotency, answers=answers, shown_once=shown_once)
    app.add_middleware(UniqueMembers)
    app.add_middleware(CompressedAnswers)
    # Within the guard, so that requests without a key leave no traces.
    app.add_middleware(TracedApi)
    app.add_middleware(
        Guard,
        authorise=BodyTypes(authorise, app.router.routes, files or {}),
        larger_bodies=larger_bodies,
        files=files,
        lists=lists,
        quotas=quotas,
        admit=Admission(index, unseen),
    )
    # Before the guard, which checks pair keys by method.
    app.add_middleware(HeadRequests)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(DatabaseUnavailableError, _unavailable)
    app.add_exception_handler(Exception, _failed)
    sizes = {**(larger_bodies or {}), **(files or {})}
    repeatable = None if answers is None else frozenset(shown_once)
    app.openapi = _completed(  # type: ignore[method-assign]
        app.openapi, app, sizes, takes_api_keys=takes_api_keys, shown_once=repeatable
    )
    return app


def list_codes(app: FastAPI, *codes: Iterable[ProblemCode]) -> None:
    """Add problem codes to the application's document.

    Raises:
        ValueError: a code has another meaning in this application already.
    """
    app.state.problem_codes = merged_codes(getattr(app.state, "problem_codes", ()), *codes)


def refuse_with(app: FastAPI, codes: Mapping[type[Exception], ProblemCode]) -> None:
    """Refuse requests that end in one of these errors with its code; the error says what to do."""
    for error, code in codes.items():
        app.add_exception_handler(error, _refusing(code))


def _refusing(code: ProblemCode) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refuse(_: Request, error: Exception) -> Response:
        return ProblemResponse.coded(code, str(error))

    return refuse


def file_body(*media_types: str) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads a file with `request.body()`."""
    anything = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": dict.fromkeys(media_types, anything)}}


def needs(scope: Scope, *, of_all_brands: bool = False) -> Any:
    """Return the dependency of a route on a caller with the scope; others get 403.

    Use it in the `dependencies` of a route, or as an argument `caller` with one of the types below.

    Args:
        scope: the scope that the caller's key needs.
        of_all_brands: whether callers that are bound to brands get 403 too.
    """
    return Security(NeededScope(scope, of_all_brands), scopes=[scope.value])


MayRead = Annotated[Caller, needs(Scope.READ)]
MaySubmit = Annotated[Caller, needs(Scope.SUBMIT)]
MayReview = Annotated[Caller, needs(Scope.REVIEW)]
MayOperate = Annotated[Caller, needs(Scope.OPERATE)]
MayRepair = Annotated[Caller, needs(Scope.REPAIR)]
MayAdminister = Annotated[Caller, needs(Scope.ADMIN)]


def router(path: str = "", *, tags: list[str] | None = None) -> APIRouter:
    """Return a router for paths under `/v1`, with the common refusals. Each route names its scope with `needs`.

    Args:
        path: prefix that starts with a slash, or empty.
        tags: headings in the document.
    """
    headings: dict[str, Any] = {"tags": tags} if tags else {}
    prefix = f"{API_PREFIX.rstrip('/')}{path}"
    return APIRouter(
        prefix=prefix, responses=_ANY, generate_unique_id_function=lambda route: route.name, **headings
    )


def add_routes(to: FastAPI | APIRouter, *routers: APIRouter) -> None:
    """Add the routes of the routers to an application or router.

    `include_router` would rebuild every route to add prefixes and responses, which `router` has set already: half of the time
    and memory of building an application.
    """
    routes = to.router.routes if isinstance(to, FastAPI) else to.routes
    for each in routers:
        routes.extend(each.routes)


def _completed(
    describe: Callable[[], dict[str, Any]],
    app: FastAPI,
    larger_bodies: Mapping[str, int],
    *,
    takes_api_keys: bool,
    shown_once: Collection[str] | None,
) -> Callable[[], dict[str, Any]]:
    """Return a function that completes the framework's OpenAPI document: problem schemas, body sizes, key types."""

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
        describe_conventions(document, app.state.problem_codes)
        return document

    return openapi


def _problem_schemas() -> dict[str, Any]:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    return {**schema.pop("$defs"), "Problem": schema}


def conditional(document: str | bytes, if_none_match: str | None, *, etag: str | None = None) -> Response:
    """Respond with the JSON document, or 304 if the client has it already. Clients must revalidate each time.

    By default the `etag` is a hash of the document.
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
    # The texts may contain lone surrogates.
    return FieldProblem(
        field=field.encode(errors="replace").decode(),
        detail=_complaint(error).encode(errors="replace").decode(),
    )


def describe_invalid(error: ValidationError, inside: str = "") -> str:
    """Return the first error of a document that is no request body as a sentence. `inside` is the member that was read."""
    first = error.errors()[0]
    found = _field_problem({**first, "loc": ("body", *((inside,) if inside else ()), *first["loc"])})
    return f"{found.field}: {found.detail}" if found.field else found.detail


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
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "decimal_type": "must be a number",
    "decimal_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "too_short": "needs {min_length} or more entries",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}
"""Our texts for pydantic's error types; others keep pydantic's own."""


def _complaint(error: Mapping[str, Any]) -> str:
    if error["type"] == "missing" and len(error["loc"]) == 1:
        return "the request has no body; send a JSON object"
    template = _COMPLAINTS.get(error["type"])
    return template.format(**error.get("ctx", {})) if template else str(error["msg"])


_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, RefusalError):
        return ProblemResponse.of(error)
    match error.status_code:
        case HTTPStatus.NOT_FOUND if request.scope.get("route") is None:
            return _nothing_here()
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return _other_methods(request, _taken_methods(request))
    return ProblemResponse.of(error)


def is_api_path(path: str) -> bool:
    """Return whether the path belongs to the API or its documents, even without a route."""
    return f"{path}/".startswith((API_PREFIX, "/docs/", "/openapi.json/"))


def answer_without_route(app: FastAPI, scope: Any) -> Response:
    """Return 404 or 405 for an API request without a route.

    For applications with a catch-all route behind the API: the framework itself would find nothing to refuse.
    """
    request = Request({**scope, "app": app})
    if methods := _taken_methods(request):
        return _other_methods(request, methods)
    return _nothing_here()


def _nothing_here() -> Response:
    return ProblemResponse.coded(NOT_FOUND, "there is nothing at this path; /docs lists what there is")


def _other_methods(request: Request, methods: Sequence[str]) -> Response:
    asked = request.scope.get(ASKED_METHOD, request.method)
    return ProblemResponse.coded(
        METHOD_NOT_ALLOWED,
        f"this path does not take {asked}; /docs lists what there is",
        {"Allow": ", ".join(methods)},
    )


def _taken_methods(request: Request) -> list[str]:
    found = {method for method in _METHODS if _takes(request, method)}
    if "GET" in found and request.url.path.startswith(API_PREFIX):
        found.add("HEAD")
    return [method for method in _METHODS if method in found]


def _takes(request: Request, method: str) -> bool:
    """Return whether any route takes the method at the path; the refusing route knows only its own."""
    scope = {**request.scope, "method": method}
    return any(
        route.matches(scope)[0] is Match.FULL
        for route in request.app.routes
        if not isinstance(route, Mount | RouteIndex)
    )


async def _failed(_: Request, __: Exception) -> Response:
    return ProblemResponse.coded(
        INTERNAL_ERROR, "this failed for a reason of ours, which is in the log; try again later"
    )


async def _invalid(_: Request, error: Exception) -> Response:
    """Respond with the first error as a sentence, such as `names[2]: is blank; leave it out …`, and with all by field."""
    assert isinstance(error, RequestValidationError)
    found = [_field_problem(each) for each in error.errors()[:MAX_ERRORS]]
    first = found[0]
    return ProblemResponse.coded(
        INVALID_REQUEST,
        f"{first.field}: {first.detail}" if first.field else first.detail,
        errors=[each.model_dump() for each in found],
    )


async def _unavailable(request: Request, _: Exception) -> Response:
    return await _refused(request, DATABASE_AWAY)
