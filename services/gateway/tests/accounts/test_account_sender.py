"""Bytes on the wire: none once the time is over, and certainty whether any were written."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.accounts.kind import NoAnswer, NotSent, WireRequest
from gateway.accounts.sender import Deadline, RequestSender
from gateway.egress.addresses import networks
from gateway.egress.connections import Endpoint

REACHABLE = networks("127.0.0.1/32")


class Listener:
    """Keeps every byte that arrives, and answers once a request is whole."""

    def __init__(self, *, answers: bool = True) -> None:
        self.received = bytearray()
        self.answers = answers
        self.port = 0
        self.begun = asyncio.Event()
        self.gone = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(65_536):
                self.received += chunk
                self.begun.set()
                if self.answers and b"the end" in self.received:
                    writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nX-A: b\r\n\r\n{}")
        except ConnectionError:
            pass
        finally:
            self.gone.set()
            writer.close()


@asynccontextmanager
async def listening(made: Listener, tls: ssl.SSLContext | None = None) -> AsyncIterator[Listener]:
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


async def at_home(_: str, port: int) -> Sequence[Endpoint]:
    return [("127.0.0.1", port)]


def post(port: int, body: bytes = b"the end", scheme: str = "http") -> WireRequest:
    url = f"{scheme}://posts.example:{port}/a"
    return WireRequest("POST", url, url, (("q", "a b"),), {"Content-Type": "text/plain"}, body)


async def test_a_process_that_was_paused_before_it_wrote_writes_nothing() -> None:
    async def paused(host: str, port: int) -> Sequence[Endpoint]:
        time.sleep(0.3)  # noqa: ASYNC251 - the whole process stands still
        return await at_home(host, port)

    async with listening(Listener()) as there:
        with pytest.raises(NotSent, match=r"in time|time was over"):
            await RequestSender("Us", paused, REACHABLE).send(post(there.port), Deadline(0.2))
        assert bytes(there.received) == b""


@pytest.mark.extended
async def test_what_a_paused_process_had_begun_is_not_gone_on_with() -> None:
    async with listening(Listener(answers=False)) as there:
        body = b"x" * 40_000_000 + b"the end"
        deadline = Deadline(2.0)
        sending = asyncio.create_task(
            RequestSender("Us", at_home, REACHABLE).send(post(there.port, body), deadline)
        )
        await there.begun.wait()
        while not deadline.is_over:
            time.sleep(0.1)  # noqa: ASYNC251 - the whole process stands still
        with pytest.raises(NoAnswer):
            await sending
        await there.gone.wait()
        assert b"the end" not in there.received


async def test_an_answer_is_read_whole_and_no_answer_is_told_apart_from_nothing_sent() -> None:
    sender = RequestSender("Us", at_home, REACHABLE)
    async with listening(Listener()) as there:
        answer = await sender.send(post(there.port), Deadline(60))
        assert (answer.status, answer.body, answer.headers["x-a"]) == (201, b"{}", "b")
        head = bytes(there.received).partition(b"\r\n\r\n")[0].decode().split("\r\n")
        assert head[0] == "POST /a?q=a+b HTTP/1.1"
        assert {f"host: posts.example:{there.port}", "user-agent: Us", "content-length: 7"} <= set(head)
    async with listening(Listener(answers=False)) as there:
        with pytest.raises(NoAnswer):
            await sender.send(post(there.port), Deadline(1.0))
    with pytest.raises(NotSent, match="cannot be reached"):
        await sender.send(post(there.port), Deadline(60))
    with pytest.raises(NotSent, match="public internet"):
        await RequestSender("Us", at_home, ()).send(post(there.port), Deadline(60))


def certificates(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a server called posts.example, and of who believes it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "posts.example")])
    now = datetime.now(UTC)
    names = [x509.DNSName("posts.example"), x509.IPAddress(ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    (folder / "server.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + pem
    )
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(folder / "server.pem")
    return server, ssl.create_default_context(cadata=pem.decode())


async def test_nothing_is_written_to_whoever_cannot_prove_his_name(tmp_path: Path) -> None:
    server, trust = certificates(tmp_path)
    async with listening(Listener(), server) as there:
        request = post(there.port, scheme="https")
        answer = await RequestSender("Us", at_home, REACHABLE, trust).send(request, Deadline(60))
        assert answer.status == 201
        there.received.clear()
        with pytest.raises(NotSent, match="certificate"):
            await RequestSender("Us", at_home, REACHABLE).send(request, Deadline(60))
        assert bytes(there.received) == b""
