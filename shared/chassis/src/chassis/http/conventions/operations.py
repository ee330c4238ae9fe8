"""Adds the conventions of all APIs to an OpenAPI document."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

from chassis.http.problem_codes import ProblemCode
from chassis.http.problems import MEDIA_TYPE

SERVERS: Final = [{"url": "/", "description": "Where this document is."}]
_METHODS: Final = ("get", "put", "post", "delete", "patch")
_PROBLEM: Final = "#/components/schemas/Problem"


def describe_conventions(document: dict[str, Any], codes: Iterable[ProblemCode]) -> None:
    """Add ETags, media types and problem codes to the document."""
    known = tuple(codes)
    document["servers"] = SERVERS
    _list_codes(document, known)
    for operation_method, operation in _operations(document):
        if operation_method == "get":
            _describe_etag(operation)
        if operation_method != "get":
            # Of those too that take no body: a body that comes all the same is refused by its type.
            operation["responses"].setdefault(
                "415", _refusal("The body is of a media type that this does not take.")
            )
        for status, response in operation["responses"].items():
            schema = response.get("content", {}).get(MEDIA_TYPE, {}).get("schema", {})
            if schema.get("$ref") == _PROBLEM:
                response["content"][MEDIA_TYPE] = {"schema": {"$ref": _add_schema(document, status, known)}}


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for operations in document["paths"].values():
        yield from ((method, operations[method]) for method in _METHODS if method in operations)


def _list_codes(document: dict[str, Any], codes: Iterable[ProblemCode]) -> None:
    document["info"]["x-problem-codes"] = {
        each.code: {"status": each.status.value, "type": each.type, "meaning": each.meaning} for each in codes
    }


def _add_schema(document: dict[str, Any], status: str, codes: Iterable[ProblemCode]) -> str:
    """Add the problem schema of a status with its possible codes; return its reference."""
    name = f"Problem{status}"
    schemas = document["components"]["schemas"]
    if name not in schemas:
        schema = deepcopy(schemas["Problem"])
        listed = sorted(each.code for each in codes if int(status) in (each.status, *each.also))
        schema["title"] = name
        # No `enum`: later versions may add codes, and a client of today must take them.
        schema["properties"]["code"] |= {"x-extensible-enum": listed, "examples": listed[:1]}
        schema["properties"]["status"] |= {"examples": [int(status)]}
        schemas[name] = schema
    return f"#/components/schemas/{name}"


def _describe_etag(operation: dict[str, Any]) -> None:
    """Describe ETag and If-None-Match, unless the route has done so."""
    answered = operation["responses"].get("200", {})
    if not {"application/json", "text/calendar"} & set(answered.get("content", ())):
        return
    answered.setdefault("headers", {}).setdefault(
        "ETag",
        {"description": "Changes when the representation changes.", "schema": {"type": "string"}},
    )
    operation["responses"].setdefault(
        "304", {"description": "Not modified: If-None-Match names the current representation."}
    )
    parameters = operation.setdefault("parameters", [])
    if all(each["name"].lower() != "if-none-match" for each in parameters):
        parameters.append(
            {
                "name": "If-None-Match",
                "in": "header",
                "required": False,
                "description": "ETag of the representation you have; 304 if it is still current.",
                "schema": {"type": "string"},
            }
        )


def _refusal(description: str) -> dict[str, Any]:
    return {"description": description, "content": {MEDIA_TYPE: {"schema": {"$ref": _PROBLEM}}}}
