"""`/v1/backbone`, for the API of every service that consumes: its queues, outbox and state, and the pauses of its queues.

Needs the extra `api`.
"""

import asyncio
import socket
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Self

import structlog
from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from chassis.http.api import Moment, View, needs, router
from chassis.http.callers import Caller, Scope
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from messaging.broker.queue_depths import QueueDepth
from messaging.doctor_routes import DoctorReport
from messaging.figure_routes import add_figure_routes
from messaging.flow.transactions import Database
from messaging.running_code import running_code
from messaging.storage import figures, pauses, sent
from messaging.storage.figures import NO_RATES, QueueRates
from messaging.storage.pauses import QueuePause
from messaging.topology_routes import add_topology_routes

log = structlog.get_logger(__name__)

COUNT_LIMIT: Final = 100_000
"""Rows of the outbox counted at most."""
_KEEP_SECONDS: Final = 2.0
_DOCTOR_KNOWN_SECONDS: Final = 300
_OPERATOR: Final = needs(Scope.OPERATE, of_all_brands=True)
"""Queues are those of all brands."""

# In the order of an index, which holds what is there and nothing of what a backlog of yesterday left behind.
_OUTBOX: Final = """
    with waiting as (select deliver_at from outbox order by due_at limit $1)
    select count(*) as depth, count(*) filter (where deliver_at <= clock_timestamp()) as due,
           min(deliver_at) filter (where deliver_at <= clock_timestamp()) as oldest_due_at, clock_timestamp() as now
    from waiting
"""


def _storable(value: str) -> str:
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must not contain U+0000 or half of a surrogate pair")
    return value


_Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500), AfterValidator(_storable)
]


class QueuePauseView(View):
    """Operators have paused the consumers of a queue, of all processes. Its messages wait at the broker."""

    by: str
    reason: str
    since: datetime

    @classmethod
    def of(cls, pause: QueuePause) -> Self:
        return cls(by=pause.by, reason=pause.reason, since=pause.since)


class PausedQueueView(QueuePauseView):
    queue: str


class PausedQueuesView(View):
    queues: tuple[PausedQueueView, ...]
    """In the order of their names."""


class QueueView(View):
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    ready: int | None
    """Messages that wait at the broker; null if the broker does not answer, or has no such queue."""
    consumers: int | None
    """Consumers of all processes."""
    is_consumed: bool
    """Whether the answering process consumes it now."""
    pause: QueuePauseView | None
    """Null: its consumers are not paused."""
    in_per_minute: float | None
    """Messages that came, retries included, on average over five minutes that ended at least 40 seconds ago; null: unknown."""
    out_per_minute: float
    """Messages that left: handled, dead-lettered, or to be tried again later."""


class BreakerView(View):
    """Another system that handlers need."""

    name: Annotated[str, Field(examples=["gateway"])]
    trouble: str | None
    """Since when and why it is away; messages wait for it meanwhile. Null: it answers, as far as known."""


class ProblemView(View):
    part: Annotated[str, Field(examples=["database"])]
    problem: str


class OutboxView(View):
    depth: int
    """Messages that wait to be sent, later ones included; at most 100,000 are counted."""
    due: int
    """Those of them that should have left already."""
    oldest_due_at: datetime | None
    """When the oldest of these was due."""


class SentRateView(View):
    """Messages that the broker has confirmed, without retries and dead letters."""

    exchange: Annotated[str, Field(examples=["commands"])]
    per_minute: float


class BackboneView(View):
    """The service's part of the backbone, as the answering process sees it."""

    process: str
    """Name of its machine or container."""
    version: str
    code: Annotated[str | None, Field(examples=["31e73da8a3441508"])]
    """A hash of the source that it runs; dead letters have that of the code in which they failed. Null if its source cannot be read."""
    is_ready: bool
    problems: tuple[ProblemView, ...]
    """What keeps it from working."""
    breakers: tuple[BreakerView, ...]
    queues: tuple[QueueView, ...]
    outbox: OutboxView
    doctor: DoctorReport | None = None
    """What its doctor found in the last five minutes; null: nobody has asked it."""
    sent: tuple[SentRateView, ...] | None = None
    """What left the service for the first time, over the last five minutes; null: it does not record what it sends (`MESSAGE_LEDGER`)."""
    now: datetime
    """Time of the answer, by the clock that `oldest_due_at` follows."""


class ResumeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    queue: _Text = Field(description="One that this service consumes.")
    since: Moment | None = Field(
        default=None, description="Resume only if this pause, as shown, is still the present one."
    )
    by: _Text | None = Field(
        default=None, description="Your name; it is not verified. The default is that of the key."
    )


class PauseRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    queue: _Text = Field(description="One that this service consumes.")
    reason: _Text = Field(description="Why its messages must wait; shown to all who operate the system.")
    by: _Text | None = Field(
        default=None, description="Your name; it is not verified. The default is that of the key."
    )


class QueuePauseChange(View):
    queue: str
    is_changed: bool
    """False: it was so already, or another person was faster; see `pause`."""
    pause: QueuePauseView | None
    """As it is now; null if the queue's consumers are not paused."""


