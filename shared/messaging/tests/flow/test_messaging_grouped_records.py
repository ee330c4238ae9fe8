"""Records of single handlers that are written together, on a real broker and a real database."""

import asyncio
from collections.abc import Sequence

from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import Context, GroupedRecord, Transaction, Unprocessable, on_each

QUEUE = "research-commands"
MESSAGES = 6


class Desk:
    """A handler that ends for all at the same time, and what it leaves."""

    def __init__(self) -> None:
        self.begun = 0
        self.all_here = asyncio.Event()
        self.calls: list[list[str]] = []

    async def handle(self, message: DomainMessage, context: Context) -> GroupedRecord[DomainMessage]:
        self.begun += 1
        if self.begun == MESSAGES:
            self.all_here.set()
        await self.all_here.wait()
        return GroupedRecord(self.write, message)

    async def write(self, tx: Transaction, messages: Sequence[DomainMessage]) -> None:
        self.calls.append([message.payload.keyword for message in messages])
        await tx.connection.executemany(
            "insert into effects values ($1, $2)",
            [(message.event_id, message.payload.keyword) for message in messages],
        )
        if any(message.payload.keyword == "spoilt" for message in messages):
            raise Unprocessable("this one cannot be written")


async def test_what_ends_at_the_same_time_is_written_in_one_call(world) -> None:
    desk = Desk()
    service = world.service()
    service.consume(QUEUE, on_each(desk.handle, ResearchRequested))
    messages = [world.request(f"keyword {number}") for number in range(MESSAGES)]
    async with running(service):
        for message in (*messages, messages[0]):  # one of them twice
            await world.send(message)
        await eventually(lambda: sum(map(len, desk.calls)) == MESSAGES)
        await eventually(lambda: service.runners[0].settlement.counts.duplicates == 1)

    assert sorted(await world.effects()) == [message.payload.keyword for message in messages]
    assert len(desk.calls) < MESSAGES
    assert await world.outcomes() == {message.event_id: "handled" for message in messages}


async def test_one_that_cannot_be_written_spoils_nothing_but_itself(world) -> None:
    desk = Desk()
    service = world.service()
    service.consume(QUEUE, on_each(desk.handle, ResearchRequested))
    messages = [world.request("spoilt" if number == 2 else f"keyword {number}") for number in range(MESSAGES)]
    async with running(service):
        for message in messages:
            await world.send(message)
        await world.broker.take(f"{QUEUE}-dlq")
        await eventually(lambda: _count(world, MESSAGES - 1))

    assert await world.outcomes() == {
        message.event_id: "dead" if message.payload.keyword == "spoilt" else "handled" for message in messages
    }


async def _count(world, wanted: int) -> bool:
    return len(await world.effects()) == wanted
