"""What the answers to requests have in common: the routers, entity tags, and how refusals are documented."""

import hashlib
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Header, Response, Security
from fastapi.security import APIKeyHeader
from pydantic import BaseModel, ConfigDict, Field

Responses: TypeAlias = dict[int | str, dict[str, Any]]


class View(BaseModel):
    """What a request is answered with."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Problem(View):
    """Why a request was refused."""

    detail: Annotated[str, Field(examples=["keywords: is empty; give at least one keyword"])]
    """A sentence that says what is wrong and what to do."""


IfNoneMatch = Annotated[
    str | None, Header(description="ETag of the representation you have; 304 if it is still current.")
]
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
ETAG: Final = {
    "ETag": {"description": "Changes when the representation changes.", "schema": {"type": "string"}}
}
LOCATION: Final = {"Location": {"description": "Address of the resource.", "schema": {"type": "string"}}}
READ: Final[Responses] = {
    200: {"headers": ETAG, "description": "As it is now."},
    304: {"description": "Not modified: If-None-Match names the current representation."},
}


def router(tag: str) -> APIRouter:
    """For routes under /v1/, documented under `tag`, with what all of them refuse."""
    # The guard checks the key before this one sees a request; here it is for the OpenAPI document alone.
    key = APIKeyHeader(name="X-Service-Key", scheme_name="ServiceKey", auto_error=False)
    return APIRouter(prefix="/v1", tags=[tag], responses=REFUSALS, dependencies=[Security(key)])


def entity_tag(document: str) -> str:
    """The ETag of a representation, quotes included."""
    return f'"{hashlib.sha256(document.encode()).hexdigest()[:32]}"'


def conditional(view: BaseModel, if_none_match: str | None) -> Response:
    """The view, or 304 if the client has it already. Always to be asked again: progress and addresses change."""
    document = view.model_dump_json()
    etag = entity_tag(document)
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    known = {tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")}
    if known & {etag, "*"}:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(document, headers=headers, media_type="application/json")
