"""Clients of the services with a person's key. All people share the connections, and know since when a service is away."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import httpcore2
import httpx

from chassis.http.outgoing import AsyncioConnections
from client import Address, RefusedError, UnreachableError
from client.connections import KEEPALIVE_SECONDS, WholeAnswer
from console.field_names import named_detail
from console.page_names import name_pages
from console.texts import Texts
from console.whole_answers import WholeAnswers

if TYPE_CHECKING:
    from client.services.events import AsyncEvents
    from client.services.gateway import AsyncGateway
    from client.services.monitor import AsyncMonitor
    from client.services.orchestrator import AsyncOrchestrator
    from client.services.publisher import AsyncPublisher
    from client.services.research import AsyncResearch
    from client.services.social import AsyncSocial

UPLOAD_SECONDS: Final = 300.0
"""Timeout of handing a file to a service."""
EXPORT_SECONDS: Final = 300.0
"""Timeout of each part of a site's export."""
_MOST_CONNECTIONS: Final = 100
_ENDING_SECONDS: Final = 2
"""How long requests may still take when the process ends."""
_AWAY: Final = frozenset({502, 503, 504})
_ERRORS_OF_THE_POOL: Final = (
    httpcore2.ConnectTimeout,
    httpcore2.ReadTimeout,
    httpcore2.WriteTimeout,
    httpcore2.PoolTimeout,
    httpcore2.ConnectError,
    httpcore2.ReadError,
    httpcore2.WriteError,
    httpcore2.LocalProtocolError,
    httpcore2.RemoteProtocolError,
    httpcore2.UnsupportedProtocol,
)
"""httpx has errors of the same names."""


@dataclass(frozen=True, slots=True)
class Away:
    """Replaces the answer of an unreachable service on a page."""

    service: str
    since: datetime
    """First failed call since the last answer, as far as this process knows."""

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Refused:
    """Stands for the answer of a service that refuses the person's key."""

    service: str
    sentence: str
    """Its reason, in the language of the page."""


