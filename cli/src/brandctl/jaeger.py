"""Spans as Jaeger's HTTP API gives them: `/api/v3/traces`, whose answers are OTLP in JSON (Jaeger 2.19 and later)."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

MAX_TRACES: Final = 100
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")
_FAILED: Final = {2, "2", "STATUS_CODE_ERROR"}


class JaegerError(RuntimeError):
    """It cannot be reached, or does not answer as expected; the message is for people."""


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
    """What kind of error it ended with; empty if nobody said which; None if it did not."""


class _Json(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")


class _Attribute(_Json):
    key: str
    value: dict[str, Any] = {}


class _Status(_Json):
    code: int | str = 0


class _Span(_Json):
    trace_id: str
    span_id: str
    parent_span_id: str = ""
    name: str = ""
    start_time_unix_nano: int = 0
    end_time_unix_nano: int = 0
    attributes: list[_Attribute] = []
    status: _Status = _Status()


class _ScopeSpans(_Json):
    spans: list[_Span] = []


class _Resource(_Json):
    attributes: list[_Attribute] = []


class _ResourceSpans(_Json):
    resource: _Resource = _Resource()
    scope_spans: list[_ScopeSpans] = []


class _Traces(_Json):
    resource_spans: list[_ResourceSpans] = []


class _Answer(_Json):
    result: _Traces = Field(default_factory=_Traces)


class Jaeger:
    """A client; use it as a context manager."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        try:
            # A proxy of the company cannot reach this machine's own addresses.
            local = httpx.URL(self._url).host in {"127.0.0.1", "::1", "localhost"}
            self._http = httpx.Client(timeout=15, trust_env=not local)
        except httpx.InvalidURL as error:
            raise JaegerError(f"{url} is no address: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def search_link(self, service: str, tags: dict[str, str], since: datetime, until: datetime) -> str:
        """The page that lists the traces in which a span of the service has these tags."""
        query = {
            "service": service,
            "tags": json.dumps(tags),
            "lookback": "custom",
            "start": round(since.timestamp() * 1e6),
            "end": round(until.timestamp() * 1e6),
            "limit": MAX_TRACES,
        }
        return f"{self._url}/search?{urlencode(query)}"

    def trace_link(self, trace_id: str) -> str:
        return f"{self._url}/trace/{trace_id}"

    def spans(
        self, services: Sequence[str], tags: dict[str, str], since: datetime, until: datetime
    ) -> list[Span]:
        """All spans of the traces in which a span of one of the services has these tags, in order of time.

        Raises:
            JaegerError: it cannot be asked.
        """
        # Some of its stores find nothing without the name of a service.
        found = {span.span_id: span for name in services for span in self._spans(name, tags, since, until)}
        return sorted(found.values(), key=lambda span: span.began)

    def _spans(self, service: str, tags: dict[str, str], since: datetime, until: datetime) -> Iterator[Span]:
        query: dict[str, str | int] = {
            "query.serviceName": service,
            "query.attributes": json.dumps(tags),
            "query.startTimeMin": _rfc3339(since),
            "query.startTimeMax": _rfc3339(until),
            "query.searchDepth": MAX_TRACES,
        }
        try:
            response = self._http.get(f"{self._url}/api/v3/traces", params=query)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise JaegerError(f"{self._url} does not answer: {error}") from error
        if response.status_code == httpx.codes.NOT_FOUND and _is_json(response):
            return  # its way of saying that there are none
        if not response.is_success:
            raise JaegerError(f"{self._url} refused ({response.status_code}): {response.text[:300]}")
        try:
            answer = _Answer.model_validate_json(response.content)
        except ValidationError as error:
            raise JaegerError(
                f"{self._url} does not answer like Jaeger 2.19 or later; is the address right?"
            ) from error
        for group in answer.result.resource_spans:
            name = _text(group.resource.attributes, "service.name") or "?"
            for scope in group.scope_spans:
                yield from (_span(name, span) for span in scope.spans)


def _span(service: str, span: _Span) -> Span:
    failed = span.status.code in _FAILED
    return Span(
        trace_id=_hexadecimal(span.trace_id),
        span_id=_hexadecimal(span.span_id),
        parent_id=_hexadecimal(span.parent_span_id).strip("0") and _hexadecimal(span.parent_span_id),
        service=service,
        name=span.name,
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        error=(_text(span.attributes, "error.type") or "") if failed else None,
    )


def _hexadecimal(identity: str) -> str:
    """OTLP in JSON has ids in hexadecimal, but plain protobuf in JSON has them in base64, and both are about."""
    if not identity or _HEXADECIMAL.fullmatch(identity):
        return identity.lower()
    try:
        return base64.b64decode(identity, validate=True).hex()
    except ValueError:
        return identity


def _text(attributes: Sequence[_Attribute], key: str) -> str | None:
    for attribute in attributes:
        if attribute.key == key:
            value = attribute.value.get("stringValue")
            return None if value is None else str(value)
    return None


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _is_json(response: httpx.Response) -> bool:
    return "json" in response.headers.get("content-type", "")
