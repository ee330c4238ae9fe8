"""A database with receipts, and posts that are sent through it to networks on this machine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from envelope.brand import CATALOGUE
from fakes import Fake, Kind, serving
from fakes.serving.cases import ChannelCase
from gateway.accounts.kind import refusal
from gateway.accounts.kinds import KINDS
from gateway.accounts.requests import AccountRequest
from messaging import Database, Service, ServiceSettings, WaitFor
from receipts import (
    AccountResponse,
    AccountSummary,
    Effect,
    EffectInDoubt,
    EffectPerformed,
    EffectRefused,
    NotSentYet,
    Receipts,
    UnknownOutcome,
)
from receipts.accounts import IDENTITY
from receipts.testing import DirectGateway
from social.channels import CHANNELS, ComposedPost, PictureSource, PostPicture, mark_uncertain

LINK = "https://example.org/sites/the-daily-grind/pour-over-coffee"
PICTURE = PostPicture(
    url="https://example.org/covers/pour-over.png",
    alt="A cup, seen from above",
    media_type="image/png",
    width=1200,
    height=630,
    jpeg_url="https://example.org/covers/pour-over.jpg",
)
NOW = datetime.now(UTC)
_ATTEMPTS = 12
_SILENT = {"hang_before", "hang_after", "late"}
_LATE = 0.3
"""Seconds after which what is late is done."""


def composed(case: ChannelCase, text: str | None = None, **changes: Any) -> ComposedPost:
    body = text or "Pour-over coffee\n\nWater just off the boil (93 °C) & 30 g of coffee."
    post = ComposedPost(
        post_id=uuid4(),
        brand_slug="acme",
        content_id=uuid4(),
        title="Pour-over coffee",
        description="Water just off the boil.",
        text=f"{body}\n\n{LINK}" if case.placement == "in_text" and text is None else body,
        link=LINK,
        placement=case.placement,
        pictures=(PICTURE,),
    )
    return replace(post, **changes)


class Cover:
    """What the publisher would hand out."""

    async def read(self, url: str) -> bytes:
        return b"\x89PNG\r\n\x1a\n" + url.encode()

    async def check(self, url: str) -> None:
        """It is there."""


class NoCover:
    """There is none, for now or for good."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    async def read(self, url: str) -> bytes:
        raise self._problem

    async def check(self, url: str) -> None:
        raise self._problem


