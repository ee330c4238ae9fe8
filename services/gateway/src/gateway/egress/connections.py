"""Connects to public addresses only.

Each name is resolved and checked once, at connection time, and the connection goes to the checked address. So a name
cannot change its meaning between check and connection.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import httpcore2

from chassis.http.outgoing import AsyncioConnections
from gateway.egress import addresses
from gateway.egress.addresses import Network
from gateway.egress.errors import EgressRefusedError, EgressUnavailableError

Endpoint: TypeAlias = tuple[str, int]
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[Endpoint]]]
"""(host, port) → endpoints as (address, port); raises `socket.gaierror`."""

_MAX_TRIED = 4
_RESOLVING_SECONDS = 5.0


async def system_resolver(host: str, port: int) -> Sequence[Endpoint]:
    """Resolves a name with the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((str(address[0]), int(address[1])) for *_, address in found))


class GuardedConnections(httpcore2.AsyncNetworkBackend):
    """A network backend that checks addresses before it connects.

    Args:
        resolve: looks up names.
        exceptions: private networks that may be reached all the same.
        inner: connects to a checked address.
    """

    def __init__(
        self,
        resolve: Resolve,
        exceptions: Iterable[Network],
        inner: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._resolve = resolve
        self._exceptions = tuple(exceptions)
        self._inner = inner or AsyncioConnections()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connects to the first address that answers.

        Raises:
            EgressRefusedError: the name does not exist, or one of its addresses is not public.
            EgressUnavailableError: the name cannot be resolved now.
            httpcore2.ConnectError, httpcore2.ConnectTimeout: no address answers.
        """
        last: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for address, its_port in (await self.checked(host, port))[:_MAX_TRIED]:
            try:
                return await self._inner.connect_tcp(
                    address, its_port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise last or httpcore2.ConnectError("no address")

    async def connect_unix_socket(self, *_: object, **__: object) -> httpcore2.AsyncNetworkStream:
        raise EgressRefusedError("address", "The address is a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def checked(self, host: str, port: int) -> Sequence[Endpoint]:
        """Resolves a name and checks its addresses, as `connect_tcp` does.

        Raises:
            EgressRefusedError, EgressUnavailableError: as there.
        """
        found = await self._looked_up(host.strip("[]"), port)
        for address, _ in found:
            # One private address refuses the name: mixing both is a known attack.
            if not addresses.is_reachable(address, self._exceptions):
                parsed = addresses.parse(address)
                what = (addresses.purpose(parsed) if parsed else None) or "the link"
                raise EgressRefusedError(
                    "private_address",
                    f"{host} leads to an address for {what}; only the public internet is reached"
                    " (an operator can let a network in with EGRESS_REACHABLE_NETWORKS)",
                )
        return found

    async def _looked_up(self, host: str, port: int) -> Sequence[Endpoint]:
        if addresses.parse(host) is not None:
            return [(host, port)]
        try:
            async with asyncio.timeout(_RESOLVING_SECONDS):
                found = await self._resolve(host, port)
        except TimeoutError:
            raise EgressUnavailableError("name_lookup", f"Looking up {host} took too long") from None
        except socket.gaierror as error:
            if error.errno in {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}:
                raise EgressRefusedError("unknown_host", f"There is no host {host}") from error
            raise EgressUnavailableError(
                "name_lookup", f"{host} cannot be looked up now: {error.strerror}"
            ) from error
        except UnicodeError:
            raise EgressRefusedError("unknown_host", f"There is no host {host}") from None
        if not found:
            raise EgressRefusedError("unknown_host", f"{host} has no address")
        return found
