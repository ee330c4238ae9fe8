"""Services that stop: what becomes of what they hold, and of what waits for them."""

import asyncio
from collections.abc import Sequence

import pytest

from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import Context, QueuePolicy, Record, Transaction, on_batch, on_each

QUEUE = "research-commands"


async def test_a_stopped_consumers_backlog_is_processed_on_restart(world) -> None:
    for number in range(250):
        await world.send(world.request(f"k{number:03}"))
    first = world.service()
    first.consume(
        QUEUE,
        on_batch(world.write_all, ResearchRequested),
        policy=QueuePolicy(max_batch_size=10, prefetch=20),
    )
    async with running(first):
        await eventually(world.effect_count)
    second = world.service()
    second.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    async with running(second):
        await eventually(lambda: world.has_effects(250))
        assert await world.broker.depth(QUEUE) == 0
    assert await world.effects() == [f"k{number:03}" for number in range(250)]


async def test_shutdown_finishes_what_is_in_hand_and_gives_back_the_rest(world) -> None:
    service = world.service()
    begun: list[DomainMessage] = []

    async def once_it_stops(message: DomainMessage, _context: Context) -> Record:
        begun.append(message)
        await eventually(lambda: service.runners[0]._stopping)
        return lambda tx: world.write(tx, message)

    for number in range(20):
        await world.send(world.request(f"k{number:02}"))
    service.consume(QUEUE, on_each(once_it_stops, ResearchRequested), policy=QueuePolicy(max_concurrency=2))
    async with running(service):
        await eventually(lambda: len(begun) == 2)
    done = await world.effect_count()
    assert 2 <= done < 20
    assert service.runners[0].settlement.counts.retried.total() == 0
    await eventually(lambda: world.has_waiting(20 - done))


async def test_shutdown_finishes_what_set_based_handlers_wait_for(world) -> None:
    service = world.service()

    async def once_it_stops(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        await eventually(lambda: service.runners[0]._stopping)
        await world.write_all(messages, tx)

    for number in range(40):
        await world.send(world.request(f"k{number:02}"))
    policy = QueuePolicy(max_batch_size=5, prefetch=40)
    service.consume(QUEUE, on_batch(once_it_stops, ResearchRequested), policy=policy)
    async with running(service):
        await eventually(lambda: service.runners[0].in_hand == 40)
    assert await world.effect_count() == 40
    assert await world.broker.depth(QUEUE) == 0


async def test_past_the_grace_period_the_attempt_is_given_back_uncounted(world) -> None:
    started = asyncio.Event()

    async def endless(_message: DomainMessage, _context: Context) -> None:
        started.set()
        await asyncio.sleep(3600)

    service = world.service(shutdown_grace_seconds=0.3)
    service.consume(QUEUE, on_each(endless, ResearchRequested))
    await world.send(world.request())
    async with running(service):
        await started.wait()
    await eventually(lambda: world.has_waiting(1))
    assert await world.outbox_is_empty()
    assert await world.outcomes() == {}


@pytest.mark.extended
async def test_what_deployments_in_a_row_cut_short_is_no_suspect(world) -> None:
    """Given back by the broker, it would be handled alone the third time, while all others wait."""
    attempts: list[tuple[int, bool]] = []

    async def endless(_message: DomainMessage, context: Context) -> None:
        attempts.append((context.attempt, context.alone))
        await asyncio.sleep(3600)

    await world.send(world.request())
    for number in range(1, 5):
        service = world.service(shutdown_grace_seconds=0.1)
        service.consume(QUEUE, on_each(endless, ResearchRequested))
        async with running(service):
            await eventually(lambda wanted=number: len(attempts) == wanted)
    assert attempts == [(1, False)] * 4


async def test_what_is_cut_short_while_the_database_is_away_is_given_back_by_the_broker(world) -> None:
    started = asyncio.Event()

    async def endless(_message: DomainMessage, _context: Context) -> None:
        started.set()
        await asyncio.sleep(3600)

    async with world.proxy_to_database() as proxy:
        service = world.service(database_url=proxy.url, shutdown_grace_seconds=0.3)
        service.consume(QUEUE, on_each(endless, ResearchRequested))
        await world.send(world.request())
        async with running(service):
            await started.wait()
            proxy.close_at_once()
            proxy.reset()
    await eventually(lambda: world.has_waiting(1))
    assert await world.outcomes() == {}


@pytest.mark.extended
async def test_what_is_cut_short_after_its_connection_went_is_somebody_elses_by_now(world) -> None:
    started = asyncio.Event()

    async def endless(_message: DomainMessage, _context: Context) -> None:
        started.set()
        await asyncio.sleep(3600)

    other = world.service()
    other.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    async with world.proxy_to_broker() as proxy:
        service = world.service(rabbitmq_url=proxy.url, shutdown_grace_seconds=0.3)
        service.consume(QUEUE, on_each(endless, ResearchRequested))
        await world.send(world.request())
        async with running(service):
            await started.wait()
            proxy.close_at_once()
            proxy.reset()
            async with running(other):
                await eventually(lambda: world.has_effects(1))
    assert await world.outbox_is_empty()
    assert await world.broker.depth(QUEUE) == 0


async def test_a_service_whose_runner_breaks_ends_instead_of_standing_still(world, monkeypatch) -> None:
    async def broken(*_: object) -> None:
        raise AssertionError("a mistake in the runtime itself")

    service = world.service(shutdown_grace_seconds=0.2)
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    monkeypatch.setattr(service.runners[0], "_handle", broken)
    await world.send(world.request())
    with pytest.raises(AssertionError, match="the runtime itself"):
        await service.run()
    await eventually(lambda: world.has_waiting(1))
