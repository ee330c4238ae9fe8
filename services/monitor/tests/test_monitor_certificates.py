"""When the certificates of the proxy end: read from real handshakes with a server that has one for each of its hosts."""

import asyncio
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from prometheus_client import CollectorRegistry
from pydantic import ValidationError

from chassis.observing.metrics import Families
from monitor.certificates import ProxyCertificates, https_hosts, validity_of
from monitor.settings import Settings

BEGINS = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def certificate(
    host: str, begins: datetime, ends: datetime
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made, key


def context(folder: Path, host: str, ends: datetime) -> ssl.SSLContext:
    made, key = certificate(host, BEGINS, ends)
    path = folder / f"{host}.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


class Proxy:
    """Shows each host its own certificate, and ends the handshake for any other, as Caddy does."""

    def __init__(self, folder: Path) -> None:
        self.contexts: dict[str, ssl.SSLContext] = {}
        self.folder = folder
        self.port = 0

    def certify(self, host: str, ends: datetime) -> None:
        self.contexts[host] = context(self.folder, host, ends)

    def choose(self, asked: ssl.SSLObject, host: str | None, _: ssl.SSLContext) -> int | None:
        if (found := self.contexts.get(host or "")) is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        asked.context = found
        return None


@pytest.fixture
async def proxy(tmp_path: Path) -> AsyncIterator[Proxy]:
    proxy = Proxy(tmp_path)
    entrance = context(tmp_path, "entrance", BEGINS + timedelta(days=1))
    entrance.sni_callback = proxy.choose  # type: ignore[assignment]  # typeshed knows of sockets alone

    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0, ssl=entrance)
    async with server:
        proxy.port = server.sockets[0].getsockname()[1]
        yield proxy


class Watched:
    def __init__(self, port: int, *hosts: str) -> None:
        self.certificates = ProxyCertificates(Families("brand_engine"), f"127.0.0.1:{port}", hosts)
        self._registry = CollectorRegistry()
        self._registry.register(self.certificates)

    def figure(self, name: str, host: str) -> float | None:
        return self._registry.get_sample_value(f"brand_engine_certificate_{name}_seconds", {"host": host})


async def test_each_host_shows_when_its_certificate_ends_and_how_long_it_lives(proxy: Proxy) -> None:
    proxy.certify("pages.example.org", BEGINS + timedelta(days=90))
    proxy.certify("posts.example.org", BEGINS + timedelta(hours=12))
    watched = Watched(proxy.port, "pages.example.org", "posts.example.org")
    assert watched.figure("ends_timestamp", "pages.example.org") is None
    await watched.certificates.look()
    for host, lifetime in (
        ("pages.example.org", timedelta(days=90)),
        ("posts.example.org", timedelta(hours=12)),
    ):
        assert watched.figure("ends_timestamp", host) == (BEGINS + lifetime).timestamp()
        assert watched.figure("lifetime", host) == lifetime.total_seconds()


async def test_a_renewed_certificate_shows_at_the_next_look(proxy: Proxy) -> None:
    proxy.certify("pages.example.org", BEGINS + timedelta(days=90))
    watched = Watched(proxy.port, "pages.example.org")
    await watched.certificates.look()
    proxy.certify("pages.example.org", BEGINS + timedelta(days=150))
    await watched.certificates.look()
    assert watched.figure("ends_timestamp", "pages.example.org") == (BEGINS + timedelta(days=150)).timestamp()


async def test_a_host_without_a_certificate_is_shown_beside_one_that_has_one(proxy: Proxy) -> None:
    proxy.certify("pages.example.org", BEGINS + timedelta(days=90))
    watched = Watched(proxy.port, "pages.example.org", "new.example.org")
    await watched.certificates.look()
    assert watched.figure("ends_timestamp", "new.example.org") == 0
    assert watched.figure("lifetime", "new.example.org") == 0
    assert watched.figure("ends_timestamp", "pages.example.org") == (BEGINS + timedelta(days=90)).timestamp()


