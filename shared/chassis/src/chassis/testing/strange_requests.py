"""Fuzzes servers with malformed requests, generated from a seed."""

import asyncio
import json
import logging
import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlsplit

_ANY_TAG: Final = 'W/"x", *,, "'
_TEXTS: Final = (
    "",
    "x",
    "0",
    "-1",
    "9" * 30,
    "9" * 5000,
    "1e400",
    "٣",
    "NaN",
    "null",
    "\x00",
    "a\x00b",
    "\x7f\x1b[2J",
    "\ud800",
    "😀" * 60,
    "..",
    "../../etc/passwd",
    "//elsewhere.example",
    "';--",
    "%",
    "{0.__class__}",
    "<script>",
    "\r\nX-Made: up",
    "x" * 8000,
    "00000000-0000-0000-0000-000000000000",
    "{00000000000000000000000000000000}",
    "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "Thu, 01 Jan 2026 00:00:00 +99999999999",
    _ANY_TAG,
)
_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    2**63,
    10**400,
    1e308,
    "",
    [],
    {},
    [None],
    {"": None},
    [[[[[[]]]]]],
    {"a": {"b": {"c": []}}},
    [0] * 600,
)
_BODIES: Final = (
    b"",
    b"{",
    b"\xff\xfe",
    b"NaN",
    b"[" * 5000,
    b'{"a":' * 3000,
    b'"\\ud800"',
    b"9" * 5000,
    b"{" + b'"a":1,' * 5000 + b'"b":1}',
    b"\xef\xbb\xbf{}",
    b"a=b&c=d",
)
_HEADERS: Final = (
    "If-None-Match",
    "If-Modified-Since",
    "Idempotency-Key",
    "Accept",
    "Accept-Encoding",
    "Content-Type",
    "Content-Encoding",
    "Cookie",
    "Range",
    "Expect",
    "Upgrade",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Forwarded-Host",
    "Forwarded",
    "traceparent",
    "tracestate",
    "baggage",
)
_CONDITIONS: Final = ("If-None-Match", "If-Modified-Since")
_METHODS: Final = (
    "GET",
    "GET",
    "GET",
    "HEAD",
    "POST",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "TRACE",
    "BREW",
)
_NOT_THERE: Final = "/docs lists what there is"
_OF_THE_SERVER: Final = {400, 405, 408}
"""Statuses that need no route."""
_Made: TypeAlias = tuple[str, str, bytes]
"""Method, route path, and the bytes."""
_SECONDS: Final = 20.0
"""For one answer, on a busy machine."""


