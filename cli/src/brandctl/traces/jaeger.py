"""Client of Jaeger's HTTP API: `/api/v3`, whose answers are OTLP in JSON (Jaeger 2.19 and later)."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlencode

import httpx

from brandctl.errors import CommandError

MAX_TRACES: Final = 2_000
"""The most traces of a search: twice the keywords of a request. Jaeger refuses limits above its storage."""
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")
_FAILED: Final = {2, "2", "STATUS_CODE_ERROR"}


_FoundT = TypeVar("_FoundT")


class JaegerError(CommandError):
    """Jaeger cannot be reached, or does not answer as expected."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Ids are hexadecimal; times are nanoseconds since 1970."""

    trace_id: str
    span_id: str
    parent_id: str
    """Empty for the first span of a trace."""
    service: str
    name: str
    began: int
    ended: int
    error: str | None
    """Type of the error that it ended with; empty if unknown; None without an error."""
    attributes: Mapping[str, str]
    """The attributes with text values."""


@dataclass(frozen=True, slots=True)
class TraceFilter:
    """Finds traces of a service with a span that has all these attributes. Some stores need the service's name."""

    service: str
    attributes: Mapping[str, str]
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A trace without its spans. Times are nanoseconds since 1970."""

    trace_id: str
    root_operation_name: str
    min_start_time_unix_nano: int
    max_end_time_unix_nano: int
    span_count: int
    error_span_count: int

    @property
    def duration(self) -> int:
        """The duration in nanoseconds."""
        return self.max_end_time_unix_nano - self.min_start_time_unix_nano


class JaegerClient:
    """A client; use it as a context manager. Methods that send requests may raise `JaegerError`."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        try:
            # A company's proxy cannot reach this machine's own addresses.
            local = httpx.URL(self._url).host in {"127.0.0.1", "::1", "localhost"}
            self._http = httpx.Client(timeout=30, trust_env=not local)
        except httpx.InvalidURL as error:
            raise JaegerError(f"{url} is no address: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def summaries(self, search: TraceFilter) -> list[TraceSummary]:
        """Returns the traces of a search, at most `MAX_TRACES`."""
        return self._ask("/trace-summaries", _query(search), _summaries)

    def spans(self, search: TraceFilter) -> list[Span]:
        """Returns all spans of a search's traces, in order of time."""
        return self._ask("/traces", _query(search), _in_order)

    def spans_of(self, trace_id: str) -> list[Span]:
        """Returns all spans of a trace, in order of time; none if Jaeger does not have it."""
        return self._ask(f"/traces/{trace_id}", {}, _in_order)

    def _ask(
        self, path: str, query: Mapping[str, str | int], read: Callable[[dict[str, Any]], list[_FoundT]]
    ) -> list[_FoundT]:
        try:
            response = self._http.get(f"{self._url}/api/v3{path}", params=query)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise JaegerError(f"{self._url} does not answer: {error}") from error
        if response.status_code == httpx.codes.NOT_FOUND and _says_there_are_none(response):
            return []
        if not response.is_success:
            raise JaegerError(f"{self._url} refused ({response.status_code}): {response.text[:300]}")
        try:
            return read(response.json())
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise JaegerError(
                f"{self._url} does not answer like Jaeger 2.19 or later: check the address"
            ) from error


class TraceUrls:
    """Makes links to Jaeger's pages, under its address for browsers."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def search(self, search: TraceFilter) -> str:
        query = {
            "service": search.service,
            "tags": json.dumps(dict(search.attributes)),
            "lookback": "custom",
            "start": round(search.since.timestamp() * 1e6),
            "end": round(search.until.timestamp() * 1e6),
            "limit": MAX_TRACES,
        }
        return f"{self._url}/search?{urlencode(query)}"

    def trace(self, trace_id: str) -> str:
        return f"{self._url}/trace/{trace_id}"


def _query(search: TraceFilter) -> dict[str, str | int]:
    return {
        "query.serviceName": search.service,
        "query.attributes": json.dumps(dict(search.attributes)),
        "query.startTimeMin": _rfc3339(search.since),
        "query.startTimeMax": _rfc3339(search.until),
        "query.searchDepth": MAX_TRACES,
    }


def _says_there_are_none(response: httpx.Response) -> bool:
    """Whether a 404 is an answer of the API: `{"error": {"httpCode": 404, …}}`, sent as text/plain.

    Any other server without such a page answers 404, too.
    """
    try:
        return int(response.json()["error"]["httpCode"]) == httpx.codes.NOT_FOUND
    except (ValueError, KeyError, TypeError):
        return False


def _summaries(answer: dict[str, Any]) -> list[TraceSummary]:
    return [
        TraceSummary(
            each["traceId"],
            str(each.get("rootOperationName", "")),
            int(each.get("minStartTimeUnixNano", 0)),
            int(each.get("maxEndTimeUnixNano", 0)),
            int(each.get("spanCount", 0)),
            int(each.get("errorSpanCount", 0)),
        )
        for each in answer.get("summaries", ())
    ]


def _in_order(answer: dict[str, Any]) -> list[Span]:
    found = {span.span_id: span for span in _spans(answer)}
    return sorted(found.values(), key=lambda span: span.began)


def _spans(answer: dict[str, Any]) -> Iterator[Span]:
    for group in answer.get("result", {}).get("resourceSpans", ()):
        service = _texts(group.get("resource", {})).get("service.name", "?")
        for scope in group.get("scopeSpans", ()):
            yield from (_span(service, span) for span in scope.get("spans", ()))


def _span(service: str, span: dict[str, Any]) -> Span:
    attributes = _texts(span)
    parent = _hexadecimal(span.get("parentSpanId", ""))
    failed = span.get("status", {}).get("code", 0) in _FAILED
    return Span(
        trace_id=_hexadecimal(span["traceId"]),
        span_id=_hexadecimal(span["spanId"]),
        parent_id=parent.strip("0") and parent,
        service=service,
        name=str(span.get("name", "")),
        began=int(span.get("startTimeUnixNano", 0)),
        ended=int(span.get("endTimeUnixNano", 0)),
        error=attributes.get("error.type", "") if failed else None,
        attributes=attributes,
    )


def _hexadecimal(identity: str) -> str:
    """Returns an id in hexadecimal: OTLP in JSON uses hexadecimal, plain protobuf in JSON base64; both occur."""
    if not identity or _HEXADECIMAL.fullmatch(identity):
        return identity.lower()
    try:
        return base64.b64decode(identity, validate=True).hex()
    except ValueError:
        return identity


def _texts(holder: dict[str, Any]) -> dict[str, str]:
    """The attributes of a span or a resource that have text values."""
    return {
        each["key"]: value
        for each in holder.get("attributes", ())
        if isinstance(value := each.get("value", {}).get("stringValue"), str)
    }


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
