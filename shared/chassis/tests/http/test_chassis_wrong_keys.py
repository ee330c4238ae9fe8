"""Only addresses that send wrong keys are kept waiting."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

import httpx
import pytest
from prometheus_client import CollectorRegistry
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from chassis import AppSettings
from chassis.api_keys import ApiKey
from chassis.http.callers import SERVICE, Caller
from chassis.http.guard import Guard
from chassis.http.throttling import (
    FORGOTTEN_AFTER,
    FREE,
    LONGEST_PAUSE,
    LOOK_UPS_AT_A_TIME,
    MAX_ADDRESSES,
    MAX_RIGHT_KEYS,
    SlowedAddresses,
    WrongKeys,
)
from chassis.testing import eventually, serving

OWN = "the-key-of-the-process"
RIGHT = {"X-Service-Key": "a-right-key-of-somebody"}
PROXY = "127.0.0.1"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Site:
    """An API that counts how often it has looked a key up."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.looked_up = 0
        self.right = f"Bearer {ApiKey.make().written()}"
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.wrong_keys = WrongKeys("kiosk", [hashlib.sha256(OWN.encode()).digest()], clock=self.clock)
        inner = Starlette(
            routes=[Route("/v1/orders", self._orders)],
            middleware=[Middleware(Guard, authorise=self._authorise)],
        )
        self.app = SlowedAddresses(inner, self.wrong_keys)

    async def _authorise(self, request: Request) -> Caller:
        self.looked_up += 1
        await self.goes_on.wait()
        if request.headers.get("authorization") == self.right:
            return SERVICE
        if request.headers.get("x-service-key") not in {OWN, RIGHT["X-Service-Key"]}:
            raise HTTPException(401, "send the key")
        return SERVICE

    async def _orders(self, request: Request) -> Response:
        assert request.client is not None
        return PlainTextResponse(request.client.host)

    def counted(self, answer: str) -> float | None:
        registry = CollectorRegistry()
        registry.register(self.wrong_keys.collector())
        return registry.get_sample_value("kiosk_wrong_keys_total", {"answer": answer})


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
async def http(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """By way of a proxy that is believed, so that clients may have any address: `X-Forwarded-For`."""
    async with (
        serving(site.app, proxies=[PROXY]) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False) as client,
    ):
        yield client


def wrong(number: int = 0, address: str = "203.0.113.9") -> dict[str, str]:
    return {"Authorization": f"Bearer wrong-{number}", "X-Forwarded-For": address}


async def guess(http: httpx.AsyncClient, times: int, address: str = "203.0.113.9") -> list[int]:
    return [
        (await http.get("/v1/orders", headers=wrong(number, address))).status_code for number in range(times)
    ]


async def test_who_guesses_waits_longer_each_time_and_nothing_is_looked_up_meanwhile(
    site: Site, http: httpx.AsyncClient
) -> None:
    assert await guess(http, FREE + 1) == [401] * (FREE + 1)
    waits = []
    for number in range(9):
        looked_up = site.looked_up
        slowed = await http.get("/v1/orders", headers=wrong(number))
        assert slowed.status_code == 429
        assert slowed.headers["content-type"] == "application/problem+json"
        assert site.looked_up == looked_up
        waits.append(int(slowed.headers["retry-after"]))
        site.clock.now += waits[-1]
        assert (await http.get("/v1/orders", headers=wrong(number))).status_code == 401
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (site.counted("refused"), site.counted("slowed")) == (FREE + 10, 9)


async def test_right_keys_of_the_same_address_are_not_kept_waiting(
    site: Site, http: httpx.AsyncClient
) -> None:
    neighbour = RIGHT | {"X-Forwarded-For": "203.0.113.9"}
    assert (await http.get("/v1/orders", headers=neighbour)).status_code == 200
    await guess(http, FREE + 1)
    assert (await guess(http, 1)) == [429]
    assert (await http.get("/v1/orders", headers=neighbour)).status_code == 200
    # Never seen before, but the process knows its own.
    own = {"X-Service-Key": OWN, "X-Forwarded-For": "203.0.113.9"}
    assert (await http.get("/v1/orders", headers=own)).status_code == 200
    # Nor does a right key in between let somebody go on guessing.
    assert (await guess(http, 1)) == [429]
    elsewhere = wrong(address="203.0.113.10")
    assert (await http.get("/v1/orders", headers=elsewhere)).status_code == 401


