"""The base of the generated clients: sends a request, and returns the answer or raises an error of `client.errors`.

A service is a context manager; without one, `close()` ends its connections. It connects at the first call.
"""

import json
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from client.errors import AddressError, RefusedError, StrangeAnswerError, UnchangedError, UnreachableError

if TYPE_CHECKING:
    import httpx

_TIMEOUT_SECONDS: Final = 30
KEEPALIVE_SECONDS: Final = 2
"""Idle connections close after this, before a service (9 seconds) can close one under a request."""
_UNCHANGED: Final = 304
_NO_CONTENT: Final = 204


class Address(NamedTuple):
    """Where a service is, and the key for it: an API key, which starts with `be_`, or else a service key."""

    url: str
    key: str


class Unset:
    """The type of `UNSET`."""


UNSET: Final = Unset()
"""Stands for a field that is left out of a request; None is sent as null."""
Content: TypeAlias = str | bytes | Iterable[bytes] | AsyncIterable[bytes]
"""A body that is no JSON; parts are sent as they come."""


class _Answer(dict[str, Any]):
    etag: str | None = None


def etag_of(answer: Mapping[str, Any]) -> str | None:
    """Returns the entity tag of an answer, for `if_match` and `if_none_match`; None if the service sent none."""
    return answer.etag if isinstance(answer, _Answer) else None


def path_part(value: object) -> str:
    return quote(str(value), safe="")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a service, relative to its address. Parameters and headers that are None are left out."""

    method: str
    path: str
    query: Mapping[str, Any]
    headers: Mapping[str, str | None]
    json: Mapping[str, Any] | None = None
    """The body; its fields that are `UNSET` are left out."""
    content: Content | None = None

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of httpx beside method and address."""
        given: dict[str, Any] = {
            "params": {name: _text(value) for name, value in self.query.items() if value is not None},
            "headers": {name: value for name, value in self.headers.items() if value is not None},
        }
        if self.content is not None:
            given["content"] = self.content
        elif self.json is not None:
            given["json"] = {name: _json(value) for name, value in self.json.items() if value is not UNSET}
        return given


def _text(value: Any) -> Any:
    """A value of a query; times and ids become text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return [_text(each) for each in value] if isinstance(value, Sequence) else str(value)


def _json(value: Any) -> Any:
    """A value of a body; ids become text."""
    if isinstance(value, Mapping):
        return {name: _json(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json(each) for each in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """An answer that a transport has read whole: as much of httpx's response as a service looks at."""

    status_code: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    content: bytes
    path: str
    """What was asked for."""

    @property
    def is_success(self) -> bool:
        return HTTPStatus.OK <= self.status_code < HTTPStatus.MULTIPLE_CHOICES

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    @property
    def reason_phrase(self) -> str:
        known = self.status_code in set(HTTPStatus)
        return HTTPStatus(self.status_code).phrase if known else ""

    def json(self) -> Any:
        return json.loads(self.content)


AskWhole: TypeAlias = Callable[[str, str, Sequence[tuple[str, str]], float], Awaitable[WholeAnswer]]
"""Method `ask_whole` of a transport: asks for an address without a body, by method, address, headers and seconds of patience."""


class _Caller:
    """What synchronous and asynchronous services share."""

    service: ClassVar[str]

    def __init__(self, address: Address | Callable[[], Address]) -> None:
        """`address` may be a function that finds it at the first call."""
        self._given = address
        self._url = ""

    def _find(self) -> Address:
        return self._given() if callable(self._given) else self._given

    def _options(self, address: Address) -> dict[str, Any]:
        """Returns the arguments of httpx's clients."""
        import httpx  # noqa: PLC0415  (takes longer to load than all else of a command)

        url, key = address
        self._url = url.rstrip("/")
        # A company's proxy cannot reach this machine's own addresses.
        local = urlsplit(self._url).hostname in {"127.0.0.1", "::1", "localhost"}
        name, value = ("Authorization", f"Bearer {key}") if key.startswith("be_") else ("X-Service-Key", key)
        return {
            "headers": {name: value},
            "timeout": _TIMEOUT_SECONDS,
            "trust_env": not local,
            "limits": httpx.Limits(keepalive_expiry=KEEPALIVE_SECONDS),
        }

    def _malformed(self, error: Exception) -> AddressError:
        return AddressError(f"the address of the {self.service} service or its key is malformed: {error}")

    def _unreachable(self, error: Exception) -> UnreachableError:
        return UnreachableError(f"the {self.service} service at {self._url} cannot be reached: {error}")

    def _check(self, response: "httpx.Response | WholeAnswer", path: str) -> None:
        """Raises the error of a response without success, whose body has been read."""
        if response.status_code == _UNCHANGED:
            raise UnchangedError(f"{path} has not changed")
        if response.is_success:
            return
        try:
            problem = response.json()
            detail = str(problem["detail"])
        except (ValueError, KeyError, TypeError):
            problem, detail = {}, response.text[:500] or response.reason_phrase
        raise RefusedError(
            f"{detail} (HTTP {response.status_code})", response.status_code, problem, self.service
        )

    def _object(self, response: "httpx.Response | WholeAnswer", fields: Sequence[str]) -> Any:
        """Returns the JSON object of a response; one without any of the fields is another server's."""
        if response.status_code == _NO_CONTENT:
            return {}
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or (fields and answer.keys().isdisjoint(fields)):
            raise self._strange()
        listed = answer.get("items", [])
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise self._strange()
        found = _Answer(answer)
        found.etag = response.headers.get("etag")
        return found

    def _strange(self) -> StrangeAnswerError:
        return StrangeAnswerError(
            f"{self._url} does not answer like the {self.service} service: check the address"
        )


