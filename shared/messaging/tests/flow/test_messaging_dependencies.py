"""A handler's dependency goes away and comes back: messages wait, no attempt is counted, and few calls are made in vain."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
import structlog

from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import (
    Context,
    Dependency,
    QueuePolicy,
    Record,
    RetryLater,
    Service,
    Transaction,
    WaitFor,
    on_batch,
    on_each,
)
from messaging.flow import dependencies

QUEUE = "research-commands"
POLICY = QueuePolicy(wait_base=0.05, wait_limit=0.2)


class Library:
    """Stands for what is outside: refuses connections while it is closed, and counts who comes."""

    def __init__(self) -> None:
        self.open = False
        self.calls = 0
        self.attempts: set[int] = set()

    async def ask(self) -> None:
        self.calls += 1
        if not self.open:
            raise ConnectionRefusedError("closed")

    def needed_by(self, service: Service) -> Dependency:
        return service.add_dependency(
            Dependency("library", outages=(OSError,), shortest_pause=0.05, longest_pause=0.4)
        )


Single = Callable[[DomainMessage[Any], Context], Awaitable[Record]]


def reader(world: Any, library: Library, dependency: Dependency) -> Single:
    async def read(message: DomainMessage[Any], context: Context) -> Record:
        library.attempts.add(context.attempt)
        async with dependency.call():
            await library.ask()
        return lambda tx: world.write(tx, message)

    return read


@pytest.mark.extended
async def test_waiting_for_what_is_away_costs_no_attempt(world) -> None:
    library = Library()
    service = world.service(max_attempts=1)
    dependency = library.needed_by(service)
    service.consume(QUEUE, on_each(reader(world, library, dependency), ResearchRequested), policy=POLICY)
    with structlog.testing.capture_logs() as logs:
        async with running(service):
            for number in range(20):
                await world.send(world.request(f"k{number:02}"))
            await eventually(lambda: has_waited(world, times=4))
            assert await world.outcomes() == {}
            library.open = True
            await eventually(lambda: world.has_effects(20))
            await eventually(world.outbox_is_empty)
    assert library.attempts == {1}
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0
    # One line for each change, however many messages wait.
    assert [each["event"] for each in logs if each["event"].startswith("dependency")] == [
        "dependency_away",
        "dependency_back",
    ]
    counts = service.runners[0].settlement.counts
    assert counts.retried.total() == 0
    assert counts.set_aside["research.requested"] >= 20


async def has_waited(world: Any, *, times: int) -> bool:
    """Whether a row of the outbox says that its message has waited so often, and is at its first attempt."""
    query = """select count(*) from outbox where (headers->>'waits')::int >= $1 and (headers->>'attempt')::int = 1
               and exchange = 'returns'"""
    return bool(await world.database.fetchval(query, times))


@pytest.mark.extended
async def test_only_one_at_a_time_finds_out_whether_it_is_back(world) -> None:
    library = Library()
    service = world.service()
    dependency = library.needed_by(service)
    service.consume(QUEUE, on_each(reader(world, library, dependency), ResearchRequested), policy=POLICY)
    async with running(service):
        for number in range(50):
            await world.send(world.request(f"k{number:02}"))
        counts = service.runners[0].settlement.counts
        await eventually(lambda: counts.set_aside.total() > 500)
        # The first handful before anybody knew; then a probe after ever longer pauses.
        assert library.calls < 40
        library.open = True
        await eventually(lambda: world.has_effects(50))


@pytest.mark.extended
async def test_a_long_queue_waits_in_the_broker_and_not_in_the_database(world, monkeypatch) -> None:
    # Each probe lets more messages through, so the first one is due long after this test.
    async with long_queue_for(world, monkeypatch, Library(), pause=3600.0) as service:
        # Two hundred are held, and set aside is at most what was held when it was noticed: another two hundred.
        assert await world.broker.depth(QUEUE) >= 100
        assert not await service.problems()


@pytest.mark.extended
async def test_a_long_queue_is_worked_off_after_a_probe_was_answered(world, monkeypatch) -> None:
    library = Library()
    async with long_queue_for(world, monkeypatch, library, pause=1.0):
        library.open = True
        await eventually(lambda: world.has_effects(500))


@asynccontextmanager
async def long_queue_for(
    world: Any, monkeypatch: pytest.MonkeyPatch, library: Library, *, pause: float
) -> AsyncIterator[Service]:
    """A running service with a queue of 500 messages that need the closed library, after some were set aside."""
    monkeypatch.setattr(dependencies, "SET_ASIDE", 10)
    service = world.service()
    dependency = service.add_dependency(
        Dependency("library", outages=(OSError,), shortest_pause=pause, longest_pause=pause)
    )
    service.consume(QUEUE, on_each(reader(world, library, dependency), ResearchRequested), policy=POLICY)
    for number in range(500):
        await world.send(world.request(f"k{number:03}"))
    async with running(service):
        counts = service.runners[0].settlement.counts
        await eventually(lambda: counts.set_aside.total() > 10)
        yield service


async def test_a_service_that_waits_is_ready_and_says_for_what(world) -> None:
    library = Library()
    service = world.service()
    dependency = library.needed_by(service)
    service.consume(QUEUE, on_each(reader(world, library, dependency), ResearchRequested), policy=POLICY)
    async with running(service), httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}") as client:
        assert (await client.get("/health/ready")).json() == {"status": "ok"}
        assert 'dependency_up{dependency="library"} 1.0' in (await client.get("/metrics")).text
        await world.send(world.request())
        await eventually(lambda: dependency.away)
        answer = await client.get("/health/ready")
        assert answer.status_code == 200
        assert answer.json()["remarks"]["library"].endswith("closed")
        assert 'dependency_up{dependency="library"} 0.0' in (await client.get("/metrics")).text
        library.open = True
        await eventually(lambda: world.has_effects(1))
        assert (await client.get("/health/ready")).json() == {"status": "ok"}


async def test_a_failed_attempt_stays_counted_while_its_message_waits(world) -> None:
    seen: list[tuple[int, str]] = []

    async def handle(message: DomainMessage[Any], context: Context) -> Record:
        seen.append((context.attempt, "called"))
        if len(seen) == 1:
            raise RetryLater("a failure of its own", after=timedelta())
        if len(seen) < 4:
            raise WaitFor("library", "closed")
        raise RetryLater("a second failure")

    service = world.service(max_attempts=2)
    service.consume(QUEUE, on_each(handle, ResearchRequested), policy=POLICY)
    async with running(service):
        await world.send(world.request())
        letter = await world.broker.take(f"{QUEUE}-dlq")
    assert [attempt for attempt, _ in seen] == [1, 2, 2, 2]
    assert letter.headers["failure-attempts"] == 2
    assert letter.headers["failure-first-at"] < letter.headers["failure-last-at"]


async def test_messages_of_a_batch_wait_alone(world) -> None:
    library = Library()
    service = world.service(max_attempts=1)
    dependency = library.needed_by(service)

    async def handle(messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
        for message in messages:
            try:
                if "outside" in message.payload.keyword:
                    async with dependency.call():
                        await library.ask()
            except WaitFor as error:
                tx.fail(message, error)
            else:
                await world.write(tx, message)

    service.consume(QUEUE, on_batch(handle, ResearchRequested), policy=POLICY)
    async with running(service):
        for number in range(10):
            await world.send(world.request(f"{'outside' if number % 2 else 'inside'} {number}"))
        await eventually(lambda: world.has_effects(5))
        library.open = True
        await eventually(lambda: world.has_effects(10))
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


async def test_an_answer_of_any_kind_says_that_it_is_back() -> None:
    dependency = Dependency("library", outages=(OSError,), shortest_pause=0.01, longest_pause=0.01)
    with pytest.raises(WaitFor, match="closed"):
        async with dependency.call():
            raise ConnectionRefusedError("closed")
    assert dependency.away
    with pytest.raises(LookupError):
        await eventually(lambda: looked_up(dependency))
    assert not dependency.away


async def looked_up(dependency: Dependency) -> None:
    try:
        async with dependency.call():
            raise LookupError("no such book")
    except WaitFor:
        return


async def test_it_is_asked_no_sooner_than_it_wants() -> None:
    class BusyError(Exception):
        after = timedelta(minutes=5)

    dependency = Dependency("library", outages=(BusyError,), shortest_pause=0.01, longest_pause=0.01)
    with pytest.raises(WaitFor) as raised:
        async with dependency.call():
            raise BusyError
    assert raised.value.after == pytest.approx(timedelta(minutes=5), abs=timedelta(minutes=1))
    await asyncio.sleep(0.05)
    with pytest.raises(WaitFor, match="library is away") as raised:
        async with dependency.call():
            raise AssertionError("nobody calls")
    assert raised.value.after > timedelta(minutes=3)