async def test_an_api_key_that_nobody_has_seen_yet_opens_while_its_address_waits(
    site: Site, http: httpx.AsyncClient
) -> None:
    """Whatever wrong keys come from there, also such as somebody has made to look right."""
    await guess(http, FREE + 1)
    address = {"X-Forwarded-For": "203.0.113.9"}
    for _ in range(2 * LOOK_UPS_AT_A_TIME):
        wrong_one = {"Authorization": f"Bearer {ApiKey.make().written()}"}
        assert (await http.get("/v1/orders", headers=address | wrong_one)).status_code == 401
    assert await guess(http, 1) == [429]
    right = await http.get("/v1/orders", headers=address | {"Authorization": site.right})
    assert right.status_code == 200


async def test_few_api_keys_of_an_address_that_waits_are_looked_up_at_a_time(
    site: Site, http: httpx.AsyncClient
) -> None:
    await guess(http, FREE + 1)
    site.looked_up = 0
    site.goes_on.clear()
    address = {"X-Forwarded-For": "203.0.113.9"}

    async def ask(key: str) -> int:
        return (await http.get("/v1/orders", headers=address | {"Authorization": key})).status_code

    # Requests with the same key take one place together.
    right = [asyncio.create_task(ask(site.right)) for _ in range(3)]
    asking = [
        asyncio.create_task(ask(f"Bearer {ApiKey.make().written()}")) for _ in range(LOOK_UPS_AT_A_TIME - 1)
    ]
    await eventually(lambda: site.looked_up == LOOK_UPS_AT_A_TIME + 2)
    assert await ask(f"Bearer {ApiKey.make().written()}") == 429
    right.append(asyncio.create_task(ask(site.right)))
    await eventually(lambda: site.looked_up == LOOK_UPS_AT_A_TIME + 3)
    site.goes_on.set()
    assert [await each for each in right] == [200] * 4
    assert {await each for each in asking} == {401}
    assert await ask(f"Bearer {ApiKey.make().written()}") == 401
    assert site.wrong_keys._looked_up == {}


async def test_who_sends_no_key_is_told_so_however_often(http: httpx.AsyncClient) -> None:
    asked = [(await http.get("/v1/orders")).status_code for _ in range(FREE + 5)]
    assert set(asked) == {401}


async def test_an_address_is_forgotten_when_it_has_been_quiet(site: Site, http: httpx.AsyncClient) -> None:
    await guess(http, FREE + 1)
    site.clock.now += FORGOTTEN_AFTER + 1
    assert await guess(http, FREE) == [401] * FREE


async def test_what_strangers_say_of_their_address_is_not_believed(site: Site) -> None:
    async with (
        serving(site.app, proxies=["192.0.2.0/24"]) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False) as client,
    ):
        told = await client.get("/v1/orders", headers=RIGHT | {"X-Forwarded-For": "203.0.113.9"})
    assert told.text == PROXY


def test_an_ipv6_client_is_its_network(site: Site) -> None:
    for number in range(FREE + 1):
        site.wrong_keys.was_wrong(f"2001:db8:1:2::{number:x}")
    assert site.wrong_keys.wait("2001:db8:1:2:ffff::1", "another") > 0
    assert site.wrong_keys.wait("2001:db8:1:3::1", "another") == 0
    for _ in range(FREE + 1):
        site.wrong_keys.was_wrong("::ffff:203.0.113.9")
    assert site.wrong_keys.wait("203.0.113.9", "another") > 0


def test_a_flood_from_everywhere_takes_a_bounded_memory(site: Site) -> None:
    for number in range(MAX_ADDRESSES + 500):
        site.wrong_keys.was_wrong(f"2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::1")
        site.wrong_keys.was_right(f"key-{number}")
    assert len(site.wrong_keys._addresses) == MAX_ADDRESSES
    assert len(site.wrong_keys._right) == MAX_RIGHT_KEYS
    assert site.wrong_keys.wait("2001:db8::1", "another") <= LONGEST_PAUSE


def test_proxies_are_addresses_or_networks() -> None:
    database = "postgresql://nobody@127.0.0.1:1/none"
    settings = AppSettings.model_validate({"database_url": database, "trusted_proxies": "10.0.0.5, fd00::/8"})
    assert settings.trusted_proxies == ("10.0.0.5", "fd00::/8")
    with pytest.raises(ValidationError, match="neither an address nor a network"):
        AppSettings.model_validate({"database_url": database, "trusted_proxies": "*"})