class Service(_Caller):
    """The base of generated synchronous services."""

    _http: "httpx.Client | None" = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

    def connect(self) -> "httpx.Client":
        """Connects now; a service does so at its first call."""
        import httpx  # noqa: PLC0415

        if self._http is None:
            address = self._find()
            try:
                self._http = httpx.Client(**self._options(address))
            except (ValueError, httpx.InvalidURL) as error:
                raise self._malformed(error) from error
        return self._http

    def _send(self, request: Request) -> "httpx.Response":
        import httpx  # noqa: PLC0415

        http = self.connect()
        try:
            response = http.request(request.method, f"{self._url}{request.path}", **request.arguments())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error
        self._check(response, request.path)
        return response

    def _json(self, request: Request, fields: Sequence[str] = ()) -> Any:
        return self._object(self._send(request), fields)

    def _done(self, request: Request) -> None:
        self._send(request)

    def _text(self, request: Request) -> str:
        return self._send(request).text

    @contextmanager
    def _stream(self, request: Request) -> Iterator[Iterator[bytes]]:
        import httpx  # noqa: PLC0415

        http = self.connect()
        try:
            with http.stream(request.method, f"{self._url}{request.path}", **request.arguments()) as response:
                if not response.is_success:
                    response.read()
                self._check(response, request.path)
                yield response.iter_bytes()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error


class AsyncService(_Caller):
    """The base of generated asynchronous services."""

    _http: "httpx.AsyncClient | None" = None

    def __init__(
        self,
        address: Address | Callable[[], Address],
        *,
        transport: "httpx.AsyncBaseTransport | None" = None,
        timeout: float = _TIMEOUT_SECONDS,
    ) -> None:
        """`transport` has the connections, for several clients that share them; who made it closes it."""
        super().__init__(address)
        self._transport = transport
        self._timeout = timeout
        self._headers: list[tuple[str, str]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._http is not None and self._transport is None:
            await self._http.aclose()

    def connect(self) -> "httpx.AsyncClient":
        """As `Service.connect`."""
        import httpx  # noqa: PLC0415

        if self._http is None:
            options = {**self._options(self._find()), "timeout": self._timeout}
            if self._transport is not None:
                options |= {"transport": self._transport, "trust_env": False}
            try:
                self._http = httpx.AsyncClient(**options)
            except (ValueError, httpx.InvalidURL) as error:
                raise self._malformed(error) from error
        return self._http

    async def _send(self, request: Request) -> "httpx.Response | WholeAnswer":
        import httpx  # noqa: PLC0415

        response: httpx.Response | WholeAnswer
        try:
            if self._transport is not None:
                response = await self._send_by(self._transport, request)
            else:
                response = await self.connect().request(
                    request.method, f"{self._url}{request.path}", **request.arguments()
                )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error
        self._check(response, request.path)
        return response

    async def _send_by(
        self, transport: "httpx.AsyncBaseTransport", request: Request
    ) -> "httpx.Response | WholeAnswer":
        """Sends a request without a client of httpx: that costs as much time as the rest, and 20 kB for each person who watches a page.

        There are no cookies, redirects or proxies between services, and no compression, which costs both sides more than it saves.
        """
        import httpx  # noqa: PLC0415

        if self._headers is None:
            options = self._options(self._find())
            try:
                self._headers = list(httpx.Headers(options["headers"]).items())
            except ValueError as error:
                raise self._malformed(error) from error
        given = request.arguments()
        params, headers = given.pop("params"), [*self._headers, *given.pop("headers").items()]
        ask_whole: AskWhole | None = getattr(transport, "ask_whole", None)
        if ask_whole is not None and not given and self._url.startswith("http://"):
            query = f"?{urlencode(params, doseq=True, errors='replace')}" if params else ""
            return await ask_whole(
                request.method, f"{self._url}{request.path}{query}", headers, self._timeout
            )
        sent = httpx.Request(
            request.method,
            f"{self._url}{request.path}",
            params=params or None,
            headers=headers,
            # A transport that knows of the second may read the answer at once.
            extensions={"timeout": httpx.Timeout(self._timeout).as_dict(), "whole_answer": True},
            **given,
        )
        response = await transport.handle_async_request(sent)
        response.request = sent
        try:
            await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    async def _json(self, request: Request, fields: Sequence[str] = ()) -> Any:
        return self._object(await self._send(request), fields)

    async def _done(self, request: Request) -> None:
        await self._send(request)

    async def _text(self, request: Request) -> str:
        return (await self._send(request)).text

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        import httpx  # noqa: PLC0415

        http = self.connect()
        try:
            async with http.stream(
                request.method, f"{self._url}{request.path}", **request.arguments()
            ) as response:
                if not response.is_success:
                    await response.aread()
                self._check(response, request.path)
                yield response.aiter_bytes()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error
