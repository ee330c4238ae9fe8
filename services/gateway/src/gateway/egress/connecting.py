"""Connections to public addresses alone.

A name is looked up and its addresses are checked when the connection is made, and the connection is made to an address
that was checked: between check and connection nobody is asked again, so that a name cannot mean something else by then.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import httpcore2

from chassis.http.outgoing import AsyncioConnections
from gateway.egress import addresses
from gateway.egress.addresses import Network
from gateway.egress.errors import PassingError, RefusedError

Endpoint: TypeAlias = tuple[str, int]
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[Endpoint]]]
"""(host, port) → the endpoints that it has, addresses with ports; raises `socket.gaierror`."""

_MAX_TRIED = 4
_RESOLVING_SECONDS = 5.0


async def system_resolver(host: str, port: int) -> Sequence[Endpoint]:
    """As the machine looks up names."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((str(address[0]), int(address[1])) for *_, address in found))


class GuardedConnections(httpcore2.AsyncNetworkBackend):
    """Makes the connections of an HTTP client.

    Args:
        resolve: how names are looked up.
        exceptions: networks that are not public and may be reached nevertheless.
        inner: what connects to an address that was checked.
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
        """A connection to the first address that answers.

        Raises:
            RefusedError: the name does not exist, or one of its addresses is not public.
            PassingError: the name cannot be looked up now.
            httpcore2.ConnectError, httpcore2.ConnectTimeout: nobody answers at any address.
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
        raise RefusedError("address", "The address is a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def checked(self, host: str, port: int) -> Sequence[Endpoint]:
        """Where a connection may be made; as `connect_tcp` does by itself.

        Raises:
            RefusedError, PassingError: as there.
        """
        found = await self._looked_up(host.strip("[]"), port)
        for address, _ in found:
            # One is enough: a name with a public and a private address is made to slip past.
            if not addresses.is_reachable(address, self._exceptions):
                parsed = addresses.parse(address)
                what = (addresses.purpose(parsed) if parsed else None) or "the link"
                raise RefusedError(
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
            raise PassingError("name_lookup", f"Looking up {host} took too long") from None
        except socket.gaierror as error:
            if error.errno in {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}:
                raise RefusedError("unknown_host", f"There is no host {host}") from error
            raise PassingError("name_lookup", f"{host} cannot be looked up now: {error.strerror}") from error
        except UnicodeError:
            raise RefusedError("unknown_host", f"There is no host {host}") from None
        if not found:
            raise RefusedError("unknown_host", f"{host} has no address")
        return found
