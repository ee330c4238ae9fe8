"""Brands are erased during their work, while the services that erase their data are killed."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import asyncpg
import httpx

from brandctl.local import services
from chassis.testing import eventually
from envelope.brand import CATALOGUE
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.scenario import scenario
from faults.playing.stack import ServiceStack
from faults.playing.world import FaultHarness
from faults.scenarios.services.pipeline import at_work

_PREFIX: Final = "vanishing"
_BRANDS: Final = 40
_KEYWORDS: Final = ("pour-over coffee", "grind size", "cold brew", "moka pot")
_LIVES_SECONDS: Final = 1.5
"""A keyword takes about a second from research to post: so a brand is erased at any point of that way."""
_ERASERS: Final = frozenset({"orchestrator", *CATALOGUE["brand.erased"].producers})
_KILLED: Final = tuple(f"{name} killed" for name in services.NAMES)
_ASK_AGAIN_SECONDS: Final = 0.3
KEPT: Final = frozenset(
    {
        "orchestrator.erasures",
        *(f"{name}.erased_brands" for name in services.NAMES),
        *(f"{name}.audit_log" for name in services.NAMES),
        *(f"{name}.kept_answers" for name in services.NAMES),
    }
)
"""That a brand of the name was erased, who changed what, and answers to requests that may come again for a day."""
_BUT: Final = {"events": "and t.type <> 'brand.erased'"}
"""SQL: rows of tables that may name the brand. Other systems learn from these events that they have to erase it, too."""


@scenario(
    "brands erased while services are killed",
    "SIGKILL to each of the five services in turn while brands are erased whose keywords are on their way, and others go on",
    faults=_KILLED,
    budget=420.0,
)
async def brands_erased_while_services_are_killed(world: FaultHarness) -> ScenarioOutcome:
    async with ServiceStack.running(world) as stack:
        brands = [f"{_PREFIX}-{number}" for number in range(_BRANDS)]
        victims = list(services.NAMES)
        world.rng.shuffle(victims)
        async with stack.load(2):
            await at_work(stack, 3)
            lives = [
                asyncio.create_task(
                    _live(stack, brand, world.rng.uniform(0, 12), world.rng.uniform(0, _LIVES_SECONDS))
                )
                for brand in brands
            ]
            for name in victims:
                await asyncio.sleep(world.rng.uniform(0.2, 2.0))  # wherever they may be then
                await stack.kill(name)
                await asyncio.sleep(world.rng.uniform(0.0, 0.5))
                stack.start(name)
                await stack.ready()
            await asyncio.gather(*lives)
            receipts = {brand: await _receipts(stack, brand) for brand in brands}
            await at_work(stack, 15)
        found = await _named(stack, brands)
        await _overlook(stack, brands)
        outcome = await stack.outcome(_KILLED)
    return replace(outcome, violations=(*outcome.violations, *judge(receipts, found)))


def judge(receipts: Mapping[str, Collection[str]], found: Iterable[tuple[str, str]]) -> Iterator[Violation]:
    """`receipts`: of each brand, which services have answered; `found`: (place, brand) wherever its name still stands."""
    for brand, answered in receipts.items():
        if missing := _ERASERS - set(answered):
            yield Violation(1, f"{brand}: no receipt of {', '.join(sorted(missing))}")
    for place, brand in found:
        if place not in KEPT:
            yield Violation(2, f"{brand} is still in {place}")


async def _live(stack: ServiceStack, brand: str, after: float, seconds: float) -> None:
    """Makes the brand, has it work, and erases it in the midst of that."""
    await asyncio.sleep(after)
    await _insist(stack, "PUT", f"/v1/brands/{brand}", {"name": brand})
    handing_in = asyncio.create_task(_hand_in(stack, brand))
    await asyncio.sleep(seconds)
    # And the same order again, as from somebody who heard no answer.
    await asyncio.gather(handing_in, *(_erase(stack, brand) for _ in range(2)))


async def _hand_in(stack: ServiceStack, brand: str) -> None:
    # Once, whatever becomes of the answer: a brand may be gone when the order comes again.
    async with stack.api("orchestrator") as api:
        with suppress(httpx.TransportError):
            await api.post(f"/v1/brands/{brand}/research", json={"keywords": _KEYWORDS})


async def _erase(stack: ServiceStack, brand: str) -> None:
    await _insist(stack, "POST", f"/v1/brands/{brand}/erase", {"confirm": brand})


async def _insist(stack: ServiceStack, method: str, path: str, body: dict[str, Any]) -> None:
    """Repeats the request until the erasure is done; 404 means that it is done already."""
    async with stack.api("orchestrator") as api:
        while True:
            with suppress(httpx.TransportError):
                answer = await api.request(method, path, json=body)
                if answer.is_success or answer.status_code == httpx.codes.NOT_FOUND:
                    return
            await asyncio.sleep(_ASK_AGAIN_SECONDS)


async def _receipts(stack: ServiceStack, brand: str) -> list[str]:
    """Returns the services that have answered, once all have, or after the time limit."""
    answered: list[str] = []

    async def all_of_them() -> bool:
        nonlocal answered
        async with stack.api("orchestrator") as api:
            told = (await api.get(f"/v1/brands/{brand}/erasure")).raise_for_status().json()
        answered = [receipt["service"] for receipt in told["receipts"]]
        return bool(told["state"] == "erased")

    with suppress(AssertionError):
        await eventually(all_of_them)
    return answered


async def _named(stack: ServiceStack, brands: Collection[str]) -> list[tuple[str, str]]:
    """Every table of every database in which one of these brands is named; what waits to be dropped is given time for that."""
    found: list[tuple[str, str]] = []

    async def nowhere_else() -> bool:
        nonlocal found
        found = [each for name in services.NAMES for each in await _named_in(stack, name, brands)]
        return not list(judge({}, found))

    with suppress(AssertionError):
        await eventually(nowhere_else)
    return found


async def _named_in(stack: ServiceStack, service: str, brands: Collection[str]) -> list[tuple[str, str]]:
    connection = await asyncpg.connect(stack.environments[service]["DATABASE_URL"])
    try:
        tables = await connection.fetch(
            """
            select oid::regclass::text as name, relname from pg_class
            where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace
                and relname <> 'audit'
            """
        )
        return [
            (f"{service}.{table['relname']}", brand)
            for table in tables
            for brand in brands
            # As a whole word: vanishing-1 is not in vanishing-11.
            if await connection.fetchval(
                f"select exists (select from {table['name']} as t where t::text ~ $1 {_BUT.get(table['relname'], '')})",
                rf"\y{brand}\y",
            )
        ]
    finally:
        await connection.close()


async def _overlook(stack: ServiceStack, brands: Collection[str]) -> None:
    """Takes them out of what was noted from outside: of the others, everything is to be there once."""
    for name in ("publisher", "social", "research"):
        connection = await asyncpg.connect(stack.environments[name]["DATABASE_URL"])
        try:
            await connection.execute(
                "delete from audit where row->>'brand_slug' = any ($1::text[])", list(brands)
            )
        finally:
            await connection.close()
