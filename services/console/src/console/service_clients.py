"""Clients of the services with a person's key. All people share the connections, and know since when a service is away."""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import httpx

from client import Address, RefusedError, UnreachableError
from client.connections import KEEPALIVE_SECONDS
from console.field_names import named_detail
from console.texts import Texts

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Away:
    """Replaces the answer of an unreachable service on a page."""

    service: str
    since: datetime
    """First failed call since the last answer, as far as this process knows."""

    def __bool__(self) -> bool:
        return False


class SharedTransport(httpx.AsyncHTTPTransport):
    """Leaves no connection open, even if a caller cancels a request or the pool closes.

    httpx loses connections in two ways: a request that is cancelled while it closes idle ones of the pool closes only the first, and
    one that still connects while the pool closes stays open. So requests run in tasks that callers do not cancel, and the pool
    closes when they have ended.
    """

    def __init__(self, *, limits: httpx.Limits, verify: ssl.SSLContext | bool = True) -> None:
        super().__init__(limits=limits, verify=verify)
        self._is_closed = False
        self._requests: set[asyncio.Task[httpx.Response]] = set()
        self._closing: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._is_closed:
            raise httpx.ConnectError("the process is ending", request=request)
        task = asyncio.create_task(super().handle_async_request(request))
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

    async def aclose(self) -> None:
        self._is_closed = True
        if self._requests:
            await asyncio.wait(self._requests, timeout=_ENDING_SECONDS)
        for task in self._requests:
            task.cancel()
        if pending := self._requests | self._closing:
            await asyncio.wait(pending)
        await super().aclose()


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
    return t(key, detail=detail) if code and t.catalogue.has(key := f"problems.{code}") else detail


def is_away(error: Exception) -> bool:
    """Returns whether a call failed because its service is away, rather than because of the request."""
    return isinstance(error, UnreachableError) or (isinstance(error, RefusedError) and error.status in _AWAY)
