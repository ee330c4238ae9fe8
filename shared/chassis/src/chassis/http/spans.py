"""Spans of HTTP requests: those that begin a chain or belong to one, and those between services.

Trace context travels in the headers `traceparent` and `tracestate`, the chain's `correlation_id` and what it is about in
`baggage`, all as the W3C defines them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.context import Context as OtelContext
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis import redaction
from chassis.http.service_key import API_PREFIX
from chassis.observing import chains, traces


class TracedApi:
    """Makes a server span for each request to the API that starts work (`POST`) or that continues a trace.

    It stands behind the guard. Nothing else is traced, neither public pages nor refused requests: what strangers send is
    not to be trusted with our traces, and they are no part of a chain.

    Its chain is the one that the caller names, or the one of the messages sent meanwhile, or else its own trace.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(API_PREFIX):
            await self._app(scope, receive, send)
            return
        given = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        parent = traces.context_from(given)
        if parent is None and scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        span = traces.tracer().start_span(
            scope["method"],
            context=parent or OtelContext(),
            kind=SpanKind.SERVER,
            attributes=_server_attributes(scope, given),
        )
        with traces.activated(span):
            await self._answer(span, scope, receive, send)

    async def _answer(self, span: Span, scope: Scope, receive: Receive, send: Send) -> None:
        answered = False

        async def sending(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                _note_status(span, message["status"], error_from=HTTPStatus.INTERNAL_SERVER_ERROR)
            await send(message)

        error: BaseException | None = None
        try:
            await self._app(scope, receive, sending)
        except BaseException as raised:
            error = raised
            if not answered:  # whoever stands before this one will
                span.set_attribute("http.response.status_code", HTTPStatus.INTERNAL_SERVER_ERROR.value)
            raise
        finally:
            if (route := getattr(scope.get("route"), "path", None)) is not None:
                span.update_name(f"{scope['method']} {route}")
                span.set_attribute("http.route", route)
            # Refused requests belong to no chain; "every span has one" is worth more than an empty place.
            chains.name_chain(f"{span.get_span_context().trace_id:032x}")
            traces.end_span(span, error)


def _server_attributes(scope: Scope, given: dict[str, str]) -> traces.Attributes:
    attributes: traces.Attributes = {
        "http.request.method": scope["method"],
        "url.path": scope["path"],
        "url.scheme": scope["scheme"],
    }
    if scope.get("server"):
        address, port = scope["server"]
        attributes |= {"server.address": address} | ({"server.port": port} if port else {})
    return attributes | traces.carried_in(given)


@dataclass(slots=True)
class Exchange:
    """One request to another service."""

    span: Span = INVALID_SPAN
    headers: dict[str, str] = field(default_factory=dict)
    """To be sent with the request."""

    def answered(self, status: int) -> None:
        _note_status(self.span, status, error_from=HTTPStatus.BAD_REQUEST)


@contextmanager
def client_span(method: str, url: str) -> Iterator[Exchange]:
    """The span of one request within the running trace: send the headers it gives, and tell it how it was answered."""
    if not trace.get_current_span().get_span_context().is_valid:
        yield Exchange()
        return
    address = urlsplit(url)
    span = traces.tracer().start_span(
        method,
        kind=SpanKind.CLIENT,
        links=traces.links_to_others(),
        attributes={
            "http.request.method": method,
            "url.full": redaction.text(url),
            "server.address": address.hostname or "",
            "server.port": address.port or (443 if address.scheme == "https" else 80),
        },
    )
    exchange = Exchange(span, traces.headers_of(span))
    with traces.activated(span):
        try:
            yield exchange
        except BaseException as error:
            # What an answer is taken for by the caller is told by the caller's span.
            traces.end_span(span, None if _has_failed(span) else error)
            raise
    traces.end_span(span)


def _note_status(span: Span, status: int, *, error_from: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= error_from:
        traces.fail_span(span, str(status), "")


def _has_failed(span: Span) -> bool:
    attributes: Any = getattr(span, "attributes", None) or {}
    return "error.type" in attributes