class SharedTransport(httpx.AsyncBaseTransport):
    """Leaves no connection open, even if a caller cancels a request or the pool closes.

    The pool is httpcore2's. That of httpx looks in all folders of Python for a package that is not installed, several times for each
    request, and walks through all pairs of connections: two thirds of the processor time of live updates.

    Pools lose connections in two ways: a request that is cancelled while it closes idle ones of the pool closes only the first, and
    one that still connects while the pool closes stays open. So requests run in tasks that callers do not cancel, and the pool
    closes when they have ended. Requests whose answers are read whole have connections of their own (`whole_answers.py`).
    """

    def __init__(self, *, limits: httpx.Limits, verify: ssl.SSLContext | bool = True) -> None:
        self._connections = AsyncioConnections()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=verify if isinstance(verify, ssl.SSLContext) else httpx.create_ssl_context(verify),
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=self._connections,
        )
        self._whole = WholeAnswers(self._connections, limits)
        self._is_closed = False
        self._requests: set[asyncio.Task[httpx.Response]] = set()
        self._closing: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._is_closed:
            raise httpx.ConnectError("the process is ending", request=request)
        if self._whole.takes(request):
            return await self._whole.send(request)
        task = asyncio.create_task(self._send(request))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Nobody reads the answer any more.
            closing = asyncio.create_task(_close_answer(task))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
            raise

    async def ask_whole(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], seconds: float
    ) -> WholeAnswer:
        """As `AskWhole` of the clients. Raises httpx.HTTPError."""
        if self._is_closed:
            raise httpx.ConnectError("the process is ending")
        return await self._whole.ask_whole(method, url, headers, seconds)

    async def _send(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        sent = httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _errors_of_httpx(request):
            answer = await self._pool.handle_async_request(sent)
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_AnswerStream(answer, request),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        self._is_closed = True
        await self._whole.aclose(_ENDING_SECONDS)
        if self._requests:
            await asyncio.wait(self._requests, timeout=_ENDING_SECONDS)
        for task in self._requests:
            task.cancel()
        if pending := self._requests | self._closing:
            await asyncio.wait(pending)
        self._connections.close()
        await self._pool.aclose()


class _AnswerStream(httpx.AsyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(self, answer: httpcore2.Response, request: httpx.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx(self._request):
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        with _errors_of_httpx(self._request):
            await self._answer.aclose()


@contextmanager
def _errors_of_httpx(request: httpx.Request) -> Iterator[None]:
    """Raises httpx's error in the place of the pool's with the same name."""
    try:
        yield
    except _ERRORS_OF_THE_POOL as error:
        told: type[httpx.TransportError] = getattr(httpx, type(error).__name__)
        raise told(str(error), request=request) from error


async def _close_answer(request: asyncio.Task[httpx.Response]) -> None:
    with suppress(httpx.HTTPError, asyncio.CancelledError):
        await (await request).aclose()


class ServiceConnections:
    """The connections of the process to all services; it remembers which of them are away."""

    def __init__(self, urls: Mapping[str, str], *, seconds: float) -> None:
        self._urls = urls
        self._seconds = seconds
        limits = httpx.Limits(
            max_connections=_MOST_CONNECTIONS,
            max_keepalive_connections=20,
            keepalive_expiry=KEEPALIVE_SECONDS,
        )
        # Connections belong to the loop that opens them, so the transport is made here, inside it.
        self._transport = SharedTransport(limits=limits, verify=_authorities(urls.values()))
        self._away: dict[str, datetime] = {}

    async def aclose(self) -> None:
        await self._transport.aclose()

    def service(self, name: str, key: str, *, seconds: float | None = None) -> Any:
        """Creates the asynchronous client of a service, with another timeout than usual if `seconds` says so."""
        # Not imported at the top: the generator of the clients loads this service before they exist.
        made = getattr(import_module(f"client.services.{name}"), f"Async{name.title()}")
        return made(
            Address(self._urls[name], key), transport=self._transport, timeout=seconds or self._seconds
        )

    def for_a_thread(self, name: str, key: str) -> Any:
        """Creates the synchronous client of a service, which has connections of its own."""
        made = getattr(import_module(f"client.services.{name}"), name.title())
        return made(Address(self._urls[name], key))

    def note_answer(self, name: str) -> None:
        self._away.pop(name, None)

    def note_failure(self, name: str) -> Away:
        return Away(name, self._away.setdefault(name, datetime.now(UTC)))


def _authorities(urls: Iterable[str]) -> ssl.SSLContext | bool:
    """Returns httpx's certificate authorities, 1 MB, or a context that knows none, and trusts nobody, if no address needs them."""
    if any(urlsplit(url).scheme == "https" for url in urls):
        return True
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class PersonClients:
    """The clients with one person's key."""

    def __init__(self, connections: ServiceConnections, key: Callable[[], str]) -> None:
        self._connections = connections
        self._key = key
        self._made: dict[str, Any] = {}

    def alone(self) -> "PersonClients":
        """The same clients without what else is known of the person, to be kept for longer than a request."""
        return PersonClients(self._connections, self._key)

    def for_a_thread(self, name: str) -> Any:
        """The synchronous client of a service, for work in a thread; who asks for it closes it."""
        return self._connections.for_a_thread(name, self._key())

    @property
    def research_for_uploads(self) -> "AsyncResearch":
        """The client of research that waits until a large file is taken."""
        found = self._connections.service("research", self._key(), seconds=UPLOAD_SECONDS)
        return cast("AsyncResearch", found)

    @property
    def publisher_for_exports(self) -> "AsyncPublisher":
        """The client of the publisher that waits while it draws pictures."""
        return cast(
            "AsyncPublisher", self._connections.service("publisher", self._key(), seconds=EXPORT_SECONDS)
        )

    def _client(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._connections.service(name, self._key())
        return self._made[name]

    @property
    def orchestrator(self) -> "AsyncOrchestrator":
        return cast("AsyncOrchestrator", self._client("orchestrator"))

    @property
    def social(self) -> "AsyncSocial":
        return cast("AsyncSocial", self._client("social"))

    @property
    def events(self) -> "AsyncEvents":
        return cast("AsyncEvents", self._client("events"))

    @property
    def publisher(self) -> "AsyncPublisher":
        return cast("AsyncPublisher", self._client("publisher"))

    @property
    def research(self) -> "AsyncResearch":
        return cast("AsyncResearch", self._client("research"))

    @property
    def monitor(self) -> "AsyncMonitor":
        return cast("AsyncMonitor", self._client("monitor"))

    @property
    def gateway(self) -> "AsyncGateway":
        return cast("AsyncGateway", self._client("gateway"))


def sentence_of(error: RefusedError, t: Texts) -> str:
    """A service's refusal as a sentence for a person: in their language by its code, without the status for programs."""
    return sentence_by_code(error.code, named_detail(error.problem, t) or str(error), t)


def sentence_by_code(code: str | None, detail: str, t: Texts) -> str:
    """Returns the sentence of the catalogue for a code of `docs/problem-codes.md`; for others, what the service says."""
    detail = name_pages(detail, t)
    return t(key, detail=detail) if code and t.catalogue.has(key := f"problems.{code}") else detail


def is_away(error: Exception) -> bool:
    """Returns whether a call failed because its service is away, rather than because of the request."""
    return isinstance(error, UnreachableError) or (isinstance(error, RefusedError) and error.status in _AWAY)