def _body(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Of the request to the gateway; as whom the account is to be connected stands in a header."""
    return {name: value for name, value in asked.items() if name != IDENTITY}


class AccountsDoor(DirectGateway):
    """Where an account is an address by itself, `/` is all of it. What the gateway would not let through is in `refused`."""

    def __init__(self, case: ChannelCase, network: Fake) -> None:
        account = AccountSummary("account", case.channel, "@acme", "ok", facts=case.facts(network))
        super().__init__(
            {"account": network.url + case.path(network)},
            headers={"account": case.headers(network)},
            accounts=(account,),
        )
        self._kind = KINDS[case.channel]
        self._settings = self._kind.settings.model_validate(case.settings)
        self._network = network
        self.refused: list[str] = []

    async def _ask(self, name: str, asked: Mapping[str, Any], seconds: float) -> AccountResponse:
        found = refusal(
            self._kind.allowed_requests, AccountRequest.model_validate(_body(asked)).request(), self._settings
        )
        if isinstance(found, str):
            self.refused.append(found)
        unheard = {each.lower() for each in asked.get("headers", {})} - self._kind.headers
        self.refused += [f"header {each}" for each in unheard]
        path = "" if asked["path"] == "/" else asked["path"]
        asking = asyncio.ensure_future(super()._ask(name, {**asked, "path": path}, seconds))
        silence = asyncio.ensure_future(self._silence())
        await asyncio.wait({asking, silence}, return_when=asyncio.FIRST_COMPLETED)
        silence.cancel()
        if asking.done():
            return asking.result()
        asking.cancel()
        raise UnknownOutcome("no answer")

    async def _silence(self) -> None:
        """Returns when a request has come to where no answer will: waiting longer would tell nothing."""
        faults = [each for each in self._network.faults.planned if each.kind in _SILENT and not each.fired]
        while not any(each.fired for each in faults):  # noqa: ASYNC110 - a fake tells nobody
            await asyncio.sleep(0.01)


@dataclass
class Sent:
    """The outcome of a post, for its sender and for all others."""

    fake: Fake
    result: EffectPerformed | EffectInDoubt | EffectRefused | None
    waits: list[timedelta]
    refused: list[str]
    """What the gateway would not have let through."""

    @property
    def struck(self) -> bool:
        return all(fault.fired == fault.times for fault in self.fake.faults.planned)

    @property
    def counted(self) -> tuple[int, int]:
        """(posts, comments)."""
        kinds = [each.kind for each in self.fake.accepted]
        return kinds.count("post"), kinds.count("comment")


def _commit(network: Fake) -> None:
    """Does what the first request that was struck has asked for."""
    network.answer(next(filter(network.faults.planned[0].concerns, network.requests)))


@asynccontextmanager
async def _door(case: ChannelCase, network: Fake) -> AsyncIterator[AccountsDoor]:
    door = AccountsDoor(case, network)
    yield door
    await door.aclose()


@dataclass
class World:
    database: Database
    pool: asyncpg.Pool

    async def send(
        self,
        case: ChannelCase,
        post: ComposedPost | None = None,
        *,
        fault: Kind | None = None,
        match: str = "*",
        fake: Fake | None = None,
        pictures: PictureSource | None = None,
        begun: datetime | None = None,
        commits_after: float | None = None,
        may_be_there: bool = False,
    ) -> Sent:
        """Sends a post as often as it takes, with one fault at a request like `match`; time passes without being waited for.

        It was begun just now if nothing else is said: `NOW`, at which the tests began, may be long ago. `commits_after`: so many
        seconds after its answer was lost, the request that was struck is done after all. `may_be_there`: the database has lost rows since
        it was begun, perhaps one that says that it is out.
        """
        sending = CHANNELS[case.channel].sending
        assert sending is not None
        prepared = sending.prepare(post or composed(case), begun or datetime.now(UTC))
        if may_be_there:
            prepared = mark_uncertain(prepared)
        async with serving(fake or case.fake()) as network, _door(case, network) as door:
            if fault is not None:
                pattern, _, number = match.partition(" ")[2].partition(" ")
                method = match.partition(" ")[0]
                skip = int(number or 1) - 1
                network.faults.inject(fault, f"{method} {pattern}", skip=skip, seconds=_LATE)
            effect = Effect(uuid4(), case.channel, "account", "acme", "a post", prepared, may_be_there)
            receipts = Receipts(self.database, door, margin_seconds=0.1)
            steps = sending.steps(prepared, pictures or Cover())
            waits: list[timedelta] = []
            has_come = commits_after is None
            for _ in range(_ATTEMPTS):
                try:
                    result = await receipts.perform(effect, steps)
                    if not has_come:
                        _commit(network)
                    return Sent(network, result, waits, door.refused)
                except NotSentYet:
                    continue
                except WaitFor as error:
                    waits.append(error.after or timedelta())
                    await self._pass(effect.receipt_id, waits[-1], late=fault == "late")
                    if not has_come and sum(waits, timedelta()).total_seconds() >= (commits_after or 0.0):
                        has_come = True
                        _commit(network)
                except EffectRefused as error:
                    return Sent(network, error, waits, door.refused)
            return Sent(network, None, waits, door.refused)

    async def _pass(self, receipt_id: UUID, time: timedelta, *, late: bool) -> None:
        """The receipt's moments move into the past; what is late needs real time to come."""
        if late:
            await asyncio.sleep(_LATE)
        await self.pool.execute(
            """
            update receipts set held_until = held_until - $2::interval, not_before = not_before - $2::interval,
                                quiet_since = quiet_since - $2::interval
            where receipt_id = $1
            """,
            receipt_id,
            time,
        )


@pytest.fixture
async def world(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[World]:
    url = await make_database("receipts")
    settings = {
        "rabbitmq_url": "amqp://nobody:nothing@127.0.0.1:1/",
        "database_url": url,
        "service_key": "a-key-for-tests-only",
        "http_port": 0,
    }
    service = Service("social", ServiceSettings.model_validate(settings), CATALOGUE)
    await service.connections.open()
    async with asyncpg.create_pool(url, min_size=1) as pool:
        yield World(service.database, pool)
    await service.connections.close()