def backbone_routes(database: Database) -> APIRouter:
    """The route of the service's queues, outbox and state."""
    routes = router("/backbone", tags=["backbone"])
    reading = asyncio.Lock()
    kept: list[tuple[float, BackboneView]] = []

    @routes.get(
        "",
        summary="Queues, outbox and state",
        dependencies=[_OPERATOR],
    )
    async def get_backbone() -> BackboneView:
        """Returns the depth of the service's queues and of its outbox, and the state of the process that answers.

        An answer is kept for two seconds.
        """
        clock = asyncio.get_running_loop().time
        async with reading:
            if not kept or clock() - kept[0][0] > _KEEP_SECONDS:
                kept[:] = [(clock(), await _read(database))]
            return kept[0][1]

    @routes.get("/pauses", summary="Paused queues", dependencies=[_OPERATOR])
    async def get_pauses() -> PausedQueuesView:
        """Returns the queues of the service whose consumers are paused; without a look at the broker, so that pages may ask often."""
        async with database.connection() as connection:
            found = await pauses.find(connection)
        return PausedQueuesView(
            queues=tuple(
                PausedQueueView(queue=queue, by=each.by, reason=each.reason, since=each.since)
                for queue, each in sorted(found.items())
            )
        )

    @routes.post("/pause", summary="Pause the consumers of a queue")
    async def pause_queue(caller: Annotated[Caller, _OPERATOR], request: PauseRequest) -> QueuePauseChange:
        """Has all processes of the service take no more messages from the queue, within a few seconds.

        What has begun is finished; other messages wait at the broker. The pause lasts until it is ended, through restarts too. A queue that is
        paused already keeps its pause.
        """
        _check_consumed(database, request.queue)
        by = request.by or caller.name
        async with database.transaction() as tx:
            pause, is_new = await pauses.begin(tx.connection, request.queue, by=by, reason=request.reason)
        database.once_committed(kept.clear)
        return QueuePauseChange(queue=request.queue, is_changed=is_new, pause=QueuePauseView.of(pause))

    @routes.post("/resume", summary="Resume the consumers of a queue")
    async def resume_queue(caller: Annotated[Caller, _OPERATOR], request: ResumeRequest) -> QueuePauseChange:
        """Ends the pause of a queue: within a few seconds, all processes of the service take its messages again."""
        _check_consumed(database, request.queue)
        async with database.transaction() as tx:
            left, has_ended = await pauses.end(tx.connection, request.queue, request.since)
        if has_ended:
            log.info("queue_resume_asked", queue=request.queue, by=request.by or caller.name)
        database.once_committed(kept.clear)
        return QueuePauseChange(
            queue=request.queue,
            is_changed=has_ended,
            pause=None if left is None else QueuePauseView.of(left),
        )

    add_figure_routes(routes, database)
    add_topology_routes(routes, database)
    return routes


def _check_consumed(database: Database, queue: str) -> None:
    consumed = () if database.process is None else tuple(database.process.consumed)
    if queue not in consumed:
        raise RefusalError(
            INVALID_REQUEST, f"{database.service} does not consume this queue, but {', '.join(consumed)}"
        )


async def _read(database: Database) -> BackboneView:
    process = database.process
    consumed = {} if process is None else process.consumed
    breakers = {} if process is None else process.breakers
    code = running_code(database.catalogue.system, database.service)
    report = database.doctor.known(_DOCTOR_KNOWN_SECONDS)
    problems, depths, (outbox, paused, rates, sent_rates) = await asyncio.gather(
        _problems(database),
        _depths(database),
        _stored(database),
    )
    return BackboneView(
        process=socket.gethostname(),
        version=code.version,
        code=code.hash or None,
        is_ready=not problems,
        problems=tuple(ProblemView(part=part, problem=text) for part, text in problems.items()),
        breakers=tuple(BreakerView(name=name, trouble=trouble) for name, trouble in breakers.items()),
        queues=tuple(
            QueueView(
                queue=queue,
                ready=depths[queue].ready if queue in depths else None,
                consumers=depths[queue].consumers if queue in depths else None,
                is_consumed=is_consumed,
                pause=QueuePauseView.of(paused[queue]) if queue in paused else None,
                in_per_minute=rates.get(queue, NO_RATES).arrived,
                out_per_minute=rates.get(queue, NO_RATES).left,
            )
            for queue, is_consumed in consumed.items()
        ),
        doctor=None if report is None else DoctorReport.of(report),
        outbox=OutboxView(depth=outbox["depth"], due=outbox["due"], oldest_due_at=outbox["oldest_due_at"]),
        sent=tuple(
            SentRateView(exchange=exchange, per_minute=per_minute)
            for exchange, per_minute in sorted(sent_rates.items())
        )
        if database.records_sent
        else None,
        now=outbox["now"],
    )


async def _problems(database: Database) -> dict[str, str]:
    return {} if database.process is None else await database.process.problems()


async def _depths(database: Database) -> Mapping[str, QueueDepth]:
    process = database.process
    return {} if process is None else await process.read_depths(process.consumed)


async def _stored(
    database: Database,
) -> tuple[Any, dict[str, QueuePause], dict[str, QueueRates], dict[str, float]]:
    async with database.connection() as connection:
        outbox = await connection.fetchrow(_OUTBOX, COUNT_LIMIT)
        assert outbox is not None
        return (
            outbox,
            await pauses.find(connection),
            await figures.rates(connection, outbox["now"]),
            await sent.rates(connection),
        )
