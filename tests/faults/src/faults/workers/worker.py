"""`python -m faults.workers.worker`: a real service with probe handlers, which scenarios kill, stop, starve and cut off.

Each message names its behaviour (`faults.workers.behaviours`). Every effect is a row in a table without any
unique constraint, written in the handler's transaction, and sends one event.
"""

import asyncio
import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, NoReturn

import uvloop
from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from chassis import KeyedSettings
from chassis.http.client import PassingError, Peer, ServiceClient, UnavailableError
from chassis.observing import logs
from envelope import Catalogue, DomainMessage, Payload
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentGenerate, ResearchCompleted, ResearchRequested
from faults.workers import clock, mutations
from faults.workers.behaviours import parse
from messaging import (
    Context,
    Dependency,
    QueuePolicy,
    Record,
    RetryLater,
    Service,
    ServiceSettings,
    Transaction,
    Unprocessable,
    on_batch,
    on_each,
)
from messaging.broker import publisher, subscription
from messaging.flow import relay

_MEGABYTE: Final = 1 << 20
_SPARE_BYTES: Final = 64 * _MEGABYTE
_WAIT_SECONDS: Final = 0.2
"""Instead of 1: as long as what is away is waited for at first."""
_ANSWER_SECONDS: Final = 1.0


class WorkerSettings(ServiceSettings, KeyedSettings):
    """From the environment; `FaultHarness.worker` takes the same names in lower case."""

    worker_name: str = "probe"
    needs_url: str = ""
    """A service that some messages need (`faults.surroundings.neighbour`)."""
    queue: Literal["research-commands", "orchestrator-commands"] = "research-commands"
    """It handles `research.requested` or `content.generate`."""
    handler: Literal["batch", "single"] = "batch"
    batch_size: Annotated[int, Field(ge=1)] = 100
    batch_timeout: float = 0.0
    concurrency: Annotated[int, Field(ge=1)] = 8
    handler_timeout: float = 60.0
    prefetch: int | None = None
    mutation: str = ""
    """A guarantee to switch off: one of `faults.workers.mutations`."""
    fail_points: str = ""
    """Read by `messaging.fail_points` itself."""
    # Waits that are sized for production; a fault matrix would spend its half hour in them.
    lease_seconds: float = relay.LEASE.total_seconds()
    sweep_seconds: float = relay.LONGEST_SLEEP
    confirm_seconds: float = publisher.CONFIRM_SECONDS
    watch_seconds: float = subscription.WATCH_SECONDS
    clock_wrong_by: float | None = None
    """Seconds that its clock is ahead when it starts."""
    clock_then_wrong_by: float = 0.0
    """The same after SIGUSR1."""

    @property
    def policy(self) -> QueuePolicy:
        """Attempts and backoff come from `MAX_ATTEMPTS` and `RETRY_BASE_SECONDS`, as for every service."""
        return QueuePolicy(
            max_batch_size=self.batch_size,
            max_batch_timeout=self.batch_timeout,
            max_concurrency=self.concurrency,
            handler_timeout=self.handler_timeout,
            prefetch=self.prefetch,
            wait_base=_WAIT_SECONDS,
            wait_limit=5 * _WAIT_SECONDS,
        )


