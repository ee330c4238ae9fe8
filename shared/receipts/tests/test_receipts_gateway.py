"""Of a gateway that is away, breaks off or refuses: whether anything may have been sent, on which everything else stands."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr

from chassis.testing import eventually
from receipts import EffectsGateway, UnknownOutcome
from receipts.errors import FencedOffError, GatewayAway, NotSent, Refused, UnderWay

KEY = SecretStr("k" * 20)


class Gateway:
    """Keeps what comes, and answers with the bytes that it is told; where it `ends`, it closes the connection then."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.bodies: list[Any] = []
        self.connections = 0
        self.under_way = 0
        self.answer = b""
        self.ends = True

    def answers(self, status: int, document: Any, *more: str) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        head = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", *more]
        self.answer, self.ends = "\r\n".join(head).encode() + b"\r\n\r\n" + body, False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.under_way += 1
        try:
            await self._serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.under_way -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = head.lower().splitlines()
            length = [int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")]
            self.heads.append(head)
            self.bodies.append(json.loads(await reader.readexactly(length[0])) if length else None)
            writer.write(self.answer)
            if self.ends:
                return


@pytest.fixture
async def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
async def door(gateway: Gateway) -> AsyncIterator[EffectsGateway]:
    server = await asyncio.start_server(gateway, "127.0.0.1", 0)
    made = EffectsGateway(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", KEY)
    yield made
    await made.aclose()
    await eventually(lambda: gateway.under_way == 0)
    server.close()


async def test_what_is_answered_is_given_over_one_connection(gateway: Gateway, door: EffectsGateway) -> None:
    gateway.answers(200, {"status": 201, "headers": {"X-A": "b"}, "json": {"id": "7"}})
    for _ in range(3):
        answer = await door.account("acme-x", "acme").request("POST", "/2/tweets", json={"text": "Grüße"})
        assert (answer.status, answer.headers, answer.json) == (201, {"x-a": "b"}, {"id": "7"})
    assert gateway.connections == 1
    assert gateway.heads[0].startswith("POST /v1/accounts/acme-x/requests HTTP/1.1\r\n")
    assert f"X-Service-Key: {KEY.get_secret_value()}\r\n" in gateway.heads[0]
    assert "Grüße" in json.dumps(gateway.bodies[0], ensure_ascii=False)


async def test_where_nobody_listens_nothing_was_sent(free_port: Callable[[], int]) -> None:
    door = EffectsGateway(f"http://127.0.0.1:{free_port()}", KEY)
    with pytest.raises(GatewayAway):
        await door.account("acme-x", "acme").request("POST", "/2/tweets")
    await door.aclose()


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", b"no HTTP at all\r\n\r\n"]
)
async def test_who_breaks_off_may_have_sent_it(gateway: Gateway, door: EffectsGateway, said: bytes) -> None:
    gateway.answer = said
    with pytest.raises(UnknownOutcome):
        await door.account("acme-x", "acme").request("POST", "/2/tweets")
    assert len(gateway.heads) == 1, "nothing is tried again"
    # Closing a fence and asking who there is do no harm twice.
    with pytest.raises(GatewayAway):
        await door.close(uuid4(), 2, account="acme-x", brand="acme")
    with pytest.raises(GatewayAway):
        await door.accounts("acme")


async def test_who_is_silent_may_have_sent_it(
    gateway: Gateway, door: EffectsGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("receipts.gateway._MORE_SECONDS", 0.5)
    gateway.ends = False
    with pytest.raises(UnknownOutcome):
        await door.account("acme-x", "acme").request("POST", "/2/tweets", seconds=1.0)


@pytest.mark.parametrize(
    ("status", "document", "told"),
    [
        (200, b"no JSON", UnknownOutcome),
        (500, {"detail": "failed"}, UnknownOutcome),
        (502, {"type": "call.no_answer"}, UnknownOutcome),
        (503, {"type": "call.not_sent"}, NotSent),
        (429, {"type": "limit.reached"}, NotSent),
        (424, {"type": "provider.limited", "transient": True}, NotSent),
        (409, {"type": "call.fenced"}, FencedOffError),
        (409, {"type": "call.under_way"}, UnderWay),
        (424, {"type": "account.not_connected"}, Refused),
        (422, {"detail": "what is this?"}, Refused),
        (401, {"detail": "who are you?"}, GatewayAway),
    ],
)
async def test_its_refusals_say_what_became_of_the_request(
    gateway: Gateway, door: EffectsGateway, status: int, document: Any, told: type[Exception]
) -> None:
    gateway.answers(status, document)
    with pytest.raises(told) as raised:
        await door.account("acme-x", "acme").request("POST", "/2/tweets")
    assert type(raised.value) is told


async def test_the_rest_that_it_asks_for_is_kept(gateway: Gateway, door: EffectsGateway) -> None:
    gateway.answers(503, {"type": "call.not_sent"}, "Retry-After: 120")
    with pytest.raises(NotSent) as raised:
        await door.account("acme-x", "acme").request("POST", "/2/tweets")
    assert raised.value.retry_at is not None


async def test_those_that_a_brand_may_use_are_listed(gateway: Gateway, door: EffectsGateway) -> None:
    gateway.answers(200, {"items": [{"name": "acme-x", "kind": "x", "facts": {"id": "7"}}]})
    (found,) = await door.accounts("a & b")
    assert (found.name, found.facts) == ("acme-x", {"id": "7"})
    assert gateway.heads[0].startswith("GET /v1/accounts?brand=a+%26+b HTTP/1.1\r\n")
