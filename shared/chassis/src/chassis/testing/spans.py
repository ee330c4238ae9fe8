"""A receiver of spans over OTLP/HTTP, which stores them for tests."""

import gzip
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """One span. Ids are hexadecimal; times are nanoseconds since 1970."""

    service: str
    name: str
    kind: str
    """`INTERNAL`, `SERVER`, `CLIENT`, `PRODUCER` or `CONSUMER`."""
    trace_id: str
    span_id: str
    parent_id: str
    """Empty for the first span of a trace."""
    attributes: dict[str, Any]
    links: tuple[str, ...]
    """Ids of the spans it is linked to."""
    failed: bool
    began: int
    ended: int
    exceptions: tuple[dict[str, Any], ...] = ()
    """Attributes of its events `exception`."""
    complaint: str = ""
    """The error of a failed span."""


@dataclass(slots=True)
class SpanReceiver:
    """The spans sent to `url`; the same address answers like Jaeger's `/api/v3`."""

    url: str
    spans: list[ReceivedSpan] = field(default_factory=list)

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["SpanReceiver"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        receiver = cls(f"http://127.0.0.1:{server.server_address[1]}")
        _receivers[server] = receiver
        serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        serving.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            server.server_close()
            serving.join()
            del _receivers[server]

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for group in request.resource_spans:
            service = _values(group.resource.attributes)["service.name"]
            for scope in group.scope_spans:
                self.spans += [_received(service, span) for span in scope.spans]

    def found(self, service: str, tags: Mapping[str, str]) -> list[ReceivedSpan]:
        """All spans of the traces in which a span of the service has these attributes."""
        traces = {
            span.trace_id
            for span in self.spans
            if span.service == service and span.attributes.items() >= tags.items()
        }
        return [span for span in self.spans if span.trace_id in traces]


_receivers: dict[Any, SpanReceiver] = {}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        _receivers[self.server].take(body)
        self._answer("application/x-protobuf", b"")

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path = parts.path.removeprefix("/api/v3/")
        if path.startswith("traces/"):
            wanted = path.removeprefix("traces/")
            self._send_spans([span for span in _receivers[self.server].spans if span.trace_id == wanted])
            return
        query = parse_qs(parts.query)
        service, tags = query["query.serviceName"][0], json.loads(query["query.attributes"][0])
        found = _receivers[self.server].found(service, tags)
        if path == "trace-summaries":
            self._answer("application/json", json.dumps({"summaries": _summaries(found)}).encode())
        else:
            self._send_spans(found)

    def _send_spans(self, spans: Sequence[ReceivedSpan]) -> None:
        if not spans:
            # Its own way of saying so, with the media type of its plain errors.
            nothing = {"error": {"httpCode": 404, "message": "No traces found"}}
            self._answer("text/plain; charset=utf-8", json.dumps(nothing).encode(), status=404)
            return
        groups = [_as_json(span) for span in spans]
        self._answer("application/json", json.dumps({"result": {"resourceSpans": groups}}).encode())

    def _answer(self, media_type: str, body: bytes, *, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _received(service: str, span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        service=service,
        name=span.name,
        kind=span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=_values(span.attributes),
        links=tuple(link.span_id.hex() for link in span.links),
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        exceptions=tuple(_values(event.attributes) for event in span.events if event.name == "exception"),
        complaint=span.status.message,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def _summaries(spans: Sequence[ReceivedSpan]) -> list[dict[str, Any]]:
    by_trace: dict[str, list[ReceivedSpan]] = {}
    for span in spans:
        by_trace.setdefault(span.trace_id, []).append(span)
    return [
        {
            "traceId": trace_id,
            "rootOperationName": next((span.name for span in mine if not span.parent_id), ""),
            "minStartTimeUnixNano": str(min(span.began for span in mine)),
            "maxEndTimeUnixNano": str(max(span.ended for span in mine)),
            "spanCount": len(mine),
            # What is zero or empty is left out.
            **({"errorSpanCount": failed} if (failed := sum(span.failed for span in mine)) else {}),
        }
        for trace_id, mine in by_trace.items()
    ]


def _as_json(span: ReceivedSpan) -> dict[str, Any]:
    """A span alone in its group, in OTLP's JSON."""
    attributes = [
        {"key": key, "value": {"stringValue": str(value)}} for key, value in span.attributes.items()
    ]
    one = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "startTimeUnixNano": str(span.began),
        "endTimeUnixNano": str(span.ended),
        "attributes": attributes,
        "status": {"code": 2} if span.failed else {},
    }
    service = {"key": "service.name", "value": {"stringValue": span.service}}
    return {"resource": {"attributes": [service]}, "scopeSpans": [{"spans": [one]}]}
