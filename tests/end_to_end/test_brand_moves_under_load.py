"""A brand moves while keywords flow, in it and in others: every keyword becomes one article, published once and posted once, here or there."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import aio_pika
import httpx
import pytest
import structlog

from brandctl.local import broker_users, services
from chassis.testing import eventually
from client import Address
from client.brand_move import BrandMover, MovingSide
from envelope.brand import CATALOGUE
from messaging.topology import users
from messaging.topology.users import Credentials
from tests.fixtures.broker import MakeVhost
from tests.fixtures.running_services import running_services

log = structlog.get_logger(__name__)
KEY = "a-key-for-tests-only"
OTHERS = ("rival", "third")
KEYWORDS = (
    "cold brew", "coffee roast levels", "espresso", "extraction", "french press", "grind size", "moka pot", "paper filter",
    "pour-over coffee", "water quality for coffee",
)  # fmt: skip
"""Topics of the sample documents, each with enough text for an article of its own."""
AT_ONCE = 4
"""Keywords of each later cycle."""


@contextmanager
def _users(vhost_url: str, api_url: str) -> Iterator[dict[str, str]]:
    vhost = broker_users.vhost_of(vhost_url)
    credentials = {name: Credentials(f"{vhost}-{name}", secrets.token_hex(12)) for name in services.NAMES}
    users.renew(CATALOGUE, api_url, vhost, credentials)
    yield {name: broker_users.url_of(vhost_url, each) for name, each in credentials.items()}
    users.remove(api_url, credentials)


class Seen:
    """The events of both brokers."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def record(self, stack: AsyncExitStack, url: str) -> None:
        connection = await stack.enter_async_context(await aio_pika.connect(url))
        channel = await connection.channel()
        queue = await channel.declare_queue(exclusive=True)
        await queue.bind("brand-events", "#")

        async def note(message: aio_pika.abc.AbstractIncomingMessage) -> None:
            self.messages.append(json.loads(message.body))

        await queue.consume(note, no_ack=True)

    def counted(self, type_: str, brand: str) -> Counter[str]:
        """How often each article was the subject of events of a type."""
        return Counter(
            str(each["payload"]["content_id"])
            for each in self.messages
            if each["type"] == type_ and each["payload"].get("brand_slug") == brand
        )


@pytest.fixture
async def sides(
    make_vhost: MakeVhost,
    rabbitmq_api_url: str,
    make_database: Callable[..., Awaitable[str]],
    tmp_path: Path,
) -> AsyncIterator[tuple[services.ServiceAddresses, services.ServiceAddresses, Seen]]:
    """Two installations: the services of each as processes, with databases and a broker of their own."""
    seen = Seen()
    async with AsyncExitStack() as stack:
        made: list[services.ServiceAddresses] = []
        for name in ("former", "second"):
            url = await make_vhost()
            broker_urls = stack.enter_context(_users(url, rabbitmq_api_url))
            await seen.record(stack, url)
            (folder := tmp_path / name).mkdir()
            made.append(
                await stack.enter_async_context(
                    running_services(
                        services.NAMES,
                        broker_urls=broker_urls,
                        make_database=make_database,
                        service_key=KEY,
                        folder=folder,
                    )
                )
            )
        yield made[0], made[1], seen


async def submit(
    http: httpx.AsyncClient, side: services.ServiceAddresses, brand: str, round_: int
) -> str | None:
    """Submits keywords; None if the brand is moving."""
    words = (
        KEYWORDS if round_ == 0 else [f"{each} in the year {1000 + round_}" for each in KEYWORDS[:AT_ONCE]]
    )
    answer = await http.post(
        f"{side.url('orchestrator')}/v1/brands/{brand}/research", json={"keywords": words}
    )
    if answer.status_code == httpx.codes.CONFLICT:
        assert answer.json()["code"] in {"brand_moves", "brand_moved"}
        return None
    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    return str(answer.json()["cycle_id"])


@pytest.mark.slow
async def test_every_keyword_is_published_and_posted_once_whichever_side_does_it(
    sides: tuple[services.ServiceAddresses, services.ServiceAddresses, Seen],
) -> None:
    former, second, seen = sides
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, timeout=60, trust_env=False) as http:
        for brand in ("acme", *OTHERS):
            body = {"name": brand, "description": "Coffee at home", "approval": "nothing"}
            (await http.put(f"{former.url('orchestrator')}/v1/brands/{brand}", json=body)).raise_for_status()
        cycles = [await submit(http, former, brand, 0) for brand in ("acme", *OTHERS)][:1]
        stop = asyncio.Event()

        async def flow() -> None:
            round_ = 1
            while not stop.is_set():
                for brand in ("acme", *OTHERS):
                    begun = await submit(http, former, brand, round_)
                    if brand == "acme":
                        cycles.append(begun)
                round_ += 1
                await asyncio.wait([asyncio.ensure_future(stop.wait())], timeout=2.0)

        flowing = asyncio.ensure_future(flow())
        await eventually(lambda: len(seen.counted("social.posted", "acme")) >= 2, within=240)
        report = await asyncio.to_thread(_move, former, second)
        stop.set()
        await flowing

        assert report.step == "resumed"
        begun = [each for each in cycles if each is not None]

        async def ended() -> bool:
            states = [
                (await http.get(f"{second.url('orchestrator')}/v1/cycles/{each}")).json() for each in begun
            ]
            return all(each["percent"] == 100 for each in states)

        await eventually(ended, within=400)
        for each in begun:
            cycle = (await http.get(f"{second.url('orchestrator')}/v1/cycles/{each}")).json()
            # The sample documents say nothing of coffee in later years.
            why = {
                str(each["reason"]).partition(":")[0]
                for each in cycle["keywords"]
                if each["state"] == "failed"
            }
            assert why <= {"insufficient_sources"}, cycle["keywords"]
        for type_ in ("content.published", "social.posted"):
            counted = seen.counted(type_, "acme")
            assert set(counted.values()) == {1}, (type_, counted)
        posted = seen.counted("social.posted", "acme")
        assert posted.keys() == seen.counted("content.published", "acme").keys()
        log.info(
            "moved_under_load",
            keywords=len(KEYWORDS) + (len(begun) - 1) * AT_ONCE,
            posts=len(posted),
            paused_seconds=round(report.paused_seconds, 1),
        )


def _move(former: services.ServiceAddresses, second: services.ServiceAddresses) -> Any:
    from client.services.orchestrator import Orchestrator  # noqa: PLC0415  (generated)
    from client.services.publisher import Publisher  # noqa: PLC0415  (generated)
    from client.services.research import Research  # noqa: PLC0415  (generated)
    from client.services.social import Social  # noqa: PLC0415  (generated)

    with ExitStack() as stack:
        sides = [
            MovingSide(
                *(
                    stack.enter_context(kind(Address(side.url(kind.service), KEY)))  # type: ignore[arg-type]
                    for kind in (Orchestrator, Research, Publisher, Social)
                )
            )
            for side in (former, second)
        ]
        told = lambda step: log.info("step", step=step)  # noqa: E731
        return BrandMover("acme", sides[0], sides[1], "https://second.example", told, wait=300).run()
