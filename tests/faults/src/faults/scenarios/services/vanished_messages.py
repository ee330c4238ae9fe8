"""Messages that are gone from the broker, as by a purge or by a tool that takes them: the monitor's ledger has to find each."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import aio_pika
import httpx

from brandctl.local import services
from chassis.testing import eventually
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.scenario import scenario
from faults.playing.stack import ServiceStack
from faults.playing.world import FaultHarness

VANISHED: Final = "message vanished"
_PER_SECOND: Final = 10
_TAKEN: Final = 2
"""Of each queue."""
_STEPS: Final = ("research-commands", "orchestrator-events", "publisher-commands", "social-commands")
"""The way of a keyword; on each step there are fewer messages."""
_SPARE: Final = 3
"""Messages that stay in the last queue."""
_OVERDUE_MINUTES: Final = 2
"""The least that the monitor allows."""
_WITHIN_SECONDS: Final = 300.0
"""The ledger reads a message a minute after it was sent, and wants its queue empty for another."""


@scenario(
    "messages vanish at the broker",
    "messages are removed from four queues while their consumers are away; each is missed, with the right place, and no other",
    faults=(VANISHED,),
    budget=420.0,
)
async def messages_vanish_at_the_broker(world: FaultHarness) -> ScenarioOutcome:
    async with ServiceStack.running(
        world, further={"monitor": {"LEDGER_OVERDUE_MINUTES": str(_OVERDUE_MINUTES)}}
    ) as stack:
        taken: dict[str, str] = {}
        await stop(stack, "research")
        async with stack.load(_PER_SECOND):
            taken |= await remove(world, "research-commands")
        await stop(stack, "orchestrator")
        stack.start("research")
        taken |= await remove(world, "orchestrator-events")
        await stop(stack, "publisher")
        stack.start("orchestrator")
        taken |= await remove(world, "publisher-commands")
        await stop(stack, "social")
        stack.start("publisher")
        taken |= await remove(world, "social-commands")
        stack.start("social")
        await stack.ready()
        began = time.monotonic()
        found: dict[str, dict[str, Any]] = {}
        async with stack.api("monitor") as api:

            async def all_counted() -> bool:
                nonlocal found
                found, under_way = await ledger(api)
                return found.keys() >= taken.keys() and not under_way

            with suppress(AssertionError):
                await eventually(all_counted, within=_WITHIN_SECONDS)
            counts = (await api.get("/v1/ledger")).json()["last_24_hours"]
        violations = tuple(judge(taken, found, counts))
    return ScenarioOutcome(
        submitted=counts["accepted"],
        effects=counts["done"],
        dead_letters=counts["dead_letters"],
        lost=len(taken.keys() - found.keys()),
        duplicated=0,
        fired=world.history.faults[VANISHED],
        seconds_to_heal=time.monotonic() - began,
        violations=violations,
    )


def judge(
    taken: Mapping[str, str], found: Mapping[str, Mapping[str, Any]], counts: Mapping[str, int]
) -> Iterator[Violation]:
    """Judges the ledger.

    Args:
        taken: queues of the messages that were removed, by their ids.
        found: messages that the ledger misses, by their ids, as its API has them.
        counts: of the ledger.
    """
    for message_id, queue in taken.items():
        if message_id not in found:
            yield Violation(1, f"the ledger does not miss {message_id}, which was removed from {queue}")
        elif found[message_id]["queue"] != queue or f"into the queue {queue}" not in (
            found[message_id]["last_hop"] or ""
        ):
            yield Violation(
                0, f"{message_id} was removed from {queue}; the ledger says: {found[message_id]['last_hop']}"
            )
    for message_id in found.keys() - taken.keys():
        yield Violation(2, f"the ledger misses {message_id}, which nobody removed")
    if counts["accepted"] != sum(number for name, number in counts.items() if name != "accepted"):
        yield Violation(0, f"the counts of the ledger do not add up: {dict(counts)}")
    if counts["missing"] != len(found):
        yield Violation(0, f"the ledger counts {counts['missing']} missing messages and lists {len(found)}")


async def stop(stack: ServiceStack, name: str) -> None:
    """Stops a service in order, so that its messages are in their queue again."""
    await asyncio.to_thread(services.stop, [stack.children[name]])


async def remove(world: FaultHarness, queue: str) -> dict[str, str]:
    """Removes messages at random places of a queue without a consumer; returns the queue by their ids."""
    wanted = _TAKEN * (len(_STEPS) - _STEPS.index(queue)) + _SPARE
    connection = await aio_pika.connect(world.rabbitmq_url, timeout=15)
    async with connection, connection.channel() as channel:

        async def is_filled() -> bool:
            declared = await channel.declare_queue(queue, passive=True)
            return (declared.declaration_result.message_count or 0) >= wanted

        await eventually(is_filled)
        declared = await channel.get_queue(queue, ensure=False)
        seen = []
        while (message := await declared.get(fail=False)) is not None:
            seen.append(message)
        chosen = world.rng.sample(seen, _TAKEN)
        for message in seen:
            if message in chosen:
                await message.ack()
                world.history.fault(VANISHED)
            else:
                await message.nack(requeue=True)
        return {str(message.message_id): queue for message in chosen}


async def ledger(api: httpx.AsyncClient) -> tuple[dict[str, dict[str, Any]], int]:
    """The missing messages by their ids, and how many are under way."""
    counted = await api.get("/v1/ledger")
    missing = await api.get("/v1/ledger/messages", params={"state": "missing", "limit": 200})
    if not (counted.is_success and missing.is_success):
        return {}, -1
    items = {each["message_id"]: each for each in missing.json()["items"]}
    return items, counted.json()["last_24_hours"]["under_way"]
