"""The connections to the services: none is left open when requests are cancelled or the process ends."""

import asyncio
import gc
from collections.abc import AsyncIterator

import httpx
import pytest

from client import Address, AddressError, ClientError, UnreachableError, etag_of
from console.service_clients import SharedTransport

STEPS = 40
"""Turns of the event loop after which something happens to a request: more than one takes."""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture
async def service() -> AsyncIterator[str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    server.close()


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Connections that were never closed, as collected by `gc`."""
    found: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: found.append(repr(told.exc_value)))
    return found


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def ask(transport: SharedTransport, url: str) -> int:
    return (await httpx.AsyncClient(transport=transport).get(url)).status_code


@pytest.mark.extended
async def test_a_cancelled_request_loses_no_idle_connection(service: str, lost: list[str]) -> None:
    for after in range(STEPS):
        # What is idle is over at once, so that the next request closes all of it.
        transport = SharedTransport(limits=httpx.Limits(keepalive_expiry=0))
        assert await asyncio.gather(*(ask(transport, service) for _ in range(4))) == [200] * 4
        task = asyncio.create_task(ask(transport, service))
        await steps(after)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await transport.aclose()
        await steps(10)
        del transport, task
        gc.collect()
    assert lost == []


@pytest.mark.extended
async def test_a_transport_that_closes_ends_what_still_connects(service: str, lost: list[str]) -> None:
    for after in range(STEPS):
        transport = SharedTransport(limits=httpx.Limits())
        task = asyncio.create_task(ask(transport, service))
        await steps(after)
        await transport.aclose()
        await asyncio.gather(task, return_exceptions=True)
        with pytest.raises(httpx.ConnectError, match="the process is ending"):
            await ask(transport, service)
        await steps(10)
        del transport, task
        gc.collect()
    assert lost == []


async def test_a_request_has_the_key_its_fields_and_nothing_of_a_browser() -> None:
    from client.services.social import AsyncSocial  # noqa: PLC0415  (generated)

    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(
            200,
            json={"items": [], "next": None, "post_id": "p1"},
            headers={"ETag": '"1"', "Set-Cookie": "a=b"},
        )

    social = AsyncSocial(Address("http://social.example/", "be_key"), transport=httpx.MockTransport(answer))
    for _ in range(2):
        found = await social.list_brand_posts("acme", q="tea & cake", limit=5)
    assert (found["items"], etag_of(found)) == ([], '"1"')
    for request in seen:
        assert str(request.url) == "http://social.example/v1/brands/acme/posts?q=tea+%26+cake&limit=5"
        assert request.headers["authorization"] == "Bearer be_key"
        assert request.headers["host"] == "social.example"
        assert {"cookie", "accept-encoding"}.isdisjoint(request.headers)
    await social.move_post("p1", at=None)
    assert (seen[-1].method, seen[-1].headers["content-type"]) == ("PUT", "application/json")


@pytest.mark.parametrize(
    ("address", "error"),
    [
        (Address("http://social.example", "be_ключ"), AddressError),
        (Address("http://social.example:no", "be_key"), UnreachableError),
    ],
)
async def test_a_malformed_address_or_key_is_an_error_of_the_client(
    address: Address, error: type[ClientError]
) -> None:
    from client.services.social import AsyncSocial  # noqa: PLC0415  (generated)

    social = AsyncSocial(address, transport=httpx.MockTransport(lambda _: httpx.Response(200)))
    with pytest.raises(error):
        await social.list_brand_posts("acme")
