"""Exports the expiry times of the reverse proxy's certificates.

The monitor makes a TLS handshake for each host, as a browser does. So the figure holds for certificates from files and for
those that the proxy renews.
"""

import asyncio
import ssl
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

import structlog
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from chassis.observing.metrics import Families

log = structlog.get_logger(__name__)

_PATIENCE_SECONDS: Final = 10.0
_AT_ONCE: Final = 8

_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18


@dataclass(frozen=True, slots=True)
class Validity:
    """Validity period of a certificate, in seconds since 1970."""

    begins: float
    ends: float


NONE: Final = Validity(0.0, 0.0)
"""Stands for a missing or unreadable certificate."""


class ProxyCertificates(Collector):
    """Metrics of a proxy's certificates by host, as of the last check.

    Args:
        families: make metrics with the name of the system.
        address: `host:port` of the proxy in the internal network.
        hosts: the public host names.
    """

    def __init__(self, families: Families, address: str, hosts: Collection[str]) -> None:
        self._families = families
        name, _, port = address.rpartition(":")
        self._name = name
        self._port = int(port)
        self._hosts = tuple(sorted(set(hosts)))
        self._seen: Mapping[str, Validity] = {}

    async def look(self) -> None:
        """Checks the certificate of each host once."""
        turns = asyncio.Semaphore(_AT_ONCE)

        async def look_at(host: str) -> Validity:
            async with turns:
                return await self._validity(host)

        found = await asyncio.gather(*(look_at(host) for host in self._hosts))
        self._seen = dict(zip(self._hosts, found, strict=True))

    def collect(self) -> Iterator[Metric]:
        """Metrics of the last check; without values before the first."""
        ends = self._families.gauge(
            "certificate_ends_timestamp_seconds",
            "When the certificate ends that visitors get; 0 if they get none.",
            "host",
        )
        lifetime = self._families.gauge(
            "certificate_lifetime_seconds",
            "From the beginning to the end of the certificate that visitors get; 0 if they get none.",
            "host",
        )
        for host, validity in self._seen.items():
            ends.add_metric((host,), validity.ends)
            lifetime.add_metric((host,), validity.ends - validity.begins)
        yield ends
        yield lifetime

    async def _validity(self, host: str) -> Validity:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return validity_of(await self._certificate(host))
        except (OSError, ValueError) as error:
            log.warning("certificate_unreadable", host=host, error=str(error) or type(error).__name__)
            return NONE

    async def _certificate(self, host: str) -> bytes:
        """The certificate that the proxy presents for this host, in DER.

        Raises:
            OSError: the proxy does not answer, or has no certificate for the host.
        """
        # No verification: only the expiry counts here, browsers check the issuer, and no data goes over this connection.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        _, writer = await asyncio.open_connection(self._name, self._port, ssl=context, server_hostname=host)
        try:
            shown: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        if shown is None:
            raise ConnectionError("the proxy presents no certificate")
        return shown


def https_hosts(urls: str) -> set[str]:
    """The hosts of the https addresses in a comma-separated list.

    Raises:
        ValueError: an address is malformed.
    """
    parts = (urlsplit(each.strip()) for each in urls.split(","))
    return {each.hostname for each in parts if each.scheme == "https" and each.hostname}


def validity_of(certificate: bytes) -> Validity:
    """The validity period of a certificate in DER (RFC 5280, 4.1).

    Raises:
        ValueError: it is not a certificate.
    """
    try:
        fields = _elements(_elements(_elements(certificate)[0][1])[0][1])
        # Before the validity: the version, which may be left out, the number, the algorithm and the issuer.
        begins, ends = _elements(fields[4 if fields[0][0] == _VERSION else 3][1])
        return Validity(_time(*begins), _time(*ends))
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("the proxy did not present a certificate in DER") from error


def _elements(data: bytes) -> list[tuple[int, bytes]]:
    """The tag and content of each DER element in a sequence."""
    found, at = [], 0
    while at < len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            octets = length & 0x7F
            length = int.from_bytes(data[at : at + octets])
            at += octets
        if at + length > len(data):
            raise IndexError("an element is longer than its parent")
        found.append((tag, data[at : at + length]))
        at += length
    return found


def _time(tag: int, content: bytes) -> float:
    if tag not in {_UTC_TIME, _GENERALIZED_TIME}:
        raise ValueError("the validity of a certificate has no times in it")
    # Two-digit years from 50 to 99 belong to the 20th century.
    text = content.decode("ascii")
    century = "" if tag == _GENERALIZED_TIME else "20" if text < "50" else "19"
    return datetime.strptime(century + text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()