@dataclass(frozen=True, slots=True)
class FuzzTarget:
    origin: str
    paths: Sequence[str]
    """As routes have them: `/v1/brands/{slug}`."""
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Parameter values by name that exist on the server."""
    bodies: Sequence[Any] = ()
    """Valid JSON bodies of some routes."""
    key: str = ""
    document: Mapping[str, Any] | None = None
    """The OpenAPI document; answers that it does not list are errors."""


async def ask_strangely(target: FuzzTarget, *, count: int) -> Counter[int]:
    """Send all requests with one malformed part, then `count` with several; return the number of answers by status.

    Status 0 is a connection that closed without an answer. The seed is the environment's `SEED`, or 1.

    Raises:
        AssertionError: something failed, or was answered that the document does not tell of; names the request.
    """
    seed = int(os.environ.get("SEED", "1"))
    chance = random.Random(seed)  # noqa: S311  (nothing secret)
    strange = _Strange(target, chance)
    answered: Counter[int] = Counter()
    with _complaints() as complaints:
        requests = chain(strange.one_at_a_time(), (strange.request() for _ in range(count)))
        for number, (method, path, request) in enumerate(requests):
            async with asyncio.timeout(_SECONDS):
                status, answer = await _exchange(target.origin, request)
            answered[status] += 1
            problem = _problem(target, method, path, status, answer)
            if problem is not None or complaints:
                told = f"{problem} {complaints}\n{request[:2000]!r}\n{answer[:2000]!r}"
                raise AssertionError(f"seed {seed}, request {number}: {told}")
    return answered


class _Strange:
    def __init__(self, target: FuzzTarget, chance: random.Random) -> None:
        self._target = target
        self._chance = chance

    def one_at_a_time(self) -> Iterator[_Made]:
        """Yield requests with one malformed part; the rest is valid, so that the request gets far."""
        # One that is there several times is asked by chance as often, and once here.
        for path in dict.fromkeys(self._target.paths):
            names = [piece.strip("{}") for piece in path.split("/") if "{" in piece]
            for method in self._known_methods(path) or ["GET"]:
                for name, text in product(names, _TEXTS):
                    yield self._plain(method, path, {name: text})
                for name, text in product(self._documented(path), _TEXTS):
                    yield self._plain(method, path, query=f"?{quote(name)}={_quoted(text)}")
                for name, text in product(_CONDITIONS if method == "GET" else (), _TEXTS):
                    # A route that looks at conditions says that nothing has changed where any tag is asked for.
                    if text == _ANY_TAG or self._knows(304, method, path):
                        yield self._plain(method, path, header=(name, text))
                for body in self._bodies_of(method, path):
                    yield self._plain(method, path, body=body)
                    for name, value in product(body, (*_VALUES, *_TEXTS)):
                        yield self._plain(method, path, body=body | {name: value})

    def _plain(
        self,
        method: str,
        path: str,
        strange: Mapping[str, str] | None = None,
        *,
        query: str = "",
        header: tuple[str, str] | None = None,
        body: Any = None,
    ) -> _Made:
        usual = {name: values[0] for name, values in self._target.known.items() if values}
        filled = path
        for name, text in {**usual, **(strange or {})}.items():
            filled = filled.replace(f"{{{name}}}", _quoted(text))
        sent = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {filled}{query[:9000]} HTTP/1.1", "Host: x", "Connection: close"]
        lines += [f"Content-Length: {len(sent)}", f"X-Service-Key: {self._target.key}"]
        head = [line.encode("latin-1") for line in lines]
        if header is not None:
            head.append(_header_line(*header))
        return method, path, b"\r\n".join(head) + b"\r\n\r\n" + sent

    def _bodies_of(self, method: str, path: str) -> list[dict[str, Any]]:
        """Return those known bodies that fit the operation's schema in the document."""
        document = self._target.document or {"paths": {}}
        operation = document["paths"].get(path, {}).get(method.lower(), {})
        schema = (
            operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        )
        name = schema.get("$ref", "").rpartition("/")[2]
        fields = document.get("components", {}).get("schemas", {}).get(name, {}).get("properties", {})
        return [body for body in self._target.bodies if set(body) <= set(fields)]

    def request(self) -> _Made:
        """Method, path as routes have it (empty if none has), and the bytes."""
        path = self._chance.choice(self._target.paths)
        method = self._chance.choice(self._methods(path) or _METHODS)
        body = self._body() if method in {"POST", "PUT", "PATCH"} or self._once_in(10) else b""
        # What follows it makes another path of it.
        after = self._chance.choice(("", "", "", "", "/", "//", "%00", "%ff", ";a=b", "/%2e%2e/"))
        lines = [f"{method} {self._filled(path)}{after}{self._query(path)} HTTP/1.1".encode("latin-1")]
        lines += [name.encode() + b": " + value for name, value in self._headers(len(body))]
        return method, "" if after else path, b"\r\n".join(lines) + b"\r\n\r\n" + body

    def _methods(self, path: str) -> list[str]:
        """Return the documented methods of the path, now and then none."""
        return [] if self._once_in(5) else self._known_methods(path)

    def _known_methods(self, path: str) -> list[str]:
        """Return the documented methods of the path."""
        document = self._target.document or {"paths": {}}
        return [method.upper() for method in document["paths"].get(path, {})]

    def _knows(self, status: int, method: str, path: str) -> bool:
        """Return whether the document lists this answer; without a document, any answer is fine."""
        if self._target.document is None:
            return True
        operation = self._target.document["paths"].get(path, {}).get(method.lower(), {})
        return str(status) in operation.get("responses", {})

    def _filled(self, path: str) -> str:
        pieces = []
        for piece in path.split("/"):
            name = piece.strip("{}").partition(":")[0]
            pieces.append(_quoted(self._value(name)) if "{" in piece else piece)
        return "/".join(pieces)

    def _query(self, path: str) -> str:
        names = ["x", "", *self._target.known, *self._documented(path)]
        pairs = [
            f"{quote(name)}={quote(self._value(name)[:900], errors='surrogatepass')}"
            for name in self._chance.choices(names, k=self._chance.choice((0, 0, 1, 2, 60)))
        ]
        return ("?" + "&".join(pairs))[:9000] if pairs else self._chance.choice(("", "", "?", "?&&==%ff"))

    def _documented(self, path: str) -> list[str]:
        operations = (self._target.document or {"paths": {}})["paths"].get(path, {})
        parameters = [each for operation in operations.values() for each in operation.get("parameters", ())]
        return list(dict.fromkeys(each["name"] for each in parameters if each["in"] == "query"))

    def _headers(self, size: int) -> Iterator[tuple[str, bytes]]:
        yield "Host", self._chance.choice((b"x", b"x", b"x", b"elsewhere.example", b"", b"[::1", b"x:y"))
        yield "Connection", b"close"
        if size or self._once_in(10):
            yield "Content-Length", str(size).encode()
        if self._target.key and not self._once_in(20):
            yield "X-Service-Key", self._target.key.encode()
        for name in self._chance.sample(_HEADERS, self._chance.choice((0, 0, 1, 2))):
            yield name, _header_value(self._value(name))

    def _body(self) -> bytes:
        if not self._target.bodies or self._once_in(5):
            return self._chance.choice(_BODIES)
        body = self._chance.choice(self._target.bodies)
        return json.dumps(body if self._once_in(3) else self._changed(body)).encode()

    def _changed(self, value: Any) -> Any:
        """Return the JSON with random parts replaced, removed or added."""
        if self._once_in(7):
            return self._chance.choice((*_VALUES, *_TEXTS))
        if isinstance(value, dict):
            changed = {name: self._changed(each) for name, each in value.items() if not self._once_in(10)}
            return changed | ({self._chance.choice(_TEXTS): 0} if self._once_in(10) else {})
        if isinstance(value, list):
            return [self._changed(each) for each in value] * self._chance.choice((1, 1, 2, 600))
        return value

    def _once_in(self, times: int) -> bool:
        return self._chance.randrange(times) == 0

    def _value(self, name: str) -> str:
        known = self._target.known.get(name, ())
        return self._chance.choice(known) if known and not self._once_in(3) else self._chance.choice(_TEXTS)


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _header_value(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(None, b"\r\n\x00").strip()[:6000]


def _header_line(name: str, text: str) -> bytes:
    return name.encode() + b": " + _header_value(text)


async def _exchange(origin: str, request: bytes) -> tuple[int, bytes]:
    """Send the request; return status and answer, status 0 without an answer."""
    place = urlsplit(origin)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(request)
        answer = await reader.read()
    except ConnectionError:
        return 0, b""
    finally:
        writer.close()
    return (int(answer[9:12]), answer) if answer.startswith(b"HTTP/1.1 ") else (0, answer)


def _problem(target: FuzzTarget, method: str, path: str, status: int, answer: bytes) -> str | None:
    if status >= 500:  # noqa: PLR2004  (where failures begin)
        return f"failed with {status}"
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"elsewhere.example" in head or b"\r\nx-made:" in head.lower():
        return "what a stranger said is in the headers"
    if target.document is None or status in _OF_THE_SERVER or _NOT_THERE.encode() in body:
        return None
    operation = target.document["paths"].get(path, {}).get(method.lower())
    if operation is None or status in {0, 307} or str(status) in operation["responses"]:
        return None
    return f"the document of {method} {path} does not tell of {status}"


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collect the errors that the server or the event loop logs during the block."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(self.format(record))

    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    keep = Keep(logging.ERROR)
    for logger in loggers:
        logger.addHandler(keep)
    try:
        yield found
    finally:
        for logger in loggers:
            logger.removeHandler(keep)
