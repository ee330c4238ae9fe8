"""A route that also takes keyword lists as text or CSV, and converts them to JSON."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import Message

from chassis.http.guard import media_type
from chassis.http.problem_codes import RefusalError
from orchestrator import problem_codes as codes
from orchestrator.cycles.lists import KeywordLine, KeywordListError, read_lines, read_table
from orchestrator.cycles.models import checked_keyword

READERS: Final = {"text/plain": read_lines, "text/csv": read_table}
LISTS: Final[dict[str, Any]] = {
    "requestBody": {
        "content": {
            "text/plain": {"schema": {"type": "string"}, "example": "pour over ratio\ncold brew\n"},
            "text/csv": {
                "schema": {"type": "string"},
                "example": "keyword,priority\npour over ratio,high\ncold brew,\n",
            },
        }
    }
}
"""`openapi_extra` of such a route."""


class KeywordListRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            read = READERS.get(media_type(request.headers))
            if read is None:
                return await handle(request)
            try:
                body = await asyncio.to_thread(_as_json, read, await request.body())
            except KeywordListError as error:
                raise RefusalError(codes.INVALID_LIST, str(error)) from error
            return await handle(_with_json(request, body))

        return handler


def _as_json(read: Callable[[bytes], list[KeywordLine]], text: bytes) -> bytes:
    listed = read(text)
    for each in listed:
        try:
            checked_keyword(each.keyword)
        except ValueError as error:
            raise KeywordListError(f"line {each.line}: {error}") from error
    told: dict[str, Any] = {"keywords": [each.keyword for each in listed]}
    if any(each.priority for each in listed):
        told["priorities"] = [each.priority for each in listed]
    if any(each.is_distinct is not None for each in listed):
        told["each_distinct"] = [each.is_distinct for each in listed]
    return json.dumps(told).encode()


def _with_json(request: Request, body: bytes) -> Request:
    scope = {**request.scope, "headers": list(request.scope["headers"])}
    MutableHeaders(scope=scope)["content-type"] = "application/json"

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, receive)