class ProbeHandlers:
    """The probe's handlers."""

    def __init__(self, service: Service, worker: str) -> None:
        self._service = service
        self._worker = worker
        settings = service.settings
        assert isinstance(settings, WorkerSettings)
        needed = Dependency(
            "neighbour",
            outages=(UnavailableError,),
            shortest_pause=_WAIT_SECONDS,
            longest_pause=5 * _WAIT_SECONDS,
        )
        self._needed = service.add_dependency(needed)
        peer = Peer("the neighbour", settings.needs_url, "NEEDS_URL", settings.service_key)
        self._neighbour = ServiceClient(peer, timeout_seconds=_ANSWER_SECONDS, max_bytes=1000)

    async def batch(self, messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
        done: list[DomainMessage[Any]] = []
        for message in messages:
            try:
                await self._act(message, None)
            except (RetryLater, Unprocessable) as error:
                tx.fail(message, error)
            else:
                done.append(message)
        await self.write(done, tx)

    async def single(self, message: DomainMessage[Any], context: Context) -> Record:
        await self._act(message, context.attempt)

        async def record(tx: Transaction) -> None:
            await self.write([message], tx)

        return record

    async def _act(self, message: DomainMessage[Any], attempt: int | None) -> None:  # noqa: C901  (a flat table)
        behaviour = parse(message.payload.keyword)
        match behaviour.name:
            case "slow":
                await asyncio.sleep(behaviour.amount)
            case "block":
                time.sleep(behaviour.amount)  # noqa: ASYNC251  (this is what it is for)
            case "fail":
                if (attempt or await self._starts(message)) <= behaviour.amount:
                    raise RetryLater("as asked for")
            case "needs":
                await self._ask()
            case "poison":
                raise ValueError("as asked for")
            case "hungry":
                _use_up_memory()
            case "hang":
                await asyncio.sleep(3600)
            case "refuse":
                raise Unprocessable("as asked for")
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            case "oom":
                _die_of_hunger()

    async def _ask(self) -> None:
        try:
            async with self._needed.call():
                await self._neighbour.get("/v1/thing", about="a thing")
        except PassingError as problem:
            raise RetryLater(str(problem), after=problem.after) from problem

    async def _starts(self, message: DomainMessage[Any]) -> int:
        """How often this message was begun, this time included; outside the transaction, which may be rolled back."""
        async with self._service.database.connection() as connection:
            await connection.execute("insert into starts (event_id) values ($1)", message.event_id)
            count = await connection.fetchval(
                "select count(*) from starts where event_id = $1", message.event_id
            )
        assert isinstance(count, int)
        return count

    async def write(self, messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
        """The effects of messages, and what they send."""
        if not messages:
            return
        connection = tx.connection
        brands = sorted({message.payload.brand_slug for message in messages})
        # As a service does that decides one thing after another for each brand.
        await connection.execute(
            "insert into brands (brand, last_number) select unnest($1::text[]), 0 on conflict do nothing",
            brands,
        )
        rows = await connection.fetch(
            "select brand, last_number from brands where brand = any($1) order by brand for update", brands
        )
        last = {row["brand"]: row["last_number"] for row in rows}
        locked_at = await connection.fetchval("select clock_timestamp()")
        numbers = []
        for message in messages:
            last[message.payload.brand_slug] += 1
            numbers.append(last[message.payload.brand_slug])
        await connection.execute(
            """
            insert into effects (event_id, correlation_id, brand, number, keyword, worker, locked_at, written_at)
            select event_id, correlation_id, brand, number, keyword, $6, $7, clock_timestamp()
            from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[])
                 as t (event_id, correlation_id, brand, number, keyword)
            """,
            [message.event_id for message in messages],
            [message.correlation_id for message in messages],
            [message.payload.brand_slug for message in messages],
            numbers,
            [message.payload.keyword for message in messages],
            self._worker,
            locked_at,
        )
        await connection.execute(
            """
            update brands set last_number = new.number from unnest($1::text[], $2::bigint[]) as new (brand, number)
            where brands.brand = new.brand
            """,
            list(last),
            list(last.values()),
        )
        for message in messages:
            found = ResearchCompleted(
                brand_slug=message.payload.brand_slug,
                research_id=message.event_id,
                keyword=message.payload.keyword,
            )
            tx.send(found, caused_by=message)


def _use_up_memory() -> NoReturn:
    """Asks for more memory than there is; Python answers with a MemoryError, which is an exception like any other."""
    with _LimitedMemory():
        hoard = [bytearray(_MEGABYTE) for _ in range(_SPARE_BYTES // _MEGABYTE * 4)]
    raise AssertionError(f"there was room for {len(hoard)} MB")


def _die_of_hunger() -> NoReturn:
    """The same in native code that does not look at what the allocator gave it, as most does not: no exception, dead."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    allocate = ctypes.CDLL(None).malloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    with _LimitedMemory():
        while True:
            ctypes.memset(allocate(_MEGABYTE), 1, _MEGABYTE)


class _LimitedMemory:
    """Limits the process to little more memory than it has now."""

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm") as statm:  # noqa: PTH123
            pages = int(statm.read().split()[0])
        limit = pages * resource.getpagesize() + _SPARE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self._before)


def build(settings: WorkerSettings) -> Service:
    payload = ResearchRequested if settings.queue == "research-commands" else ContentGenerate
    return service_of(settings, ProbeHandlers, payload)


def service_of(
    settings: WorkerSettings,
    probe_type: type[ProbeHandlers],
    *payloads: type[Payload],
    catalogue: Catalogue = CATALOGUE,
) -> Service:
    # Replicas of one service; each under its own name, so that the database can tell them apart.
    service = Service(settings.worker_name, settings, catalogue)
    probe = probe_type(service, settings.worker_name)
    handlers = (
        [on_batch(probe.batch, *payloads)]
        if settings.handler == "batch"
        else [on_each(probe.single, payload) for payload in payloads]
    )
    service.consume(settings.queue, *handlers, policy=settings.policy)

    async def in_hand(_: Request) -> PlainTextResponse:
        return PlainTextResponse(str(sum(runner.in_hand for runner in service.runners)))

    service.serve(Starlette(routes=[Route("/in-hand", in_hand)]))
    return service


def shorten_waits(settings: WorkerSettings) -> None:
    relay.LEASE = timedelta(seconds=settings.lease_seconds)  # type: ignore[misc]
    relay.LONGEST_SLEEP = settings.sweep_seconds  # type: ignore[misc]
    publisher.CONFIRM_SECONDS = settings.confirm_seconds  # type: ignore[misc]
    subscription.WATCH_SECONDS = settings.watch_seconds  # type: ignore[misc]


def main(build: Callable[[WorkerSettings], Service] = build) -> None:
    settings = WorkerSettings()
    logs.configure(settings.worker_name, settings.log_level, settings.log_format)
    shorten_waits(settings)
    if settings.mutation:
        mutations.switch_off(settings.mutation)
    if settings.clock_wrong_by is not None:
        clock.set_wrong(by=settings.clock_wrong_by, then=settings.clock_then_wrong_by)

    async def run() -> None:
        await build(settings).run()

    uvloop.run(run())


if __name__ == "__main__":
    main()