async def test_a_proxy_that_is_away_has_no_certificates() -> None:
    with socket.socket() as taken:
        # Bound and not listening: nobody answers, and nobody else gets the port.
        taken.bind(("127.0.0.1", 0))
        watched = Watched(taken.getsockname()[1], "pages.example.org")
        await watched.certificates.look()
    assert watched.figure("ends_timestamp", "pages.example.org") == 0


async def test_something_without_tls_has_no_certificates() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        watched = Watched(server.sockets[0].getsockname()[1], "pages.example.org")
        await watched.certificates.look()
    assert watched.figure("ends_timestamp", "pages.example.org") == 0


@pytest.mark.parametrize("year", [1999, 2026, 2049, 2050, 2150])
def test_times_are_read_in_both_of_their_forms(year: int) -> None:
    """Certificates write years from 2050 on with four digits."""
    ends = datetime(year, 12, 31, 23, 59, 58, tzinfo=UTC)
    made, _ = certificate("pages.example.org", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), ends)
    validity = validity_of(made.public_bytes(serialization.Encoding.DER))
    assert (validity.begins, validity.ends) == (1.0, ends.timestamp())


def test_certificates_of_openssl_are_read_as_well(tmp_path: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=a", "-outform", "DER",
         "-keyout", tmp_path / "key", "-out", tmp_path / "certificate"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    data = (tmp_path / "certificate").read_bytes()
    known = x509.load_der_x509_certificate(data)
    validity = validity_of(data)
    assert validity.ends == known.not_valid_after_utc.timestamp()
    assert validity.begins == known.not_valid_before_utc.timestamp()


@pytest.mark.parametrize(
    "data", [b"", b"0", b"0\x80", b"0\x03\x02\x01", b"0\x84\xff\xff\xff\xff", b"not a certificate"]
)
def test_what_is_no_certificate_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(ValueError, match="did not present a certificate in DER"):
        validity_of(data)


def test_a_certificate_that_breaks_off_is_none() -> None:
    made, _ = certificate("pages.example.org", BEGINS, BEGINS + timedelta(days=1))
    data = made.public_bytes(serialization.Encoding.DER)
    for length in range(len(data)):
        with pytest.raises(ValueError, match="certificate"):
            validity_of(data[:length])


@pytest.mark.parametrize(
    ("urls", "hosts"),
    [
        ("", set()),
        (",,,", set()),
        (
            "https://a.example.org,http://b.example.org, https://c.example.org:8443/path ,",
            {"a.example.org", "c.example.org"},
        ),
    ],
)
def test_only_addresses_with_https_have_certificates(urls: str, hosts: set[str]) -> None:
    assert https_hosts(urls) == hosts


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("PROXY_ADDRESS", "caddy", "is not a host with a port; write it like caddy:443"),
        ("PROXY_ADDRESS", "caddy:", "is not a host with a port"),
        ("PROXY_ADDRESS", ":443", "is not a host with a port"),
        ("PROXY_ADDRESS", "caddy:0", "is not a host with a port"),
        ("PROXY_ADDRESS", "caddy:70000", "is not a host with a port"),
        ("PROXY_ADDRESS", "https://caddy:443", "is not a host with a port"),
        ("CERTIFICATE_URLS", "https://[a.example.org", "are not web addresses"),
        ("BACKUP_MAX_AGE_HOURS", "0", "greater than 0"),
        ("BACKUP_MAX_AGE_HOURS", "inf", "finite number"),
        ("BACKUP_MAX_AGE_HOURS", "a day", "valid number"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, complaint: str
) -> None:
    for variable, given in (
        ("SERVICE_KEY", "test-service-key-0123456789"),
        ("RABBITMQ_URL", "amqp://a:b@127.0.0.1"),
        ("DATABASE_URL", "postgresql://a:b@127.0.0.1/c"),
        (name, value),
    ):
        monkeypatch.setenv(variable, given)
    with pytest.raises(ValidationError, match=complaint):
        Settings()
